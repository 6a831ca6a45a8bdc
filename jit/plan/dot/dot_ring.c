/* Operands through rings in shared memory: elements are copied there by whole accesses as they are
 * in memory, turns before they are multiplied, without passing registers. The buffer and the way
 * from it into the instruction's layout are those of an exchange whose first step is one store;
 * copies take that store's place. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"

static bool has_plain_elements(const dot_draft *x, int operand) {
  const dot_job *job = x->job;
  bool scaled =
      job->tensor[operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A] >= 0 && !job->scaled_sums[operand];
  scaled |= job->tensor[operand ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A] >= 0;
  int bits = x->d.kernel->tensor_bits[dot_operand_tensor(x, operand)];
  int product = llrt_dtype_bits(operand ? x->types.b : x->types.a);
  return !scaled && bits >= 8 && product >= bits && !job->words[operand];
}

/* Whether a buffer has the elements of a value's accesses in the order in which memory does, that
 * of the registers. */
static bool lies_as_memory(const plan_kernel *kernel, int value, int buffer, int vector) {
  int positions[LLRT_MAX_BITS];
  plan_address_map map;
  plan_address_of_buffer(kernel, buffer, &map);
  bool same = plan_access_positions(&kernel->value[value], &map, PLAN_REGISTER, vector, positions);
  for (int j = 0; j < vector && same; j++) same = positions[j] == j;
  return same;
}

/* Whether the steps from `first` on are one store of value `in` by whole accesses, and what loads
 * it. Fills the ring's loads. */
static bool take_exchange(dot_draft *x, int first, int in, int vector, dot_ring *ring,
                          int *buffer) {
  const plan_kernel *kernel = x->d.kernel;
  bool stored = false, loaded = false;
  ring->n_loads = 0;
  for (int i = first; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind == PLAN_BARRIER) continue;
    if (step->kind == PLAN_SHARED_STORE) {
      if (stored || step->in != in || step->matrix || step->vector != vector) return false;
      *buffer = step->buffer;
      stored = true;
      continue;
    }
    loaded |= step->kind == PLAN_SHARED_LOAD;
    bool fits = loaded && ring->n_loads < 6 &&
                (step->kind == PLAN_SHARED_LOAD || step->kind == PLAN_REGISTERS);
    if (!fits) return false;
    ring->load[ring->n_loads++] = *step;
  }
  return stored && loaded && kernel->buffer[*buffer].layout.in[1].bits == 0 &&
         lies_as_memory(kernel, in, *buffer, vector);
}

/* The exchange from what is copied to what the instruction wants, by matrices where that can be. */
static llrt_status find_exchange(dot_draft *x, int operand, int in, int vector, dot_ring *ring,
                                 int *buffer, bool *found) {
  static const plan_exchange ways[] = {PLAN_EXCHANGE_MATRIX, PLAN_EXCHANGE_SHARED};
  draft *d = &x->d;
  plan_kernel *kernel = d->kernel;
  const plan_options *asked = d->options;
  bool matrix_store = kernel->target.matrix_store;
  plan_value target = dot_wanted_value(x, operand);
  int steps = kernel->n_steps, values = kernel->n_values, buffers = kernel->n_buffers;
  *found = false;
  kernel->target.matrix_store = false;
  for (int i = 0; i < 2 && !*found; i++) {
    const plan_options forced = {.exchange = ways[i]};
    int out;
    d->options = &forced;
    kernel->n_values = values;
    kernel->n_buffers = buffers;
    llrt_status status = draft_exchange(d, in, &target, &out);
    *found = status == LLRT_OK && take_exchange(x, steps, in, vector, ring, buffer);
    kernel->n_steps = steps;
  }
  d->options = asked;
  kernel->target.matrix_store = matrix_store;
  if (!*found) kernel->n_values = values;
  if (!*found) kernel->n_buffers = buffers;
  return LLRT_OK;
}

