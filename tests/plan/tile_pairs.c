#include "tile_pairs.h"

#include "base/bits.h"
#include "base/text.h"
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "layout/f2.h"
#include "random_layout.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 3 };

#define ROWS \
  "blocked(size_per_thread=[1,8], threads_per_warp=[4,8], warps_per_cta=[4,1], order=[1,0])"
#define COLUMNS \
  "blocked(size_per_thread=[8,1], threads_per_warp=[8,4], warps_per_cta=[1,4], order=[0,1])"
#define WIDE \
  "blocked(size_per_thread=[2,2], threads_per_warp=[1,32], warps_per_cta=[2,2], order=[1,0])"
#define MMA2 "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"
#define MMA3 "nvmma(version=[3,0], warps_per_cta=[4,1], instr_shape=[16,64,16])"
#define DOT_A "dot(operand=0, k_width=2, parent=" MMA2 ")"
#define DOT_B "dot(operand=1, k_width=2, parent=" MMA2 ")"
#define DOT_A4 "dot(operand=0, k_width=4, parent=" MMA2 ")"
#define MFMA "mfma(version=3, instr_shape=[32,32,8], transposed=false, warps_per_cta=[2,2])"
#define MFMA_T "mfma(version=3, instr_shape=[16,16,16], transposed=true, warps_per_cta=[4,1])"
#define WAVE \
  "blocked(size_per_thread=[1,4], threads_per_warp=[8,8], warps_per_cta=[4,1], order=[1,0])"
#define SLICE \
  "slice(dim=1, parent=blocked(size_per_thread=[1,2,2], threads_per_warp=[4,2,4], " \
  "warps_per_cta=[2,2,1], order=[2,1,0]))"
#define SLICE_2 \
  "slice(dim=0, parent=blocked(size_per_thread=[2,1,4], threads_per_warp=[2,8,2], " \
  "warps_per_cta=[2,1,2], order=[2,1,0]))"
/* One and two register bits change places with lane bits, of 32 and of narrower words. */
#define LITERAL(registers, lanes) \
  "{register: " registers ", lane: " lanes ", warp: [[0,64],[64,0]]} " \
  "-> [dim0:128, dim1:128]"

typedef struct text_pair {
  const char *name, *a, *b;
  int64_t shape[2];
} text_pair;

static const text_pair pairs[] = {
    {"equal", ROWS, ROWS, {64, 64}},
    {"rows, columns", ROWS, COLUMNS, {64, 64}},
    {"rows, columns, small", ROWS, COLUMNS, {16, 16}},
    {"rows of 4, columns of 4", TILE_ROWS_4, TILE_COLUMNS_4, {32, 64}},
    {"long rows, long columns",
     "blocked(size_per_thread=[1,4], threads_per_warp=[1,32], warps_per_cta=[4,1], order=[1,0])",
     "blocked(size_per_thread=[4,1], threads_per_warp=[32,1], warps_per_cta=[1,4], order=[0,1])",
     {128, 128}},
    {"rows, wide", ROWS, WIDE, {64, 64}},
    {"rows, mma v2", ROWS, MMA2, {64, 64}},
    {"columns, mma v2", COLUMNS, MMA2, {64, 64}},
    {"mma v2, A", MMA2, DOT_A, {64, 32}},
    {"mma v2, A of 4", MMA2, DOT_A4, {64, 32}},
    {"mma v2, B", MMA2, DOT_B, {32, 64}},
    {"A, B", DOT_A, DOT_B, {32, 32}},
    {"rows, A", ROWS, DOT_A, {32, 64}},
    {"mma v3, rows", MMA3, ROWS, {64, 64}},
    {"mma v3, mma v2", MMA3, MMA2, {64, 64}},
    {"mfma, wave", MFMA, WAVE, {64, 64}},
    {"mfma, transposed", MFMA, MFMA_T, {64, 64}},
    {"slices", SLICE, SLICE_2, {32, 32}},
    {"slice, rows", SLICE, ROWS, {64, 64}},
    {"columns, slice", COLUMNS, SLICE_2, {64, 32}},
    {"one swap",
     LITERAL("[[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,0]]", "[[2,0],[4,0],[8,0],[16,0],[32,0]]"),
     LITERAL("[[0,1],[0,2],[0,4],[2,0],[0,16],[0,32],[1,0]]", "[[0,8],[4,0],[8,0],[16,0],[32,0]]"),
     {128, 128}},
    {"one swap of a low bit",
     LITERAL("[[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,0]]", "[[2,0],[4,0],[8,0],[16,0],[32,0]]"),
     LITERAL("[[8,0],[0,2],[0,4],[0,8],[0,16],[0,32],[1,0]]", "[[2,0],[4,0],[0,1],[16,0],[32,0]]"),
     {128, 128}},
    {"two swaps",
     LITERAL("[[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,0]]", "[[2,0],[4,0],[8,0],[16,0],[32,0]]"),
     LITERAL("[[0,1],[0,2],[4,0],[2,0],[0,16],[0,32],[1,0]]", "[[0,8],[0,4],[8,0],[16,0],[32,0]]"),
     {128, 128}},
    {"three swaps",
     LITERAL("[[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,0]]", "[[2,0],[4,0],[8,0],[16,0],[32,0]]"),
     LITERAL("[[0,1],[0,2],[4,0],[2,0],[0,16],[8,0],[1,0]]", "[[0,8],[0,4],[0,32],[16,0],[32,0]]"),
     {128, 128}},
    {"lanes in another order",
     LITERAL("[[0,1],[0,2],[0,4],[0,8],[0,16],[0,32],[1,0]]", "[[2,0],[4,0],[8,0],[16,0],[32,0]]"),
     LITERAL("[[0,2],[0,1],[0,4],[0,8],[0,16],[0,32],[1,0]]", "[[4,0],[8,0],[2,0],[32,0],[16,0]]"),
     {128, 128}},
    {"warps in another order",
     "{register: [[1],[2]], lane: [[4],[8],[16],[32],[64]], warp: [[128],[256]]} -> [dim0:512]",
     "{register: [[1],[2]], lane: [[4],[8],[16],[32],[64]], warp: [[256],[128]]} -> [dim0:512]",
     {512, 1}},
    {"copies everywhere",
     "{register: [[1],[0],[2]], lane: [[4],[8],[0],[16],[32]], warp: [[0],[64]]} -> [dim0:128]",
     "{register: [[0],[32],[16],[8]], lane: [[0],[2],[0],[1],[4]], warp: [[64],[0]]} -> [dim0:128]",
     {128, 1}},
    {"copies in lanes",
     "{register: [[1],[2]], lane: [[4],[8],[0],[16],[32]], warp: [[0],[64]]} -> [dim0:128]",
     "{register: [[1],[2]], lane: [[4],[0],[8],[32],[16]], warp: [[0],[64]]} -> [dim0:128]",
     {128, 1}},
    {"copies that end",
     "{register: [[1],[2],[4]], lane: [[0],[8],[16],[32],[64]]} -> [dim0:128]",
     "{register: [[1],[2]], lane: [[4],[8],[16],[32],[64]]} -> [dim0:128]",
     {128, 1}},
    {"one element",
     "{register: [], lane: []} -> [dim0:1]",
     "{register: [], lane: []} -> [dim0:1]",
     {1, 1}},
};

