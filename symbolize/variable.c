/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables by address; see variable.h. */
#include "format/base/array.h"
#include "format/base/compare.h"
#include "format/base/search.h"
#include "symbolize/variable.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "symbolize/elf/symlist.h"

/* Mappings that are looked at for all answers together: a trace can have millions of both. */
#define MAX_STEPS (UINT64_C(1) << 30)
/* Variables that are kept, of all objects. */
#define MAX_KEPT (1u << 20)

struct variable {
	uint64_t address, size;
	const char *name;
};

/* Of an object, in order of address. */
struct object_variables {
	bool read;
	struct variable *list;
	size_t n, capacity;
};

struct variables {
	struct addrspace *space;
	struct objects *objects;
	struct object_variables *of; /* by number of the object */
	size_t n_kept;
	uint64_t steps;
};

DEFINE_CLEANUP(struct variables *, variables_destroy);

struct ebt_error *variables_create(struct addrspace *space, struct objects *objects,
				   struct variables **ret)
{
	_cleanup_(variables_destroyp) struct variables *v = calloc(1, sizeof(*v));

	if (!v)
		return &ebt_enomem;
	v->space = space;
	v->objects = objects;
	v->steps = MAX_STEPS;
	v->of = calloc(objects->n + 1, sizeof(*v->of));
	if (!v->of)
		return &ebt_enomem;
	*ret = take_ptr(v);
	return NULL;
}

void variables_destroy(struct variables *v)
{
	if (!v)
		return;
	for (size_t i = 0; v->of && i < v->objects->n; i++)
		free(v->of[i].list);
	free(v->of);
	free(v);
}

static struct ebt_error *add(struct variables *v, struct object_variables *of, const GElf_Sym *sym,
			     const char *name)
{
	struct variable *new;
	struct ebt_error *err;

	err = ebt_array_reserve(&of->list, of->n, &of->capacity);
	if (err)
		return err;
	new = &of->list[of->n];
	*new = (struct variable){ .address = sym->st_value, .size = sym->st_size };
	err = funcs_demangle(v->objects->funcs, name, symbol_name_len(name), &new->name);
	if (err)
		return err;
	of->n++;
	v->n_kept++;
	return NULL;
}

static struct ebt_error *add_section(struct variables *v, struct object_variables *of,
				     const struct elf_file *file, Elf_Scn *scn,
				     const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL), *strings;
	struct ebt_error *err = NULL;
	GElf_Sym sym;
	size_t len;

	scn = elf_getscn(file->elf, shdr->sh_link);
	strings = scn ? elf_getdata(scn, NULL) : NULL;
	if (!data || !strings || !strings->d_buf || data->d_type != ELF_T_SYM)
		return NULL;
	/* A name is good if it begins before the last NUL. */
	for (len = strings->d_size; len && ((const char *)strings->d_buf)[len - 1]; len--)
		;
	for (int i = 0; !err && gelf_getsym(data, i, &sym) && v->n_kept < MAX_KEPT; i++) {
		const char *name = (const char *)strings->d_buf + sym.st_name;

		if (GELF_ST_TYPE(sym.st_info) == STT_OBJECT && sym.st_shndx != SHN_UNDEF &&
		    sym.st_shndx != SHN_ABS && sym.st_size && sym.st_name < len && *name)
			err = add(v, of, &sym, name);
	}
	return err;
}

static struct ebt_error *add_file(struct variables *v, struct object_variables *of,
				  const struct elf_file *file)
{
	struct ebt_error *err = NULL;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	while (!err && file && (scn = elf_nextscn(file->elf, scn))) {
		if (gelf_getshdr(scn, &shdr) &&
		    (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM))
			err = add_section(v, of, file, scn, &shdr);
	}
	return err;
}

/* Of aliases the one with the least name is last. */
static int compare(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	return ebt_compare(x->address, y->address) ?: strcmp(y->name, x->name);
}

static struct ebt_error *read_object(struct variables *v, uint32_t number,
				     struct object_variables *of)
{
	struct object *object = &v->objects->items[number];
	struct ebt_error *err = objects_open(v->objects, number);

	if (err)
		return err;
	err = module_need_files(object->module);
	if (err)
		return err;
	err = add_file(v, of, object->module->files.main);
	if (err)
		return err;
	err = add_file(v, of, object->module->files.debug);
	if (err)
		return err;
	if (of->n)
		qsort(of->list, of->n, sizeof(*of->list), compare);
	of->read = true;
	return NULL;
}

/* The variable that covers the address, or NULL. */
static const struct variable *find(const struct object_variables *of, uint64_t address)
{
	size_t low = ebt_count_first(of->n, i, of->list[i].address <= address);

	if (!low || address - of->list[low - 1].address >= of->list[low - 1].size)
		return NULL;
	return &of->list[low - 1];
}

/* Where the address is in the object as it was linked, if it is in it. */
static bool linked_at(const struct elf_load *loads, size_t n, const struct addrspace_place *code,
		      uint64_t start, uint64_t address, uint64_t *ret)
{
	const struct elf_file file = { .loads = (struct elf_load *)loads, .n_loads = n };
	uint64_t linked;

	if (!elf_file_address(&file, code->pgoff, &linked))
		return false;
	linked += address - start;
	for (size_t i = 0; i < n; i++) {
		if (!loads[i].exec && linked >= loads[i].vaddr &&
		    linked - loads[i].vaddr < loads[i].memsz) {
			*ret = linked;
			return true;
		}
	}
	return false;
}

struct ebt_error *variables_find(struct variables *v, uint32_t incarnation, uint64_t address,
				 uint64_t time_ns, bool no_files, struct sym_variable *ret)
{
	const struct variable *variable = NULL;
	const struct addrspace_object *recorded;
	const struct elf_load *loads;
	struct addrspace_place code;
	struct object *object;
	struct ebt_error *err;
	uint64_t start, linked;
	size_t n;

	*ret = (struct sym_variable){ 0 };
	if (!addrspace_below(v->space, incarnation, address, time_ns, &v->steps, &code, &start))
		return NULL;
	err = objects_get(v->objects, code.object, &object);
	if (err || object->anonymous)
		return err;
	recorded = &addrspace_objects(v->space, &n)[code.object];
	err = finder_loads(&v->objects->finder, recorded->path, &recorded->id, &loads, &n);
	if (err || !linked_at(loads, n, &code, start, address, &linked))
		return err;
	if (!no_files && !v->of[code.object].read)
		err = read_object(v, code.object, &v->of[code.object]);
	if (!err && !no_files)
		variable = find(&v->of[code.object], linked);
	ret->found = true;
	ret->object = object->path;
	ret->short_object = object->name;
	ret->name = variable ? variable->name : NULL;
	ret->offset = variable ? linked - variable->address : linked;
	return err;
}
