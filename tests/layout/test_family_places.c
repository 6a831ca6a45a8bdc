/* Shared-memory families with random parameters against arithmetic on offsets: rows, columns and
 * units are divided, multiplied and XORed as numbers; no bases. */
#include "tests/layout/layout_text.h"

#include <llrt/layout_families.h>

#include <criterion/criterion.h>

#define TRIALS 1000

enum { CORE_ROWS = 8, BOX_LIMIT = 256 };

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

/* How a cluster divides a shape: each block's part, and where a block's part begins. */
typedef struct division {
  llrt_cluster_params params;
  int64_t part[3], blocks;
} division;

static division random_division(random_source *source, int rank, const int64_t *shape) {
  division d = {.blocks = 1};
  bool given = random_below(source, 2);
  for (int a = 0; a < rank; a++) {
    int64_t blocks = 1ll << random_below(source, 3),
            split = min(blocks, 1ll << random_below(source, 3));
    d.part[a] = shape[a];
    if (!given) continue;
    d.params.ctas_per_cga[a] = blocks, d.params.cta_split[a] = split;
    d.params.cta_order[a] = a;
    d.part[a] = shape[a] / min(split, shape[a]);
    d.blocks *= blocks;
  }
  for (int a = rank - 1; given && a > 0; a--) {
    int k = random_below(source, a + 1), other = d.params.cta_order[a];
    d.params.cta_order[a] = d.params.cta_order[k], d.params.cta_order[k] = other;
  }
  return d;
}

/* Adds where the block's part begins. */
static void add_block(const division *d, int rank, const int64_t *shape, int64_t block,
                      int64_t *at) {
  if (d->params.ctas_per_cga[0] == 0) return;
  for (int i = 0; i < rank; i++) {
    int a = d->params.cta_order[i];
    at[a] += block % d->params.ctas_per_cga[a] % d->params.cta_split[a] * d->part[a] % shape[a];
    block /= d->params.ctas_per_cga[a];
  }
}

static void expect_at(const llrt_layout *layout, int64_t offset, int64_t block, int rank,
                      const int64_t *at, const char *what) {
  uint64_t in[2] = {(uint64_t)offset, (uint64_t)block}, out[3];
  cr_assert(llrt_layout_apply(layout, in, out) == LLRT_OK, "%s: %s", what, llrt_last_error());
  for (int a = 0; a < rank; a++)
    cr_assert_eq((int64_t)out[a], at[a], "%s: offset %lld is at %lld along axis %d, not %lld\n%s",
                 what, (long long)offset, (long long)out[a], a, (long long)at[a], text_of(layout));
}

Test(family_places, swizzled_and_rotating) {
  random_source source = random_start("family_places/swizzled");
  for (int trial = 0; trial < TRIALS; trial++) {
    int rank = 1 + random_below(&source, 3);
    bool rotating = random_below(&source, 2);
    int64_t shape[3];
    llrt_swizzle_params params = {.rank = rank,
                                  .vec = 1ll << random_below(&source, 4),
                                  .per_phase = 1ll << random_below(&source, 3),
                                  .max_phase = 1ll << random_below(&source, 4)};
    for (int a = 0; a < rank; a++) shape[a] = 1ll << random_below(&source, 6), params.order[a] = a;
    for (int a = rank - 1; a > 0; a--) {
      int k = random_below(&source, a + 1), other = params.order[a];
      params.order[a] = params.order[k], params.order[k] = other;
    }
    division d = random_division(&source, rank, shape);
    params.cluster = d.params;
    llrt_layout layout;
    llrt_status status = rotating ? llrt_layout_rotating_shared(&params, shape, &layout)
                                  : llrt_layout_swizzled_shared(&params, shape, &layout);
    cr_assert(status == LLRT_OK, "%s", llrt_last_error());
    int64_t elements = 1;
    for (int a = 0; a < rank; a++) elements *= d.part[a];
    cr_assert_eq(1ll << layout.in[0].bits, elements);
    cr_assert_eq(1ll << layout.in[1].bits, d.blocks);
    for (int64_t offset = 0; offset < elements; offset++) {
      int64_t at[3] = {0}, left = offset, block = offset % d.blocks;
      for (int i = 0; i < rank; left /= d.part[params.order[i++]])
        at[params.order[i]] = left % d.part[params.order[i]];
      int64_t step = rank > 1 ? at[params.order[1]] / params.per_phase : 0;
      int64_t phase = step % params.max_phase;
      if (rotating) phase ^= step / params.max_phase % params.max_phase;
      at[params.order[0]] ^= phase * params.vec % d.part[params.order[0]];
      add_block(&d, rank, shape, block, at);
      expect_at(&layout, offset, block, rank, at, rotating ? "rotating" : "swizzled");
    }
  }
}

