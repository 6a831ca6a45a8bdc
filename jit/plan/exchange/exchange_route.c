/* The four routes of an in-block conversion: registers and lane shuffles; a swizzled shared buffer;
 * shuffles that form the target's words, then the buffer; the buffer with matrix instructions on
 * one side or both. */
#include "jit/plan/exchange/exchange_route.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <assert.h>
#include <string.h>

/* ---- steps ---- */

llrt_status exchange_step(draft *d, plan_step_kind kind, const thread_basis *to,
                          const plan_value *warps_of, int *at) {
  plan_value value;
  int in = *at;
  thread_basis_to_value(to, warps_of, &value);
  LLRT_TRY(draft_value(d->kernel, &value, at));
  return draft_step(d->kernel,
                    (plan_step){.kind = (uint8_t)kind, .in = (uint8_t)in, .out = (uint8_t)*at});
}

static bool same_warps(const plan_value *a, const plan_value *b) {
  int n = plan_value_bits(a, PLAN_WARP);
  return n == plan_value_bits(b, PLAN_WARP) &&
         memcmp(plan_value_columns(a, PLAN_WARP), plan_value_columns(b, PLAN_WARP),
                (size_t)n * sizeof(uint64_t)) == 0;
}

int draft_interleave_bits(const draft *d, int bits) {
  if (!d->kernel->target.simd_lanes) return 0;
  return bits_min(bits_log2(128 / bits_max(bits, 8)), d->kernel->lane_bits);
}

llrt_status exchange_rename(draft *d, const thread_basis *from, const thread_basis *to,
                            const plan_value *warps_of, int *at) {
  thread_basis rounds[THREAD_BASIS_MAX_RENAMES];
  if (thread_basis_equal(from, to)) return LLRT_OK;
  int n = rename_rounds(from, to, rounds);
  for (int i = 0; i < n; i++) LLRT_TRY(exchange_step(d, PLAN_REGISTERS, &rounds[i], warps_of, at));
  return LLRT_OK;
}

/* own: of the block, where there is a cluster. */
static llrt_status barrier_step(draft *d, bool own) {
  return draft_step(d->kernel,
                    (plan_step){.kind = PLAN_BARRIER, .own = own && d->kernel->cluster_bits > 0});
}

/* In a strip's loop every iteration has the buffer anew. */
static void add_iterations(const plan_value *value, int bits, plan_buffer *buffer) {
  llrt_layout *layout = &buffer->layout;
  int n = layout->in[0].bits + layout->in[1].bits;
  assert(bits == 0 || layout->in[2].bits == 0);
  memcpy(&layout->column[n], plan_value_columns(value, PLAN_ITERATION),
         (size_t)bits * sizeof *layout->column);
  layout->in[1].bits = (uint8_t)(layout->in[1].bits + bits);
  buffer->iterations = (uint8_t)bits;
}

/* Bytes of shared memory that a buffer may take: all where that is asked for, else those of rings,
 * which are empty where values are exchanged: not in rounds, in which producers fill them for the
 * next one. */
static int held_bytes(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  if (d->options && d->options->whole_buffers) return kernel->target.facts.shared_bytes;
  return kernel->launch.rounds > 0 || d->keeps ? 0 : plan_ring_bytes(kernel);
}

/* Buffers of a draft that wants them apart: they take so many bytes together, beside rings that
 * hold what is kept fewer, and from so many on one that is like the next is used again. */
#define APART_BYTES 8192
#define APART_BYTES_BESIDE_RINGS 2048
#define APART_BUFFERS 4

/* Puts a buffer behind all others, where nobody who still reads is in its way; false: it lies where
 * they do. In a loop those are in the way who still read what the turn before has stored. */
static bool lies_apart(const draft *d, plan_buffer *buffer) {
  const plan_kernel *kernel = d->kernel;
  int begin = d->keeps ? plan_ring_bytes(kernel) : 0, end = begin;
  int most = d->keeps ? APART_BYTES_BESIDE_RINGS : APART_BYTES;
  if (!d->apart || plan_in_loop(kernel)) return false;
  for (int i = 0; i < kernel->n_buffers; i++)
    end = bits_max(end, plan_buffer_end(&kernel->buffer[i]));
  end = (end + 15) & -16;
  if (end + buffer->bytes - begin > most) return false;
  buffer->offset = end;
  return true;
}

