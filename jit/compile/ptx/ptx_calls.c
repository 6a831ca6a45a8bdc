/* Intrinsics and inline assembly. */
#include "jit/compile/ptx/ptx_writer.h"

#include <stdlib.h>
#include <string.h>

/* An intrinsic that is one instruction of the same operands, or of some in another order. */
typedef struct intrinsic {
  const char *name, *opcode;
  const char *operands; /* the intrinsic's, in the instruction's order: digits */
} intrinsic;

/* By name. */
static const intrinsic intrinsics[] = {
    {"llvm.abs.i32", "abs.s32", "0"},
    {"llvm.bitreverse.i32", "brev.b32", "0"},
    {"llvm.ceil.f32", "cvt.rpi.f32.f32", "0"},
    {"llvm.ceil.f64", "cvt.rpi.f64.f64", "0"},
    {"llvm.ctlz.i32", "clz.b32", "0"},
    {"llvm.ctpop.i32", "popc.b32", "0"},
    {"llvm.fabs.f16", "abs.f16", "0"},
    {"llvm.fabs.f32", "abs.f32", "0"},
    {"llvm.fabs.f64", "abs.f64", "0"},
    {"llvm.floor.f32", "cvt.rmi.f32.f32", "0"},
    {"llvm.floor.f64", "cvt.rmi.f64.f64", "0"},
    {"llvm.fma.f16", "fma.rn.f16", "012"},
    {"llvm.fma.f32", "fma.rn.f32", "012"},
    {"llvm.fma.f64", "fma.rn.f64", "012"},
    {"llvm.fshl.i32", "shf.l.wrap.b32", "102"},
    {"llvm.fshr.i32", "shf.r.wrap.b32", "102"},
    {"llvm.maximum.f32", "max.NaN.f32", "01"},
    {"llvm.maxnum.f32", "max.f32", "01"},
    {"llvm.maxnum.f64", "max.f64", "01"},
    {"llvm.minimum.f32", "min.NaN.f32", "01"},
    {"llvm.minnum.f32", "min.f32", "01"},
    {"llvm.minnum.f64", "min.f64", "01"},
    {"llvm.nearbyint.f32", "cvt.rni.f32.f32", "0"},
    {"llvm.nvvm.bar.warp.sync", "bar.warp.sync", "0"},
    {"llvm.nvvm.barrier0", "bar.sync 0", ""},
    {"llvm.nvvm.ex2.approx.f", "ex2.approx.f32", "0"},
    {"llvm.nvvm.ex2.approx.ftz.f", "ex2.approx.ftz.f32", "0"},
    {"llvm.nvvm.lg2.approx.f", "lg2.approx.f32", "0"},
    {"llvm.nvvm.lg2.approx.ftz.f", "lg2.approx.ftz.f32", "0"},
    {"llvm.nvvm.mulhi.ui", "mul.hi.u32", "01"},
    {"llvm.nvvm.mulhi.ull", "mul.hi.u64", "01"},
    {"llvm.nvvm.prmt", "prmt.b32", "012"},
    {"llvm.nvvm.rcp.approx.ftz.d", "rcp.approx.ftz.f64", "0"},
    {"llvm.nvvm.rcp.approx.ftz.f", "rcp.approx.ftz.f32", "0"},
    {"llvm.nvvm.redux.sync.add", "redux.sync.add.s32", "01"},
    {"llvm.nvvm.redux.sync.max", "redux.sync.max.s32", "01"},
    {"llvm.nvvm.redux.sync.min", "redux.sync.min.s32", "01"},
    {"llvm.nvvm.redux.sync.umax", "redux.sync.max.u32", "01"},
    {"llvm.nvvm.redux.sync.umin", "redux.sync.min.u32", "01"},
    {"llvm.nvvm.rsqrt.approx.ftz.f", "rsqrt.approx.ftz.f32", "0"},
    {"llvm.nvvm.shfl.sync.bfly.i32", "shfl.sync.bfly.b32", "1230"},
    {"llvm.nvvm.shfl.sync.idx.i32", "shfl.sync.idx.b32", "1230"},
    {"llvm.nvvm.vote.all.sync", "vote.sync.all.pred", "10"},
    {"llvm.nvvm.vote.any.sync", "vote.sync.any.pred", "10"},
    {"llvm.nvvm.vote.ballot.sync", "vote.sync.ballot.b32", "10"},
    {"llvm.rint.f32", "cvt.rni.f32.f32", "0"},
    {"llvm.rint.f64", "cvt.rni.f64.f64", "0"},
    {"llvm.roundeven.f32", "cvt.rni.f32.f32", "0"},
    {"llvm.roundeven.f64", "cvt.rni.f64.f64", "0"},
    {"llvm.smax.i16", "max.s16", "01"},
    {"llvm.smax.i32", "max.s32", "01"},
    {"llvm.smax.i64", "max.s64", "01"},
    {"llvm.smin.i16", "min.s16", "01"},
    {"llvm.smin.i32", "min.s32", "01"},
    {"llvm.smin.i64", "min.s64", "01"},
    {"llvm.sqrt.f32", "sqrt.rn.f32", "0"},
    {"llvm.sqrt.f64", "sqrt.rn.f64", "0"},
    {"llvm.trunc.f32", "cvt.rzi.f32.f32", "0"},
    {"llvm.trunc.f64", "cvt.rzi.f64.f64", "0"},
    {"llvm.umax.i16", "max.u16", "01"},
    {"llvm.umax.i32", "max.u32", "01"},
    {"llvm.umax.i64", "max.u64", "01"},
    {"llvm.umin.i16", "min.u16", "01"},
    {"llvm.umin.i32", "min.u32", "01"},
    {"llvm.umin.i64", "min.u64", "01"},
};

