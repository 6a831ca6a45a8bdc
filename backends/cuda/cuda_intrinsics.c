/* Target operations of NVPTX. */
#include "jit/emit/builder.h"
#include "jit/emit/emit.h"

#include "base/bits.h"

#include <stdio.h>
#include <string.h>

#define NVPTX_KERNEL_CONVENTION 71 /* llvm::CallingConv::PTX_Kernel */

/* !nvvm.annotations entry {function, key, value}. */
static void annotate(emitter *e, const char *key, int value) {
  LLVMMetadataRef fields[] = {LLVMValueAsMetadata(e->function),
                              LLVMMDStringInContext2(e->context, key, strlen(key)),
                              LLVMValueAsMetadata(emit_i32(e, value))};
  LLVMMetadataRef node = LLVMMDNodeInContext2(e->context, fields, 3);
  LLVMAddNamedMetadataOperand(e->module, "nvvm.annotations",
                              LLVMMetadataAsValue(e->context, node));
}

/* Threads for which a multiprocessor should have registers, 64 each, where a thread moves at most so many words. Told
 * nothing, ptxas takes so few that loads wait for each other, or so many that too few threads are there
 * (docs/measurements.md). Of blocks of 512 threads three fit as it is. */
#define RESIDENT_THREADS 1024
#define RESIDENT_WORDS 32
#define RESIDENT_MAX_BLOCK 256

static bool only_moves(const plan_kernel *kernel) {
  bool moves = kernel->cost.registers <= RESIDENT_WORDS && kernel->n_maps == 0 && !kernel->lookback.used;
  for (int i = 0; i < kernel->n_steps; i++)
    moves &= kernel->step[i].kind <= PLAN_LOOP || kernel->step[i].kind == PLAN_STAGE;
  return moves;
}

/* Blocks that a multiprocessor should have room for: of conversions, and tiles that wait for other blocks. */
static void annotate_blocks(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  int blocks = kernel->lookback.used ? 3 : kernel->resident;
  if (only_moves(kernel) && kernel->launch.threads <= RESIDENT_MAX_BLOCK)
    blocks = RESIDENT_THREADS / kernel->launch.threads;
  for (int i = 0; i < kernel->n_steps && blocks == 0; i++)
    if (kernel->step[i].overhang) blocks = 2;
  if (blocks > 0) annotate(e, "minctasm", blocks);
}

static LLVMValueRef assemble_together(emitter *e, const char *text, const char *constraints,
                                      LLVMTypeRef result, LLVMValueRef *args, unsigned n_args);

/* Launches overlap (backend_launch.early): here a kernel waits until all before it on the stream is done and its
 * stores seen. A stage with others behind it then lets their blocks start when all of its own have; a last one does
 * not, because what is launched behind it may read early what it writes, and because it gains nothing. Addresses that
 * loads without a place in the order of memory accesses use (load_if) come from behind the wait. */
static void meet_launches(emitter *e) {
  const plan_launch *launch = &e->kernel->launch;
  LLVMTypeRef nothing = LLVMVoidTypeInContext(e->context);
  if (!e->kernel->target.early_launches) return;
  assemble_together(e, "griddepcontrol.wait;", "~{memory}", nothing, NULL, 0);
  bool pinned = launch->stage > 0 || e->kernel->n_indices > 0;
  for (int i = 0; pinned && i < launch->n_args; i++) e->args[i] = e->ops->opaque(e, e->args[i]);
  if (launch->later > 0)
    assemble_together(e, "griddepcontrol.launch_dependents;", "~{memory}", nothing, NULL, 0);
}

static void nvptx_begin(emitter *e) {
  emit_gpu_begin(e, NVPTX_KERNEL_CONVENTION, "llvm.nvvm.read.ptx.sreg.tid.x",
                 "llvm.nvvm.read.ptx.sreg.ctaid.x");
  annotate(e, "kernel", 1);
  annotate(e, "maxntidx", e->kernel->launch.threads);
  annotate_blocks(e);
  meet_launches(e);
}