/* The number of a buffer that is used again; n_buffers: there is none. */
static int used_again(const draft *d, const plan_buffer *wanted) {
  const plan_kernel *kernel = d->kernel;
  for (int i = 0; d->apart && i < kernel->n_buffers && kernel->n_buffers >= APART_BUFFERS; i++) {
    const plan_buffer *own = &kernel->buffer[i];
    if (own->slots == 0 && own->bytes == wanted->bytes && own->bits == wanted->bits &&
        llrt_layout_equal(&own->layout, &wanted->layout))
      return i;
  }
  return kernel->n_buffers;
}

/* A buffer as `wanted`; *apart: nothing was read from where it lies. */
static llrt_status take_buffer(draft *d, const plan_buffer *wanted, const plan_value *target,
                               int *number, bool *apart) {
  plan_kernel *kernel = d->kernel;
  *number = used_again(d, wanted);
  *apart = false;
  if (*number < kernel->n_buffers) return LLRT_OK;
  if (*number == PLAN_MAX_BUFFERS)
    return llrt_error(LLRT_UNSUPPORTED, "a kernel of more than %d buffers", PLAN_MAX_BUFFERS);
  plan_buffer *buffer = &kernel->buffer[*number];
  *buffer = *wanted;
  *apart = lies_apart(d, buffer);
  if (kernel->launch.rounds > 0 || (d->keeps && !*apart)) buffer->offset = plan_ring_bytes(kernel);
  kernel->n_buffers++;
  add_iterations(target, d->strip_bits, buffer);
  return LLRT_OK;
}

/* Through a buffer, part after part: store, barrier, load. matrix: plan_matrix_kind of either. */
static llrt_status buffer_steps(draft *d, const swizzle *chosen, const uint8_t matrix[2],
                                const plan_value *target, int *at) {
  plan_kernel *kernel = d->kernel;
  int in = *at, buffer;
  bool apart;
  LLRT_TRY(take_buffer(d, &chosen->buffer, target, &buffer, &apart));
  LLRT_TRY(draft_value(kernel, target, at));
  for (int part = 0; part < 1 << chosen->rep_bits; part++) {
    plan_step store = {.kind = PLAN_SHARED_STORE,
                       .in = (uint8_t)in,
                       .buffer = (uint8_t)buffer,
                       .vector = (uint8_t)chosen->vector[0],
                       .matrix = matrix[0],
                       .repetition = (uint8_t)part};
    plan_step load = {.kind = PLAN_SHARED_LOAD,
                      .out = (uint8_t)*at,
                      .buffer = (uint8_t)buffer,
                      .vector = (uint8_t)chosen->vector[1],
                      .matrix = matrix[1],
                      .repetition = (uint8_t)part};
    if ((part > 0 || !apart) && plan_shared_in_use(kernel))
      LLRT_TRY(barrier_step(d, !plan_others_read(kernel)));
    LLRT_TRY(draft_step(kernel, store));
    LLRT_TRY(barrier_step(d, plan_is_local(kernel, buffer, &kernel->value[*at])));
    LLRT_TRY(draft_step(kernel, load));
  }
  return LLRT_OK;
}

/* ---- what blocks push to each other ---- */

/* Whether every block of the cluster has a part of its own. */
static bool parts_blocks(const thread_basis *side) {
  f2_basis span;
  f2_basis_init(&span);
  for (int i = side->n_warps - side->cluster; i < side->n_warps; i++)
    if (side->warps[i] >> side->tile_bits || !f2_basis_insert(&span, side->warps[i])) return false;
  return side->cluster > 0;
}

/* A buffer in which each block finds all that it loads: that of the way back, on which loading
 * blocks store. *found: there is one, beside all that shared memory holds. */
