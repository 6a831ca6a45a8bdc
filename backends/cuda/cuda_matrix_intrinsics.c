/* Matrices of NVPTX: ldmatrix and stmatrix, products of warps (mma.sync) and of warpgroups (wgmma).
 */
#include "backends/cuda/cuda_intrinsics.h"
#include "jit/emit/core/module_flags.h"
#include "jit/plan/types/dot_instruction.h"

#include <stdio.h>
#include <string.h>

void nvptx_matrix_load(emitter *e, LLVMValueRef row, int count, bool transposed,
                       LLVMValueRef *words) {
  static const char *const lists[] = {"{$0}, [$1]", "{$0, $1}, [$2]", "{$0, $1, $2, $3}, [$4]"};
  static const char *const constraints[] = {"=r,r,~{memory}", "=r,=r,r,~{memory}",
                                            "=r,=r,=r,=r,r,~{memory}"};
  LLVMTypeRef types[] = {e->i32, e->i32, e->i32, e->i32}, result = e->i32;
  char text[96];
  int n = 1 << count;
  if (n > 1) result = LLVMStructTypeInContext(e->context, types, (unsigned)n, false);
  LLVMValueRef address = nvptx_shared_address(e, row);
  snprintf(text, sizeof text, "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s;", n,
           transposed ? ".trans" : "", lists[count]);
  LLVMValueRef loaded =
      nvptx_assemble(e, NVPTX_TOGETHER, text, constraints[count], result, &address, 1);
  for (int i = 0; i < n; i++)
    words[i] = n > 1 ? LLVMBuildExtractValue(e->builder, loaded, (unsigned)i, "") : loaded;
}

void nvptx_matrix_store(emitter *e, LLVMValueRef row, int count, bool transposed,
                        LLVMValueRef *words) {
  static const char *const lists[] = {"[$0], {$1}", "[$0], {$1, $2}", "[$0], {$1, $2, $3, $4}"};
  static const char *const constraints[] = {"r,r,~{memory}", "r,r,r,~{memory}",
                                            "r,r,r,r,r,~{memory}"};
  LLVMValueRef args[5] = {nvptx_shared_address(e, row)};
  char text[96];
  int n = 1 << count;
  memcpy(&args[1], words, (size_t)n * sizeof *words);
  snprintf(text, sizeof text, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s;", n,
           transposed ? ".trans" : "", lists[count]);
  nvptx_assemble(e, NVPTX_TOGETHER, text, constraints[count], NULL, args, (unsigned)n + 1);
}

/* ---- matrix products ---- */

/* "{$n, ...}" of a list of `count` operands, the first number n; their constraints, each behind a
 * comma. */
static int append_list(char *text, int at, int first, int count) {
  at += sprintf(text + at, "{");
  for (int i = 0; i < count; i++) at += sprintf(text + at, "%s$%d", i ? ", " : "", first + i);
  return at + sprintf(text + at, "}");
}

static char product_letter(llrt_dtype type) {
  return type == LLRT_F64 ? 'd' : type == LLRT_F32 ? 'f' : 'r';
}

/* Words of an operand as its instruction takes them: tf32 as bits, other f32 and f64 as such. */
static int product_operand(emitter *e, llrt_dtype type, bool acc, const LLVMValueRef *words, int n,
                           LLVMValueRef *args, char *letter) {
  *letter = acc || type == LLRT_F64 ? product_letter(type) : 'r';
  for (int i = 0; i < n; i++) {
    LLVMTypeRef to = *letter == 'd'   ? LLVMDoubleTypeInContext(e->context)
                     : *letter == 'f' ? LLVMFloatTypeInContext(e->context)
                                      : e->i32;
    args[i] = LLVMBuildBitCast(e->builder, words[i], to, "");
  }
  return n;
}

/* Words of an operand: 32 bits each, or an element of 64. */
static int product_words(const dot_instruction *row, int operand, llrt_dtype type) {
  dot_operand columns;
  dot_instruction_operand(row, operand, &columns);
  int bits = llrt_dtype_bits(type);
  return bits >= 32 ? 1 << columns.registers : (bits << columns.registers) / 32;
}

