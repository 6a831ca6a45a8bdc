/* Target operations of NVPTX. */
#include "backends/cuda/cuda_intrinsics.h"
#include "backends/intrinsics.h"
#include "jit/emit/core/builder.h"

#include "base/bits.h"
#include "jit/plan/facts/dot_shared.h"
#include "jit/plan/kernel/step_table.h"

#include <stdio.h>
#include <string.h>

/* A tensor map (CUDA driver API, CUtensorMap). */
#define BOX_PARAMETER_BYTES 128
#define BOX_PARAMETER_ALIGNMENT 64

#define NVPTX_KERNEL_CONVENTION 71 /* llvm::CallingConv::PTX_Kernel */
#define NVPTX_OWN 5                /* address space of a thread's own memory, .local */

/* !nvvm.annotations entry {function, key, value}. */
static void annotate(emitter *e, const char *key, int value) {
  LLVMMetadataRef fields[] = {LLVMValueAsMetadata(e->function),
                              LLVMMDStringInContext2(e->context, key, strlen(key)),
                              LLVMValueAsMetadata(emit_i32(e, value))};
  LLVMMetadataRef node = LLVMMDNodeInContext2(e->context, fields, 3);
  LLVMAddNamedMetadataOperand(e->module, "nvvm.annotations", LLVMMetadataAsValue(e->context, node));
}

/* Threads for which a multiprocessor should have registers, 64 each, where a thread moves at most
 * so many words. Told nothing, ptxas takes so few that loads wait for each other, or so many that
 * too few threads are there (docs/history/launch-early.md). Of blocks of 512 threads three fit as
 * it is. */
#define RESIDENT_THREADS 1024
#define RESIDENT_WORDS 32
#define RESIDENT_MAX_BLOCK 256

/* Maps by f64 need more registers than elements have words. */
static bool maps_wide(const plan_map *map) {
  bool casts = map->kind == PLAN_MAP_CAST || map->kind == PLAN_MAP_SCALE;
  return casts && number_is_wide((llrt_dtype)map->from, (llrt_dtype)map->to);
}

static bool only_moves(const plan_kernel *kernel) {
  bool moves = kernel->cost.registers <= RESIDENT_WORDS && !kernel->lookback.used;
  for (int i = 0; i < kernel->n_maps; i++) moves &= !maps_wide(&kernel->map[i]);
  for (int i = 0; i < kernel->n_steps; i++) moves &= plan_step_row_of(kernel->step[i].kind)->moves;
  return moves;
}

/* Blocks that a multiprocessor should have room for: of conversions, and tiles that wait for other
 * blocks. */
static void annotate_blocks(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  int blocks = kernel->lookback.used ? 3 : kernel->resident;
  if (only_moves(kernel) && kernel->launch.threads <= RESIDENT_MAX_BLOCK)
    blocks = RESIDENT_THREADS / kernel->launch.threads;
  for (int i = 0; i < kernel->n_steps && blocks == 0; i++)
    if (kernel->step[i].overhang) blocks = kernel->launch.threads < RESIDENT_THREADS ? 2 : 1;
  if (blocks > 0) annotate(e, "minctasm", blocks);
}

static void wait_for_launches(emitter *e) {
  nvptx_assemble(e, NVPTX_TOGETHER, "griddepcontrol.wait;", "~{memory}", NULL, NULL, 0);
}

/* Launches overlap (backend_launch.early): here a kernel waits until all before it on the stream is
 * done and its stores seen. A stage with others behind it then lets their blocks start when all of
 * its own have; a last one does not, because what is launched behind it may read early what it
 * writes, and because it gains nothing. A stage beside those before it begins when these have
 * waited and started: all before them is done, and the fence forgets what this multiprocessor's L1
 * had of it. It waits for them at its end, so that what is behind it on the stream waits for all of
 * them. Addresses that loads without a place in the order of memory accesses use (load_if) come
 * from behind the wait. */
static void meet_launches(emitter *e) {
  const plan_launch *launch = &e->kernel->launch;
  if (!e->kernel->target.facts.early_launches) return;
  if (launch->beside) e->ops->fence(e);
  else wait_for_launches(e);
  bool pinned = launch->stage > 0 || e->kernel->n_indices > 0;
  for (int i = 0; pinned && i < launch->n_args; i++) e->args[i] = e->ops->opaque(e, e->args[i]);
  if (launch->later > 0)
    nvptx_assemble(e, NVPTX_TOGETHER, "griddepcontrol.launch_dependents;", "~{memory}", NULL, NULL,
                   0);
}