/* The dynamic array, whose size the launch gives: only that may pass 48 KiB. */
static LLVMValueRef nvptx_shared(emitter *e, int bytes) {
  (void)bytes;
  LLVMValueRef array = emit_gpu_shared(e, 0);
  LLVMSetInitializer(array, NULL);
  LLVMSetLinkage(array, LLVMExternalLinkage);
  if (e->proxies) LLVMSetAlignment(array, DOT_SHARED_ALIGNMENT);
  return array;
}

/* Lanes that masks parted come together: ldmatrix, stmatrix and mma want all of a warp at once, which ptxas does not
 * see to behind masked loads of a loop ("accessed with a partial warp", compute-sanitizer on an H200). */
static void nvptx_meet_warp(emitter *e) {
  LLVMValueRef all = emit_i32(e, -1);
  emit_intrinsic(e, "llvm.nvvm.bar.warp.sync", NULL, 0, &all, 1);
}

/* Whether lanes may come apart on the way to a barrier: by masks in a walk, or where each looks for its element. */
static bool parts_lanes(const plan_kernel *kernel) {
  bool parts = kernel->walk.n_places > 0;
  for (int i = 0; i < kernel->n_steps; i++) parts |= kernel->step[i].kind == PLAN_GATHER;
  return parts;
}

/* Of the cluster: arrive releases, wait acquires, by default. */
static void nvptx_barrier(emitter *e, bool own) {
  if (parts_lanes(e->kernel)) nvptx_meet_warp(e);
  if (e->proxies) e->ops->proxy_fence(e);
  if (e->roles) {
    char text[48];
    snprintf(text, sizeof text, "barrier.sync 1, %d;", 1 << (e->kernel->lane_bits + e->kernel->warp_bits));
    assemble_together(e, text, "~{memory}", LLVMVoidTypeInContext(e->context), NULL, 0);
    return;
  }
  if (own || e->kernel->cluster_bits == 0) {
    emit_intrinsic(e, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
    return;
  }
  assemble_together(e, "barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;", "~{memory}",
                    LLVMVoidTypeInContext(e->context), NULL, 0);
}

static LLVMValueRef nvptx_opaque(emitter *e, LLVMValueRef value) {
  return emit_gpu_opaque(e, value, "=r,0", "=l,0");
}

static LLVMValueRef nvptx_shuffle(emitter *e, LLVMValueRef word, LLVMValueRef lane) {
  LLVMValueRef args[] = {emit_i32(e, -1), word, lane, emit_i32(e, 31)};
  return emit_intrinsic(e, "llvm.nvvm.shfl.sync.idx.i32", NULL, 0, args, 4);
}

/* prmt.b32: selector nibbles, bytes 0-3 of the first operand, 4-7 of the second. */
static uint32_t nvptx_selector(const int number[4]) {
  uint32_t nibbles = 0;
  for (int i = 0; i < 4; i++) nibbles |= (uint32_t)number[i] << (4 * i);
  return nibbles;
}

static LLVMValueRef nvptx_permute(emitter *e, LLVMValueRef low, LLVMValueRef high,
                                  LLVMValueRef selector) {
  LLVMValueRef args[] = {low, high, selector};
  return emit_intrinsic(e, "llvm.nvvm.prmt", NULL, 0, args, 3);
}

/* ---- matrices ---- */

/* Calls inline assembly that all lanes run together and that touches shared memory: LLVM 19 has no intrinsic
 * of stmatrix, and takes those of ldmatrix for loads that it may move into a branch. */
static LLVMValueRef assemble_together(emitter *e, const char *text, const char *constraints,
                                      LLVMTypeRef result, LLVMValueRef *args, unsigned n_args) {
  LLVMTypeRef types[5];
  for (unsigned i = 0; i < n_args; i++) types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type = LLVMFunctionType(result, types, n_args, false);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints),
                                       true, false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef call = LLVMBuildCall2(e->builder, type, code, args, n_args, "");
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(e->context, convergent, 0));
  return call;
}