static void ask_for_version(const emitter *e, const dot_instruction *row) {
  if (row->ptx_84) LLVMGetOrInsertNamedMetadata(e->module, EMIT_PTX_84, strlen(EMIT_PTX_84));
}

/* mma.sync: pure, but of all lanes together. */
void nvptx_product(emitter *e, const dot_instruction *row, const LLVMValueRef *a,
                   const LLVMValueRef *b, LLVMValueRef *acc) {
  LLVMValueRef args[16];
  LLVMTypeRef results[8];
  char text[160], constraints[96], letter[3];
  int n[3] = {product_words(row, DOT_A, (llrt_dtype)row->a),
              product_words(row, DOT_B, (llrt_dtype)row->b),
              product_words(row, DOT_ACC, (llrt_dtype)row->acc)};
  ask_for_version(e, row);
  int at = 0, n_args = product_operand(e, (llrt_dtype)row->a, false, a, n[0], args, &letter[0]);
  n_args += product_operand(e, (llrt_dtype)row->b, false, b, n[1], args + n_args, &letter[1]);
  n_args += product_operand(e, (llrt_dtype)row->acc, true, acc, n[2], args + n_args, &letter[2]);
  for (int i = 0; i < n[2]; i++) results[i] = LLVMTypeOf(args[n[0] + n[1] + i]);
  for (int i = 0; i < n[2]; i++) at += sprintf(constraints + at, "=%c,", letter[2]);
  for (int o = 0; o < 2; o++)
    for (int i = 0; i < n[o]; i++) at += sprintf(constraints + at, "%c,", letter[o]);
  for (int i = 0; i < n[2]; i++) at += sprintf(constraints + at, "%s%d", i ? "," : "", i);
  at = sprintf(text, "%s ", row->code);
  at = append_list(text, at, 0, n[2]);
  for (int o = 0, first = n[2]; o < 2; first += n[o++]) {
    at += sprintf(text + at, ", ");
    at = append_list(text, at, first, n[o]);
  }
  at += sprintf(text + at, ", ");
  at = append_list(text, at, 0, n[2]);
  sprintf(text + at, ";");
  LLVMTypeRef result = LLVMStructTypeInContext(e->context, results, (unsigned)n[2], false);
  LLVMValueRef call =
      nvptx_assemble(e, NVPTX_CONVERGENT, text, constraints, result, args, (unsigned)n_args);
  for (int i = 0; i < n[2]; i++) {
    LLVMValueRef made = LLVMBuildExtractValue(e->builder, call, (unsigned)i, "");
    acc[i] = LLVMBuildBitCast(e->builder, made, LLVMTypeOf(acc[i]), "");
  }
}

/* ---- products of warpgroups ---- */

/* Text that grows; there is room for what a group of products has. */
typedef struct assembly {
  char text[1 << 16], constraints[1 << 12];
  int at, n_constraints, n_args, first_arg; /* first_arg: its number in the text */
  LLVMValueRef args[NVPTX_MAX_ARGS];
} assembly;

static void append_text(assembly *a, const char *text) {
  a->at += sprintf(a->text + a->at, "%s", text);
}

static void append_constraint(assembly *a, const char *text) {
  a->n_constraints +=
      sprintf(a->constraints + a->n_constraints, "%s%s", a->n_constraints ? "," : "", text);
}

/* The next operand, as text. */
static void append_argument(assembly *a, LLVMValueRef value, const char *constraint) {
  a->at += sprintf(a->text + a->at, "$%d", a->first_arg + a->n_args);
  a->args[a->n_args++] = value;
  append_constraint(a, constraint);
}

