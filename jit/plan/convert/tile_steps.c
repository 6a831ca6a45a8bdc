/* The steps of a tile: load, maps, exchange and store, with its edges. */
#include "jit/plan/convert/tile_steps.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/row_group.h"

/* Of rows of 4-bit elements that begin in either half of a byte: what lies in front of each group
 * that the store moves, which shares a byte with the group's first element. */
static llrt_status load_front(draft *d, const draft_values *values, plan_step *store) {
  plan_value front;
  int number = 0;
  if (!store->overhang || d->kernel->tensor_bits[PLAN_DESTINATION] >= 8) return LLRT_OK;
  if (!plan_front_of(d->kernel, &values->store, store->vector, &front))
    return llrt_error(LLRT_INTERNAL, "rows whose groups have nothing in front");
  LLRT_TRY(draft_sequence(d));
  LLRT_TRY(draft_value(d->kernel, &front, &number));
  LLRT_TRY(draft_step(
      d->kernel,
      (plan_step){.kind = PLAN_LOAD, .out = (uint8_t)number, .masked = true, .front = true}));
  LLRT_TRY(draft_map_steps(d, 0, d->kernel->n_maps, false, &number));
  store->second = (uint8_t)number;
  return LLRT_OK;
}

/* load, exchange, store of a whole tile. */
static llrt_status interior_steps(draft *d, const draft_values *values,
                                  const draft_two_loops *loops, bool streaming) {
  plan_kernel *kernel = d->kernel;
  int at = 0, stored = 0, aligned = d->align[1] + draft_log2_bytes(d, 1);
  if (!streaming || !d->whole_lines[1]) aligned = 0;
  plan_step load = {.kind = PLAN_LOAD,
                    .tensor = 0,
                    .vector = (uint8_t)d->vector[0],
                    .overhang = d->overhang[0],
                    .misaligned = (uint8_t)(d->vector[0] - d->align[0])};
  plan_step store = {.kind = PLAN_STORE,
                     .tensor = 1,
                     .vector = (uint8_t)d->vector[1],
                     .overhang = d->overhang[1],
                     .misaligned = (uint8_t)(d->vector[1] - d->align[1]),
                     .streaming = (uint8_t)aligned,
                     .parted = d->parts_bytes};
  if (d->overhang[0] && draft_log2_bytes(d, 0) < 0) load.misaligned--; /* of bytes */
  if (d->overhang[1] && draft_log2_bytes(d, 1) < 0) store.misaligned--;
  if (loops->used) return draft_two_loops_steps(d, values, loops, load, store);
  LLRT_TRY(draft_value(kernel, &values->load, &at));
  load.by_words = draft_by_words(d, &load, &values->load);
  load.out = (uint8_t)at;
  LLRT_TRY(draft_access(d, load, 0));
  LLRT_TRY(load_front(d, values, &store));
  LLRT_TRY(draft_map_steps(d, 0, d->maps_before, false, &at));
  plan_value target = draft_retyped(d, &values->store, kernel->value[at].bits);
  LLRT_TRY(draft_exchange(d, at, &target, &stored));
  LLRT_TRY(draft_map_steps(d, d->maps_before, kernel->n_maps - d->maps_before, false, &stored));
  store.in = (uint8_t)stored;
  return draft_access(d, store, 0);
}

/* The masked path element by element (4 bits: byte by byte of the destination, parted where bounds
 * part it), or word by word where maps want it, without an exchange: little code, for the host. */
static llrt_status element_steps(draft *d, const draft_values *values) {
  plan_kernel *kernel = d->kernel;
  int number = 0;
  LLRT_TRY(draft_value(kernel, &values->edge, &number));
  uint8_t together = (uint8_t)bits_max(draft_log2_bytes(d, 1) < 0, d->word_elements);
  bool parted = together == 1 && draft_parts_bytes(d, d->order[1][0]);
  if (values->edge_iterations > 0)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LOOP,
                                            .body = (uint8_t)(2 + kernel->n_maps),
                                            .iterations = (uint8_t)values->edge_iterations}));
  LLRT_TRY(draft_step(
      kernel, (plan_step){.kind = PLAN_LOAD, .tensor = 0, .out = (uint8_t)number, .masked = true}));
  LLRT_TRY(draft_map_steps(d, 0, kernel->n_maps, true, &number));
  return draft_step(kernel, (plan_step){.kind = PLAN_STORE,
                                        .tensor = 1,
                                        .in = (uint8_t)number,
                                        .vector = together,
                                        .masked = true,
                                        .parted = parted});
}