/* ---- as the tensor memory accelerator writes it: boxes of rows, one swizzle span wide ---- */

typedef struct boxes {
  int64_t span, columns; /* offsets of a row, and tensor columns: half as many with padding */
  int64_t box[3], count[3], rows;
} boxes;

static boxes boxes_of(const llrt_nvmma_shared_params *params, const int64_t *part) {
  int last = params->rank - 1;
  boxes b = {.span = 8 * params->swizzle_bytes / params->element_bits, .rows = 1};
  b.columns = params->fp4_padded ? b.span / 2 : b.span;
  for (int a = 0; a <= last; a++) b.box[a] = min(part[a], BOX_LIMIT);
  if (params->swizzle_bytes == 0) b.span = b.columns = b.box[last];
  int along = params->transposed ? 0 : last; /* contiguous */
  b.box[along] = b.columns;
  for (int a = 0; a <= last; a++)
    if (a != along) b.rows *= b.box[a];
  if (params->swizzle_bytes && b.rows < CORE_ROWS) {
    b.box[params->transposed ? last : last - 1] *= CORE_ROWS / b.rows;
    b.rows = CORE_ROWS;
  }
  for (int a = 0; a <= last; a++) b.count[a] = max(part[a] / b.box[a], 1);
  return b;
}

/* The coordinates of an offset inside a block. */
static void locate(const llrt_nvmma_shared_params *params, const boxes *b, int64_t offset,
                   int64_t *at) {
  int last = params->rank - 1, along = params->transposed ? 0 : last;
  int64_t column = offset % b->span, row = offset / b->span % b->rows;
  int64_t box = offset / (b->span * b->rows);
  if (params->swizzle_bytes) {
    int64_t phase = row % CORE_ROWS / (128 / params->swizzle_bytes);
    column ^= phase * (128 / params->element_bits);
  }
  if (params->fp4_padded) column = column / 16 * 8 + column % 8;
  at[along] = column;
  for (int a = last; a >= 0; a--) {
    if (a == along) continue;
    at[a] = row % b->box[a];
    row /= b->box[a];
  }
  for (int a = 0; a <= last; box /= b->count[a++]) at[a] += box % b->count[a] * b->box[a];
}

Test(family_places, nvmma_shared) {
  static const int swizzles[] = {0, 32, 64, 128};
  random_source source = random_start("family_places/nvmma_shared");
  for (int trial = 0; trial < TRIALS; trial++) {
    llrt_nvmma_shared_params params = {.rank = 2 + random_below(&source, 2),
                                       .element_bits = 4 << random_below(&source, 5),
                                       .swizzle_bytes = swizzles[random_below(&source, 4)]};
    params.fp4_padded =
        params.element_bits == 8 && params.swizzle_bytes && random_below(&source, 2);
    params.transposed = params.rank == 2 && params.swizzle_bytes && random_below(&source, 2);
    int64_t shape[3], elements = 1;
    for (int a = 0; a < params.rank; a++)
      shape[a] = 1ll << random_below(&source, params.rank == 3 ? 6 : trial % 8 ? 7 : 11);
    division d = random_division(&source, params.rank, shape);
    params.cluster = d.params;
    llrt_layout layout;
    cr_assert(llrt_layout_nvmma_shared(&params, shape, &layout) == LLRT_OK, "%s",
              llrt_last_error());
    boxes b = boxes_of(&params, d.part);
    for (int a = 0; a < params.rank; a++) elements *= b.count[a];
    elements *= b.rows * b.span;
    cr_assert_eq(1ll << layout.in[0].bits, elements, "%d offset bits, %lld elements",
                 layout.in[0].bits, (long long)elements);
    int64_t step = elements > 8192 ? elements / 8192 | 1 : 1;
    for (int64_t offset = 0; offset < elements; offset += step) {
      int64_t at[3] = {0}, block = offset % d.blocks;
      locate(&params, &b, offset, at);
      for (int a = 0; a < params.rank; a++) at[a] %= d.part[a];
      add_block(&d, params.rank, shape, block, at);
      expect_at(&layout, offset, block, params.rank, at, "nvmma_shared");
    }
  }
}
