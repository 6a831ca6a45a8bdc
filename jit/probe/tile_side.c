#include "jit/probe/tile_side.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/vector_list.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/kernel/plan_step.h"
#include "layout/f2.h"

#include <string.h>

/* The most threads of a block, log2. */
#define MAX_THREAD_BITS 10

/* ---- reading a layout ---- */

static llrt_status add_part(tile_side *p, const char *name, const uint64_t *columns, int n) {
  vector_list *list = strcmp(name, "register") == 0 ? &p->registers
                      : strcmp(name, "lane") == 0   ? &p->lanes
                      : strcmp(name, "warp") == 0   ? &p->warps
                      : strcmp(name, "block") == 0  ? &p->blocks
                                                    : NULL;
  LLRT_REQUIRE(list, "a distributed layout has no in-dim '%s'", name);
  bool copies = list != &p->registers;
  for (int i = 0; i < n; i++)
    if (columns[i] != 0 || copies) list->at[list->n++] = columns[i];
  return LLRT_OK;
}

llrt_status tile_side_read(const llrt_layout *layout, tile_side *p) {
  LLRT_REQUIRE(layout && llrt_layout_is_valid(layout), "a malformed layout");
  LLRT_REQUIRE(llrt_layout_is_surjective(layout), "a layout that leaves elements without a place");
  memset(p, 0, sizeof *p);
  for (int i = 0; i < layout->n_in; i++)
    LLRT_TRY(add_part(p, layout->in[i].name, &layout->column[llrt_layout_in_shift(layout, i)],
                      layout->in[i].bits));
  f2_basis span;
  f2_basis_init(&span);
  const vector_list *const lists[] = {&p->registers, &p->lanes, &p->warps, &p->blocks};
  for (int l = 0; l < 4; l++)
    for (int i = 0; i < lists[l]->n; i++)
      LLRT_REQUIRE(
          lists[l]->at[i] == 0 || f2_basis_insert(&span, lists[l]->at[i]),
          "a layout that holds sums of other places: its columns must be independent or zero");
  return LLRT_OK;
}

static void span_of(const tile_side *p, const vector_list *blocks, f2_basis *span) {
  const vector_list *const lists[] = {&p->registers, &p->lanes, &p->warps, blocks};
  f2_basis_init(span);
  for (int l = 0; l < 4; l++)
    for (int i = 0; i < lists[l]->n; i++) f2_basis_insert(span, lists[l]->at[i]);
}

static bool same_span(const f2_basis *a, const f2_basis *b) {
  for (uint64_t p = a->pivots; p; p &= p - 1)
    if (!f2_basis_contains(b, a->row[bits_lowest(p)])) return false;
  return a->rank == b->rank;
}

llrt_status tile_side_blocks(const tile_side side[2], vector_list *apart, vector_list moving[2],
                             f2_basis *tile) {
  f2_basis other;
  int n = bits_max(side[0].blocks.n, side[1].blocks.n);
  for (int all = 0; all < 2; all++) {
    *apart = moving[0] = moving[1] = (vector_list){0};
    for (int i = 0; i < n; i++) {
      uint64_t x = i < side[0].blocks.n ? side[0].blocks.at[i] : 0;
      uint64_t y = i < side[1].blocks.n ? side[1].blocks.at[i] : 0;
      if (x == y && (all == 0 || x == 0)) {
        if (x) apart->at[apart->n++] = x;
        continue;
      }
      moving[0].at[moving[0].n++] = x;
      moving[1].at[moving[1].n++] = y;
    }
    span_of(&side[0], &moving[0], tile);
    span_of(&side[1], &moving[1], &other);
    if (same_span(tile, &other)) return LLRT_OK;
  }
  return llrt_error(LLRT_INTERNAL, "layouts of one tensor that hold different elements");
}

/* ---- fitting a target ---- */

static void drop_copies(vector_list *list) {
  int n = 0;
  for (int i = 0; i < list->n; i++)
    if (list->at[i]) list->at[n++] = list->at[i];
  list->n = n;
}

static void move_all(vector_list *from, vector_list *to) {
  for (int i = 0; i < from->n; i++) to->at[to->n++] = from->at[i];
  from->n = 0;
}

/* A warp of the host is a SIMD register: its lanes come from the lanes, then from the top
 * registers. */