static llrt_status edge_of_tile(draft *d, const draft_values *values, int branch, int end) {
  bool done = false;
  if (!d->kernel->target.simd_lanes || draft_moves_parts(d))
    LLRT_TRY(draft_masked_steps(d, branch + 1, end, &done));
  if (done) return LLRT_OK;
  if (d->overhang[1] && d->kernel->tensor_bits[1] < 8)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "edges of rows of 4-bit elements that begin in either half of a byte: too many accesses");
  return element_steps(d, values);
}

/* The interior's steps, masked, where there is no other path. */
static llrt_status only_masked(draft *d, const draft_values *values, const draft_two_loops *loops,
                               bool streaming) {
  plan_kernel *kernel = d->kernel;
  int first = kernel->n_steps;
  if (!draft_moves_parts(d)) return element_steps(d, values);
  LLRT_TRY(interior_steps(d, values, loops, streaming));
  for (int i = first; i < kernel->n_steps; i++) draft_mask_step(d, &kernel->step[i]);
  return LLRT_OK;
}

/* In a strip: nothing where an iteration, what value `whole` has in it, has only what overhangs.
 */
static llrt_status open_present(draft *d, int whole, int *present) {
  *present = -1;
  if (d->strip_bits == 0) return LLRT_OK;
  return draft_open(d->kernel,
                    (plan_step){.kind = PLAN_IF_PRESENT, .looped = true, .in = (uint8_t)whole},
                    present);
}

static void close_present(draft *d, int present) {
  if (present >= 0) draft_close(d->kernel, present);
}

static llrt_status edge_steps(draft *d, const draft_values *values, int branch) {
  int end = d->kernel->n_steps, present;
  LLRT_TRY(open_present(d, d->kernel->step[branch].in, &present));
  LLRT_TRY(edge_of_tile(d, values, branch, end));
  close_present(d, present);
  return LLRT_OK;
}

/* Where every tile is an edge, that alone. */
static llrt_status only_edge_steps(draft *d, const draft_values *values,
                                   const draft_two_loops *loops, bool streaming, int whole) {
  int present;
  LLRT_TRY(open_present(d, whole, &present));
  LLRT_TRY(only_masked(d, values, loops, streaming));
  close_present(d, present);
  return LLRT_OK;
}

/* The tile's steps, around which the ways of the edge and of the interior part. */
static llrt_status parted_steps(draft *d, const draft_values *values, const draft_two_loops *loops,
                                bool streaming, int whole) {
  plan_kernel *kernel = d->kernel;
  int branch;
  LLRT_TRY(draft_open(
      kernel,
      (plan_step){.kind = PLAN_IF_INTERIOR, .looped = d->strip_bits > 0, .in = (uint8_t)whole},
      &branch));
  LLRT_TRY(interior_steps(d, values, loops, streaming));
  int body = kernel->n_steps - branch - 1;
  LLRT_TRY(edge_steps(d, values, branch));
  kernel->step[branch].body = (uint8_t)body;
  kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - branch - 1 - body);
  return LLRT_OK;
}

/* The same where accesses alone are there both ways. */
static llrt_status single_body_steps(draft *d, const draft_values *values,
                                     const draft_two_loops *loops, bool streaming, int whole) {
  int present;
  d->single_body = (draft_single_body){.used = true, .whole = (uint8_t)whole};
  LLRT_TRY(open_present(d, whole, &present));
  LLRT_TRY(interior_steps(d, values, loops, streaming));
  close_present(d, present);
  return LLRT_OK;
}

/* Whether a map of words finds none in the lanes that a small tile leaves the host: then words go
 * one by one. */
static bool misses_words(const draft *d, const draft_values *values) {
  return d->word_elements > 0 && !plan_keeps_words(d->kernel, &values->store, PLAN_DESTINATION);
}

llrt_status draft_tile_steps(draft *d, const draft_values *values, const draft_two_loops *loops,
                             bool streaming) {
  bool edge = d->kernel->n_bounds > 0 || d->overhang[0];
  int whole = 0;
  if (misses_words(d, values)) return element_steps(d, values);
  if (!edge) return interior_steps(d, values, loops, streaming);
  if (d->strip_bits > 0) LLRT_TRY(draft_value(d->kernel, &values->load, &whole));
  if (draft_is_always_edge(d, &values->load))
    return only_edge_steps(d, values, loops, streaming, whole);
  if (draft_is_single_body(d, values, loops))
    return single_body_steps(d, values, loops, streaming, whole);
  return parted_steps(d, values, loops, streaming, whole);
}
