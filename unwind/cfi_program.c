/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running call frame instructions, and what a row can express of the result. */
#include "unwind/cfi_program.h"

/* Nesting of DW_CFA_remember_state; compilers use one. */
#define MAX_REMEMBERED 8

/* The last general register of x86-64. */
#define MAX_REGISTER 15

struct cfi_machine {
	const struct cfi_cie *cie;
	struct cfi_state state, remembered[MAX_REMEMBERED];
	unsigned int n_remembered;
	uint64_t pc;
};

/* --- pointers --- */

/* The rest of enum cfi_encoding. */
enum {
	PE_ULEB = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_NOT_KNOWN = 0xe0, /* indirect, and relative to anything else */
};

static bool read_number(struct ebt_bytes *in, uint8_t format, uint64_t *ret)
{
	uint32_t v32;
	uint16_t v16;

	switch (format) {
	case PE_ULEB:
		return ebt_bytes_varint(in, ret);
	case PE_SLEB:
		return ebt_bytes_sleb(in, (int64_t *)ret);
	case PE_UDATA2:
	case PE_SDATA2:
		if (!ebt_bytes_u16(in, &v16))
			return false;
		*ret = format == PE_SDATA2 ? (uint64_t)(int16_t)v16 : v16;
		return true;
	case PE_UDATA4:
	case PE_SDATA4:
		if (!ebt_bytes_u32(in, &v32))
			return false;
		*ret = format == PE_SDATA4 ? (uint64_t)(int32_t)v32 : v32;
		return true;
	case CFI_PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return ebt_bytes_u64(in, ret);
	default:
		return false;
	}
}

bool cfi_pointer(const struct cfi_section *section, struct ebt_bytes *in, uint8_t encoding,
		 uint64_t *ret)
{
	const unsigned char *start = section->data;
	uint64_t at = section->address + (uint64_t)(in->pos - start), value;

	if (encoding & PE_NOT_KNOWN || !read_number(in, encoding & CFI_PE_FORMAT, &value))
		return false;
	*ret = encoding & PE_PCREL ? value + at : value;
	return true;
}

/* --- rows --- */

static bool byte_is(struct ebt_bytes *in, uint8_t expected)
{
	uint8_t byte;

	return ebt_bytes_u8(in, &byte) && byte == expected;
}

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREG16 = 0x80,
};

/* The linker's: breg7 K, breg16 0, lit15, and, litN, ge, lit3, shl, plus. */
static bool plt_row(struct ebt_bytes in, struct cfi_row *row)
{
	int64_t offset, zero;
	uint8_t lit;

	if (!byte_is(&in, OP_BREG0 + CFI_X86_RSP) || !ebt_bytes_sleb(&in, &offset) || offset != 8 ||
	    !byte_is(&in, OP_BREG16) || !ebt_bytes_sleb(&in, &zero) || zero ||
	    !byte_is(&in, OP_LIT0 + 15) || !byte_is(&in, OP_AND) || !ebt_bytes_u8(&in, &lit) ||
	    lit < OP_LIT0 || lit > OP_LIT0 + 15 || !byte_is(&in, OP_GE) ||
	    !byte_is(&in, OP_LIT0 + 3) || !byte_is(&in, OP_SHL) || !byte_is(&in, OP_PLUS) ||
	    ebt_bytes_left(&in))
		return false;
	row->op = CFI_PLT;
	row->cfa = 1;
	row->fp = (__s8)(lit - OP_LIT0);
	return true;
}

/* breg A, deref [, plus_uconst B] with a base that a row has. */
static bool deref_row(enum cfi_arch arch, struct ebt_bytes in, struct cfi_row *row)
{
	uint64_t plus = 0, base;
	int64_t offset;
	uint8_t op;

	if (!ebt_bytes_u8(&in, &op) || op < OP_BREG0 || op > OP_BREG0 + 31 ||
	    !ebt_bytes_sleb(&in, &offset) || !byte_is(&in, OP_DEREF))
		return false;
	if (ebt_bytes_left(&in) && (!byte_is(&in, OP_PLUS_UCONST) || !ebt_bytes_varint(&in, &plus)))
		return false;
	base = op - OP_BREG0;
	if (ebt_bytes_left(&in) || (base != cfi_sp(arch) && base != cfi_fp(arch)) || offset % 8 ||
	    offset / 8 < -2048 || offset / 8 > 2047 || plus % 8 || plus / 8 > 15)
		return false;
	row->op = base == cfi_sp(arch) ? CFI_SP_DEREF : CFI_FP_DEREF;
	row->cfa = (__s16)(offset / 8 * 16 + (int64_t)(plus / 8));
	return true;
}