/* The same of each lane by itself. */
static void assemble_in_order(emitter *e, const char *text, const char *constraints, LLVMValueRef *args,
                              unsigned n_args) {
  LLVMTypeRef types[3];
  for (unsigned i = 0; i < n_args; i++) types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, n_args, false);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), true, false,
                                       LLVMInlineAsmDialectATT, false);
  LLVMBuildCall2(e->builder, type, code, args, n_args, "");
}

static LLVMValueRef shared_address(emitter *e, LLVMValueRef pointer) {
  return LLVMBuildPtrToInt(e->builder, pointer, e->i32, "");
}

static void nvptx_matrix_load(emitter *e, LLVMValueRef row, int count, bool transposed,
                              LLVMValueRef *words) {
  static const char *const lists[] = {"{$0}, [$1]", "{$0, $1}, [$2]", "{$0, $1, $2, $3}, [$4]"};
  static const char *const constraints[] = {"=r,r,~{memory}", "=r,=r,r,~{memory}",
                                            "=r,=r,=r,=r,r,~{memory}"};
  LLVMTypeRef types[] = {e->i32, e->i32, e->i32, e->i32}, result = e->i32;
  char text[96];
  int n = 1 << count;
  if (n > 1) result = LLVMStructTypeInContext(e->context, types, (unsigned)n, false);
  LLVMValueRef address = shared_address(e, row);
  snprintf(text, sizeof text, "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s;", n,
           transposed ? ".trans" : "", lists[count]);
  LLVMValueRef loaded = assemble_together(e, text, constraints[count], result, &address, 1);
  for (int i = 0; i < n; i++)
    words[i] = n > 1 ? LLVMBuildExtractValue(e->builder, loaded, (unsigned)i, "") : loaded;
}

static void nvptx_matrix_store(emitter *e, LLVMValueRef row, int count, bool transposed,
                               LLVMValueRef *words) {
  static const char *const lists[] = {"[$0], {$1}", "[$0], {$1, $2}", "[$0], {$1, $2, $3, $4}"};
  static const char *const constraints[] = {"r,r,~{memory}", "r,r,r,~{memory}", "r,r,r,r,r,~{memory}"};
  LLVMValueRef args[5] = {shared_address(e, row)};
  char text[96];
  int n = 1 << count;
  memcpy(&args[1], words, (size_t)n * sizeof *words);
  snprintf(text, sizeof text, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s;", n,
           transposed ? ".trans" : "", lists[count]);
  assemble_together(e, text, constraints[count], LLVMVoidTypeInContext(e->context), args,
                    (unsigned)n + 1);
}

static bool nvptx_has_half(const emitter *e) {
  (void)e;
  return true;
}

#define ASSEMBLE_MAX_ARGS 6

/* Inline assembly without side effects: LLVM 19 knows no intrinsic for most packed conversions. */
static LLVMValueRef assemble(emitter *e, const char *text, const char *constraints,
                             LLVMTypeRef result, LLVMValueRef *args, unsigned n_args) {
  LLVMTypeRef types[ASSEMBLE_MAX_ARGS];
  for (unsigned i = 0; i < n_args; i++) types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type = LLVMFunctionType(result, types, n_args, false);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints),
                                       false, false, LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(e->builder, type, code, args, n_args, "");
}