int tile_pair_count(void) { return (int)(sizeof pairs / sizeof *pairs); }

const char *tile_pair_make(int i, llrt_layout *a, llrt_layout *b) {
  const text_pair *p = &pairs[i];
  int rank = p->shape[1] == 1 ? 1 : 2;
  cr_assert_eq(llrt_layout_parse(p->a, rank, p->shape, a), LLRT_OK, "%s: %s", p->name,
               llrt_last_error());
  cr_assert_eq(llrt_layout_parse(p->b, rank, p->shape, b), LLRT_OK, "%s: %s", p->name,
               llrt_last_error());
  return p->name;
}

static const struct {
  const char *what, *a, *b;
  bool local; /* no block reads another's memory */
} block_pairs[] = {
    {"blocks and lanes", "lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[256]]",
     "lane: [[256],[8],[16],[32],[64]], warp: [[128]], block: [[4]]", false},
    {"blocks and registers", "lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[256]]",
     "X[[1],[256]], lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[2]]", false},
    {"the word and blocks", "lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[256]]",
     "X[[256],[2]], lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[1]]", false},
    {"blocks and warps", "lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[256]]",
     "lane: [[4],[8],[16],[32],[64]], warp: [[256]], block: [[128]]", false},
    {"blocks among each other", "lane: [[4],[8],[16],[32],[64]], block: [[128],[256]]",
     "lane: [[4],[8],[16],[32],[64]], block: [[256],[128]]", false},
    {"sums with blocks", "lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[256]]",
     "X[[257],[2]], lane: [[4],[264],[16],[32],[64]], warp: [[128]], block: [[258]]", false},
    {"one of two stays", "lane: [[4],[8],[16],[32],[64]], block: [[128],[256]]",
     "lane: [[128],[8],[16],[32],[64]], block: [[4],[256]]", false},
    {"copies that begin", "lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[256]]",
     "X[[1],[2],[256]], lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[0]]", false},
    {"copies before and after",
     "X[[1],[2],[256]], lane: [[4],[8],[16],[32],[64]], warp: [[128]], block: [[0]]",
     "X[[256],[2],[4]], lane: [[1],[8],[16],[32],[64]], warp: [[128]], block: [[0]]", true},
    {"eight blocks", "lane: [[4],[8],[16],[32],[64]], block: [[128],[256],[512]]",
     "lane: [[128],[256],[512],[32],[64]], block: [[4],[8],[16]]", false},
};

void tile_parse_blocks(const char *text, llrt_layout *layout) {
  char all[200];
  int64_t shape[] = {strstr(text, "512") ? 1024 : 512};
  bool own = text[0] == 'X';
  snprintf(all, sizeof all, "{register: %s%s} -> [dim0:%lld]", own ? "" : "[[1],[2]], ", text + own,
           (long long)shape[0]);
  cr_assert_eq(llrt_layout_parse(all, 1, shape, layout), LLRT_OK, "%s: %s", all, llrt_last_error());
}