static llrt_status plan_push(const draft *d, const thread_basis *from, const thread_basis *to,
                             const plan_value *target, swizzle *out, bool *found) {
  const plan_kernel *kernel = d->kernel;
  const int none = 0, barriers = 8 + 24 * kernel->slots;
  *found = false;
  if (!d->pushes || target->bits != 32 || plan_in_loop(kernel) || kernel->launch.rounds > 0 ||
      d->strip_bits > 0 || plan_fetches_together(kernel) || plan_pushed_buffer(kernel) >= 0 ||
      plan_meets_cluster(kernel, kernel->n_steps) || !parts_blocks(from) || !parts_blocks(to))
    return LLRT_OK;
  swizzle back;
  LLRT_TRY(swizzle_plan(&kernel->target, none, target->bits, to, from, &back));
  const llrt_layout *layout = &back.buffer.layout;
  int end = 0;
  for (int i = 0; i < kernel->n_buffers; i++)
    end = bits_max(end, plan_buffer_end(&kernel->buffer[i]));
  back.buffer.offset = (end + 15) & -16;
  back.buffer.pushed = true;
  *out = back;
  out->vector[0] = bits_min(back.vector[1], 2);
  out->vector[1] = back.vector[0];
  *found = back.rep_bits == 0 && layout->in[0].bits + layout->in[2].bits == layout->out[0].bits &&
           back.buffer.offset + back.buffer.bytes + barriers <= kernel->target.facts.shared_bytes;
  return LLRT_OK;
}

static llrt_status push_steps(draft *d, const swizzle *chosen, const plan_value *target, int *at) {
  plan_kernel *kernel = d->kernel;
  const int in = *at, buffer = kernel->n_buffers;
  if (buffer == PLAN_MAX_BUFFERS)
    return llrt_error(LLRT_UNSUPPORTED, "a kernel of more than %d buffers", PLAN_MAX_BUFFERS);
  kernel->buffer[kernel->n_buffers++] = chosen->buffer;
  LLRT_TRY(draft_value(kernel, target, at));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_SHARED_STORE,
                                          .in = (uint8_t)in,
                                          .buffer = (uint8_t)buffer,
                                          .vector = (uint8_t)chosen->vector[0]}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_BARRIER, .pushed = true}));
  return draft_step(kernel, (plan_step){.kind = PLAN_SHARED_LOAD,
                                        .out = (uint8_t)*at,
                                        .buffer = (uint8_t)buffer,
                                        .vector = (uint8_t)chosen->vector[1]});
}

/* The same, with accesses of lanes on both sides. */
static llrt_status swizzle_steps(draft *d, const thread_basis *from, const thread_basis *to,
                                 const plan_value *target, int *at) {
  static const uint8_t no_matrix[2];
  swizzle chosen;
  bool pushes;
  LLRT_TRY(plan_push(d, from, to, target, &chosen, &pushes));
  if (pushes) return push_steps(d, &chosen, target, at);
  LLRT_TRY(swizzle_plan(&d->kernel->target, held_bytes(d), target->bits, from, to, &chosen));
  if (d->options && d->options->single_accesses) chosen.vector[0] = chosen.vector[1] = 0;
  return buffer_steps(d, &chosen, no_matrix, target, at);
}

/* ---- routes ---- */

llrt_status exchange_shuffle_to(const exchange_ends *c, const thread_basis *rounds, int n,
                                int *at) {
  for (int i = 0; i < n; i++) LLRT_TRY(exchange_step(c->d, PLAN_SHUFFLE, &rounds[i], c->start, at));
  return LLRT_OK;
}

/* Registers in common: `word` of them for words that stay whole all the way, those of the wanted
 * word first. False where there are too few. */
static bool common_word(const thread_basis *from, const thread_basis *to, thread_basis *word) {
  f2_basis span, chosen;
  int n = 0;
  f2_basis_init(&span);
  f2_basis_init(&chosen);
  for (int i = 0; i < from->n_registers; i++) f2_basis_insert(&span, from->registers[i]);
  *word = *to;
  for (int i = 0; i < to->n_registers; i++)
    if (f2_basis_contains(&span, to->registers[i]) && f2_basis_insert(&chosen, to->registers[i]))
      word->registers[n++] = to->registers[i];
  int common = n;
  for (int i = 0; i < to->n_registers; i++)
    if (f2_basis_insert(&chosen, to->registers[i])) word->registers[n++] = to->registers[i];
  return common >= to->word && n == to->n_registers;
}