/* One predicated load. Each result's register holds `otherwise` before it. */
static LLVMValueRef nvptx_load_if(emitter *e, LLVMTypeRef type, LLVMValueRef pointer,
                                  LLVMValueRef condition, LLVMValueRef otherwise) {
  bool many = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMTypeRef unit = many ? LLVMGetElementType(type) : type;
  int n = many ? (int)LLVMGetVectorSize(type) : 1, bits = (int)LLVMGetIntTypeWidth(unit);
  if (n > 4 || n * bits > 128 || bits < 16) return NULL;
  static const char *const lists[] = {"$0", "{$0, $1}", "", "{$0, $1, $2, $3}"};
  char letter = bits == 16 ? 'h' : bits == 32 ? 'r' : 'l', text[96], constraints[64], vector[8] = "";
  int at = 0;
  for (int i = 0; i < n; i++) at += sprintf(constraints + at, "=%c,", letter);
  at += sprintf(constraints + at, "l,b");
  for (int i = 0; i < n; i++) at += sprintf(constraints + at, ",%d", i);
  if (n > 1) sprintf(vector, ".v%d", n);
  snprintf(text, sizeof text, "@$%d ld.global%s.b%d %s, [$%d];", n + 1, vector, bits, lists[n - 1], n);
  LLVMTypeRef types[4] = {unit, unit, unit, unit}, result = unit;
  if (many) result = LLVMStructTypeInContext(e->context, types, (unsigned)n, false);
  LLVMValueRef args[ASSEMBLE_MAX_ARGS] = {LLVMBuildPtrToInt(e->builder, pointer, e->i64, ""), condition};
  for (int i = 0; i < n; i++)
    args[2 + i] = many ? LLVMBuildExtractElement(e->builder, otherwise, emit_i32(e, i), "") : otherwise;
  LLVMValueRef loaded = assemble(e, text, constraints, result, args, (unsigned)n + 2);
  if (!many) return loaded;
  LLVMValueRef out = LLVMGetUndef(type);
  for (int i = 0; i < n; i++)
    out = LLVMBuildInsertElement(e->builder, out, LLVMBuildExtractValue(e->builder, loaded, (unsigned)i, ""),
                                 emit_i32(e, i), "");
  return out;
}

/* ---- between blocks ---- */

/* Calls inline assembly that touches memory. LLVM 19 selects relaxed accesses of the system's scope alone. */
static LLVMValueRef assemble_access(emitter *e, const char *text, const char *constraints,
                                    LLVMTypeRef result, LLVMValueRef *args, unsigned n_args) {
  LLVMTypeRef types[3];
  for (unsigned i = 0; i < n_args; i++) types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type = LLVMFunctionType(result, types, n_args, false);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints),
                                       true, false, LLVMInlineAsmDialectATT, false);
  return LLVMBuildCall2(e->builder, type, code, args, n_args, "");
}

static LLVMValueRef nvptx_ticket(emitter *e, LLVMValueRef pointer) {
  return assemble_access(e, "atom.relaxed.gpu.global.add.u32 $0, [$1], 1;", "=r,l,~{memory}", e->i32,
                         &pointer, 1);
}

static LLVMValueRef nvptx_peek(emitter *e, LLVMValueRef pointer, LLVMValueRef condition,
                               LLVMValueRef otherwise) {
  LLVMValueRef args[] = {pointer, condition, otherwise};
  return assemble_access(e, "@$2 ld.relaxed.gpu.global.u64 $0, [$1];", "=l,l,b,0,~{memory}", e->i64, args, 3);
}

/* Lanes that leave a loop one by one need not meet again before the next shuffle. */
static LLVMValueRef nvptx_all_lanes(emitter *e, LLVMValueRef condition) {
  LLVMValueRef args[] = {emit_i32(e, -1), condition};
  return emit_intrinsic(e, "llvm.nvvm.vote.all.sync", NULL, 0, args, 2);
}

static void nvptx_poke(emitter *e, LLVMValueRef pointer, LLVMValueRef cell) {
  LLVMValueRef args[] = {pointer, cell};
  assemble_access(e, "st.relaxed.gpu.global.u64 [$0], $1;", "l,l,~{memory}",
                  LLVMVoidTypeInContext(e->context), args, 2);
}

/* 8-bit floats are converted by instructions from sm_89 on. */
static bool has_fp8(const emitter *e) { return strcmp(e->kernel->target.name, "sm_80") != 0; }