/* One wgmma.mma_async; predicate p holds, q does not. */
static void append_product(assembly *a, const emit_group_product *p, int i, const int *number) {
  bool whole = p->row->acc == LLRT_I32, half = llrt_dtype_bits((llrt_dtype)p->row->a) == 16;
  const char *columns = strstr(p->row->code, "m64n") + 4, *rest = columns + strcspn(columns, "k");
  a->at += sprintf(a->text + a->at, "\n\t%.*s%d%s {", (int)(columns - p->row->code), p->row->code,
                   p->columns, rest);
  for (int w = 0; w < p->n_acc; w++)
    a->at += sprintf(a->text + a->at, "%s$%d", w ? ", " : "", number[p->to[i] + w]);
  append_text(a, p->n_a ? "}, {" : "}, ");
  for (int w = 0; w < p->n_a; w++) {
    append_text(a, w ? ", " : "");
    append_argument(a, p->a[i][w], "r");
  }
  if (!p->n_a) append_argument(a, p->descriptor[0][i], "l");
  append_text(a, p->n_a ? "}, " : ", ");
  append_argument(a, p->descriptor[1][i], "l");
  append_text(a, p->from_zero && i == 0 ? ", q" : ", p");
  if (!whole) append_text(a, ", 1, 1");
  if (half && !p->n_a) append_text(a, p->matrix[0].transposed ? ", 1" : ", 0");
  if (half) append_text(a, p->matrix[1].transposed ? ", 1" : ", 0");
  append_text(a, ";");
}

/* Words of acc that the instructions add to become operands of the assembly, each also its result
 * (from zero: only that); their numbers. They stay integers: a move to another kind of register
 * behind the products would be a use of what is under way. */
static int tie_sums(assembly *a, const emit_group_product *p, int *number, int *word) {
  bool used[EMIT_MAX_REGISTERS] = {false};
  int n = 0;
  for (int i = 0; i < p->n; i++)
    for (int w = 0; w < p->n_acc; w++) used[p->to[i] + w] = true;
  for (int w = 0; w < EMIT_MAX_REGISTERS; w++) {
    if (!used[w]) continue;
    a->args[n] = p->acc[w];
    append_constraint(a, p->from_zero ? "=&r" : "=r");
    word[n] = w;
    number[w] = n++;
  }
  char tie[16];
  a->first_arg = n;
  a->n_args = p->from_zero ? 0 : n;
  for (int i = 0; i < n && !p->from_zero; i++) {
    sprintf(tie, "%d", i);
    append_constraint(a, tie);
  }
  return n;
}

/* Assembly whose first n operands are its results; results replace those words. */
static void assemble_sums(emitter *e, assembly *a, int n, LLVMValueRef *acc, const int *word) {
  LLVMTypeRef types[EMIT_MAX_REGISTERS];
  for (int i = 0; i < n; i++) types[i] = LLVMTypeOf(acc[word[i]]);
  append_constraint(a, "~{memory}");
  LLVMTypeRef result = LLVMStructTypeInContext(e->context, types, (unsigned)n, false);
  LLVMValueRef call = nvptx_assemble(e, NVPTX_TOGETHER, a->text, a->constraints, result, a->args,
                                     (unsigned)a->n_args);
  for (int i = 0; i < n; i++)
    acc[word[i]] = LLVMBuildExtractValue(e->builder, call, (unsigned)i, "");
}

/* All in one piece, so that nothing comes between which would make ptxas wait for each. */
void nvptx_group_product(emitter *e, const emit_group_product *p) {
  assembly text, *a = &text;
  int number[EMIT_MAX_REGISTERS], word[EMIT_MAX_REGISTERS];
  a->at = a->n_constraints = 0;
  ask_for_version(e, p->row);
  int n = tie_sums(a, p, number, word);
  append_text(a, "{\n\t.reg .pred p, q;\n\tsetp.eq.u32 p, 0, 0;\n\tsetp.ne.u32 q, 0, "
                 "0;\n\twgmma.fence.sync.aligned;");
  for (int i = 0; i < p->n; i++) append_product(a, p, i, number);
  append_text(a, p->last ? "\n\twgmma.commit_group.sync.aligned;\n\t}" : "\n\t}");
  assemble_sums(e, a, n, p->acc, word);
}

void nvptx_await_products(emitter *e, int groups, LLVMValueRef *words, int n) {
  char text[48];
  snprintf(text, sizeof text, "wgmma.wait_group.sync.aligned %d;", groups);
  nvptx_assemble(e, NVPTX_TOGETHER, text, "~{memory}", NULL, NULL, 0);
  for (int i = 0; i < n; i++) words[i] = e->ops->opaque(e, words[i]);
}