int tile_block_pair_count(void) { return (int)(sizeof block_pairs / sizeof *block_pairs); }

const char *tile_block_pair_make(int i, llrt_layout *a, llrt_layout *b, bool *local) {
  tile_parse_blocks(block_pairs[i].a, a);
  tile_parse_blocks(block_pairs[i].b, b);
  *local = block_pairs[i].local;
  return block_pairs[i].what;
}

void tile_random_layout(uint64_t *seed, int registers, int lanes, int warps, bool copies,
                        bool permutation, llrt_layout *layout) {
  int n = registers + lanes + warps, at = 0;
  uint64_t column[LLRT_MAX_BITS];
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < n;) {
    uint64_t x =
        permutation ? 1ull << test_random(seed) % (unsigned)n : test_random(seed) & bits_mask(n);
    if (f2_basis_insert(&basis, x)) column[i++] = x;
  }
  int extra = copies ? 1 + (warps > 0) : 0;
  *layout = llrt_layout_empty();
  llrt_layout_add_out(layout, "dim0", n);
  llrt_layout_add_in(layout, "register", registers + extra);
  llrt_layout_add_in(layout, "lane", lanes);
  llrt_layout_add_in(layout, "warp", warps);
  for (int i = 0; i < n + extra; i++) {
    bool copy =
        copies && (i == registers + extra + 2 || (warps > 0 && i == registers + extra + lanes));
    layout->column[i] = copy ? 0 : column[at++];
  }
}

void tile_random_blocks(uint64_t *seed, int registers, int lanes, int warps, int blocks,
                        bool permutation, llrt_layout *layout) {
  llrt_layout all;
  tile_random_layout(seed, registers, lanes, warps + blocks, false, permutation, &all);
  *layout = llrt_layout_empty();
  llrt_layout_add_out(layout, "dim0", registers + lanes + warps + blocks);
  llrt_layout_add_in(layout, "register", registers);
  llrt_layout_add_in(layout, "lane", lanes);
  llrt_layout_add_in(layout, "warp", warps);
  llrt_layout_add_in(layout, "block", blocks);
  memcpy(layout->column, all.column, sizeof all.column);
}

void tile_random_copies(uint64_t *seed, int registers, int lanes, int warps, int copies,
                        llrt_layout *layout) {
  llrt_layout all;
  tile_random_layout(seed, registers + copies, lanes - copies, warps, false, true, &all);
  int at = registers + copies, held = 0;
  *layout = llrt_layout_empty();
  llrt_layout_add_out(layout, "dim0", registers + lanes + warps);
  llrt_layout_add_in(layout, "register", at);
  llrt_layout_add_in(layout, "lane", lanes);
  llrt_layout_add_in(layout, "warp", warps);
  memcpy(layout->column, all.column, (size_t)at * sizeof *all.column);
  for (int i = 0; i < lanes; i++) {
    bool copy = held < copies && (lanes - i == copies - held || test_random(seed) % 2);
    held += copy;
    layout->column[registers + copies + i] = copy ? 0 : all.column[at++];
  }
  memcpy(&layout->column[registers + copies + lanes], &all.column[at],
         (size_t)warps * sizeof *all.column);
}

static void explain(const plan_kernel *kernel) {
  static plan one;
  llrt_text text;
  llrt_text_init(&text);
  one.n_variants = 1;
  one.variant[0] = *kernel;
  plan_print(&one, &text);
  fprintf(stderr, "%s\n", text.data ? text.data : "");
  llrt_text_fini(&text);
}

void tile_execute(const plan_kernel *kernel, const char *what) {
  llrt_storage storage;
  llrt_storage_binding binding[2];
  llrt_tensor tensor[2];
  int64_t elements = (int64_t)TILES << kernel->digit[0].bits, stride[LLRT_MAX_RANK] = {0};
  size_t bytes = (size_t)(elements * kernel->tensor_bits[0] / 8);
  llrt_storage_row_major(1, &storage);
  for (int t = 0; t < 2; t++) {
    tensor[t] = (llrt_tensor){.rank = 1, .shape = {elements}, .storage = &storage};
    tensor[t].data = aligned_alloc(256, (bytes + 511) / 256 * 256);
    memset(tensor[t].data, 0xA5, bytes);
    cr_assert_eq(llrt_storage_bind(&storage, 1, tensor[t].shape, stride, &binding[t]), LLRT_OK);
  }
  uint64_t seed = 7;
  for (size_t i = 0; i < bytes; i++)
    ((unsigned char *)tensor[0].data)[i] = (unsigned char)test_random(&seed);
  llrt_status status = plan_interpret(kernel, tensor, binding, 2);
  bool right = status == LLRT_OK && memcmp(tensor[0].data, tensor[1].data, bytes) == 0;
  if (!right) explain(kernel);
  cr_assert_eq(status, LLRT_OK, "%s: %s", what, llrt_last_error());
  cr_assert(right, "%s", what);
  for (int t = 0; t < 2; t++) free(tensor[t].data);
}