static bool cfa_rule(const struct cfi_cie *cie, const struct cfi_state *state, struct cfi_row *row)
{
	if (ebt_bytes_left(&state->cfa_expression)) {
		return (cie->arch == CFI_X86_64 && plt_row(state->cfa_expression, row)) ||
		       deref_row(cie->arch, state->cfa_expression, row);
	}
	if (state->cfa_offset % 8 || state->cfa_offset / 8 < INT16_MIN ||
	    state->cfa_offset / 8 > INT16_MAX)
		return false;
	row->cfa = (__s16)(state->cfa_offset / 8);
	if (state->cfa_register == cfi_sp(cie->arch)) {
		row->op = CFI_SP;
	} else if (state->cfa_register == cfi_fp(cie->arch)) {
		row->op = CFI_FP;
	} else {
		row->op = CFI_REG;
		row->fp = (__s8)state->cfa_register;
		return state->cfa_register <= MAX_REGISTER;
	}
	return true;
}

static bool fits(int64_t offset)
{
	return offset % 8 == 0 && offset / 8 > CFI_FP_LOST && offset / 8 <= INT8_MAX;
}

static bool offset_fits(const struct cfi_rule *rule)
{
	return rule->kind == CFI_RULE_OFFSET && rule->offset && fits(rule->offset);
}

/* The rule that says that the register is as it was. */
static bool is_kept(const struct cfi_rule *rule)
{
	return rule->kind == CFI_RULE_NONE || rule->kind == CFI_RULE_SAME;
}

/* Where the caller's frame pointer is. What cannot be expressed is lost, not wrong. */
static void fp_rule(const struct cfi_cie *cie, const struct cfi_rule *rule, struct cfi_row *row)
{
	struct ebt_bytes in = rule->expression;
	int64_t offset;

	if (is_kept(rule))
		return;
	row->fp = CFI_FP_LOST;
	if (offset_fits(rule)) {
		row->fp = (__s8)(rule->offset / 8);
	} else if (rule->kind == CFI_RULE_EXPRESSION &&
		   byte_is(&in, (uint8_t)(OP_BREG0 + cfi_fp(cie->arch))) &&
		   ebt_bytes_sleb(&in, &offset) && !ebt_bytes_left(&in) && fits(offset)) {
		row->op |= CFI_FP_BY_FP;
		row->fp = (__s8)(offset / 8);
	}
}

static bool x86_row(const struct cfi_cie *cie, const struct cfi_state *state, struct cfi_row *row)
{
	const struct cfi_rule *ra = &state->ra;

	if (!cfa_rule(cie, state, row))
		return false;
	if (ra->kind == CFI_RULE_REGISTER && row->op == CFI_SP &&
	    (uint64_t)ra->offset <= MAX_REGISTER) {
		row->op = CFI_RA_REG;
		row->fp = (__s8)ra->offset;
		return true;
	}
	if (ra->kind != CFI_RULE_OFFSET || ra->offset != -8)
		return false;
	/* These two use the field for themselves, where the frame pointer is unchanged. */
	if (row->op == CFI_PLT || row->op == CFI_REG)
		return is_kept(&state->fp);
	fp_rule(cie, &state->fp, row);
	return true;
}

static bool arm_row(const struct cfi_cie *cie, const struct cfi_state *state, struct cfi_row *row)
{
	const struct cfi_rule *ra = &state->ra, *fp = &state->fp;

	if (!cfa_rule(cie, state, row) || row->op == CFI_REG)
		return false;
	if (is_kept(ra)) {
		fp_rule(cie, fp, row);
		row->op |= CFI_RA_LR;
		return true;
	}
	if (!offset_fits(ra))
		return false;
	/* Frame records are pairs: x29, x30. */
	if (offset_fits(fp) && ra->offset == fp->offset + 8) {
		row->fp = (__s8)(fp->offset / 8);
		return true;
	}
	if (!is_kept(fp))
		return false;
	row->op |= CFI_RA_ONLY;
	row->fp = (__s8)(ra->offset / 8);
	return true;
}

static struct cfi_row row_of(const struct cfi_cie *cie, const struct cfi_state *state)
{
	struct cfi_row row = { 0 };