/* Boxes' parameters are memory that stays where the launch has put it: {function, "grid_constant",
 * {their numbers}}. */
static void declare_boxes(emitter *e) {
  const plan_launch *launch = &e->kernel->launch;
  LLVMMetadataRef numbers[PLAN_MAX_TENSOR_MAPS];
  const int maps = plan_map_count(launch->box, launch->n_boxes);
  LLVMTypeRef type = LLVMArrayType2(e->i8, BOX_PARAMETER_BYTES);
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5),
           align = LLVMGetEnumAttributeKindForName("align", 5);
  for (int i = 0; i < maps; i++) {
    unsigned place = (unsigned)(launch->n_args + i + 1);
    LLVMAddAttributeAtIndex(e->function, place, LLVMCreateTypeAttribute(e->context, byval, type));
    LLVMAddAttributeAtIndex(e->function, place,
                            LLVMCreateEnumAttribute(e->context, align, BOX_PARAMETER_ALIGNMENT));
    numbers[i] = LLVMValueAsMetadata(emit_i32(e, place));
  }
  if (maps == 0) return;
  LLVMMetadataRef fields[] = {LLVMValueAsMetadata(e->function),
                              LLVMMDStringInContext2(e->context, "grid_constant", 13),
                              LLVMMDNodeInContext2(e->context, numbers, (size_t)maps)};
  LLVMMetadataRef node = LLVMMDNodeInContext2(e->context, fields, 3);
  LLVMAddNamedMetadataOperand(e->module, "nvvm.annotations", LLVMMetadataAsValue(e->context, node));
}

static void nvptx_end(emitter *e) {
  const plan_kernel *kernel = e->kernel;
  if (kernel->launch.beside && kernel->target.facts.early_launches) wait_for_launches(e);
  emit_gpu_end(e);
}

