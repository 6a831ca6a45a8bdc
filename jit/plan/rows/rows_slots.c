/* Outputs whose positions along an axis an index chooses, such as slots of a paged cache, in
 * storages that have slots side by side: vLLM's values [block, head, dim, slot], one element each,
 * its keys [block, head, dim / x, slot, x], 16 bytes each. By themselves the elements of a position
 * are less than a sector then, or single bytes. Positions that follow each other mostly have slots
 * that do, too: so the tile has as many of them as fill a sector, in lanes. Where they lie inside
 * of an access, too, blocks ask whether their slots follow each other, and store whole accesses
 * then.
 */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/following.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

static const plan_index *slots_of(const rows *r, int tensor) {
  const plan_kernel *kernel = r->d.kernel;
  bool may = r->program->tensor[tensor].output && r->resident && !kernel->target.simd_lanes &&
             kernel->tensor_bits[tensor] >= 8 && !r->program->tensor[tensor].words;
  return may ? plan_slots_of(kernel, tensor) : NULL;
}

int rows_slots(const rows *r, int tensor, int *axis) {
  const plan_index *index = slots_of(r, tensor);
  uint64_t sector = (uint64_t)r->d.kernel->target.sector_bytes * 8;
  int n = 0;
  if (!index || r->few) return 0;
  *axis = bits_lowest(index->axes);
  sector /= (uint64_t)r->d.kernel->tensor_bits[tensor];
  while (n < index->tile_bits && index->column[n] && index->column[n] < sector) n++;
  return n;
}

/* log2 slots of an access: those that the tile has of the storage's, and that lie in memory one by
 * one, from an aligned address on. */
static int following_of(const rows *r, int tensor, const plan_value *value) {
  const plan_kernel *kernel = r->d.kernel;
  const plan_index *index = slots_of(r, tensor);
  int most = bits_log2(kernel->target.access_bytes * 8 / kernel->tensor_bits[tensor]), n = 0;
  if (!index || r->few || plan_tile_bits_in(kernel, value) != bits_mask(r->d.tile_bits)) return 0;
  most = bits_min(most, draft_base_align(&r->d, tensor));
  most = bits_min(most, plan_value_bits(value, PLAN_REGISTER));
  most = bits_min(most, bits_count(plan_following_bits(kernel, index, index->tile_bits)));
  while (n < most && index->column[n] == 1ull << n) n++;
  return n;
}

/* Tile bits by how far they move the address where slots follow each other; last what does not. */
static void sort_by_address(const rows *r, int tensor, int order[LLRT_MAX_BITS]) {
  plan_address_map map;
  plan_address_of_following(r->d.kernel, tensor, slots_of(r, tensor)->tile_bits, &map);
  for (int b = 0; b < r->d.tile_bits; b++) {
    int at = b;
    for (; at > 0 && map.column[order[at - 1]] - 1 > map.column[b] - 1; at--)
      order[at] = order[at - 1];
    order[at] = b;
  }
}

/* Bits of the tile that the value's lanes have, of those that its registers leave. */
static int lane_bits_of(const rows *r, const plan_value *value) {
  int n = 0, left = r->d.tile_bits - plan_value_bits(value, PLAN_REGISTER);
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    n += plan_value_columns(value, PLAN_LANE)[i] != 0;
  return bits_min(n, left);
}

/* Exchanges the value so that the first registers, then lanes, then other registers, then warps
 * have what follows in memory, where slots follow each other; where lanes and warps are more than
 * that, the highest have copies.
 */
