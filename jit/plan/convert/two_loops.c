/* A large tile of the host's in two loops. The shuffle rounds from one side to the other are cut in
 * two halves. What the first half mixes are a few registers, whatever the others hold: the tile
 * falls into *components*, which a loop takes one after the other, and leaves in a buffer. The
 * second half has components of its own. So little code, and few registers at a time, do for a tile
 * that the register file does not hold.
 *
 * Let L0 and L1 be the lanes of either side and M those after the first half. A component of the
 * first is W = L0 + M, of the second L1 + M; what W lacks of the tile numbers them, and moves in no
 * round. Registers of M lie whole in the buffer, at multiples of their size: so what numbers
 * components, of either half, is part of one complement of M.
 *
 * Of two elements that share a lane the vector that parts them counts as one of the lanes: it is
 * the lowest there. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/convert/tile_steps.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <assert.h>
#include <string.h>

/* log2 registers from which on a tile is halved: fewer are at hand everywhere, and code for them is
 * short. */
#define HALVED_BITS 4

typedef struct vector_set {
  f2_basis span;
  int n;
  uint64_t at[THREAD_BASIS_MAX_REGISTERS];
} vector_set;

static void insert(vector_set *set, uint64_t x) {
  if (x && f2_basis_insert(&set->span, x)) set->at[set->n++] = x;
}

/* Inserts x without its part in the lanes of `f`: what its registers have of it. */
static void insert_projected(vector_set *set, const thread_basis *f, uint64_t x) {
  insert(set, f2_apply(f->registers, thread_basis_coordinates(f, x) & bits_mask(f->n_registers)));
}

/* The registers that span x[0 .. n) together with the lanes of `f`. */
static void project(const thread_basis *f, const uint64_t *x, int n, vector_set *out) {
  for (int i = 0; i < n; i++) insert_projected(out, f, x[i]);
}

/* What completes `inside` to all registers of `f`. */
static void complete(const thread_basis *f, const vector_set *inside, vector_set *out) {
  f2_basis span = inside->span;
  for (int i = 0; i < f->n_registers; i++)
    if (f2_basis_insert(&span, f->registers[i])) out->at[out->n++] = f->registers[i];
}

/* A thread basis whose lanes have what lies inside of them, too. */
static void widen(const thread_basis *f, thread_basis *out) {
  *out = *f;
  out->word = 0;
  out->n_lanes += f->word;
  out->n_registers -= f->word;
  memcpy(out->lanes, f->registers, (size_t)f->word * sizeof *out->lanes);
  memcpy(&out->lanes[f->word], f->lanes, (size_t)f->n_lanes * sizeof *out->lanes);
  memcpy(out->registers, &f->registers[f->word], (size_t)out->n_registers * sizeof *out->registers);
}

/* A value of few registers: the lanes of `f`, and iterations above those that `from` has. */
static llrt_status make_value(const thread_basis *f, const vector_set *registers,
                              const vector_set *iterations, const plan_value *from,
                              plan_value *out) {
  const llrt_layout *old = &from->layout;
  llrt_layout made = llrt_layout_empty();
  int n = 0, outer = plan_value_bits(from, PLAN_ITERATION), word = from->word;
  *out = *from;
  LLRT_TRY(llrt_layout_add_out(&made, old->out[0].name, old->out[0].bits));
  LLRT_TRY(llrt_layout_add_in(&made, old->in[PLAN_REGISTER].name, word + registers->n));
  LLRT_TRY(llrt_layout_add_in(&made, old->in[PLAN_LANE].name, f->n_lanes - word));
  LLRT_TRY(llrt_layout_add_in(&made, old->in[PLAN_WARP].name, 0));
  LLRT_TRY(llrt_layout_add_in(&made, old->in[PLAN_ITERATION].name, iterations->n + outer));
  for (int i = 0; i < word; i++) made.column[n++] = f->lanes[i];
  for (int i = 0; i < registers->n; i++) made.column[n++] = registers->at[i];
  for (int i = word; i < f->n_lanes; i++) made.column[n++] = f->lanes[i];
  for (int i = 0; i < iterations->n; i++) made.column[n++] = iterations->at[i];
  for (int i = 0; i < outer; i++) made.column[n++] = plan_value_columns(from, PLAN_ITERATION)[i];
  out->layout = made;
  return LLRT_OK;
}

static bool has_copies(const thread_basis *f) {
  for (int i = 0; i < f->n_lanes; i++)
    if (f->lanes[i] >> f->tile_bits) return true;
  return false;
}

/* The registers that number vectors of the same line of the destination, which are stored together.
 */
static int line_registers(const plan_kernel *kernel, const thread_basis *to) {
  int line = bits_log2(kernel->target.sector_bytes), n = 0;
  int vector = bits_log2(kernel->tensor_bits[1]) - 3 + to->n_lanes;
  plan_address_map map;
  plan_address_of_tensor(kernel, PLAN_DESTINATION, &map);
  while (n < to->n_registers && n < line - vector &&
         f2_apply(map.column, to->registers[n]) == 1ull << (to->n_lanes + n))
    n++;
  return n;
}