static void nvptx_begin(emitter *e) {
  emit_gpu_begin(e, NVPTX_KERNEL_CONVENTION, "llvm.nvvm.read.ptx.sreg.tid.x",
                 "llvm.nvvm.read.ptx.sreg.ctaid.x");
  annotate(e, "kernel", 1);
  declare_boxes(e);
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

/* Lanes that masks parted come together: ldmatrix, stmatrix and mma want all of a warp at once,
 * which ptxas does not see to behind masked loads of a loop ("accessed with a partial warp",
 * compute-sanitizer on an H200). */
static void nvptx_meet_warp(emitter *e) {
  LLVMValueRef all = emit_i32(e, -1);
  emit_intrinsic(e, "llvm.nvvm.bar.warp.sync", NULL, 0, &all, 1);
}

/* Whether lanes may come apart on the way to a barrier: by masks in a walk, or where each looks for
 * its element. */
static bool parts_lanes(const plan_kernel *kernel) {
  bool parts = kernel->walk.n_places > 0;
  for (int i = 0; i < kernel->n_steps; i++) parts |= plan_step_row_of(kernel->step[i].kind)->parts;
  return parts;
}

/* Of the cluster: arrive releases, wait acquires, by default. */
static void nvptx_barrier(emitter *e, bool own) {
  emit_bring_together(e);
  if (parts_lanes(e->kernel)) nvptx_meet_warp(e);
  if (e->proxies) e->ops->proxy_fence(e);
  own |= e->kernel->cluster_bits == 0;
  if (e->roles && own) {
    char text[48];
    int threads = 1 << (e->kernel->lane_bits + e->kernel->warp_bits - e->kernel->cluster_bits);
    snprintf(text, sizeof text, "barrier.sync 1, %d;", threads);
    nvptx_assemble(e, NVPTX_TOGETHER, text, "~{memory}", NULL, NULL, 0);
    return;
  }
  if (own) {
    emit_intrinsic(e, "llvm.nvvm.barrier0", NULL, 0, NULL, 0);
    return;
  }
  nvptx_assemble(e, NVPTX_TOGETHER,
                 "barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;", "~{memory}",
                 NULL, NULL, 0);
}

static LLVMValueRef nvptx_opaque(emitter *e, LLVMValueRef value) {
  return emit_gpu_opaque(e, value, "=r,0", "=l,0");
}

static bool is_xor(LLVMValueRef value) {
  return LLVMIsABinaryOperator(value) && LLVMGetInstructionOpcode(value) == LLVMXor;
}

/* Which bits a lane number differs in from the thread's own; NULL: it is not that but for constant
 * bits. Where a warp's lanes stand for others (emit_roles.c), e->lane is a xor. */
static LLVMValueRef bits_apart(const emitter *e, LLVMValueRef lane) {
  if (!is_xor(lane) || is_xor(e->lane)) return NULL;
  LLVMValueRef bits = LLVMGetOperand(lane, 1);
  return LLVMGetOperand(lane, 0) == e->lane && LLVMIsAConstantInt(bits) ? bits : NULL;
}

/* Lanes that differ in constant bits have a form of their own, which wants no register. */
static LLVMValueRef nvptx_shuffle(emitter *e, LLVMValueRef word, LLVMValueRef lane) {
  LLVMValueRef bits = bits_apart(e, lane);
  LLVMValueRef args[] = {emit_i32(e, -1), word, bits ? bits : lane, emit_i32(e, 31)};
  return emit_intrinsic(e, bits ? "llvm.nvvm.shfl.sync.bfly.i32" : "llvm.nvvm.shfl.sync.idx.i32",
                        NULL, 0, args, 4);
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

static bool nvptx_has_half(const emitter *e) {
  (void)e;
  return true;
}

/* One predicated load. Each result's register holds `otherwise` before it. */
static LLVMValueRef nvptx_load_if(emitter *e, LLVMTypeRef type, LLVMValueRef pointer,
                                  LLVMValueRef condition, LLVMValueRef otherwise) {
  bool many = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  LLVMTypeRef unit = many ? LLVMGetElementType(type) : type;
  int n = many ? (int)LLVMGetVectorSize(type) : 1, bits = (int)LLVMGetIntTypeWidth(unit);
  if (n > 4 || n * bits > 128 || bits < 16) return NULL;
  static const char *const lists[] = {"$0", "{$0, $1}", "", "{$0, $1, $2, $3}"};
  char letter = bits == 16   ? 'h'
                : bits == 32 ? 'r'
                             : 'l',
       text[96], constraints[64], vector[8] = "";
  int at = 0;
  for (int i = 0; i < n; i++) at += sprintf(constraints + at, "=%c,", letter);
  at += sprintf(constraints + at, "l,b");
  for (int i = 0; i < n; i++) at += sprintf(constraints + at, ",%d", i);
  if (n > 1) sprintf(vector, ".v%d", n);
  snprintf(text, sizeof text, "@$%d ld.global%s.b%d %s, [$%d];", n + 1, vector, bits, lists[n - 1],
           n);
  LLVMTypeRef types[4] = {unit, unit, unit, unit}, result = unit;
  if (many) result = LLVMStructTypeInContext(e->context, types, (unsigned)n, false);
  LLVMValueRef args[6] = {LLVMBuildPtrToInt(e->builder, pointer, e->i64, ""), condition};
  for (int i = 0; i < n; i++)
    args[2 + i] =
        many ? LLVMBuildExtractElement(e->builder, otherwise, emit_i32(e, i), "") : otherwise;
  LLVMValueRef loaded =
      nvptx_assemble(e, NVPTX_PURE, text, constraints, result, args, (unsigned)n + 2);
  if (!many) return loaded;
  LLVMValueRef out = LLVMGetUndef(type);
  for (int i = 0; i < n; i++)
    out = LLVMBuildInsertElement(e->builder, out,
                                 LLVMBuildExtractValue(e->builder, loaded, (unsigned)i, ""),
                                 emit_i32(e, i), "");
  return out;
}

/* ---- between blocks ---- */

static LLVMValueRef nvptx_ticket(emitter *e, LLVMValueRef pointer) {
  return nvptx_assemble(e, NVPTX_ORDERED, "atom.relaxed.gpu.global.add.u32 $0, [$1], 1;",
                        "=r,l,~{memory}", e->i32, &pointer, 1);
}

static LLVMValueRef nvptx_peek(emitter *e, LLVMValueRef pointer, LLVMValueRef condition,
                               LLVMValueRef otherwise) {
  LLVMValueRef args[] = {pointer, condition, otherwise};
  return nvptx_assemble(e, NVPTX_ORDERED, "@$2 ld.relaxed.gpu.global.u64 $0, [$1];",
                        "=l,l,b,0,~{memory}", e->i64, args, 3);
}

/* Lanes that leave a loop one by one need not meet again before the next shuffle. */
static LLVMValueRef nvptx_all_lanes(emitter *e, LLVMValueRef condition) {
  LLVMValueRef args[] = {emit_i32(e, -1), condition};
  return emit_intrinsic(e, "llvm.nvvm.vote.all.sync", NULL, 0, args, 2);
}

static void nvptx_poke(emitter *e, LLVMValueRef pointer, LLVMValueRef cell) {
  LLVMValueRef args[] = {pointer, cell};
  nvptx_assemble(e, NVPTX_ORDERED, "st.relaxed.gpu.global.u64 [$0], $1;", "l,l,~{memory}", NULL,
                 args, 2);
}

static void nvptx_fence(emitter *e) {
  nvptx_assemble(e, NVPTX_ORDERED, "fence.acq_rel.gpu;", "~{memory}", NULL, NULL, 0);
}

static bool has_fp8(const emitter *e) { return e->kernel->target.fp8_arithmetic; }

/* cvt.rn.f16x2.e4m3x2 and so on: exact. */
static bool nvptx_decode_pair(emitter *e, llrt_dtype from, const LLVMValueRef code[2],
                              LLVMValueRef x[2]) {
  LLVMTypeRef half = LLVMHalfTypeInContext(e->context), i16 = emit_int_type(e, 16);
  bool e4m3 = from == LLRT_E4M3;
  if (!(e4m3 || from == LLRT_E5M2) || !has_fp8(e)) return false;
  LLVMValueRef packed = LLVMBuildShl(e->builder, code[1], emit_i32(e, 8), "");
  packed = LLVMBuildTrunc(e->builder, LLVMBuildOr(e->builder, packed, code[0], ""), i16, "");
  packed = nvptx_assemble(e, NVPTX_PURE,
                          e4m3 ? "cvt.rn.f16x2.e4m3x2 $0, $1;" : "cvt.rn.f16x2.e5m2x2 $0, $1;",
                          "=r,h", e->i32, &packed, 1);
  packed = LLVMBuildBitCast(e->builder, packed, LLVMVectorType(half, 2), "");
  for (int i = 0; i < 2; i++) {
    x[i] = LLVMBuildExtractElement(e->builder, packed, emit_i32(e, i), "");
    x[i] = LLVMBuildFPExt(e->builder, x[i], LLVMFloatTypeInContext(e->context), "");
  }
  return true;
}

/* Two integers of 8 bits: f32 is rounded to 32 bits, NaN to 0, and these are cut off at the ends
 * of the type's. ptxas has one instruction for all of it. */
static LLVMValueRef encode_bytes(emitter *e, bool is_signed, const LLVMValueRef x[2]) {
  LLVMValueRef whole[2];
  for (int i = 0; i < 2; i++) {
    LLVMValueRef from = x[1 - i];
    whole[i] = nvptx_assemble(e, NVPTX_PURE, "cvt.rni.s32.f32 $0, $1;", "=r,f", e->i32, &from, 1);
  }
  const char *text = is_signed ? "cvt.pack.sat.s8.s32.b32 $0, $1, $2, 0;"
                               : "cvt.pack.sat.u8.s32.b32 $0, $1, $2, 0;";
  LLVMValueRef packed = nvptx_assemble(e, NVPTX_PURE, text, "=r,r,r", e->i32, whole, 2);
  return nvptx_assemble(e, NVPTX_PURE, "cvt.u16.u32 $0, $1;", "=h,r", emit_int_type(e, 16), &packed,
                        1);
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
  bool bytes = to == LLRT_I8 || to == LLRT_U8;
  if (!text && !bytes) return false;
  LLVMValueRef args[] = {x[1], x[0]};
  LLVMTypeRef type = bits == 16 ? e->i32 : emit_int_type(e, 16);
  LLVMValueRef packed =
      bytes ? encode_bytes(e, to == LLRT_I8, x)
            : nvptx_assemble(e, NVPTX_PURE, text, bits == 16 ? "=r,f,f" : "=h,f,f", type, args, 2);
  packed = LLVMBuildZExt(e->builder, packed, e->i32, "");
  code[0] = LLVMBuildAnd(e->builder, packed, emit_i32(e, (1 << bits) - 1), "");
  code[1] = LLVMBuildLShr(e->builder, packed, emit_i32(e, bits), "");
  return true;
}

/* Where there is no mul.bf16x2: a sum with -0 is the product. */
static LLVMValueRef nvptx_multiply_pair(emitter *e, llrt_dtype type, LLVMValueRef a, LLVMValueRef b,
                                        LLVMValueRef c) {
  bool half = type == LLRT_F16;
  LLVMValueRef args[] = {a, b, c ? c : LLVMConstInt(e->i32, 0x80008000u, false)};
  const char *sum = half ? "fma.rn.f16x2 $0, $1, $2, $3;" : "fma.rn.bf16x2 $0, $1, $2, $3;";
  const char *product = half ? "mul.rn.f16x2 $0, $1, $2;" : "mul.rn.bf16x2 $0, $1, $2;";
  bool single = !c && (half || e->kernel->target.bf16_arithmetic);
  return nvptx_assemble(e, NVPTX_PURE, single ? product : sum, single ? "=r,r,r" : "=r,r,r,r",
                        e->i32, args, single ? 2 : 3);
}

static LLVMValueRef nvptx_extreme_pair(emitter *e, llrt_dtype type, bool least, LLVMValueRef a,
                                       LLVMValueRef b) {
  LLVMValueRef args[] = {a, b};
  char text[40];
  snprintf(text, sizeof text, "%s.NaN.%s $0, $1, $2;", least ? "min" : "max",
           type == LLRT_F16 ? "f16x2" : "bf16x2");
  return nvptx_assemble(e, NVPTX_PURE, text, "=r,r,r", e->i32, args, 2);
}

/* Without .NaN the other of a number and a NaN is taken. */
static LLVMValueRef nvptx_limit_pair(emitter *e, llrt_dtype type, LLVMValueRef x,
                                     LLVMValueRef limit) {
  LLVMValueRef below[] = {x, limit};
  LLVMValueRef minus = LLVMBuildXor(e->builder, limit, emit_i32(e, (int)0x80008000), "");
  bool half = type == LLRT_F16;
  x = nvptx_assemble(e, NVPTX_PURE, half ? "min.f16x2 $0, $1, $2;" : "min.bf16x2 $0, $1, $2;",
                     "=r,r,r", e->i32, below, 2);
  LLVMValueRef above[] = {x, minus};
  return nvptx_assemble(e, NVPTX_PURE, half ? "max.f16x2 $0, $1, $2;" : "max.bf16x2 $0, $1, $2;",
                        "=r,r,r", e->i32, above, 2);
}

/* Made by the units of sums, not by those of a mask. */
static LLVMValueRef nvptx_size_pair(emitter *e, llrt_dtype type, LLVMValueRef x) {
  return nvptx_assemble(e, NVPTX_PURE,
                        type == LLRT_F16 ? "abs.f16x2 $0, $1;" : "abs.bf16x2 $0, $1;", "=r,r",
                        e->i32, &x, 1);
}

/* A product with 1 that only some lanes make: selects and moves become SEL, of the integer units,
 * whatever they are written as. That no address has its uppermost bit set, ptxas does not know. */
static LLVMValueRef nvptx_select_by_product(emitter *e, LLVMValueRef condition, LLVMValueRef yes,
                                            LLVMValueRef no) {
  LLVMValueRef top = LLVMBuildLShr(e->builder, e->args[0], emit_i64(e, 63), "");
  LLVMValueRef one =
      LLVMBuildXor(e->builder, LLVMBuildTrunc(e->builder, top, e->i32, ""), emit_i32(e, 1), "");
  LLVMValueRef args[] = {yes, condition, one, no};
  return nvptx_assemble(e, NVPTX_PURE, "@$2 mad.lo.u32 $0, $1, $3, 0;", "=r,r,b,r,0", e->i32, args,
                        4);
}

/* ptxas keeps two logical instructions with a constant each apart. */
static LLVMValueRef nvptx_mask_xor(emitter *e, LLVMValueRef x, uint32_t mask, uint32_t bits) {
  LLVMValueRef args[] = {x, emit_i32(e, mask), emit_i32(e, bits)};
  return nvptx_assemble(e, NVPTX_PURE, "lop3.b32 $0, $1, $2, $3, 0x6a;", "=r,r,r,r", e->i32, args,
                        3);
}

static LLVMValueRef nvptx_table_exp2(emitter *e, LLVMValueRef x) {
  return emit_intrinsic(e, "llvm.nvvm.ex2.approx.ftz.f", NULL, 0, &x, 1);
}

static LLVMValueRef nvptx_table_rcp(emitter *e, LLVMValueRef x) {
  return emit_intrinsic(e, "llvm.nvvm.rcp.approx.ftz.f", NULL, 0, &x, 1);
}

static LLVMValueRef nvptx_table_rsqrt(emitter *e, LLVMValueRef x) {
  return emit_intrinsic(e, "llvm.nvvm.rsqrt.approx.ftz.f", NULL, 0, &x, 1);
}

static LLVMValueRef nvptx_table_rcp_wide(emitter *e, LLVMValueRef x) {
  return emit_intrinsic(e, "llvm.nvvm.rcp.approx.ftz.d", NULL, 0, &x, 1);
}

static LLVMValueRef nvptx_unit_share(emitter *e, LLVMValueRef x, float factor, float offset) {
  char text[64];
  uint32_t code[2];
  memcpy(&code[0], &factor, sizeof factor);
  memcpy(&code[1], &offset, sizeof offset);
  snprintf(text, sizeof text, "fma.rn.sat.f32 $0, $1, 0f%08X, 0f%08X;", code[0], code[1]);
  return nvptx_assemble(e, NVPTX_PURE, text, "=f,f", LLVMFloatTypeInContext(e->context), &x, 1);
}

const emit_target_ops emit_ops_nvptx = {
    .begin = nvptx_begin,
    .end = nvptx_end,
    .shared = nvptx_shared,
    .global = emit_gpu_global,
    .barrier = nvptx_barrier,
    .opaque = nvptx_opaque,
    .shuffle = nvptx_shuffle,
    .permute = nvptx_permute,
    .selector = nvptx_selector,
    .nibble_selectors = true,
    .cluster_address = nvptx_cluster_address,
    .cluster_load = nvptx_cluster_load,
    .cluster_push = nvptx_cluster_push,
    .cluster_arrive = nvptx_cluster_arrive,
    .cluster_await = nvptx_cluster_await,
    .cluster_publish = nvptx_cluster_publish,
    .all_pushed = nvptx_all_pushed,
    .ticket = nvptx_ticket,
    .peek = nvptx_peek,
    .poke = nvptx_poke,
    .fence = nvptx_fence,
    .all_lanes = nvptx_all_lanes,
    .matrix_load = nvptx_matrix_load,
    .matrix_store = nvptx_matrix_store,
    .has_half = nvptx_has_half,
    .load_if = nvptx_load_if,
    .decode_pair = nvptx_decode_pair,
    .encode_pair = nvptx_encode_pair,
    .product = nvptx_product,
    .own_space = NVPTX_OWN,
    .table_exp2 = nvptx_table_exp2,
    .table_rcp = nvptx_table_rcp,
    .table_rsqrt = nvptx_table_rsqrt,
    .table_rcp_wide = nvptx_table_rcp_wide,
    .unit_share = nvptx_unit_share,
    .meet_warp = nvptx_meet_warp,
    .multiply_pair = nvptx_multiply_pair,
    .extreme_pair = nvptx_extreme_pair,
    .limit_pair = nvptx_limit_pair,
    .size_pair = nvptx_size_pair,
    .mask_xor = nvptx_mask_xor,
    .select_by_product = nvptx_select_by_product,
    .blocks = nvptx_blocks,
    .elected = nvptx_elected,
    .make_barrier = nvptx_make_barrier,
    .expect_boxes = nvptx_expect_boxes,
    .fetch_map = nvptx_fetch_map,
    .copy_box = nvptx_copy_box,
    .send_box = nvptx_send_box,
    .end_sends = nvptx_end_sends,
    .ask_ahead = nvptx_ask_ahead,
    .await_sent = nvptx_await_sent,
    .arrive = nvptx_arrive,
    .arrive_far = nvptx_arrive_far,
    .arrive_copied = nvptx_arrive_copied,
    .phase_passed = nvptx_phase_passed,
    .proxy_fence = nvptx_proxy_fence,
    .set_registers = nvptx_set_registers,
    .group_product = nvptx_group_product,
    .await_products = nvptx_await_products,
    .copy = nvptx_copy,
    .end_copies = nvptx_end_copies,
    .await_copies = nvptx_await_copies,
};