/* The sides of lane shuffles: without copies that only one of them has. */
typedef struct shuffle_sides {
  thread_basis from, to;
  int ends, begins; /* steps after c->from and before c->to */
  thread_basis ending[THREAD_BASIS_MAX_LANES], beginning[THREAD_BASIS_MAX_LANES];
} shuffle_sides;

/* False where a lane that holds copies has no register to take. */
static bool end_copies(const exchange_ends *c, shuffle_sides *s) {
  bool all[2];
  s->from = c->from;
  s->to = c->to;
  s->ends = s->begins = 0;
  if (c->d->kernel->target.simd_lanes) return true;
  s->ends = thread_basis_fill_copies(&c->from, &c->to, false, s->ending, &all[0]);
  s->begins = thread_basis_fill_copies(&c->to, &c->from, false, s->beginning, &all[1]);
  if (s->ends > 0) s->from = s->ending[s->ends - 1];
  if (s->begins > 0) s->to = s->beginning[s->begins - 1];
  return all[0] && all[1];
}

/* Lane shuffles, all inside the warp: with words formed of common registers before, and formed anew
 * after where those are not the target's. Copies end first and begin last. */
llrt_status exchange_by_shuffles(const exchange_ends *c, int *at, bool *found) {
  shuffle_sides s;
  thread_basis based, rounds[THREAD_BASIS_MAX_LANES + 1];
  *found = false;
  if (!same_warps(c->start, c->target) || !end_copies(c, &s)) return LLRT_OK;
  thread_basis formed = s.to;
  if (!thread_basis_rebase(&s.from, &formed, &based) &&
      (!common_word(&s.from, &s.to, &formed) || !thread_basis_rebase(&s.from, &formed, &based)))
    return LLRT_OK;
  int n =
      thread_basis_equal(&based, &formed)
          ? 0
          : shuffle_rounds(&based, &formed, draft_interleave_bits(c->d, c->start->bits), rounds);
  if (n < 0) return LLRT_OK;
  if (c->d->kernel->target.simd_lanes && n > c->d->kernel->target.max_shuffle_rounds)
    return LLRT_OK;
  *found = true;
  LLRT_TRY(exchange_shuffle_to(c, s.ending, s.ends, at));
  LLRT_TRY(exchange_rename(c->d, &s.from, &based, c->start, at));
  LLRT_TRY(exchange_shuffle_to(c, rounds, n, at));
  LLRT_TRY(exchange_rename(c->d, &formed, &s.to, c->start, at));
  for (int i = s.begins - 1; i > 0; i--)
    LLRT_TRY(exchange_shuffle_to(c, &s.beginning[i - 1], 1, at));
  return s.begins > 0 ? exchange_shuffle_to(c, &c->to, 1, at) : LLRT_OK;
}

/* Shared memory; in whole words where the thread can form them, else in parts of words. */
llrt_status exchange_by_buffer(const exchange_ends *c, int *at, bool *found) {
  thread_basis based;
  *found = true;
  if (!thread_basis_rebase(&c->from, &c->to, &based)) based = c->from;
  LLRT_TRY(exchange_rename(c->d, &c->from, &based, c->start, at));
  return swizzle_steps(c->d, &based, &c->to, c->target, at);
}

/* One shuffle that brings lane vector u into a register above the word: in the place of one that
 * the target has in no register, if there is such. False where it cannot be done in whole words. */
static bool bring_in(const thread_basis *at, const thread_basis *to, int brought, uint64_t u,
                     thread_basis *next) {
  f2_basis basis;
  uint64_t x;
  int leaves = -1;
  f2_basis_init(&basis);
  for (int i = 0; i < at->n_registers; i++) f2_basis_insert_as(&basis, at->registers[i], 1ull << i);
  for (int i = 0; i < at->n_lanes; i++)
    f2_basis_insert_as(&basis, at->lanes[i], 1ull << (at->n_registers + i));
  if (!f2_basis_coordinates(&basis, u, &x) || x & bits_mask(at->word)) return false;
  if (x >> at->n_registers == 0) return false;
  for (int i = at->word; i < at->n_registers - brought; i++) {
    bool wanted = false;
    for (int j = 0; j < to->n_registers; j++) wanted |= to->registers[j] == at->registers[i];
    if (leaves < 0 || !wanted) leaves = i;
    if (!wanted) break;
  }
  if (leaves < 0) return false;
  *next = *at;
  int lane = bits_lowest(x >> at->n_registers), last = at->n_registers - brought - 1;
  next->lanes[lane] = at->registers[leaves];
  next->registers[leaves] = at->registers[last];
  next->registers[last] = u;
  return true;
}