/* cvt.rn.f16x2.e4m3x2 and so on: exact. */
static bool nvptx_decode_pair(emitter *e, llrt_dtype from, const LLVMValueRef code[2],
                              LLVMValueRef x[2]) {
  LLVMTypeRef half = LLVMHalfTypeInContext(e->context), i16 = emit_int_type(e, 16);
  bool e4m3 = from == LLRT_E4M3;
  if (!(e4m3 || from == LLRT_E5M2) || !has_fp8(e)) return false;
  LLVMValueRef packed = LLVMBuildShl(e->builder, code[1], emit_i32(e, 8), "");
  packed = LLVMBuildTrunc(e->builder, LLVMBuildOr(e->builder, packed, code[0], ""), i16, "");
  packed = assemble(e, e4m3 ? "cvt.rn.f16x2.e4m3x2 $0, $1;" : "cvt.rn.f16x2.e5m2x2 $0, $1;", "=r,h",
                    e->i32, &packed, 1);
  packed = LLVMBuildBitCast(e->builder, packed, LLVMVectorType(half, 2), "");
  for (int i = 0; i < 2; i++) {
    x[i] = LLVMBuildExtractElement(e->builder, packed, emit_i32(e, i), "");
    x[i] = LLVMBuildFPExt(e->builder, x[i], LLVMFloatTypeInContext(e->context), "");
  }
  return true;
}

/* cvt.rn.bf16x2.f32 and so on: the first operand goes to the upper half. */
static bool nvptx_encode_pair(emitter *e, llrt_dtype to, const LLVMValueRef x[2],
                              LLVMValueRef code[2]) {
  static const struct {
    llrt_dtype to;
    const char *text;
  } rows[] = {{LLRT_F16, "cvt.rn.f16x2.f32 $0, $1, $2;"},
              {LLRT_BF16, "cvt.rn.bf16x2.f32 $0, $1, $2;"},
              {LLRT_E4M3, "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;"},
              {LLRT_E5M2, "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;"}};
  const char *text = NULL;
  int bits = llrt_dtype_bits(to);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].to == to && (bits == 16 || has_fp8(e))) text = rows[i].text;
  if (!text) return false;
  LLVMValueRef args[] = {x[1], x[0]};
  LLVMTypeRef type = bits == 16 ? e->i32 : emit_int_type(e, 16);
  LLVMValueRef packed = assemble(e, text, bits == 16 ? "=r,f,f" : "=h,f,f", type, args, 2);
  packed = LLVMBuildZExt(e->builder, packed, e->i32, "");
  code[0] = LLVMBuildAnd(e->builder, packed, emit_i32(e, (1 << bits) - 1), "");
  code[1] = LLVMBuildLShr(e->builder, packed, emit_i32(e, bits), "");
  return true;
}

/* ---- matrix products ---- */

/* "{$n, ...}" of a list of `count` operands, the first number n; their constraints, each behind a comma. */
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

/* mma.sync: pure, but of all lanes together. */
static void nvptx_product(emitter *e, const dot_instruction *row, const LLVMValueRef *a, const LLVMValueRef *b,
                          LLVMValueRef *acc) {
  LLVMValueRef args[16];
  LLVMTypeRef types[16], results[8];
  char text[160], constraints[96], letter[3];
  int n[3] = {product_words(row, DOT_A, (llrt_dtype)row->a), product_words(row, DOT_B, (llrt_dtype)row->b),
              product_words(row, DOT_ACC, (llrt_dtype)row->acc)};
  if (row->ptx_84) LLVMGetOrInsertNamedMetadata(e->module, EMIT_PTX_84, strlen(EMIT_PTX_84));
  int at = 0, n_args = product_operand(e, (llrt_dtype)row->a, false, a, n[0], args, &letter[0]);
  n_args += product_operand(e, (llrt_dtype)row->b, false, b, n[1], args + n_args, &letter[1]);
  n_args += product_operand(e, (llrt_dtype)row->acc, true, acc, n[2], args + n_args, &letter[2]);
  for (int i = 0; i < n_args; i++) types[i] = LLVMTypeOf(args[i]);
  for (int i = 0; i < n[2]; i++) results[i] = types[n[0] + n[1] + i];
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
  LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)n_args, false);
  LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), false, false,
                                       LLVMInlineAsmDialectATT, false);
  LLVMValueRef call = LLVMBuildCall2(e->builder, type, code, args, (unsigned)n_args, "");
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->context, convergent, 0));
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
  LLVMValueRef args[128 + 4 * EMIT_MAX_PRODUCTS + 2 * EMIT_MAX_PRODUCTS];
} assembly;

static void append_text(assembly *a, const char *text) { a->at += sprintf(a->text + a->at, "%s", text); }