static llrt_status plan_ring(dot_draft *x, int operand, bool *found) {
  draft *d = &x->d;
  plan_kernel *kernel = d->kernel;
  dot_ring *ring = &x->ring[operand];
  dot_access access;
  plan_value spread;
  int tensor = dot_operand_tensor(x, operand), buffer = 0;
  *found = false;
  if (!has_plain_elements(x, operand)) return LLRT_OK;
  uint64_t mask = x->bits[operand ? DOT_DIM_N : DOT_DIM_M] | x->bits[DOT_DIM_K];
  LLRT_TRY(dot_memory_value(x, tensor, mask, &access));
  int bytes = plan_access_bytes(access.value.bits, access.vector);
  plan_value_spread(kernel, &access.value, &spread);
  if (bytes < 4 || access.align < access.vector ||
      draft_whole_vector(d, &spread, tensor, access.vector) < access.vector)
    return LLRT_OK;
  LLRT_TRY(draft_value(kernel, &access.value, &ring->copied));
  LLRT_TRY(find_exchange(x, operand, ring->copied, access.vector, ring, &buffer, found));
  if (!*found) return LLRT_OK;
  kernel->buffer[buffer].slots = DOT_SLOTS;
  ring->copy = (plan_step){.kind = PLAN_COPY,
                           .tensor = (uint8_t)tensor,
                           .in = (uint8_t)ring->copied,
                           .buffer = (uint8_t)buffer,
                           .vector = (uint8_t)access.vector};
  ring->masked = ring->copy;
  ring->masked.masked = true;
  return LLRT_OK;
}

llrt_status dot_plan_rings(dot_draft *x) {
  plan_kernel *kernel = x->d.kernel;
  int values = kernel->n_values, buffers = kernel->n_buffers;
  bool found = kernel->target.async_copies;
  for (int i = 0; i < 2 && found; i++) LLRT_TRY(plan_ring(x, i, &found));
  if (found) {
    plan_buffer *second = &kernel->buffer[x->ring[1].copy.buffer];
    second->offset = plan_buffer_end(&kernel->buffer[x->ring[0].copy.buffer]);
    found = plan_buffer_end(second) <= kernel->target.facts.shared_bytes;
  }
  x->rings = found;
  if (found) return LLRT_OK;
  kernel->n_values = values;
  kernel->n_buffers = buffers;
  return LLRT_OK;
}

/* One operand by boxes, the other by threads. */
static llrt_status copy_mixed(dot_draft *x, bool edge, int *n) {
  plan_kernel *kernel = x->d.kernel;
  const dot_ring *boxed = &x->ring[x->mixed - 1], *other = &x->ring[2 - x->mixed];
  *n = edge ? 4 : 2;
  LLRT_TRY(draft_step(kernel, boxed->masked));
  if (edge)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .body = 1, .otherwise = 1}));
  LLRT_TRY(draft_step(kernel, other->copy));
  return edge ? draft_step(kernel, other->masked) : LLRT_OK;
}

llrt_status dot_copy_operands(dot_draft *x, int *n) {
  plan_kernel *kernel = x->d.kernel;
  const bool edge = kernel->n_bounds > 0 && !x->boxes && !x->lines, all = x->boxes || x->lines;
  if (x->mixed) return copy_mixed(x, edge, n);
  *n = edge ? 5 : 2;
  if (edge)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .body = 2, .otherwise = 2}));
  for (int i = 0; i < 2; i++)
    LLRT_TRY(draft_step(kernel, all ? x->ring[i].masked : x->ring[i].copy));
  for (int i = 0; i < 2 && edge; i++) LLRT_TRY(draft_step(kernel, x->ring[i].masked));
  return LLRT_OK;
}

/* Both operands' copies of the turn that is so many turns ahead. */
static llrt_status copy_steps(dot_draft *x, int ahead) {
  plan_kernel *kernel = x->d.kernel;
  int at = kernel->n_steps, n;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_AHEAD, .turns = ahead}));
  LLRT_TRY(dot_copy_operands(x, &n));
  kernel->step[at].body = (uint8_t)n;
  return LLRT_OK;
}

#define AHEAD (DOT_SLOTS - 1)

llrt_status dot_open_rings(dot_draft *x) {
  for (int i = 0; i < AHEAD; i++) LLRT_TRY(copy_steps(x, i));
  return LLRT_OK;
}

/* The slot that is filled next was read in the turn before: the barrier parts them, too. */
llrt_status dot_turn_rings(dot_draft *x) {
  plan_kernel *kernel = x->d.kernel;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_COPIED, .turns = AHEAD - 1}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER}));
  return copy_steps(x, AHEAD);
}

llrt_status dot_ring_operand(dot_draft *x, int operand, int *value) {
  const dot_ring *ring = &x->ring[operand];
  for (int i = 0; i < ring->n_loads; i++) LLRT_TRY(draft_step(x->d.kernel, ring->load[i]));
  *value = ring->load[ring->n_loads - 1].out;
  return dot_widen_operand(x, operand, value);
}
