/* See dot_instruction.h. */
#include "jit/plan/types/dot_instruction.h"

#include "base/bits.h"
#include "base/status.h"

#include <assert.h>
#include <string.h>

#define NVIDIA_ALL 80 /* compute capabilities */
#define NVIDIA_FP8 89
#define NVIDIA_WGMMA 90
#define AMD_ALL "gfx90a gfx942"

#define FMA(type, name_, clocks_) \
  {.name = name_, \
   .family = DOT_FMA, \
   .a = type, \
   .b = type, \
   .acc = type, \
   .layout = {"|", "|", "|"}, \
   .clocks = clocks_}

/* x86-64 multiplies two pairs of 16 bits in a lane of 32, and adds both: vpdpwssd, or pmaddwd and
 * an addition. A product of 32 bits takes two operations and no sum. */
#define HOST_X86 "x86-64-v2 x86-64-v3 x86-64-v4 x86-64-v4-vbmi"

/* PTX ISA, "Matrix multiply-accumulate operation using mma instruction": the fragments of each
 * shape. Those of 16 x 8 results lie alike whatever k is. */
#define ACC_16X8 "n0 m3 | n1 n2 m0 m1 m2"
#define MMA(shape, d, x, y, c, text_a, text_b, text_acc, types, size, clocks_, where) \
  {.name = "mma.sync " shape " " d "." x "." y, \
   .family = DOT_MMA, \
   .capability = where, \
   .code = "mma.sync.aligned." shape ".row.col." d "." x "." y "." c, \
   .layout = {text_a, text_b, text_acc}, \
   types, \
   size, \
   .clocks = clocks_}
#define TYPES(x, y, z) .a = x, .b = y, .acc = z
#define TF32_SIZE .m = 4, .n = 3, .k = 3, .tf32 = true
#define FP8_SIZE .m = 4, .n = 3, .k = 5, .ptx_84 = true
#define SIZE(m_, n_, k_) .m = m_, .n = n_, .k = k_
#define MMA_16(x, type) \
  MMA("m16n8k16", "f32", x, x, "f32", "k0 m3 k3 | k1 k2 m0 m1 m2", "k0 k3 | k1 k2 n0 n1 n2", \
      ACC_16X8, TYPES(type, type, LLRT_F32), SIZE(4, 3, 4), 2, NVIDIA_ALL)
#define MMA_8(d, x, y, c, type_x, type_y, type_d, where) \
  MMA("m16n8k32", d, x, y, c, "k0 k1 m3 k4 | k2 k3 m0 m1 m2", "k0 k1 k4 | k2 k3 n0 n1 n2", \
      ACC_16X8, TYPES(type_x, type_y, type_d), SIZE(4, 3, 5), 2, where)
#define MMA_FP8(x, y, type_x, type_y) \
  MMA("m16n8k32", "f32", x, y, "f32", "k0 k1 m3 k4 | k2 k3 m0 m1 m2", "k0 k1 k4 | k2 k3 n0 n1 n2", \
      ACC_16X8, TYPES(type_x, type_y, LLRT_F32), FP8_SIZE, 2, NVIDIA_FP8)

/* AMD, "CDNA3 Instruction Set Architecture", matrix instructions, and AMD's matrix instruction
 * calculator. */
#define ACC_16X16 "m0 m1 | n0 n1 n2 n3 m2 m3"
#define ACC_32X32 "m0 m1 m3 m4 | n0 n1 n2 n3 n4 m2"
#define MFMA(name_, text_a, text_b, text_acc, types, size, clocks_, where) \
  {.name = "mfma " name_, \
   .family = DOT_MFMA, \
   .targets = where, \
   .code = "llvm.amdgcn.mfma." name_, \
   .layout = {text_a, text_b, text_acc}, \
   types, \
   size, \
   .clocks = clocks_}