static llrt_status lay_out(rows *r, int tensor, int first, int *value) {
  const plan_value from = r->d.kernel->value[*value];
  int registers = plan_value_bits(&from, PLAN_REGISTER), order[LLRT_MAX_BITS], next = 0;
  int lanes = lane_bits_of(r, &from), warps = r->d.tile_bits - registers - lanes;
  const struct {
    plan_dim dim;
    int n;
  } parts[] = {{PLAN_REGISTER, first},
               {PLAN_LANE, lanes},
               {PLAN_REGISTER, registers - first},
               {PLAN_WARP, warps}};
  vector_list list[3] = {{0}};
  plan_value wanted;
  sort_by_address(r, tensor, order);
  for (int p = 0; p < 4; p++)
    for (int i = 0; i < parts[p].n; i++) {
      vector_list *own = &list[parts[p].dim];
      own->at[own->n++] = 1ull << order[next++];
    }
  list[PLAN_LANE].n = plan_value_bits(&from, PLAN_LANE);
  list[PLAN_WARP].n = plan_value_bits(&from, PLAN_WARP);
  LLRT_TRY(vector_lists_value(r->d.tile_bits, from.bits, list, &wanted));
  wanted.word = (uint8_t)bits_min(registers, rows_word_bits(r->d.kernel, tensor));
  return draft_exchange(&r->d, *value, &wanted, value);
}

/* Bounds along the axis of the index's values: all of a block's are kept where slots follow. */
static uint32_t bounds_along(const plan_kernel *kernel, int axis) {
  uint32_t bounds = 0;
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->bound[i].axis == axis) bounds |= 1u << i;
  return bounds;
}

/* Bits of the tile that are no positions of the index, and move the address inside of a line: what
 * one slot has beside others' elements. *n: how many, in `line`, by how far they move it. */
static void find_line(const rows *r, int tensor, int line[LLRT_MAX_BITS], int *n) {
  const plan_kernel *kernel = r->d.kernel;
  uint64_t most = PLAN_LINE_BYTES * 8 / (uint64_t)kernel->tensor_bits[tensor];
  uint64_t slots = plan_axes_bits(kernel, slots_of(r, tensor)->axes);
  plan_address_map map;
  int order[LLRT_MAX_BITS];
  plan_address_of_tensor(kernel, tensor, &map);
  sort_by_address(r, tensor, order);
  *n = 0;
  for (int b = 0; b < r->d.tile_bits; b++) {
    uint64_t column = map.column[order[b]];
    if (column && column < most && !map.strided[order[b]] &&
        !(kernel->space.column[order[b]] & slots))
      line[(*n)++] = order[b];
  }
}

/* The lane that a bit of the line takes: the first that holds copies, else the first that holds
 * neither the line's bits nor slots; -1: there is none. */
static int lane_for(const plan_kernel *kernel, const vector_list *lanes, uint64_t taken,
                    uint64_t slots) {
  for (int i = 0; i < lanes->n; i++)
    if (lanes->at[i] == 0) return i;
  for (int i = 0; i < lanes->n; i++) {
    uint64_t moved = f2_apply(kernel->space.column, lanes->at[i]);
    if (!(lanes->at[i] & taken) && !(moved & slots)) return i;
  }
  return -1;
}

/* Exchanges the value so that neighbouring lanes have what lies in one line of a slot's elements,
 * wherever the slots are; slots that lanes hold stay in them. */
static llrt_status lay_out_apart(rows *r, int tensor, int *value) {
  const plan_kernel *kernel = r->d.kernel;
  const plan_value from = kernel->value[*value];
  uint64_t slots = plan_axes_bits(kernel, slots_of(r, tensor)->axes), taken = 0;
  vector_list list[3];
  int line[LLRT_MAX_BITS], n, left = 0;
  plan_value wanted;
  for (int dim = 0; dim < 3; dim++) {
    list[dim] = (vector_list){.n = plan_value_bits(&from, (plan_dim)dim)};
    for (int i = 0; i < list[dim].n; i++)
      list[dim].at[i] = plan_value_columns(&from, (plan_dim)dim)[i];
  }
  vector_list *registers = &list[PLAN_REGISTER], *lanes = &list[PLAN_LANE];
  find_line(r, tensor, line, &n);
  for (int b = 0; b < n; b++) taken |= 1ull << line[b];
  for (int i = 0; i < registers->n; i++) {
    int lane = registers->at[i] & taken ? lane_for(kernel, lanes, taken, slots) : -1;
    uint64_t held = registers->at[i];
    if (lane >= 0) {
      registers->at[i] = lanes->at[lane];
      lanes->at[lane] = held;
    }
    if (registers->at[i]) registers->at[left++] = registers->at[i];
  }
  registers->n = left;
  LLRT_TRY(vector_lists_value(r->d.tile_bits, from.bits, list, &wanted));
  wanted.word = (uint8_t)bits_min(left, rows_word_bits(kernel, tensor));
  return draft_exchange(&r->d, *value, &wanted, value);
}

