/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of functions; see params.h. */
#include "symbolize/dwarf/params.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

/* Types that lead to others: `const struct x *const *` takes five. */
#define MAX_HOPS 16
/* DIEs of a function that are looked at. */
#define MAX_CHILDREN 256

/* A type with names of types, const and volatile taken away. */
struct type {
	bool known;
	int tag; /* 0: void */
	Dwarf_Die die;
	uint64_t size, encoding;
	/* Of C++: it is never copied bit by bit; it is. */
	bool by_pointer, by_value;
};

static uint64_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value))
		return 0;
	return value;
}

static bool is_transparent(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type;
}

static bool is_pointer(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

/* The type that `from` says it has. */
static struct type type_of(struct info_state *state, const Dwarf_Die *from)
{
	struct type type = { .die = *from };
	uint64_t convention;

	for (int hop = 0; hop < MAX_HOPS; hop++) {
		if (!dwarf_hasattr(&type.die, DW_AT_type)) {
			type.known = true;
			return type; /* void */
		}
		if (!dwarf_follow(state, &type.die, DW_AT_type))
			return type;
		if (is_transparent(dwarf_tag(&type.die)))
			continue;
		type.known = true;
		type.tag = dwarf_tag(&type.die);
		type.size = is_pointer(type.tag) ? 8 : number_of(&type.die, DW_AT_byte_size);
		type.encoding = number_of(&type.die, DW_AT_encoding);
		convention = number_of(&type.die, DW_AT_calling_convention);
		type.by_pointer = convention == DW_CC_pass_by_reference;
		type.by_value = convention == DW_CC_pass_by_value;
		return type;
	}
	return type;
}

/* --- types as text --- */

/* As in C, from the right to the left; what is longer than there is room for is cut. */
static void write_type(struct info_state *state, const Dwarf_Die *from, char *ret, size_t size)
{
	char behind[64] = "", copy[sizeof(behind)];
	const char *first = "const ", *word = "void", *before = "", *rest = behind;
	Dwarf_Die die = *from;

	for (int hop = 0; hop < MAX_HOPS && dwarf_hasattr(&die, DW_AT_type); hop++) {
		const char *name, *sign = "";
		int tag;

		if (!dwarf_follow(state, &die, DW_AT_type)) {
			word = "?";
			break;
		}
		tag = dwarf_tag(&die);
		name = dwarf_string_at(state, &die, DW_AT_name);
		if (is_pointer(tag))
			sign = tag == DW_TAG_pointer_type ? "*" : "&";
		else if (tag == DW_TAG_const_type)
			sign = "const ";
		else if (tag == DW_TAG_subroutine_type) {
			word = "function";
			break;
		} else if (name || !is_transparent(tag)) {
			before = tag == DW_TAG_structure_type	  ? "struct "
				 : tag == DW_TAG_union_type	  ? "union "
				 : tag == DW_TAG_enumeration_type ? "enum "
								  : "";
			word = name ? name : "(unnamed)";
			break;
		}
		memcpy(copy, behind, sizeof(copy));
		snprintf(behind, sizeof(behind), "%s%.*s", sign, (int)sizeof(copy) - 8, copy);
	}
	/* What is const is what stands before the first pointer. */
	if (!strncmp(behind, first, strlen(first)))
		rest += strlen(first);
	else
		first = "";
	snprintf(ret, size, "%s%s%s%s%s", first, before, word, *rest ? " " : "", rest);
}

/* --- parameters --- */

static enum sym_value value_of(const struct type *type)
{
	if (type->tag == DW_TAG_enumeration_type)
		return SYM_VALUE_SIGNED;
	if (type->tag != DW_TAG_base_type)
		return SYM_VALUE_HEX;
	switch (type->encoding) {
	case DW_ATE_boolean:
		return SYM_VALUE_BOOL;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return SYM_VALUE_SIGNED;
	default:
		return SYM_VALUE_UNSIGNED;
	}
}

/* Languages whose functions are called as the system's conventions say. */
enum language { LANGUAGE_OTHER, LANGUAGE_C, LANGUAGE_CXX };

static enum language language_of(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return LANGUAGE_OTHER;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return LANGUAGE_C;
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return LANGUAGE_CXX;
	default:
		return LANGUAGE_OTHER;
	}
}