/* Appends the steps from value *at to a value of the same iterations, without a buffer; false where
 * that cannot be. */
static bool convert_value(draft *d, const plan_value *to, int *at) {
  int buffers = d->kernel->n_buffers;
  return draft_exchange(d, *at, to, at) == LLRT_OK && d->kernel->n_buffers == buffers;
}

/* The thread basis after about half of the steps that lead from one value to the other; false where
 * there are too few to halve. */
static bool find_middle(draft *d, const draft_values *values, thread_basis *middle) {
  plan_kernel *kernel = d->kernel;
  draft_mark before = draft_mark_of(kernel);
  int at = 0;
  bool found =
      draft_value(kernel, &values->load, &at) == LLRT_OK && convert_value(d, &values->store, &at);
  int n = kernel->n_steps - before.steps;
  found &= n >= 2 && n <= kernel->target.max_shuffle_rounds;
  if (found)
    thread_basis_of_value(&kernel->value[kernel->step[before.steps + (n + 1) / 2 - 1].out], middle);
  draft_take_back(kernel, before);
  return found;
}

/* Whether there are steps for both halves. */
static bool can_be_made(draft *d, const draft_two_loops *loops) {
  draft_mark before = draft_mark_of(d->kernel);
  const plan_value *const from[2] = {&loops->load, &loops->loaded}, *const to[2] = {&loops->stored,
                                                                                    &loops->store};
  bool made = true;
  for (int h = 0; h < 2 && made; h++) {
    int at = 0;
    made = draft_value(d->kernel, from[h], &at) == LLRT_OK && convert_value(d, to[h], &at);
  }
  draft_take_back(d->kernel, before);
  return made;
}

/* x plus registers, so that it is outside of `taken`, or inside of what numbers components already.
 */
static bool find_turn(const f2_basis *taken, const f2_basis *numbers, uint64_t x,
                      const vector_set *registers, uint64_t *turn) {
  for (uint64_t i = 0; i < 1ull << registers->n; i++) {
    *turn = x ^ f2_apply(registers->at, i);
    if (!f2_basis_contains(taken, *turn) || f2_basis_contains(numbers, *turn)) return true;
  }
  return false;
}

/* What numbers the second half's components, beside the first's in `numbers`, which gets it too.
 * What cannot becomes a register of a component. */
static void choose_turns(const thread_basis *to, const thread_basis *middle, vector_set *numbers,
                         vector_set *last, vector_set *turns) {
  f2_basis taken, before = numbers->span;
  vector_set rest = {0};
  complete(to, last, &rest);
  for (bool again = true; again;) {
    again = false;
    *turns = (vector_set){.n = 0};
    numbers->span = taken = before;
    for (int i = 0; i < middle->n_lanes; i++) f2_basis_insert(&taken, middle->lanes[i]);
    for (int i = 0; i < rest.n && !again; i++) {
      uint64_t turn;
      if (f2_basis_contains(&last->span, rest.at[i])) continue;
      if (find_turn(&taken, &numbers->span, rest.at[i], last, &turn)) {
        turns->at[turns->n++] = turn;
        f2_basis_insert(&taken, turn);
        f2_basis_insert(&numbers->span, turn);
      } else {
        insert(last, rest.at[i]);
        again = true;
      }
    }
  }
}

/* Gives the middle registers that begin with what numbers components. */
static void lay_out_middle(thread_basis *middle, const vector_set *first,
                           const vector_set *second) {
  vector_set chosen = {0};
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < middle->n_lanes; i++) f2_basis_insert(&span, middle->lanes[i]);
  for (int set = 0; set < 3; set++) {
    const uint64_t *at = set == 0 ? first->at : set == 1 ? second->at : middle->registers;
    int n = set == 0 ? first->n : set == 1 ? second->n : middle->n_registers;
    for (int i = 0; i < n; i++)
      if (f2_basis_insert(&span, at[i])) chosen.at[chosen.n++] = at[i];
  }
  assert(chosen.n == middle->n_registers);
  memcpy(middle->registers, chosen.at, (size_t)chosen.n * sizeof *chosen.at);
}

