/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of ELF files that were made to be searched for ever, and of damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/probes/elf.h"
#include "record/probes/function.h"
#include "record/probes/glob.h"

#define MUTATIONS 20000u
#define MAX_FILE  (1u << 20)

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

#define LONG 100000

/* Code, symbols in four tables that are the same bytes, and a name that is too long for a person.
 */
struct made {
	Elf64_Ehdr header;
	Elf64_Phdr load;
	Elf64_Shdr sections[6];
	Elf64_Sym symbols[3];
	char strings[LONG + 16];
	char code[16];
};

struct file {
	int fd;
	char path[32];
};

static struct file file_of(const void *content, size_t len)
{
	struct file file = { .fd = memfd_create("elf", MFD_CLOEXEC) };

	assert_true(file.fd >= 0);
	assert_int_equal(write(file.fd, content, len), len);
	snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
	return file;
}

static struct made *make(void)
{
	struct made *made = calloc(1, sizeof(*made));
	const uint64_t code = offsetof(struct made, code);

	assert_non_null(made);
	memcpy(made->header.e_ident, ELFMAG, SELFMAG);
	made->header.e_ident[EI_CLASS] = ELFCLASS64;
	made->header.e_ident[EI_DATA] = ELFDATA2LSB;
	made->header.e_machine = MACHINE;
	made->header.e_phoff = offsetof(struct made, load);
	made->header.e_phentsize = sizeof(Elf64_Phdr);
	made->header.e_phnum = 1;
	made->header.e_shoff = offsetof(struct made, sections);
	made->header.e_shentsize = sizeof(Elf64_Shdr);
	made->header.e_shnum = 6;
	made->header.e_shstrndx = 5;
	made->load = (Elf64_Phdr){ .p_type = PT_LOAD,
				   .p_flags = PF_R | PF_X,
				   .p_offset = code,
				   .p_vaddr = 0x1000,
				   .p_filesz = sizeof(made->code) };
	for (int i = 1; i < 5; i++)
		made->sections[i] = (Elf64_Shdr){ .sh_type = i % 2 ? SHT_SYMTAB : SHT_DYNSYM,
						  .sh_offset = offsetof(struct made, symbols),
						  .sh_size = sizeof(made->symbols),
						  .sh_link = 5 };
	made->sections[5] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					  .sh_offset = offsetof(struct made, strings),
					  .sh_size = sizeof(made->strings) };
	for (int i = 0; i < 3; i++)
		made->symbols[i] = (Elf64_Sym){ .st_name = i == 2 ? 3 : (uint32_t)i,
						.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
						.st_shndx = 1,
						.st_value = 0x1000 };
	memcpy(made->strings, "\0f\0", 3);
	memset(made->strings + 3, 'x', LONG);
	return made;
}

static bool count(void *arg, const struct probe_symbol *symbol)
{
	unsigned int *n = arg;

	assert_string_equal(symbol->name, "f");
	++*n;
	return true;
}

static void test_endless(void **state)
{
	struct made *made = make();
	struct file file = file_of(made, sizeof(*made));
	struct probe_function function;
	struct probe_elf *elf;
	unsigned int n = 0;

	(void)state;
	assert_null(probe_elf_open(file.path, &elf));
	assert_null(probe_elf_symbols(elf, count, &n));
	/* Of .symtab and of .dynsym. */
	assert_int_equal(n, 2);
	assert_null(probe_function_find(elf, file.path, "f", &function));
	assert_int_equal(function.offset, offsetof(struct made, code));
	assert_true(function.begins);
	probe_elf_close(elf);
	close(file.fd);
	free(made);
}

/* How many are found; each is a place with code. */
static unsigned int find_some(const char *path)
{
	static const char *const names[] = { "main", "ns::f", "mai", "_start+4", "0x1040" };
	struct probe_matches matches;
	struct ebt_error *err;
	struct probe_elf *elf;
	unsigned int found = 0;

	err = probe_elf_open(path, &elf);
	if (err) {
		ebt_error_destroy(err);
		return 0;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct probe_function function;

		err = probe_function_find(elf, path, names[i], &function);
		assert_true(err || probe_elf_is_code(elf, function.offset));
		found += !err;
		ebt_error_destroy(err);
	}
	err = probe_glob_find(elf, path, "*a*", &matches);
	for (size_t i = 0; !err && i < matches.n; i++)
		assert_true(probe_elf_is_code(elf, matches.list[i].offset));
	if (!err)
		probe_matches_deinit(&matches);
	ebt_error_destroy(err);
	probe_elf_close(elf);
	return found;
}

static size_t load_program(char **ret)
{
	const char *programs = getenv("EBT_PROGRAMS");
	char path[4096];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/probed", programs ? programs : "tests/programs");
	f = fopen(path, "re");
	*ret = malloc(MAX_FILE);
	assert_true(f && *ret);
	len = fread(*ret, 1, MAX_FILE, f);
	fclose(f);
	return len;
}

/* Headers of segments stand first, those of sections last, and symbols before these. */
static uint64_t place_in(size_t len)
{
	const uint64_t tail = len > 16384 ? len - 16384 : 0;

	return rand() % 2 ? (uint64_t)rand() % 1024 : tail + (uint64_t)rand() % (len - tail);
}

static void test_damaged(void **state)
{
	unsigned int found = 0;
	struct file file;
	char *content;
	size_t len;

	(void)state;
	len = load_program(&content);
	file = file_of(content, len);
	assert_int_equal(find_some(file.path), 3);
	srand(1);
	for (unsigned int i = 0; i < MUTATIONS; i++) {
		const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff, (unsigned char)rand() };
		unsigned char bytes[8];

		/* Up to eight changes at once. */
		if (!(i % 8))
			assert_int_equal(pwrite(file.fd, content, len, 0), len);
		memset(bytes, values[rand() % 6], sizeof(bytes));
		assert_true(pwrite(file.fd, bytes, 1u << rand() % 4, (off_t)place_in(len - 8)) > 0);
		found += find_some(file.path) > 0;
	}
	assert_true(found > MUTATIONS / 8);
	close(file.fd);
	free(content);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