bool rows_stores_slots(const rows *r, int tensor, int value) {
  const plan_index *index = slots_of(r, tensor);
  bool whole =
      plan_tile_bits_in(r->d.kernel, &r->d.kernel->value[value]) == bits_mask(r->d.tile_bits);
  return index && whole && index->tile_bits > 0 && index->column[0] == 1;
}

/* What slots that follow each other have together, if all of a block's do. *branch: to be closed
 * behind what is done of others. */
static llrt_status store_following(rows *r, int tensor, int following, int value, int *branch) {
  plan_kernel *kernel = r->d.kernel;
  const plan_index *index = slots_of(r, tensor);
  uint32_t along = bounds_along(kernel, bits_lowest(index->axes));
  uint32_t others = (uint32_t)bits_mask(kernel->n_bounds) & ~along;
  LLRT_TRY(draft_open(kernel,
                      (plan_step){.kind = PLAN_IF_INTERIOR,
                                  .by_values = (uint8_t)(1 + (index - kernel->index)),
                                  .vector = (uint8_t)following,
                                  .ignored_bounds = others},
                      branch));
  LLRT_TRY(lay_out(r, tensor, following, &value));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_STORE,
                                          .tensor = (uint8_t)tensor,
                                          .in = (uint8_t)value,
                                          .vector = (uint8_t)following,
                                          .following = (uint8_t)following,
                                          .masked = others != 0,
                                          .ignored_bounds = along}));
  draft_close(kernel, *branch);
  return LLRT_OK;
}

/* What slots that do not, wherever they are. Where the first two follow each other most do, though
 * not from a multiple on: then neighbouring lanes have neighbouring slots. Both ways are right for
 * all of them. */
static llrt_status store_any(rows *r, int tensor, bool asks, int value) {
  plan_kernel *kernel = r->d.kernel;
  int branch = -1, apart = value;
  if (asks) {
    uint8_t index = (uint8_t)(1 + (slots_of(r, tensor) - kernel->index));
    LLRT_TRY(draft_open(kernel,
                        (plan_step){.kind = PLAN_IF_INTERIOR,
                                    .by_values = index,
                                    .ignored_bounds = (uint32_t)bits_mask(kernel->n_bounds)},
                        &branch));
    LLRT_TRY(lay_out(r, tensor, 0, &value));
    LLRT_TRY(rows_store_at_edge(r, tensor, value));
    draft_close(kernel, branch);
  }
  int end = kernel->n_steps;
  LLRT_TRY(lay_out_apart(r, tensor, &apart));
  LLRT_TRY(rows_store_at_edge(r, tensor, apart));
  if (branch >= 0) kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - end);
  return LLRT_OK;
}

llrt_status rows_store_slots(rows *r, int tensor, int value) {
  plan_kernel *kernel = r->d.kernel;
  int following = following_of(r, tensor, &kernel->value[value]), branch = -1;
  if (following > 0) LLRT_TRY(store_following(r, tensor, following, value, &branch));
  int end = kernel->n_steps;
  LLRT_TRY(store_any(r, tensor, following > 0, value));
  if (branch >= 0) kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - end);
  return LLRT_OK;
}