static void append_constraint(assembly *a, const char *text) {
  a->n_constraints += sprintf(a->constraints + a->n_constraints, "%s%s", a->n_constraints ? "," : "", text);
}

/* The next operand, as text. */
static void append_argument(assembly *a, LLVMValueRef value, const char *constraint) {
  a->at += sprintf(a->text + a->at, "$%d", a->first_arg + a->n_args);
  a->args[a->n_args++] = value;
  append_constraint(a, constraint);
}

/* One wgmma.mma_async; predicate p holds. */
static void append_product(assembly *a, const emit_group_product *p, int i, const int *number) {
  bool whole = p->row->acc == LLRT_I32, half = llrt_dtype_bits((llrt_dtype)p->row->a) == 16;
  a->at += sprintf(a->text + a->at, "\n\t%s {", p->row->code);
  for (int w = 0; w < p->n_acc; w++) a->at += sprintf(a->text + a->at, "%s$%d", w ? ", " : "", number[p->to[i] + w]);
  append_text(a, p->n_a ? "}, {" : "}, ");
  for (int w = 0; w < p->n_a; w++) {
    append_text(a, w ? ", " : "");
    append_argument(a, p->a[i][w], "r");
  }
  if (!p->n_a) append_argument(a, p->descriptor[0][i], "l");
  append_text(a, p->n_a ? "}, " : ", ");
  append_argument(a, p->descriptor[1][i], "l");
  append_text(a, whole ? ", p" : ", p, 1, 1");
  if (half && !p->n_a) append_text(a, p->matrix[0].transposed ? ", 1" : ", 0");
  if (half) append_text(a, p->matrix[1].transposed ? ", 1" : ", 0");
  append_text(a, ";");
}

/* Words of acc that the instructions add to become operands of the assembly, each also its result; their numbers. They
 * stay integers: a move to another kind of register behind the products would be a use of what is under way. */
static int tie_sums(assembly *a, const emit_group_product *p, int *number, int *word) {
  bool used[EMIT_MAX_REGISTERS] = {false};
  int n = 0;
  for (int i = 0; i < p->n; i++)
    for (int w = 0; w < p->n_acc; w++) used[p->to[i] + w] = true;
  for (int w = 0; w < EMIT_MAX_REGISTERS; w++) {
    if (!used[w]) continue;
    a->args[n] = p->acc[w];
    append_constraint(a, "=r");
    word[n] = w;
    number[w] = n++;
  }
  char tie[16];
  for (int i = 0; i < n; i++) {
    sprintf(tie, "%d", i);
    append_constraint(a, tie);
  }
  a->n_args = a->first_arg = n;
  return n;
}

/* Assembly whose first n operands are its results; results replace those words. */
static void assemble_sums(emitter *e, assembly *a, int n, LLVMValueRef *acc, const int *word) {
  LLVMTypeRef types[sizeof a->args / sizeof *a->args];
  for (int i = 0; i < a->n_args; i++) types[i] = LLVMTypeOf(a->args[i]);
  append_constraint(a, "~{memory}");
  LLVMTypeRef result = LLVMStructTypeInContext(e->context, types, (unsigned)n, false);
  LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)a->n_args, false);
  LLVMValueRef code = LLVMGetInlineAsm(type, a->text, (size_t)a->at, a->constraints, (size_t)a->n_constraints, true,
                                       false, LLVMInlineAsmDialectATT, false);
  LLVMValueRef call = LLVMBuildCall2(e->builder, type, code, a->args, (unsigned)a->n_args, "");
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(e->context, convergent, 0));
  for (int i = 0; i < n; i++) {
    acc[word[i]] = LLVMBuildExtractValue(e->builder, call, (unsigned)i, "");
  }
}

