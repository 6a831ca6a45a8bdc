#include "tools/layout_list.h"

#include <llrt/llrt.h>

#define PARAMS_MAX 9

typedef struct named_layout {
  const char *name, *kind;
  const char *dims; /* JSON list */
  struct {
    const char *name, *meaning;
  } param[PARAMS_MAX];
  const char *source;
} named_layout;

#define WIDTHS "[8,16,32,64]"
#define WARPS {"warps_per_cta", "list of powers of two, one an axis"}
#define CLUSTER \
  {"ctas_per_cga", "optional, with the next two: blocks of a cluster along each axis"}, \
      {"cta_split", "blocks that divide each axis; the others hold copies"}, \
      {"cta_order", "axes, fastest first"}
#define TILES \
  {"transposed", "optional: true or false"}, \
      {"tiles_per_warp", "optional list: tiles side by side in a warp"}
#define SWIZZLE \
  {"vec", "elements of a vector"}, {"per_phase", "rows that share a phase"}, \
      {"max_phase", "phases, a vector's number being XORed by its row's"}, \
      {"order", "list of axes, fastest first"}, CLUSTER

static const named_layout list[] = {
    {"blocked",
     "family",
     "[]",
     {{"size_per_thread", "list of powers of two, one an axis: elements side by side in a thread"},
      {"threads_per_warp", "list of powers of two, one an axis"},
      WARPS,
      {"order", "list of axes, fastest first"},
      CLUSTER},
     "Triton BlockedEncodingAttr"},
    {"slice",
     "family",
     "[]",
     {{"dim", "axis that is removed"}, {"parent", "family on the shape with that axis"}},
     "Triton SliceEncodingAttr"},
    {"nvmma",
     "family",
     "[\"m\",\"n\"]",
     {{"version", "[2,0]: accumulator of mma.sync; [3,0]: of wgmma"},
      WARPS,
      {"instr_shape", "[16,8] for version 2; [m,n,k] of a warp for version 3"},
      CLUSTER},
     "Triton NvidiaMmaEncodingAttr; PTX ISA, mma.m16n8k16"},
    {"dot",
     "family",
     "[]",
     {{"operand", "0: A [m,k]; 1: B [k,n]"},
      {"k_width", "consecutive elements along k; not for blocked"},
      {"parent", "nvmma, mfma, wmma or blocked of the result"}},
     "Triton DotOperandEncodingAttr; PTX ISA, mma.m16n8k16"},
    {"mfma",
     "family",
     "[\"m\",\"n\"]",
     {{"version", "1 to 4"},
      {"instr_shape", "[m,n,k]"},
      WARPS,
      TILES,
      {"element_bits", "optional: 64 for f64 results"},
      CLUSTER},
     "Triton AMDMfmaEncodingAttr"},
    {"wmma",
     "family",
     "[\"m\",\"n\"]",
     {{"version", "1 to 3"},
      {"instr_shape", "optional [m,n,k], preset [16,16,16]"},
      WARPS,
      TILES,
      CLUSTER},
     "Triton AMDWmmaEncodingAttr"},
    {"swizzled_shared", "family", "[]", {SWIZZLE}, "Triton SwizzledSharedEncodingAttr"},
    {"rotating_shared", "family", "[]", {SWIZZLE}, "Triton AMDRotatingSharedEncodingAttr"},
    {"nvmma_shared",
     "family",
     "[]",
     {{"swizzle_bytes", "0, 32, 64 or 128"},
      {"element_bits", "bits of an element"},
      {"transposed", "optional: true or false"},
      {"fp4_padded", "optional: true or false"},
      CLUSTER},
     "Triton NVMMASharedEncodingAttr; PTX ISA, wgmma and TMA swizzles"},
    {"tensor_memory",
     "family",
     "[\"m\",\"n\"]",
     {{"block_m", "64 or 128"},
      {"block_n", "columns of a tile"},
      {"col_stride", "optional, preset 1"},
      {"two_ctas", "optional: true or false"},
      {"fp4_padded", "optional: true or false"},
      CLUSTER},
     "Triton TensorMemoryEncodingAttr"},
    {"tensor_memory_scales",
     "family",
     "[\"m\",\"k\"]",
     {{"order", "optional: mn_then_k or k_then_mn"}, CLUSTER},
     "Triton TensorMemoryScalesEncodingAttr"},
    {"wgmma_shared",
     "storage",
     "[\"mn\",\"k\"]",
     {{"major", "k or mn: the axis whose elements lie side by side"},
      {"swizzle_bytes", "0, 32, 64 or 128"},
      {"element_bits", "4, 8, 16, 32 or 64"},
      {"leading_bytes", "optional LBO, a multiple of 16; preset: packed, atoms along mn first"},
      {"stride_bytes", "optional SBO, likewise"},
      {"extents", "optional [mn,k], preset the shape's"}},
     "PTX ISA, wgmma shared memory matrix layout, canonical layouts"},
    {"padded_shared",
     "storage",
     "[]",
     {{"interval_padding", "list of [interval, places left out after it], in elements"},
      {"order", "list of axes, fastest first"},
      {"linear", "instead of order and blocks: a map offset, block -> dims that permutes bits"},
      CLUSTER},
     "Triton PaddedSharedEncodingAttr"},
};
enum { LIST_COUNT = sizeof list / sizeof list[0] };