/* Shuffles that bring vectors of the target's word into the thread, one a round. */
typedef struct forming {
  thread_basis now; /* after them */
  int brought;
  thread_basis rounds[THREAD_BASIS_MAX_LANES];
} forming;

/* Brings in vector i of the target's word where the thread has it not. False where it cannot be
 * done. */
static bool form(const exchange_ends *c, int i, forming *f) {
  f2_basis span;
  f2_basis_init(&span);
  for (int j = 0; j < f->now.n_registers; j++) f2_basis_insert(&span, f->now.registers[j]);
  if (f2_basis_contains(&span, c->to.registers[i])) return true;
  if (f->brought == THREAD_BASIS_MAX_LANES ||
      !bring_in(&f->now, &c->to, f->brought, c->to.registers[i], &f->rounds[f->brought]))
    return false;
  f->now = f->rounds[f->brought++];
  return true;
}

/* Shuffles that bring the target's word into the thread, then shared memory in whole words. */
llrt_status exchange_by_formed_words(const exchange_ends *c, int *at, bool *found) {
  forming f = {.now = c->from};
  thread_basis based;
  *found = false;
  if (c->d->kernel->target.simd_lanes || c->to.word != c->from.word ||
      thread_basis_rebase(&c->from, &c->to, &based))
    return LLRT_OK;
  for (int i = 0; i < c->to.word; i++)
    if (!form(c, i, &f)) return LLRT_OK;
  if (!thread_basis_rebase(&f.now, &c->to, &based)) return LLRT_OK;
  *found = true;
  LLRT_TRY(exchange_shuffle_to(c, f.rounds, f.brought, at));
  LLRT_TRY(exchange_rename(c->d, &f.now, &based, c->start, at));
  return swizzle_steps(c->d, &based, &c->to, c->target, at);
}

/* Whether each block of a cluster has the same on both sides. */
static bool stays_in_blocks(const thread_basis *from, const thread_basis *to) {
  for (int i = 1; i <= from->cluster; i++)
    if (from->warps[from->n_warps - i] != to->warps[to->n_warps - i] ||
        from->warps[from->n_warps - i] == 0)
      return false;
  return true;
}

/* Shared memory by matrices, with words formed before and after where they are not those of a row.
 * Where the sides have too few registers in common for one, shuffles bring in as many as it needs.
 */
llrt_status exchange_by_matrices(const exchange_ends *c, int *at, bool *found) {
  const plan_target *target = &c->d->kernel->target;
  swizzle_rows rows = {.matrix = {c->matrix[0], c->matrix[1]}};
  forming f = {.now = c->from};
  int next = 0;
  thread_basis fitted[2];
  plan_value loaded;
  swizzle chosen;
  *found = false;
  if ((rows.matrix[0] && !target->matrix_store) || (rows.matrix[1] && !target->matrix_load))
    return LLRT_OK;
  if (c->d->options && c->d->options->single_accesses) return LLRT_OK;
  if (!stays_in_blocks(&c->from, &c->to))
    return LLRT_OK; /* matrices come from the own block's memory only */
  while (!thread_basis_fit_rows(&f.now, &c->to, c->target->bits, &rows, fitted))
    if (next == c->to.word || !form(c, next++, &f)) return LLRT_OK;
  LLRT_TRY(swizzle_plan_rows(target, held_bytes(c->d), c->target->bits, &fitted[0], &fitted[1],
                             &rows, &chosen, found));
  if (!*found) return LLRT_OK;
  LLRT_TRY(exchange_shuffle_to(c, f.rounds, f.brought, at));
  LLRT_TRY(exchange_rename(c->d, &f.now, &fitted[0], c->start, at));
  thread_basis_to_value(&fitted[1], c->target, &loaded);
  LLRT_TRY(buffer_steps(c->d, &chosen, rows.matrix, &loaded, at));
  return exchange_rename(c->d, &fitted[1], &c->to, c->target, at);
}