static void fit_host(tile_side *p, int lane_bits) {
  vector_list lanes = {0}, registers = p->registers;
  drop_copies(&p->lanes);
  drop_copies(&p->warps);
  move_all(&p->lanes, &lanes);
  while (lanes.n < lane_bits && registers.n > 0) lanes.at[lanes.n++] = registers.at[--registers.n];
  for (int i = 0; i < lanes.n && i < lane_bits; i++) p->lanes.at[p->lanes.n++] = lanes.at[i];
  for (int i = lane_bits; i < lanes.n; i++) registers.at[registers.n++] = lanes.at[i];
  move_all(&p->warps, &registers);
  p->registers = registers;
}

llrt_status tile_side_fit_blocks(plan_kernel *kernel, tile_side side[2], vector_list moving[2],
                                 bool clusters) {
  int warps = bits_max(side[0].warps.n, side[1].warps.n);
  if (moving[0].n == 0) return LLRT_OK;
  int room = kernel->target.simd_lanes ? LLRT_MAX_BITS : MAX_THREAD_BITS - kernel->lane_bits;
  bool cluster = clusters && moving[0].n <= kernel->target.cluster_bits && warps <= room;
  if (!cluster && warps + moving[0].n > room)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "elements move between %d blocks of %d warps: %s has clusters of %d, and one block has "
        "not so many warps",
        1 << moving[0].n, 1 << warps, kernel->target.name, 1 << kernel->target.cluster_bits);
  if (cluster) kernel->cluster_bits = moving[0].n;
  for (int s = 0; s < 2; s++) {
    while (side[s].warps.n < warps) side[s].warps.at[side[s].warps.n++] = 0;
    move_all(&moving[s], &side[s].warps);
  }
  return LLRT_OK;
}

static llrt_status fit_gpu(const plan_kernel *kernel, tile_side *p) {
  if (p->lanes.n > kernel->lane_bits)
    return llrt_error(LLRT_UNSUPPORTED, "a layout of %d lanes: %s has %d", 1 << p->lanes.n,
                      kernel->target.name, 1 << kernel->lane_bits);
  if (p->warps.n - kernel->cluster_bits > MAX_THREAD_BITS - kernel->lane_bits)
    return llrt_error(LLRT_UNSUPPORTED, "a layout of %d warps", 1 << p->warps.n);
  return LLRT_OK;
}

/* Lanes and warps that a layout does not know hold copies. */
static void pad(vector_list *list, int n) {
  while (list->n < n) list->at[list->n++] = 0;
}

llrt_status tile_side_fit(plan_kernel *kernel, tile_side side[2]) {
  for (int s = 0; s < 2; s++) {
    if (kernel->target.simd_lanes) fit_host(&side[s], kernel->lane_bits);
    else LLRT_TRY(fit_gpu(kernel, &side[s]));
    kernel->warp_bits = bits_max(kernel->warp_bits, side[s].warps.n);
  }
  for (int s = 0; s < 2; s++) {
    pad(&side[s].lanes, kernel->lane_bits);
    pad(&side[s].warps, kernel->warp_bits);
  }
  return LLRT_OK;
}

/* ---- values ---- */

/* log2 elements of a width in a word, of so many registers. */
static int word_of(const plan_kernel *kernel, int bits, int registers) {
  if (!kernel->target.word_bits) return 0;
  return bits_min(bits_max(bits_log2(kernel->target.word_bits) - bits_log2(bits), 0), registers);
}

llrt_status tile_side_value(const plan_kernel *kernel, const tile_side *p, const f2_basis *tile,
                            int widest, plan_value *value) {
  vector_list in_tile[3];
  int word = word_of(kernel, kernel->tensor_bits[0], p->registers.n);
  if (p->registers.n - word_of(kernel, widest, p->registers.n) > 8)
    return llrt_error(LLRT_UNSUPPORTED, "a thread would hold %d elements", 1 << p->registers.n);
  vector_list_in(tile, &p->registers, p->registers.n, &in_tile[0]);
  vector_list_in(tile, &p->lanes, p->lanes.n, &in_tile[1]);
  vector_list_in(tile, &p->warps, p->warps.n, &in_tile[2]);
  LLRT_TRY(vector_lists_value(tile->rank, kernel->tensor_bits[0], in_tile, value));
  value->word = (uint8_t)word;
  return LLRT_OK;
}