static int compare_name(const void *name, const void *row) {
  return strcmp(name, ((const intrinsic *)row)->name);
}

static const intrinsic *find_intrinsic(const char *name) {
  return bsearch(name, intrinsics, sizeof intrinsics / sizeof intrinsics[0], sizeof intrinsics[0],
                 compare_name);
}

static bool returns_nothing(LLVMValueRef at) {
  return LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVoidTypeKind;
}

/* Numbers come first in no instruction. */
static void write_intrinsic(ptx_writer *w, LLVMValueRef at, const intrinsic *row) {
  ptx_part operands[4], result;
  int n = 0;
  for (const char *c = row->operands; *c; c++) {
    ptx_part parts[PTX_PARTS_MAX];
    if (ptx_value(w, LLVMGetOperand(at, (unsigned)(*c - '0')), parts) != 1) {
      ptx_note_unknown(w, "a vector of an intrinsic");
      return;
    }
    bool alone = row->operands[1] == 0 && returns_nothing(at);
    bool by_register = (n == 0 && !alone) || parts[0].class == PTX_B16;
    operands[n++] = by_register ? ptx_in_register(w, parts[0]) : ptx_plain(w, parts[0]);
  }
  const char *last = strrchr(row->opcode, '.');
  bool real = last && last[1] == 'f';
  if (returns_nothing(at)) {
    ptx_line(w, row->opcode, real, NULL, n, operands);
    return;
  }
  ptx_type type = ptx_type_of(w, LLVMTypeOf(at));
  if (type.n != 1) ptx_note_unknown(w, "an intrinsic of vectors");
  result = ptx_new(w, type.class);
  ptx_line(w, row->opcode, real, &result, n, operands);
  ptx_define(w, at, 1, &result);
}

/* tid.x and the like have the same names. */
static bool write_special_register(ptx_writer *w, LLVMValueRef at, const char *name) {
  static const char before[] = "llvm.nvvm.read.ptx.sreg.";
  if (strncmp(name, before, sizeof before - 1) != 0) return false;
  const char *rest = name + sizeof before - 1;
  static const char *const same[] = {"tid.", "ntid.", "ctaid.", "nctaid.", "laneid"};
  for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
    if (strncmp(rest, same[i], strlen(same[i])) != 0) continue;
    ptx_part result = ptx_new(w, PTX_B32);
    llrt_text_add(&w->body, "\tmov.u32 \t%%r%u, %%%s;\n", result.reg, rest);
    ptx_define(w, at, 1, &result);
    return true;
  }
  return false;
}

static bool is_no_instruction(const char *name) {
  return strcmp(name, "llvm.assume") == 0 || strncmp(name, "llvm.lifetime.", 14) == 0 ||
         strncmp(name, "llvm.experimental.noalias.scope.decl", 36) == 0;
}

/* ---- inline assembly */

typedef struct assembly {
  ptx_part operand[2 * PTX_PARTS_MAX]; /* results first */
  int n, n_results, n_inputs;
} assembly;

static bool class_of(char letter, ptx_class *class) {
  if (letter == 'h' || letter == 'c') *class = PTX_B16;
  else if (letter == 'r' || letter == 'f') *class = PTX_B32;
  else if (letter == 'l' || letter == 'd') *class = PTX_B64;
  else return false;
  return true;
}