static bool is_composite(const struct type *type)
{
	return type->tag == DW_TAG_structure_type || type->tag == DW_TAG_class_type ||
	       type->tag == DW_TAG_union_type;
}

/* Registers for whole numbers that a value takes; -1: that depends on what is in it, or on how C++
 * copies it, of which not all compilers tell. */
static int registers_of(const struct type *type, enum language language)
{
	if (is_composite(type)) {
		if (type->by_pointer)
			return 1;
		if (type->size <= 16 || (language == LANGUAGE_CXX && !type->by_value))
			return -1;
#if defined(__aarch64__)
		return 1;
#else
		return 0;
#endif
	}
	switch (type->tag) {
	case DW_TAG_base_type:
		if (type->encoding == DW_ATE_float || type->encoding == DW_ATE_complex_float ||
		    type->encoding == DW_ATE_imaginary_float)
			return 0;
		return type->size <= 8 ? 1 : -1;
	case DW_TAG_enumeration_type:
		return 1;
	default:
		/* Pointers to members of C++ are two words, but for data. */
		return is_pointer(type->tag) ? 1 : -1;
	}
}

/* A function under way. */
struct signature {
	struct info_state *state;
	enum language language;
	uint32_t position; /* of the last register that is taken */
	struct sym_parameters *ret;
};

static void fill(const struct signature *r, Dwarf_Die *die, const struct type *type,
		 struct sym_parameter *ret)
{
	const char *name = dwarf_string_at(r->state, die, DW_AT_name);

	snprintf(ret->name, sizeof(ret->name), "%s", name ? name : "");
	write_type(r->state, die, ret->type, sizeof(ret->type));
	ret->value = value_of(type);
	ret->size =
		type->size == 1 || type->size == 2 || type->size == 4 ? (uint32_t)type->size : 8;
}

/* Returns false where it is not known in which registers later ones are. */
static bool add(struct signature *r, Dwarf_Die *die)
{
	struct type type = type_of(r->state, die);
	int n = type.known ? registers_of(&type, r->language) : -1;

	if (n < 0 || r->ret->n == SYM_MAX_PARAMETERS)
		return false;
	fill(r, die, &type, &r->ret->list[r->ret->n]);
	r->ret->list[r->ret->n++].position = n ? ++r->position : 0;
	return true;
}

/* What a function gives back; false: not known. Large things are written to where its first
 * register points to. */
static bool read_result(struct signature *r, Dwarf_Die *function)
{
	struct type type = type_of(r->state, function);
	int n = type.known && type.tag ? registers_of(&type, r->language) : 0;

	/* Small ones come in registers, in whichever. */
	if (!type.known || (n < 0 && r->language == LANGUAGE_CXX && type.size <= 16))
		return false;
	fill(r, function, &type, &r->ret->result);
	*r->ret->result.name = '\0';
	r->ret->returns = n != 0;
#if !defined(__aarch64__)
	if (is_composite(&type) && (type.by_pointer || type.size > 16)) {
		r->position++;
		r->ret->returns = true;
	}
#endif
	return true;
}

void dwarf_params_read(struct info_state *state, Dwarf_Die *function, struct sym_parameters *ret)
{
	Dwarf_Die die = *function, child;
	struct signature r = { .state = state, .language = language_of(function), .ret = ret };

	*ret = (struct sym_parameters){ 0 };
	/* A function that is inlined elsewhere has its parameters there, in their order. */
	dwarf_follow(state, &die, DW_AT_abstract_origin);
	child = die;
	/* The definition of a method leaves its type to the class. */
	if (!dwarf_hasattr(&child, DW_AT_type))
		dwarf_follow(state, &child, DW_AT_specification);
	if (r.language == LANGUAGE_OTHER || !read_result(&r, &child))
		return;
	ret->known = true;
	ret->whole = true;
	if (dwarf_child(&die, &child))
		return;
	for (int i = 0; i < MAX_CHILDREN; i++) {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_unspecified_parameters ||
		    (tag == DW_TAG_formal_parameter && !add(&r, &child))) {
			ret->whole = false;
			return;
		}
		if (dwarf_siblingof(&child, &child))
			return;
	}
}