	if (cie->signal)
		return (struct cfi_row){ .op = CFI_SIGNAL };
	if (state->ra.kind == CFI_RULE_UNDEFINED)
		return (struct cfi_row){ .op = CFI_END };
	/* The caller's stack pointer is the CFA, and rows know no other. */
	if (state->sp.kind != CFI_RULE_NONE)
		return (struct cfi_row){ .op = CFI_UNSUPPORTED };
	if (cie->arch == CFI_X86_64 ? x86_row(cie, state, &row) : arm_row(cie, state, &row))
		return row;
	return (struct cfi_row){ .op = CFI_UNSUPPORTED };
}

/* --- instructions --- */

static struct cfi_rule *rule_of(struct cfi_machine *m, struct cfi_state *state, uint64_t reg)
{
	if (reg == m->cie->ra_register)
		return &state->ra;
	if (reg == cfi_fp(m->cie->arch))
		return &state->fp;
	if (reg == cfi_sp(m->cie->arch))
		return &state->sp;
	return NULL;
}

static void set_rule(struct cfi_machine *m, uint64_t reg, struct cfi_rule rule)
{
	struct cfi_rule *slot = rule_of(m, &m->state, reg);

	if (slot)
		*slot = rule;
}

static void restore_rule(struct cfi_machine *m, uint64_t reg)
{
	struct cfi_state initial = m->cie->initial;
	const struct cfi_rule *rule = rule_of(m, &initial, reg);

	if (rule)
		set_rule(m, reg, *rule);
}

static int64_t scaled(const struct cfi_machine *m, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)m->cie->data_align);
}

static struct cfi_rule at_offset(int64_t offset)
{
	return (struct cfi_rule){ .kind = CFI_RULE_OFFSET, .offset = offset };
}

static bool take_block(struct ebt_bytes *in, struct ebt_bytes *ret)
{
	uint64_t len;

	return ebt_bytes_varint(in, &len) && ebt_bytes_take(in, len, ret);
}

/* DW_CFA_def_cfa*: 0x0c to 0x0f, 0x12, 0x13. */
static bool define_cfa(struct cfi_machine *m, uint8_t op, struct ebt_bytes *in)
{
	struct cfi_state *s = &m->state;
	uint64_t u;
	int64_t i;

	if (op == 0x0f)
		return take_block(in, &s->cfa_expression) && ebt_bytes_left(&s->cfa_expression);
	if (op == 0x0c || op == 0x0d || op == 0x12) {
		if (!ebt_bytes_varint(in, &s->cfa_register))
			return false;
		s->cfa_expression = (struct ebt_bytes){ NULL, NULL };
	}
	if (op == 0x0c || op == 0x0e) {
		if (!ebt_bytes_varint(in, &u))
			return false;
		s->cfa_offset = (int64_t)u;
	} else if (op == 0x12 || op == 0x13) {
		if (!ebt_bytes_sleb(in, &i))
			return false;
		s->cfa_offset = scaled(m, (uint64_t)i);
	}
	return true;
}

/* Instructions that give a register a rule. */
static bool define_register(struct cfi_machine *m, uint8_t op, struct ebt_bytes *in)
{
	struct cfi_rule rule = { .kind = CFI_RULE_OTHER };
	uint64_t reg, u = 0;
	int64_t i = 0;
	bool good = true;

	if (!ebt_bytes_varint(in, &reg))
		return false;
	switch (op) {
	case 0x05: /* offset_extended */
	case 0x2f: /* GNU_negative_offset_extended */
		good = ebt_bytes_varint(in, &u);
		rule = at_offset(scaled(m, op == 0x05 ? u : 0 - u));
		break;
	case 0x06: /* restore_extended */
		restore_rule(m, reg);
		return true;
	case 0x07: /* undefined */
		rule.kind = CFI_RULE_UNDEFINED;
		break;
	case 0x08: /* same_value */
		rule.kind = CFI_RULE_SAME;
		break;
	case 0x09: /* register */
		good = ebt_bytes_varint(in, &u);
		rule = (struct cfi_rule){ .kind = CFI_RULE_REGISTER, .offset = (int64_t)u };
		break;
	case 0x10: /* expression */
		rule.kind = CFI_RULE_EXPRESSION;
		good = take_block(in, &rule.expression);
		break;
	case 0x11: /* offset_extended_sf */
		good = ebt_bytes_sleb(in, &i);
		rule = at_offset(scaled(m, (uint64_t)i));
		break;
	case 0x14: /* val_offset */
		good = ebt_bytes_varint(in, &u);
		break;
	case 0x15: /* val_offset_sf */
		good = ebt_bytes_sleb(in, &i);
		break;
	default: /* 0x16, val_expression */
		good = take_block(in, &rule.expression);
		break;
	}
	if (good)
		set_rule(m, reg, rule);
	return good;
}