static void print_json(FILE *stream, const named_layout *entry) {
  fprintf(stream, "{\"name\":\"%s\",\"kind\":\"%s\",\"dims\":%s,\"params\":{", entry->name,
          entry->kind, entry->dims);
  for (int i = 0; i < PARAMS_MAX && entry->param[i].name; i++)
    fprintf(stream, "%s\"%s\":\"%s\"", i ? "," : "", entry->param[i].name, entry->param[i].meaning);
  fprintf(stream, "},\"widths\":" WIDTHS ",\"source\":\"%s\"}", entry->source);
}

static void print_text(FILE *stream, const named_layout *entry) {
  fprintf(stream, "%-10s %-8s %s\n", entry->name, entry->kind, entry->source);
  for (int i = 0; i < PARAMS_MAX && entry->param[i].name; i++)
    fprintf(stream, "    %-18s %s\n", entry->param[i].name, entry->param[i].meaning);
}

/* "n k" as ["n","k"]. */
static void print_dims(FILE *stream, const char *dims) {
  fputc('[', stream);
  for (const char *at = dims; *at; at++)
    if (*at != ' ') fprintf(stream, "%s\"%c\"", at == dims ? "" : ",", *at);
  fputc(']', stream);
}

static void print_pads(FILE *stream, const llrt_named_storage *entry) {
  if (entry->pad == LLRT_PAD_VALUE) fprintf(stream, "%lld", (long long)entry->pad_value);
  else fputs(entry->pad == LLRT_PAD_KEEP ? "keep" : "none", stream);
}

static void print_storage_json(FILE *stream, const llrt_named_storage *entry) {
  fprintf(stream, "{\"name\":\"%s\",\"kind\":\"storage\",\"dims\":", entry->name);
  print_dims(stream, entry->dims);
  fputs(",\"params\":{", stream);
  int n = 0;
  for (; n < LLRT_NAMED_MAX_PARAMS && entry->param[n].name; n++)
    fprintf(stream, "%s\"%s\":\"%s\"", n ? "," : "", entry->param[n].name, entry->param[n].meaning);
  if (entry->pad != LLRT_PAD_NONE)
    fprintf(stream, "%s\"pad\":\"value of the pads, or keep\"", n ? "," : "");
  fprintf(stream, "},\"widths\":[%s],\"padding\":\"", entry->widths);
  print_pads(stream, entry);
  fprintf(stream, "\",\"formula\":\"%s\",\"source\":\"%s\"}", entry->formula ? entry->formula : "",
          entry->source);
}

static void print_storage_text(FILE *stream, const llrt_named_storage *entry) {
  fprintf(stream, "%-10s %-8s %s\n", entry->name, "storage", entry->source);
  if (entry->formula)
    fprintf(stream, "    axes %s; places, fastest first: %s\n", entry->dims, entry->formula);
  for (int i = 0; i < LLRT_NAMED_MAX_PARAMS && entry->param[i].name; i++)
    fprintf(stream, "    %-18s %s\n", entry->param[i].name, entry->param[i].meaning);
}

void layout_list_print(FILE *stream, bool json) {
  for (int i = 0; i < LIST_COUNT; i++) {
    if (json) {
      fputs(i ? ",\n " : "[", stream);
      print_json(stream, &list[i]);
    } else {
      print_text(stream, &list[i]);
    }
  }
  for (int i = 0; i < llrt_storage_named_count(); i++) {
    if (json) {
      fputs(",\n ", stream);
      print_storage_json(stream, llrt_storage_named_at(i));
    } else {
      print_storage_text(stream, llrt_storage_named_at(i));
    }
  }
  if (json) fputs("]\n", stream);
}
