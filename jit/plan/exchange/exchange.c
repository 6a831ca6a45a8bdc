/* In-block conversion of a value from one layout to another by one of four routes
 * (exchange_route.h); those through the buffer also after lanes that hold copies have shared the
 * registers. On a GPU the one of the fewest clocks (cycles.h) is taken; on the host the first that
 * there is. */
#include "jit/plan/exchange/exchange.h"

#include "jit/plan/cost/cycles.h"
#include "jit/plan/exchange/exchange_route.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/cost/cost.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/thread_basis.h"
#include "jit/plan/facts/word_lane_swap.h"
#include "jit/plan/facts/lane_byte_permute.h"
#include "layout/f2.h"

#include <string.h>

/* ---- what shares a lane ---- */

/* Host, two elements a lane: lane shuffles from value *at in thread basis `from` to thread basis
 * `to` of the same word. */
static llrt_status shuffle_steps(draft *d, const thread_basis *from, const thread_basis *to,
                                 const plan_value *start, int *at) {
  thread_basis rounds[THREAD_BASIS_MAX_LANES + 1];
  int n = shuffle_rounds(from, to, draft_interleave_bits(d, start->bits), rounds);
  if (n < 0) return llrt_error(LLRT_INTERNAL, "lane shuffles cannot free what shares a lane");
  for (int i = 0; i < n; i++) LLRT_TRY(exchange_step(d, PLAN_SHUFFLE, &rounds[i], start, at));
  return LLRT_OK;
}

/* Whether both have the same in-word vectors, and no other vector of either has a part in them. */
static bool words_agree(const thread_basis *from, const thread_basis *to) {
  uint64_t word = bits_mask(to->word), parts = 0;
  for (int i = 0; i < to->n_registers; i++)
    parts |= i < to->word ? from->registers[i] ^ to->registers[i]
                          : thread_basis_coordinates(from, to->registers[i]) & word;
  for (int i = 0; i < to->n_lanes; i++)
    parts |= thread_basis_coordinates(from, to->lanes[i]) & word;
  return from->word == to->word && parts == 0;
}

/* Whether PLAN_REGISTERS leads from one to the other. */
static bool same_threads(const thread_basis *from, const thread_basis *to) {
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < from->n_registers; i++) f2_basis_insert(&span, from->registers[i]);
  for (int i = 0; i < to->n_registers; i++)
    if (!f2_basis_contains(&span, to->registers[i])) return false;
  return memcmp(from->lanes, to->lanes, sizeof from->lanes) == 0;
}

/* Host, two elements a lane: brings the word of `to` into the lanes. *from becomes the thread basis
 * of value *at afterwards: what is left takes shuffles of whole lanes. */
static llrt_status change_packing(draft *d, thread_basis *from, const thread_basis *to,
                                  const plan_value *start, int *at) {
  thread_basis before, after;
  if (!packed_middle(from, to, &before, &after))
    return llrt_error(LLRT_INTERNAL, "too few registers to change what shares a lane");
  if (same_threads(from, &before)) LLRT_TRY(exchange_rename(d, from, &before, start, at));
  else LLRT_TRY(shuffle_steps(d, from, &before, start, at));
  *from = after;
  return exchange_rename(d, &before, &after, start, at);
}

/* ---- the choice ---- */

typedef struct routing {
  exchange_route *way;
  plan_exchange forced; /* by which option */
  uint8_t matrix[2];
} routing;

/* Of as many clocks, within a thousandth, the first is taken. */
#define ALIKE 0.999
static const routing routings[] = {
    {exchange_by_shuffles, PLAN_EXCHANGE_SHUFFLE, {0}},
    {exchange_by_buffer, PLAN_EXCHANGE_SHARED, {0}},
    {exchange_by_formed_words, PLAN_EXCHANGE_SHARED, {0}},
    {exchange_by_matrices, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_NONE, PLAN_MATRIX_TRANSPOSED}},
    {exchange_by_matrices, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_TRANSPOSED, PLAN_MATRIX_NONE}},
    {exchange_by_matrices, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_NONE, PLAN_MATRIX_ROWS}},
    {exchange_by_matrices, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_ROWS, PLAN_MATRIX_NONE}},
    {exchange_by_matrices, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_ROWS, PLAN_MATRIX_TRANSPOSED}},
    {exchange_by_matrices, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_TRANSPOSED, PLAN_MATRIX_ROWS}},
    {exchange_by_matrices, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_ROWS, PLAN_MATRIX_ROWS}},
    {exchange_by_matrices, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_TRANSPOSED, PLAN_MATRIX_TRANSPOSED}},
};

/* What is done before a routing. */
enum {
  FIRST_SHARE =
      1, /* lanes that hold copies share the registers, so that each stores a part of them */
  FIRST_SWAP =
      2, /* vectors of the target's word come in from the lanes, each for one of the word's */
  FIRST_TURN = 4 /* the target's words are formed, and turned where lanes have a part in them */
};

/* Appends the words of the target, turned. */
static llrt_status turn_words(const exchange_ends *c, int *at, thread_basis *turned, bool *found) {
  thread_basis based;
  *found = thread_basis_permute_lane_bytes(&c->from, &c->to, c->target->bits, &based, turned);
  if (!*found) return LLRT_OK;
  LLRT_TRY(exchange_rename(c->d, &c->from, &based, c->start, at));
  return exchange_shuffle_to(c, turned, 1, at);
}

