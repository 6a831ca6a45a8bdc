/* What blocks of a scan tell each other while they run (plan_lookback in plan.h): a block publishes
 * its tile's total, and takes what stands before its tile from the totals of others,
 *
 *   p(0)   = total                                         published as level 0
 *   t(l)   = totals of level l before this block, joined
 *   p(l+1) = t(l) . p(l)                                   published as level l + 1
 *   before = t(highest) . … . t(1) . t(0)
 *
 * so that the highest level has before . total.
 *
 * Looking begins at once for all levels; each is waited for where it is wanted. A block that draws
 * tickets publishes a tile's total before it looks for what stands before the tile in front of it
 * (scan_queue.c). */
#include "jit/plan/scan/plan_scan.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/lookback.h"

/* Totals of one line are a cell each, and its tiles are under way together, some 400 on an H200:
 * groups of 256, of which a block reads its own and the one before, a cell or two a thread. In
 * groups of 32 and three levels blocks waited for totals of totals, and reached 0.60 of a copy.
 * Totals of many lines are rows of cells, of which a block should read few; between two tiles of a
 * line stand those of the other lines. */
#define LINE_BITS 8
#define ROWS_BITS 3
#define LEVELS 2

/* The carried value with 2^n places more, in lanes and warps that hold copies, then in registers.
 */
static llrt_status peeked_value(const plan_value *total, int n, plan_value *out) {
  const llrt_layout *from = &total->layout;
  int kept = from->out[0].bits, free = 0, next = kept;
  for (int i = from->in[PLAN_REGISTER].bits; i < llrt_layout_in_bits(from); i++)
    free += from->column[i] == 0;
  int registers = bits_max(n - free, 0), at = registers;
  *out = *total;
  out->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&out->layout, from->out[0].name, kept + n));
  for (int dim = 0; dim < from->n_in; dim++)
    LLRT_TRY(llrt_layout_add_in(&out->layout, from->in[dim].name,
                                from->in[dim].bits + (dim == PLAN_REGISTER ? registers : 0)));
  for (int i = 0; i < llrt_layout_in_bits(from); i++, at++) {
    bool copies = i >= from->in[PLAN_REGISTER].bits && from->column[i] == 0;
    bool taken = copies && next < kept + n;
    out->layout.column[at] = taken ? 1ull << next++ : from->column[i];
  }
  for (int i = 0; i < registers; i++) out->layout.column[i] = 1ull << next++;
  return LLRT_OK;
}

llrt_status scan_publish(draft *d, int value, int level) {
  return draft_step(
      d->kernel, (plan_step){.kind = PLAN_PUBLISH, .in = (uint8_t)value, .level = (uint8_t)level});
}

static llrt_status peek(draft *d, int total, int level, int *out) {
  plan_kernel *kernel = d->kernel;
  plan_value laid_out;
  LLRT_TRY(peeked_value(&kernel->value[total], plan_lookback_places(&kernel->lookback, level),
                        &laid_out));
  LLRT_TRY(draft_value(kernel, &laid_out, out));
  return draft_step(kernel,
                    (plan_step){.kind = PLAN_PEEK, .out = (uint8_t)*out, .level = (uint8_t)level});
}

/* The totals of a level before this block, joined. */
static llrt_status await(draft *d, const draft_scan_spec *spec, int peeked, int level, int *out) {
  plan_kernel *kernel = d->kernel;
  plan_value laid_out = kernel->value[peeked];
  draft_scan_spec joined = *spec;
  int ignored;
  joined.carry = -1;
  joined.order.n = (uint8_t)plan_lookback_places(&kernel->lookback, level);
  for (int i = 0; i < joined.order.n; i++) joined.order.bit[i] = (uint8_t)(d->tile_bits + i);
  LLRT_TRY(draft_value(kernel, &laid_out, out));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_AWAIT,
                                          .in = (uint8_t)peeked,
                                          .out = (uint8_t)*out,
                                          .level = (uint8_t)level,
                                          .combiner = spec->combiner,
                                          .type = spec->type}));
  if (joined.order.n > 0) LLRT_TRY(draft_scan(d, *out, &joined, &ignored, out));
  kernel->value[*out].reduced &= bits_mask(d->tile_bits);
  return LLRT_OK;
}

llrt_status scan_look(draft *d, int total, int peeked[PLAN_LOOKBACK_LEVELS]) {
  for (int level = 0; level < d->kernel->lookback.levels; level++)
    LLRT_TRY(peek(d, total, level, &peeked[level]));
  return LLRT_OK;
}

llrt_status scan_look_back(draft *d, const draft_scan_spec *spec, int total,
                           const int peeked[PLAN_LOOKBACK_LEVELS], int *before) {
  int joined[PLAN_LOOKBACK_LEVELS], own = total, last = d->kernel->lookback.levels - 1;
  for (int level = 0; level < last; level++) {
    LLRT_TRY(await(d, spec, peeked[level], level, &joined[level]));
    if (level + 1 == last) break;
    LLRT_TRY(draft_join_before(d, spec, joined[level], own, &own));
    LLRT_TRY(scan_publish(d, own, level + 1));
  }
  LLRT_TRY(await(d, spec, peeked[last], last, before));
  for (int level = last - 1; level >= 0; level--)
    LLRT_TRY(draft_join_before(d, spec, *before, joined[level], before));
  LLRT_TRY(draft_join_before(d, spec, *before, total, &own));
  return scan_publish(d, own, last);
}

llrt_status scan_begin_lookback(draft *d, const plan_value *carried) {
  plan_kernel *kernel = d->kernel;
  plan_lookback *lookback = &kernel->lookback;
  plan_workspace *workspace = &kernel->launch.workspace;
  int lines = carried->layout.out[0].bits;
  *lookback = (plan_lookback){.used = true, .levels = LEVELS, .lags = lines == 0};
  lookback->bits = lines == 0 ? LINE_BITS : ROWS_BITS;
  *workspace = (plan_workspace){.n = 2, .zero = 2, .clear = true};
  workspace->region[0].fixed = 4;
  workspace->region[1].per_block = (8ll * lookback->levels * carried->bits / 32) << lines;
  kernel->launch.walk.blocks = INT32_MAX; /* a turn each */
  LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_WORKSPACE, .index = 0}, &lookback->counter));
  LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_WORKSPACE, .index = 1}, &lookback->cells));
  LLRT_TRY(draft_arg(d, (plan_arg){.kind = PLAN_ARG_BLOCKS}, &lookback->lines));
  return draft_arg(d, (plan_arg){.kind = PLAN_ARG_POSITIONS, .factor = 1}, &lookback->blocks);
}