/* All in one piece, so that nothing comes between which would make ptxas wait for each. */
static void nvptx_group_product(emitter *e, const emit_group_product *p) {
  assembly text, *a = &text;
  int number[EMIT_MAX_REGISTERS], word[EMIT_MAX_REGISTERS];
  a->at = a->n_constraints = 0;
  int n = tie_sums(a, p, number, word);
  append_text(a, "{\n\t.reg .pred p;\n\tsetp.eq.u32 p, 0, 0;\n\twgmma.fence.sync.aligned;");
  for (int i = 0; i < p->n; i++) append_product(a, p, i, number);
  append_text(a, p->last ? "\n\twgmma.commit_group.sync.aligned;\n\t}" : "\n\t}");
  assemble_sums(e, a, n, p->acc, word);
}

static void nvptx_await_products(emitter *e, int groups, LLVMValueRef *words, int n) {
  char text[48];
  snprintf(text, sizeof text, "wgmma.wait_group.sync.aligned %d;", groups);
  assemble_together(e, text, "~{memory}", LLVMVoidTypeInContext(e->context), NULL, 0);
  for (int i = 0; i < n; i++) words[i] = e->ops->opaque(e, words[i]);
}

/* ---- roles ---- */

static void nvptx_make_barrier(emitter *e, LLVMValueRef pointer, int arrivals) {
  LLVMValueRef args[] = {shared_address(e, pointer), emit_i32(e, arrivals)};
  assemble_in_order(e, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}", args, 2);
}

static void nvptx_arrive(emitter *e, LLVMValueRef pointer) {
  LLVMValueRef address = shared_address(e, pointer);
  assemble_access(e, "mbarrier.arrive.shared::cta.b64 $0, [$1];", "=l,r,~{memory}", e->i64, &address, 1);
}

static LLVMValueRef nvptx_phase_passed(emitter *e, LLVMValueRef pointer, LLVMValueRef parity) {
  LLVMValueRef args[] = {shared_address(e, pointer), parity};
  LLVMValueRef passed = assemble_access(e, "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2;"
                                           "\n\tselp.u32 $0, 1, 0, p;\n\t}", "=r,r,r,~{memory}", e->i32, args, 2);
  return LLVMBuildICmp(e->builder, LLVMIntNE, passed, emit_i32(e, 0), "");
}

static void nvptx_proxy_fence(emitter *e) {
  assemble_together(e, "fence.proxy.async.shared::cta;", "~{memory}", LLVMVoidTypeInContext(e->context), NULL, 0);
}

static void nvptx_set_registers(emitter *e, int count, bool more) {
  char text[64];
  snprintf(text, sizeof text, "setmaxnreg.%s.sync.aligned.u32 %d;", more ? "inc" : "dec", count);
  assemble_together(e, text, "~{memory}", LLVMVoidTypeInContext(e->context), NULL, 0);
}

/* mul.bf16x2 is sm_90's; a sum with -0 is the product. */
static LLVMValueRef nvptx_multiply_pair(emitter *e, llrt_dtype type, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  bool half = type == LLRT_F16;
  LLVMValueRef args[] = {a, b, c ? c : LLVMConstInt(e->i32, 0x80008000u, false)};
  if (!c && (half || strcmp(e->kernel->target.name, "sm_90a") == 0))
    return assemble(e, half ? "mul.rn.f16x2 $0, $1, $2;" : "mul.rn.bf16x2 $0, $1, $2;", "=r,r,r", e->i32, args, 2);
  return assemble(e, half ? "fma.rn.f16x2 $0, $1, $2, $3;" : "fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", e->i32,
                  args, 3);
}

/* ---- copies ---- */

/* Whole lines of 16 bytes past the first-level cache. */
static void nvptx_copy(emitter *e, LLVMValueRef to, LLVMValueRef from, int bytes, LLVMValueRef present) {
  char text[96];
  LLVMValueRef args[] = {shared_address(e, to), LLVMBuildPtrToInt(e->builder, from, e->i64, ""), NULL};
  if (present) args[2] = LLVMBuildSelect(e->builder, present, emit_i32(e, bytes), emit_i32(e, 0), "");
  snprintf(text, sizeof text, "cp.async.%s.shared.global [$0], [$1], %d%s;", bytes == 16 ? "cg" : "ca", bytes,
           present ? ", $2" : "");
  assemble_in_order(e, text, present ? "r,l,r,~{memory}" : "r,l,~{memory}", args, present ? 3 : 2);
}