#define MFMA_16(suffix, type) \
  MFMA("f32.16x16x16" suffix, "k0 k1 | m0 m1 m2 m3 k2 k3", "k0 k1 | n0 n1 n2 n3 k2 k3", ACC_16X16, \
       TYPES(type, type, LLRT_F32), SIZE(4, 4, 4), 8, AMD_ALL), \
      MFMA("f32.32x32x8" suffix, "k0 k1 | m0 m1 m2 m3 m4 k2", "k0 k1 | n0 n1 n2 n3 n4 k2", \
           ACC_32X32, TYPES(type, type, LLRT_F32), SIZE(5, 5, 3), 16, AMD_ALL)
#define MFMA_FP8(suffix, type_a, type_b) \
  MFMA("f32.16x16x32." suffix, "k0 k1 k2 | m0 m1 m2 m3 k3 k4", "k0 k1 k2 | n0 n1 n2 n3 k3 k4", \
       ACC_16X16, TYPES(type_a, type_b, LLRT_F32), SIZE(4, 4, 5), 8, "gfx942")

/* PTX ISA, "Asynchronous warpgroup level matrix multiply-accumulate": fragments of m64nNkK, each
 * warp of the group 16 rows. */
#define ACC_WGMMA_8 "n0 m3 | n1 n2 m0 m1 m2 | m4 m5"
#define ACC_WGMMA_16 "n0 m3 n3 | n1 n2 m0 m1 m2 | m4 m5"
#define ACC_WGMMA_32 "n0 m3 n3 n4 | n1 n2 m0 m1 m2 | m4 m5"
#define ACC_WGMMA_64 "n0 m3 n3 n4 n5 | n1 n2 m0 m1 m2 | m4 m5"
#define ACC_WGMMA_128 "n0 m3 n3 n4 n5 n6 | n1 n2 m0 m1 m2 | m4 m5"
#define ACC_WGMMA_256 "n0 m3 n3 n4 n5 n6 n7 | n1 n2 m0 m1 m2 | m4 m5"
#define WGMMA_N(n_, columns, k_, depth, d, x, y, text_a, ...) \
  {.name = "wgmma m64n" #columns "k" k_ " " d "." x "." y, \
   .family = DOT_WGMMA, \
   .capability = NVIDIA_WGMMA, \
   .code = "wgmma.mma_async.sync.aligned.m64n" #columns "k" k_ "." d "." x "." y, \
   .layout = {text_a, NULL, ACC_WGMMA_##columns}, \
   __VA_ARGS__, \
   SIZE(6, n_, depth), \
   .clocks = columns / 8.0}
#define WGMMA(k_, depth, d, x, y, text_a, ...) \
  WGMMA_N(3, 8, k_, depth, d, x, y, text_a, __VA_ARGS__), \
      WGMMA_N(4, 16, k_, depth, d, x, y, text_a, __VA_ARGS__), \
      WGMMA_N(5, 32, k_, depth, d, x, y, text_a, __VA_ARGS__), \
      WGMMA_N(6, 64, k_, depth, d, x, y, text_a, __VA_ARGS__), \
      WGMMA_N(7, 128, k_, depth, d, x, y, text_a, __VA_ARGS__), \
      WGMMA_N(8, 256, k_, depth, d, x, y, text_a, __VA_ARGS__)
#define WGMMA_16(x, type) \
  WGMMA("16", 4, "f32", x, x, "k0 m3 k3 | k1 k2 m0 m1 m2 | m4 m5", TYPES(type, type, LLRT_F32))
#define WGMMA_8(d, x, y, type_x, type_y, type_d, ...) \
  WGMMA("32", 5, d, x, y, "k0 k1 m3 k4 | k2 k3 m0 m1 m2 | m4 m5", TYPES(type_x, type_y, type_d), \
        __VA_ARGS__)
#define SINCE_80 .ptx_84 = false
#define SINCE_84 .ptx_84 = true
#define WGMMA_TF32 .a = LLRT_F32, .b = LLRT_F32, .acc = LLRT_F32, .tf32 = true

/* Clocks: of NVIDIA's at compute capability 8.0 (A100 architecture white paper, "throughput per
 * SM"), of warpgroups at 9.0 (H100 white paper); those of AMD from the passes that the matrix
 * instruction calculator gives, four SIMDs a compute unit. */
static const dot_instruction instructions[] = {
    FMA(LLRT_F32, "fma f32", 0.5),
    FMA(LLRT_F64, "fma f64", 1),
    FMA(LLRT_I32, "multiply-add i32", 0.5),
    FMA(LLRT_I64, "multiply-add i64", 4),
    {.name = "multiply-add 2 i16, i32",
     .family = DOT_FMA,
     .targets = HOST_X86,
     .a = LLRT_I16,
     .b = LLRT_I16,
     .acc = LLRT_I32,
     .k = 1,
     .layout = {"k0 |", "k0 |", "|"},
     .clocks = 0.5},
    MMA_16("f16", LLRT_F16),
    MMA_16("bf16", LLRT_BF16),
    MMA("m16n8k8", "f32", "tf32", "tf32", "f32", "m3 k2 | k0 k1 m0 m1 m2", "k2 | k0 k1 n0 n1 n2",
        ACC_16X8, TYPES(LLRT_F32, LLRT_F32, LLRT_F32), TF32_SIZE, 2, NVIDIA_ALL),
    MMA("m8n8k4", "f64", "f64", "f64", "f64", "| k0 k1 m0 m1 m2", "| k0 k1 n0 n1 n2",
        "n0 | n1 n2 m0 m1 m2", TYPES(LLRT_F64, LLRT_F64, LLRT_F64), SIZE(3, 3, 2), 4, NVIDIA_ALL),
    MMA_8("s32", "s8", "s8", "s32", LLRT_I8, LLRT_I8, LLRT_I32, NVIDIA_ALL),
    MMA_8("s32", "u8", "u8", "s32", LLRT_U8, LLRT_U8, LLRT_I32, NVIDIA_ALL),
    MMA_8("s32", "s8", "u8", "s32", LLRT_I8, LLRT_U8, LLRT_I32, NVIDIA_ALL),
    MMA_8("s32", "u8", "s8", "s32", LLRT_U8, LLRT_I8, LLRT_I32, NVIDIA_ALL),
    MMA_FP8("e4m3", "e4m3", LLRT_E4M3, LLRT_E4M3),
    MMA_FP8("e5m2", "e5m2", LLRT_E5M2, LLRT_E5M2),
    MMA_FP8("e4m3", "e5m2", LLRT_E4M3, LLRT_E5M2),
    MMA_FP8("e5m2", "e4m3", LLRT_E5M2, LLRT_E4M3),
    WGMMA_16("f16", LLRT_F16),
    WGMMA_16("bf16", LLRT_BF16),
    WGMMA("8", 3, "f32", "tf32", "tf32", "m3 k2 | k0 k1 m0 m1 m2 | m4 m5", WGMMA_TF32),
    WGMMA_8("f32", "e4m3", "e4m3", LLRT_E4M3, LLRT_E4M3, LLRT_F32, SINCE_80),
    WGMMA_8("f32", "e5m2", "e5m2", LLRT_E5M2, LLRT_E5M2, LLRT_F32, SINCE_80),
    WGMMA_8("f32", "e4m3", "e5m2", LLRT_E4M3, LLRT_E5M2, LLRT_F32, SINCE_80),
    WGMMA_8("f32", "e5m2", "e4m3", LLRT_E5M2, LLRT_E4M3, LLRT_F32, SINCE_80),
    WGMMA_8("s32", "s8", "s8", LLRT_I8, LLRT_I8, LLRT_I32, SINCE_80),
    WGMMA_8("s32", "u8", "u8", LLRT_U8, LLRT_U8, LLRT_I32, SINCE_80),
    WGMMA_8("s32", "s8", "u8", LLRT_I8, LLRT_U8, LLRT_I32, SINCE_84),
    WGMMA_8("s32", "u8", "s8", LLRT_U8, LLRT_I8, LLRT_I32, SINCE_84),
    MFMA_16("f16", LLRT_F16),
    MFMA_16("bf16.1k", LLRT_BF16),
    MFMA("f32.16x16x4f32", "| m0 m1 m2 m3 k0 k1", "| n0 n1 n2 n3 k0 k1", ACC_16X16,
         TYPES(LLRT_F32, LLRT_F32, LLRT_F32), SIZE(4, 4, 2), 8, AMD_ALL),
    MFMA("f64.16x16x4f64", "| m0 m1 m2 m3 k0 k1", "| n0 n1 n2 n3 k0 k1",
         "m2 m3 | n0 n1 n2 n3 m0 m1", TYPES(LLRT_F64, LLRT_F64, LLRT_F64), SIZE(4, 4, 2), 8,
         AMD_ALL),
    MFMA("i32.16x16x16i8", "k0 k1 | m0 m1 m2 m3 k2 k3", "k0 k1 | n0 n1 n2 n3 k2 k3", ACC_16X16,
         TYPES(LLRT_I8, LLRT_I8, LLRT_I32), SIZE(4, 4, 4), 8, "gfx90a"),
    MFMA("i32.16x16x32.i8", "k0 k1 k2 | m0 m1 m2 m3 k3 k4", "k0 k1 k2 | n0 n1 n2 n3 k3 k4",
         ACC_16X16, TYPES(LLRT_I8, LLRT_I8, LLRT_I32), SIZE(4, 4, 5), 4, "gfx942"),
    MFMA_FP8("fp8.fp8", LLRT_E4M3FNUZ, LLRT_E4M3FNUZ),
    MFMA_FP8("bf8.bf8", LLRT_E5M2FNUZ, LLRT_E5M2FNUZ),
    MFMA_FP8("fp8.bf8", LLRT_E4M3FNUZ, LLRT_E5M2FNUZ),
    MFMA_FP8("bf8.fp8", LLRT_E5M2FNUZ, LLRT_E4M3FNUZ),
};

int dot_instruction_count(void) { return (int)(sizeof instructions / sizeof *instructions); }

const dot_instruction *dot_instruction_at(int number) {
  return number >= 0 && number < dot_instruction_count() ? &instructions[number] : NULL;
}

bool dot_instruction_is_of(const dot_instruction *row, const plan_target *target) {
  size_t n = strlen(target->name);
  if (row->capability > 0)
    return target->capability >= row->capability &&
           (row->family != DOT_WGMMA || target->warpgroups);
  if (!row->targets) return true;
  for (const char *at = row->targets; (at = strstr(at, target->name)); at += n)
    if ((at == row->targets || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) return true;
  return false;
}

/* ---- layouts ---- */

static int dim_shift(const dot_instruction *row, char dim) {
  return dim == 'm' ? 0 : dim == 'n' ? row->m : row->m + row->n;
}

void dot_instruction_operand(const dot_instruction *row, int operand, dot_operand *out) {
  int *count = &out->registers;
  memset(out, 0, sizeof *out);
  for (const char *at = row->layout[operand]; at && *at; at++) {
    if (*at == '|') count = count == &out->registers ? &out->lanes : &out->warps;
    if (*at != 'm' && *at != 'n' && *at != 'k') continue;
    int n = out->registers + out->lanes + out->warps;
    assert(n < DOT_MAX_COLUMNS && (operand != DOT_A || *at != 'n') &&
           (operand != DOT_B || *at != 'm') && (operand != DOT_ACC || *at != 'k'));
    out->column[n] = 1u << (dim_shift(row, *at) + at[1] - '0');
    ++*count;
  }
}