/* DW_CFA_advance_loc, 1, 2, 4, MIPS_advance_loc8 and set_loc: *ret_pc is where to. */
static bool advance(const struct cfi_machine *m, uint8_t op, struct ebt_bytes *in, uint64_t *ret_pc)
{
	uint64_t delta = op & 0x3f;
	uint32_t d4;
	uint16_t d2;
	uint8_t d1;

	if (op == 0x01) {
		if (!cfi_pointer(m->cie->section, in, m->cie->pointer_encoding, ret_pc))
			return false;
		*ret_pc -= m->cie->base;
		return *ret_pc >= m->pc;
	}
	if (op == 0x02 && ebt_bytes_u8(in, &d1))
		delta = d1;
	else if (op == 0x03 && ebt_bytes_u16(in, &d2))
		delta = d2;
	else if (op == 0x04 && ebt_bytes_u32(in, &d4))
		delta = d4;
	else if (op == 0x1d && ebt_bytes_u64(in, &delta))
		;
	else if (op < 0x40)
		return false;
	*ret_pc = m->pc + delta * m->cie->code_align;
	return *ret_pc >= m->pc;
}

static bool is_advance(uint8_t op)
{
	return (op & 0xc0) == 0x40 || (op >= 0x01 && op <= 0x04) || op == 0x1d;
}

/* One instruction that changes rules. */
static bool step(struct cfi_machine *m, uint8_t op, struct ebt_bytes *in)
{
	uint64_t u;

	if (op >= 0xc0) {
		restore_rule(m, op & 0x3f);
		return true;
	}
	if (op >= 0x80) {
		if (!ebt_bytes_varint(in, &u))
			return false;
		set_rule(m, op & 0x3f, at_offset(scaled(m, u)));
		return true;
	}
	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x0a: /* remember_state */
		if (m->n_remembered == MAX_REMEMBERED)
			return false;
		m->remembered[m->n_remembered++] = m->state;
		return true;
	case 0x0b: /* restore_state */
		if (!m->n_remembered)
			return false;
		m->state = m->remembered[--m->n_remembered];
		return true;
	case 0x0c:
	case 0x0d:
	case 0x0e:
	case 0x0f:
	case 0x12:
	case 0x13:
		return define_cfa(m, op, in);
	case 0x2c: /* AARCH64_negate_ra_state_with_pc */
	case 0x2d: /* AARCH64_negate_ra_state: signed addresses are always stripped */
		return m->cie->arch == CFI_AARCH64;
	case 0x2e: /* GNU_args_size */
		return ebt_bytes_varint(in, &u);
	case 0x05 ... 0x09:
	case 0x10:
	case 0x11:
	case 0x14 ... 0x16:
	case 0x2f:
		return define_register(m, op, in);
	default:
		return false;
	}
}

bool cfi_run_initial(struct cfi_cie *cie, struct ebt_bytes program)
{
	struct cfi_machine m = { .cie = cie };
	uint8_t op;

	while (ebt_bytes_u8(&program, &op)) {
		if (is_advance(op) || !step(&m, op, &program))
			return false;
	}
	cie->initial = m.state;
	return true;
}

static void add_row(const struct cfi_machine *m, struct cfi_range range, struct cfi_vec *rows,
		    uint32_t *unsupported)
{
	struct cfi_row row;

	if (m->pc >= range.end)
		return;
	row = row_of(m->cie, &m->state);
	row.pc = (__u32)m->pc;
	*unsupported += row.op == CFI_UNSUPPORTED;
	cfi_vec_add(rows, row);
}

bool cfi_run(const struct cfi_cie *cie, struct ebt_bytes program, struct cfi_range range,
	     struct cfi_vec *rows, uint32_t *unsupported)
{
	struct cfi_machine m = { .cie = cie, .state = cie->initial, .pc = range.start };
	bool good = true;
	uint64_t pc;
	uint8_t op;

	while (good && !rows->full && m.pc < range.end && ebt_bytes_u8(&program, &op)) {
		if (!is_advance(op)) {
			good = step(&m, op, &program);
			continue;
		}
		good = advance(&m, op, &program, &pc);
		if (good && pc != m.pc) {
			add_row(&m, range, rows, unsupported);
			m.pc = pc;
		}
	}
	if (good)
		add_row(&m, range, rows, unsupported);
	else if (m.pc < range.end)
		cfi_vec_add(rows, (struct cfi_row){ .pc = (__u32)m.pc, .op = CFI_UNSUPPORTED });
	cfi_vec_add(rows, (struct cfi_row){ .pc = (__u32)range.end, .op = CFI_NONE });
	return good;
}