/* Appends what `first` says of a conversion; *to starts from its result. false: there is nothing to
 * do. */
static llrt_status run_first(const exchange_ends *c, int first, int *at, exchange_ends *to,
                             plan_value *start, bool *found) {
  thread_basis steps[THREAD_BASIS_MAX_LANES];
  bool all;
  *to = *c;
  for (int what = FIRST_SHARE; what <= FIRST_SWAP; what <<= 1) {
    if (!(first & what)) continue;
    int n = what == FIRST_SHARE
                ? thread_basis_fill_copies(&to->from, &to->to, true, steps, &all)
                : thread_basis_swap_words(&to->from, &to->to, c->target->bits, steps);
    *found = n > 0;
    if (n == 0) return LLRT_OK;
    LLRT_TRY(exchange_shuffle_to(c, steps, n, at));
    to->from = steps[n - 1];
  }
  if (first & FIRST_TURN) {
    LLRT_TRY(turn_words(c, at, &to->from, found));
    if (!*found) return LLRT_OK;
  }
  *start = c->d->kernel->value[*at];
  to->start = start;
  *found = true;
  return LLRT_OK;
}

static llrt_status run_routing(const exchange_ends *c, const routing *r, int first, int *at,
                               bool *found) {
  exchange_ends changed;
  plan_value start;
  LLRT_TRY(run_first(c, first, at, &changed, &start, found));
  if (!*found) return LLRT_OK;
  changed.matrix = r->matrix;
  return r->way(&changed, at, found);
}

/* Tries it and takes it back; its cost in clocks, negative where there is none. */
static double try_routing(const exchange_ends *c, const routing *r, int first, int in,
                          llrt_status *status) {
  plan_kernel *kernel = c->d->kernel;
  draft_mark before = draft_mark_of(kernel);
  plan_cost cost = {0};
  plan_cycles cycles;
  bool found = false;
  int at = in;
  *status = run_routing(c, r, first, &at, &found);
  if (*status == LLRT_OK && found) plan_cost_steps(kernel, before.steps, kernel->n_steps, &cost);
  draft_take_back(kernel, before);
  if (*status != LLRT_OK || !found) return -1;
  plan_cycles_of(&kernel->target, &cost, 1 << kernel->warp_bits, &cycles);
  return cycles.total;
}

static bool has_copies(const thread_basis *f) {
  for (int i = 0; i < f->n_lanes; i++)
    if (f->lanes[i] >> f->tile_bits) return true;
  return false;
}

/* The routing of the fewest clocks, the first of those alike. */
typedef struct choice {
  const routing *way;
  int first;
  double clocks;
  llrt_status refused;
} choice;

static void consider(const exchange_ends *c, const routing *r, int first, int in, choice *best) {
  llrt_status status;
  double clocks = try_routing(c, r, first, in, &status);
  if (status != LLRT_OK) best->refused = status;
  if (clocks < 0 || (best->way && clocks >= ALIKE * best->clocks)) return;
  best->way = r;
  best->first = first;
  best->clocks = clocks;
}

/* The same after what may come first on a GPU. */
static void consider_first(const exchange_ends *c, const routing *r, int in, choice *best) {
  thread_basis steps[THREAD_BASIS_MAX_LANES], turned;
  bool share = r->way != exchange_by_shuffles && has_copies(&c->from);
  bool swap = r->way != exchange_by_formed_words &&
              thread_basis_swap_words(&c->from, &c->to, c->target->bits, steps) > 0;
  if (share) consider(c, r, FIRST_SHARE, in, best);
  if (swap) consider(c, r, FIRST_SWAP, in, best);
  if (share && swap) consider(c, r, FIRST_SHARE | FIRST_SWAP, in, best);
  if (thread_basis_permute_lane_bytes(&c->from, &c->to, c->target->bits, &steps[0], &turned))
    consider(c, r, FIRST_TURN, in, best);
}

llrt_status draft_exchange(draft *d, int in, const plan_value *target, int *out) {
  plan_value start = d->kernel->value[in];
  plan_exchange wanted = d->options ? d->options->exchange : PLAN_EXCHANGE_AUTO;
  bool host = d->kernel->target.simd_lanes, found;
  exchange_ends c = {.d = d, .start = &start, .target = target};
  choice best = {.refused = LLRT_OK};
  thread_basis_of_values(&start, target, &c.from, &c.to);
  c.from.cluster = c.to.cluster = d->kernel->cluster_bits;
  *out = in;
  if (host && c.to.word > 0 && !words_agree(&c.from, &c.to))
    LLRT_TRY(change_packing(d, &c.from, &c.to, &start, out));
  in = *out;
  for (int i = 0; i < (int)(sizeof routings / sizeof *routings); i++) {
    const routing *r = &routings[i];
    if (wanted != PLAN_EXCHANGE_AUTO && wanted != r->forced) continue;
    consider(&c, r, 0, in, &best);
    if (host && best.way) break;
    if (!host) consider_first(&c, r, in, &best);
  }
  if (best.way) return run_routing(&c, best.way, best.first, out, &found);
  if (best.refused != LLRT_OK) return best.refused;
  return llrt_error(LLRT_UNSUPPORTED, "%s cannot make this exchange",
                    wanted == PLAN_EXCHANGE_MATRIX ? "matrix instructions" : "lane shuffles");
}
