/* SPDX-License-Identifier: MIT */
/*
 * Marks: a program says what it does, and a recording by ebrec shows it on the same axis as
 * samples, switches and system calls. This header is all there is to it, nothing has to be linked.
 * It may be copied into any program.
 *
 *	ebmark_begin("codec", "frame");
 *	encode(frame);
 *	ebmark_end("codec", "frame");
 *
 * What it costs: while nothing records, one `nop` and the loads of the arguments into registers,
 * under 2 ns; arguments are evaluated always. While ebrec records, about a microsecond, as the
 * kernel stops the thread at the nop. Guard what is expensive to put together:
 *
 *	if (ebmark_enabled()) {
 *		snprintf(text, sizeof(text), "%zu bytes", n);
 *		ebmark_instant("net", "packet", text);
 *	}
 *
 * Strings are UTF-8, end in NUL, may be NULL (an empty one), and are read during the call only.
 * Recorded are 63 bytes of a group or domain, 127 of a name, 1023 of a message. What is longer is
 * cut, and ends in an ellipsis then; of a log's message the recording tells how much was cut. What
 * cannot be read is recorded as "(unreadable)". Use few groups and names, as statistics are by
 * them; what differs each time belongs into the message. Times are CLOCK_MONOTONIC, in ns.
 *
 * The marks are USDT probes (ELF notes of "stapsdt", provider `ebmark`), so perf, bpftrace, gdb and
 * SystemTap see them too. The nop has one byte on purpose: longer ones a kernel may replace by a
 * call, and a call writes to the stack, where leaf functions keep variables below its end.
 *
 * A small program that lld has linked, and that starts while ebrec records, may see
 * ebmark_enabled() as 0, as the kernel takes another segment of the same page of the file for the
 * one that holds the count; -Wl,-z,separate-loadable-segments keeps them apart. Marks without
 * that guard are recorded.
 *
 * For Linux on x86-64 and aarch64, with GCC or Clang, C99 or C++11 and later. Elsewhere everything
 * here compiles to nothing and ebmark_enabled() is 0.
 */
#ifndef EBMARK_H
#define EBMARK_H

#include <stdint.h>

#if defined(__linux__) && defined(__ELF__) && defined(__LP64__) && \
	(defined(__x86_64__) || defined(__aarch64__))
#define EBMARK_WORKS 1
#else
#define EBMARK_WORKS 0
#endif

#define EBMARK_INLINE_ static __inline__ __attribute__((__always_inline__, __unused__))

/* Without warnings about casts and null pointers, whatever a program has on. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define EBMARK_INT_(value) static_cast<int64_t>(value)
#define EBMARK_NONE_	   static_cast<const char *>(nullptr)
#else
#define EBMARK_INT_(value) ((int64_t)(value))
#define EBMARK_NONE_	   ((const char *)0)
#endif

/* Severities of ebmark_log(): those of syslog(3). */
enum ebmark_severity {
	EBMARK_EMERGENCY,
	EBMARK_ALERT,
	EBMARK_CRITICAL,
	EBMARK_ERROR,
	EBMARK_WARNING,
	EBMARK_NOTICE,
	EBMARK_INFO,
	EBMARK_DEBUG
};

#if EBMARK_WORKS

/* How many tools listen to the marks of this program or library; the kernel counts. */
#ifdef __cplusplus
extern "C" {
#endif
extern volatile unsigned short ebmark_semaphore_ __attribute__((__visibility__("hidden")));
__attribute__((__weak__, __visibility__("hidden"), __section__(".probes"),
	       __used__)) volatile unsigned short ebmark_semaphore_ = 0;
#ifdef __cplusplus
}
#endif

/* Where the arguments are: fixed, so that whoever records need not take descriptions apart. */
#ifdef __x86_64__
#define EBMARK_ARGS_ "8@%%rdi 8@%%rsi 8@%%rdx -8@%%rcx -8@%%rax"
#else
#define EBMARK_ARGS_ "8@x0 8@x1 8@x2 -8@x3 -8@x4"
#endif

/* The nop, and the note that says where it is, counted from a symbol as tools want it. */
#define EBMARK_ASM_(probe)                                                       \
	"990:	nop\n"                                                             \
	"	.pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
	"	.balign 4\n"                                                           \
	"	.4byte 992f-991f, 994f-993f, 3\n"                                      \
	"991:	.asciz \"stapsdt\"\n"                                              \
	"992:	.balign 4\n"                                                       \
	"993:	.8byte 990b\n"                                                     \
	"	.8byte _.stapsdt.base\n"                                               \
	"	.8byte ebmark_semaphore_\n"                                            \
	"	.asciz \"ebmark\"\n"                                                   \
	"	.asciz \"" probe "\"\n"                                          \
	"	.asciz \"" EBMARK_ARGS_ "\"\n"                                   \
	"994:	.balign 4\n"                                                       \
	"	.popsection\n"                                                         \
	"	.ifndef _.stapsdt.base\n"                                              \
	"	.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	"	.weak _.stapsdt.base\n"                                                \
	"	.hidden _.stapsdt.base\n"                                              \
	"_.stapsdt.base: .space 1\n"                                             \
	"	.size _.stapsdt.base, 1\n"                                             \
	"	.popsection\n"                                                         \
	"	.endif\n"

/* "memory": texts have to be there, and what comes between two marks stays between them. */
#ifdef __x86_64__
#define EBMARK_PROBE_(probe, group, name, message, a, b)                           \
	__asm__ __volatile__(EBMARK_ASM_(probe)                                    \
			     :                                                     \
			     : "D"(group), "S"(name), "d"(message), "c"(a), "a"(b) \
			     : "memory")