llrt_status draft_plan_two_loops(draft *d, const draft_values *values, draft_two_loops *out) {
  const plan_kernel *kernel = d->kernel;
  thread_basis narrow[2], from, to, middle;
  *out = (draft_two_loops){.used = false};
  if (!kernel->target.simd_lanes || kernel->n_maps > 0) return LLRT_OK;
  if (d->options && d->options->exchange != PLAN_EXCHANGE_AUTO) return LLRT_OK;
  thread_basis_of_values(&values->load, &values->store, &narrow[0], &narrow[1]);
  widen(&narrow[0], &from);
  widen(&narrow[1], &to);
  if (from.n_registers < HALVED_BITS || has_copies(&from) || has_copies(&to)) return LLRT_OK;
  if (!find_middle(d, values, &narrow[0])) return LLRT_OK;
  widen(&narrow[0], &middle);
  vector_set first = {0}, stored = {0}, loaded = {0}, last = {0}, numbers = {0}, turns[2];
  memset(turns, 0, sizeof turns);
  project(&from, middle.lanes, middle.n_lanes, &first);
  complete(&from, &first, &turns[0]);
  project(&to, to.registers, line_registers(kernel, &to), &last);
  project(&to, middle.lanes, middle.n_lanes, &last);
  for (int i = 0; i < turns[0].n; i++) f2_basis_insert(&numbers.span, turns[0].at[i]);
  choose_turns(&to, &middle, &numbers, &last, &turns[1]);
  lay_out_middle(&middle, &turns[0], &turns[1]);
  project(&middle, from.lanes, from.n_lanes, &stored);
  project(&middle, to.lanes, to.n_lanes, &loaded);
  project(&middle, last.at, last.n, &loaded);
  if (first.n != stored.n || loaded.n != last.n || turns[0].n == 0 || turns[1].n == 0)
    return LLRT_OK;
  for (int h = 0; h < 2; h++) out->iterations[h] = turns[h].n;
  memcpy(out->place, middle.lanes, sizeof middle.lanes);
  memcpy(&out->place[middle.n_lanes], middle.registers,
         (size_t)middle.n_registers * sizeof *out->place);
  LLRT_TRY(make_value(&from, &first, &turns[0], &values->load, &out->load));
  LLRT_TRY(make_value(&middle, &stored, &turns[0], &values->load, &out->stored));
  LLRT_TRY(make_value(&middle, &loaded, &turns[1], &values->load, &out->loaded));
  LLRT_TRY(make_value(&to, &last, &turns[1], &values->load, &out->store));
  out->used = can_be_made(d, out);
  return LLRT_OK;
}

/* The buffer between them: the registers of the middle, each as its lanes lie. */
static llrt_status add_buffer(draft *d, const draft_two_loops *loops, int *number) {
  plan_kernel *kernel = d->kernel;
  plan_buffer *buffer = &kernel->buffer[kernel->n_buffers];
  const plan_value *stored = &loops->stored;
  llrt_layout *layout = &buffer->layout;
  int n = stored->layout.out[0].bits - d->strip_bits,
      inner = plan_value_bits(stored, PLAN_ITERATION) - d->strip_bits;
  if (kernel->n_buffers == PLAN_MAX_BUFFERS)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d buffers", PLAN_MAX_BUFFERS);
  *layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(layout, "tile", stored->layout.out[0].bits));
  LLRT_TRY(llrt_layout_add_in(layout, "offset", n));
  LLRT_TRY(llrt_layout_add_in(layout, "repetition", d->strip_bits));
  LLRT_TRY(llrt_layout_add_in(layout, "block", 0));
  memcpy(layout->column, loops->place, (size_t)n * sizeof *layout->column);
  memcpy(&layout->column[n], &plan_value_columns(stored, PLAN_ITERATION)[inner],
         (size_t)d->strip_bits * sizeof *layout->column);
  buffer->bits = stored->bits;
  buffer->bytes = plan_access_bytes(stored->bits, n);
  buffer->iterations = (uint8_t)d->strip_bits;
  *number = kernel->n_buffers++;
  return LLRT_OK;
}

static llrt_status open_loop(draft *d, int iterations, int *loop) {
  return draft_open(d->kernel, (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations},
                    loop);
}

static void close_loop(draft *d, int loop) { draft_close(d->kernel, loop); }

llrt_status draft_two_loops_steps(draft *d, const draft_values *values,
                                  const draft_two_loops *loops, plan_step load, plan_step store) {
  plan_kernel *kernel = d->kernel;
  int loop, at, buffer;
  uint8_t lanes = (uint8_t)(plan_value_bits(&loops->stored, PLAN_LANE) + loops->stored.word);
  LLRT_TRY(add_buffer(d, loops, &buffer));
  if (plan_shared_in_use(kernel)) LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  LLRT_TRY(open_loop(d, loops->iterations[0], &loop));
  LLRT_TRY(draft_prefetch(d, values, loops->iterations[0]));
  LLRT_TRY(draft_value(kernel, &loops->load, &at));
  load.out = (uint8_t)at;
  LLRT_TRY(draft_access(d, load, loops->iterations[0]));
  LLRT_TRY(draft_exchange(d, at, &loops->stored, &at));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_SHARED_STORE,
                                          .in = (uint8_t)at,
                                          .vector = lanes,
                                          .buffer = (uint8_t)buffer}));
  close_loop(d, loop);
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  LLRT_TRY(open_loop(d, loops->iterations[1], &loop));
  LLRT_TRY(draft_value(kernel, &loops->loaded, &at));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_SHARED_LOAD,
                                          .out = (uint8_t)at,
                                          .vector = lanes,
                                          .buffer = (uint8_t)buffer}));
  LLRT_TRY(draft_exchange(d, at, &loops->store, &at));
  store.in = (uint8_t)at;
  LLRT_TRY(draft_access(d, store, loops->iterations[1]));
  close_loop(d, loop);
  return LLRT_OK;
}