/* Of all lanes: a copy of the instruction in each of two branches would make two groups of a warp. */
static void nvptx_end_copies(emitter *e) {
  assemble_together(e, "cp.async.commit_group;", "~{memory}", LLVMVoidTypeInContext(e->context), NULL, 0);
}

static void nvptx_await_copies(emitter *e, int groups) {
  char text[40];
  snprintf(text, sizeof text, "cp.async.wait_group %d;", groups);
  assemble_together(e, text, "~{memory}", LLVMVoidTypeInContext(e->context), NULL, 0);
}

/* ---- clusters ---- */

static LLVMValueRef nvptx_cluster_address(emitter *e, LLVMValueRef pointer, LLVMValueRef rank) {
  LLVMValueRef args[] = {shared_address(e, pointer), rank};
  return assemble(e, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", e->i32, args, 2);
}

/* Numbers of 8 and 16 bits come in 32-bit registers. */
static LLVMValueRef nvptx_cluster_load(emitter *e, LLVMTypeRef type, LLVMValueRef address, int offset) {
  bool many = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  unsigned n = many ? LLVMGetVectorSize(type) : 1;
  unsigned bits = LLVMGetIntTypeWidth(many ? LLVMGetElementType(type) : type);
  LLVMTypeRef unit = bits == 64 ? e->i64 : e->i32, units[] = {unit, unit, unit, unit};
  LLVMTypeRef result = many ? LLVMStructTypeInContext(e->context, units, n, false) : unit;
  char text[80], constraints[40] = "";
  static const char *const lists[] = {"", "$0, [$1", "{$0, $1}, [$2", "", "{$0, $1, $2, $3}, [$4"};
  snprintf(text, sizeof text, "ld.shared::cluster%s.u%u %s+%d];", n == 4 ? ".v4" : n == 2 ? ".v2" : "",
           bits, lists[n], offset);
  for (unsigned i = 0; i < n; i++) strcat(constraints, bits == 64 ? "=l," : "=r,");
  strcat(constraints, "r,~{memory}");
  LLVMValueRef loaded = assemble_together(e, text, constraints, result, &address, 1);
  if (!many) return bits < 32 ? LLVMBuildTrunc(e->builder, loaded, type, "") : loaded;
  LLVMValueRef vector = LLVMGetUndef(type);
  for (unsigned i = 0; i < n; i++)
    vector = LLVMBuildInsertElement(e->builder, vector, LLVMBuildExtractValue(e->builder, loaded, i, ""),
                                    emit_i32(e, i), "");
  return vector;
}

const emit_target_ops emit_ops_nvptx = {
    .begin = nvptx_begin,
    .end = emit_gpu_end,
    .shared = nvptx_shared,
    .global = emit_gpu_global,
    .barrier = nvptx_barrier,
    .opaque = nvptx_opaque,
    .shuffle = nvptx_shuffle,
    .permute = nvptx_permute,
    .selector = nvptx_selector,
    .cluster_address = nvptx_cluster_address,
    .cluster_load = nvptx_cluster_load,
    .ticket = nvptx_ticket,
    .peek = nvptx_peek,
    .poke = nvptx_poke,
    .all_lanes = nvptx_all_lanes,
    .matrix_load = nvptx_matrix_load,
    .matrix_store = nvptx_matrix_store,
    .has_half = nvptx_has_half,
    .load_if = nvptx_load_if,
    .decode_pair = nvptx_decode_pair,
    .encode_pair = nvptx_encode_pair,
    .product = nvptx_product,
    .meet_warp = nvptx_meet_warp,
    .multiply_pair = nvptx_multiply_pair,
    .make_barrier = nvptx_make_barrier,
    .arrive = nvptx_arrive,
    .phase_passed = nvptx_phase_passed,
    .proxy_fence = nvptx_proxy_fence,
    .set_registers = nvptx_set_registers,
    .group_product = nvptx_group_product,
    .await_products = nvptx_await_products,
    .copy = nvptx_copy,
    .end_copies = nvptx_end_copies,
    .await_copies = nvptx_await_copies,
};