#else
#define EBMARK_PROBE_(probe, group, name, message, a, b)                                  \
	do {                                                                              \
		register const char *ebmark_x0_ __asm__("x0") = (group);                  \
		register const char *ebmark_x1_ __asm__("x1") = (name);                   \
		register const char *ebmark_x2_ __asm__("x2") = (message);                \
		register int64_t ebmark_x3_ __asm__("x3") = (a);                          \
		register int64_t ebmark_x4_ __asm__("x4") = (b);                          \
		__asm__ __volatile__(EBMARK_ASM_(probe)                                   \
				     :                                                    \
				     : "r"(ebmark_x0_), "r"(ebmark_x1_), "r"(ebmark_x2_), \
				       "r"(ebmark_x3_), "r"(ebmark_x4_)                   \
				     : "memory");                                         \
	} while (0)
#endif

#else /* EBMARK_WORKS */

#define EBMARK_PROBE_(probe, group, name, message, a, b) \
	((void)(group), (void)(name), (void)(message), (void)(a), (void)(b))

#endif

/* True while somebody listens: a load and a branch. */
EBMARK_INLINE_ int ebmark_enabled(void)
{
#if EBMARK_WORKS
	return __builtin_expect(ebmark_semaphore_ != 0, 0) != 0;
#else
	return 0;
#endif
}

/* --- what happens --- */

/* Something happened now. */
EBMARK_INLINE_ void ebmark_instant(const char *group, const char *name, const char *message)
{
	EBMARK_PROBE_("instant", group, name, message, EBMARK_INT_(0), EBMARK_INT_(0));
}

/*
 * Something begins, and ends, in this thread; such pairs may lie within each other, and the end is
 * that of the latest begin with this group and name.
 */
EBMARK_INLINE_ void ebmark_begin(const char *group, const char *name)
{
	EBMARK_PROBE_("begin", group, name, EBMARK_NONE_, EBMARK_INT_(0), EBMARK_INT_(0));
}

EBMARK_INLINE_ void ebmark_end_message(const char *group, const char *name, const char *message)
{
	EBMARK_PROBE_("end", group, name, message, EBMARK_INT_(0), EBMARK_INT_(0));
}

/* ebmark_end(group, name) or ebmark_end(group, name, message) */
#define ebmark_end(...)			       EBMARK_END_(__VA_ARGS__, EBMARK_NONE_, 0)
#define EBMARK_END_(group, name, message, ...) ebmark_end_message(group, name, message)

/*
 * The same for what one thread begins and another may end: group, name and id tell one from
 * others of this process. The id is not 0; a pointer or a counter will do.
 */
EBMARK_INLINE_ void ebmark_begin_id(const char *group, const char *name, uint64_t id)
{
	EBMARK_PROBE_("begin", group, name, EBMARK_NONE_, EBMARK_INT_(id), EBMARK_INT_(0));
}

EBMARK_INLINE_ void ebmark_end_id_message(const char *group, const char *name, uint64_t id,
					  const char *message)
{
	EBMARK_PROBE_("end", group, name, message, EBMARK_INT_(id), EBMARK_INT_(0));
}

/* ebmark_end_id(group, name, id) or ebmark_end_id(group, name, id, message) */
#define ebmark_end_id(...) EBMARK_END_ID_(__VA_ARGS__, EBMARK_NONE_, 0)
#define EBMARK_END_ID_(group, name, id, message, ...) \
	ebmark_end_id_message(group, name, id, message)

/*
 * Something that the program timed itself, told when it is over: from start_ns to end_ns of
 * CLOCK_MONOTONIC. One probe instead of two, and none at all for what turned out not to matter.
 */
EBMARK_INLINE_ void ebmark_span(const char *group, const char *name, uint64_t start_ns,
				uint64_t end_ns, const char *message)
{
	EBMARK_PROBE_("span", group, name, message, EBMARK_INT_(start_ns), EBMARK_INT_(end_ns));
}

/* --- numbers --- */

/* A number of this process is now so much. */
EBMARK_INLINE_ void ebmark_counter(const char *group, const char *name, int64_t value)
{
	EBMARK_PROBE_("counter", group, name, EBMARK_NONE_, value, EBMARK_INT_(0));
}

EBMARK_INLINE_ void ebmark_counter_double(const char *group, const char *name, double value)
{
	int64_t bits;

	__builtin_memcpy(&bits, &value, sizeof(bits));
	EBMARK_PROBE_("counter_double", group, name, EBMARK_NONE_, bits, EBMARK_INT_(0));
}

/* --- logs --- */

/* A line of a log, without the newline. domain: the part of the program, as a group. */
EBMARK_INLINE_ void ebmark_log(enum ebmark_severity severity, const char *domain,
			       const char *message)
{
	EBMARK_PROBE_("log", domain, EBMARK_NONE_, message, EBMARK_INT_(severity), EBMARK_INT_(0));
}

/* --- C++: from here to the end of the block --- */

#ifdef __cplusplus
class ebmark_scope
{
      public:
	ebmark_scope(const char *group, const char *name) : group_(group), name_(name), message_()
	{
		ebmark_begin(group_, name_);
	}

	~ebmark_scope()
	{
		ebmark_end_message(group_, name_, message_);
	}

	/* Recorded at the end; the text must be there until then. */
	void message(const char *text)
	{
		message_ = text;
	}

	ebmark_scope(const ebmark_scope &) = delete;
	ebmark_scope &operator=(const ebmark_scope &) = delete;

      private:
	const char *group_, *name_, *message_;
};
#endif

#endif