/* An input that is a result's register, too, has it first; with nothing to execute it is the
 * result. */
static bool tie(ptx_writer *w, assembly *a, int result, ptx_part input, bool empty) {
  static const char *const move[PTX_CLASSES] = {"", "mov.b16", "mov.b32", "mov.b64"};
  if (result >= a->n_results || a->operand[result].class != input.class) return false;
  if (empty) a->operand[result] = input;
  else ptx_line(w, move[input.class], false, &a->operand[result], 1, &input);
  a->operand[a->n++] = a->operand[result];
  return true;
}

static bool take_input(ptx_writer *w, assembly *a, LLVMValueRef at, const char *constraint,
                       bool empty) {
  ptx_part parts[PTX_PARTS_MAX];
  ptx_class class;
  if (ptx_value(w, LLVMGetOperand(at, (unsigned)a->n_inputs++), parts) != 1) return false;
  if (constraint[0] == 'n' || constraint[0] == 'i') {
    a->operand[a->n++] = parts[0];
    return parts[0].kind == PTX_NUMBER;
  }
  ptx_part input = ptx_in_register(w, parts[0]);
  if (constraint[0] >= '0' && constraint[0] <= '9')
    return tie(w, a, atoi(constraint), input, empty);
  a->operand[a->n++] = input;
  return class_of(constraint[0], &class) && class == input.class;
}

static bool take_constraint(ptx_writer *w, assembly *a, LLVMValueRef at, const char *constraint,
                            bool empty) {
  ptx_class class;
  if (a->n == 2 * PTX_PARTS_MAX) return false;
  if (constraint[0] == '~') return true;
  if (constraint[0] != '=') return take_input(w, a, at, constraint, empty);
  constraint += constraint[1] == '&' ? 2 : 1;
  if (!class_of(constraint[0], &class) || a->n_results == PTX_PARTS_MAX) return false;
  a->operand[a->n++] = ptx_new(w, class);
  a->n_results++;
  return true;
}

static bool take_constraints(ptx_writer *w, assembly *a, LLVMValueRef at, const char *constraints,
                             size_t length, bool empty) {
  for (size_t i = 0; i < length; i++) {
    if (!take_constraint(w, a, at, constraints + i, empty)) return false;
    while (i < length && constraints[i] != ',') i++;
  }
  return true;
}

/* The template, of whose $0, $1, ... operands come. */
static bool write_template(ptx_writer *w, const assembly *a, const char *text, size_t length) {
  llrt_text_add_bytes(&w->body, "\t", 1);
  for (size_t i = 0; i < length; i++) {
    if (text[i] != '$') {
      llrt_text_add_bytes(&w->body, &text[i], 1);
      continue;
    }
    if (++i < length && text[i] == '$') {
      llrt_text_add_bytes(&w->body, "$", 1);
      continue;
    }
    int number = 0;
    if (i >= length || text[i] < '0' || text[i] > '9') return false;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
      number = 10 * number + text[i] - '0';
    i--;
    if (number >= a->n) return false;
    ptx_add_part(w, a->operand[number], false);
  }
  llrt_text_add_bytes(&w->body, "\n", 1);
  return true;
}

static void write_assembly(ptx_writer *w, LLVMValueRef at, LLVMValueRef called) {
  size_t length, constraints_length;
  const char *text = LLVMGetInlineAsmAsmString(called, &length);
  const char *constraints = LLVMGetInlineAsmConstraintString(called, &constraints_length);
  assembly a = {.n = 0};
  bool known = take_constraints(w, &a, at, constraints, constraints_length, length == 0);
  known = known && a.n_inputs == (int)LLVMGetNumArgOperands(at);
  if (known && length) known = write_template(w, &a, text, length);
  if (!known) ptx_note_unknown(w, "an inline assembly");
  else if (a.n_results) ptx_define(w, at, a.n_results, a.operand);
}

void ptx_write_call(ptx_writer *w, LLVMValueRef at) {
  size_t length;
  LLVMValueRef called = LLVMGetCalledValue(at);
  if (LLVMIsAInlineAsm(called)) {
    write_assembly(w, at, called);
    return;
  }
  const char *name = LLVMGetValueName2(called, &length);
  const intrinsic *row = find_intrinsic(name);
  if (row) write_intrinsic(w, at, row);
  else if (!is_no_instruction(name) && !write_special_register(w, at, name))
    ptx_note_unknown(w, "a call");
}
