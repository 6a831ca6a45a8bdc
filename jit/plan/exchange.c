/* In-block conversion of a value from one layout to another by one of four routes: registers and lane
 * shuffles; a swizzled shared buffer; shuffles that form the target's words, then the buffer; the buffer
 * with matrix instructions on one side or both; those through the buffer also after lanes that hold copies
 * have shared the registers. On a GPU the one of the fewest clocks (cycles.h) is taken;
 * on the host the first that there is. */
#include "jit/plan/cycles.h"
#include "jit/plan/frame.h"
#include "jit/plan/rounds.h"

#include "base/status.h"

#include <assert.h>
#include <string.h>

llrt_status draft_step(plan_kernel *kernel, plan_step step) {
  if (kernel->n_steps == PLAN_MAX_STEPS)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d steps", PLAN_MAX_STEPS);
  kernel->step[kernel->n_steps++] = step;
  return LLRT_OK;
}

llrt_status draft_value(plan_kernel *kernel, const plan_value *value, int *number) {
  if (kernel->n_values == PLAN_MAX_VALUES)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d values", PLAN_MAX_VALUES);
  *number = kernel->n_values;
  kernel->value[kernel->n_values++] = *value;
  return LLRT_OK;
}

/* Appends `kind` from value *at to the frame `to`; *at becomes its result. */
static llrt_status convert_step(draft *d, plan_step_kind kind, const frame *to,
                                const plan_value *warps_of, int *at) {
  plan_value value;
  int in = *at;
  frame_to_value(to, warps_of, &value);
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

/* log2 lanes of the 128-bit parts of a SIMD register, in which unpack instructions work. */
int draft_interleave_bits(const draft *d, int bits) {
  if (!d->kernel->target.lanes_first) return 0;
  return bits_min(bits_log2(128 / bits_max(bits, 8)), d->kernel->lane_bits);
}

/* Appends the registers' rounds from value *at in frame `from` to frame `to` of the same lanes. */
static llrt_status rename_steps(draft *d, const frame *from, const frame *to,
                                const plan_value *warps_of, int *at) {
  frame rounds[FRAME_MAX_RENAMES];
  if (frame_equal(from, to)) return LLRT_OK;
  int n = rename_rounds(from, to, rounds);
  for (int i = 0; i < n; i++)
    LLRT_TRY(convert_step(d, PLAN_REGISTERS, &rounds[i], warps_of, at));
  return LLRT_OK;
}

/* own: of the block, where there is a cluster. */
static llrt_status barrier_step(draft *d, bool own) {
  return draft_step(d->kernel, (plan_step){.kind = PLAN_BARRIER, .own = own && d->kernel->cluster_bits > 0});
}

bool draft_shared_in_use(const plan_kernel *kernel) {
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind == PLAN_SHARED_LOAD || step->kind == PLAN_REPEAT) return true;
    if ((step->kind == PLAN_WALK || step->kind == PLAN_LOOP) && step->body == 0) return true; /* it goes on */
    if (step->kind == PLAN_GATHER && step->staged) return true;
    if (step->kind == PLAN_DOT && step->shared) return true;
  }
  return false;
}

bool draft_others_read(const plan_kernel *kernel) {
  bool read = false;
  for (int i = 0, inside = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool loops = step->kind == PLAN_REPEAT || step->kind == PLAN_WALK || step->kind == PLAN_LOOP;
    if (loops && step->body == 0) return kernel->cluster_bits > 0; /* it goes on */
    read |= step->kind == PLAN_SHARED_LOAD && !plan_is_local(kernel, step->buffer, &kernel->value[step->out]);
    if (step->kind == PLAN_BARRIER && !step->own && i >= inside) read = false;
    inside = bits_max(inside, i + 1 + step->body + step->otherwise);
  }
  return read && kernel->cluster_bits > 0;
}

/* In a region's loop every iteration has the buffer anew. */
static void add_iterations(const plan_value *value, int bits, plan_buffer *buffer) {
  llrt_layout *layout = &buffer->layout;
  int n = layout->in[0].bits + layout->in[1].bits;
  assert(bits == 0 || layout->in[2].bits == 0);
  memcpy(&layout->column[n], plan_value_columns(value, PLAN_ITERATION), (size_t)bits * sizeof *layout->column);
  layout->in[1].bits = (uint8_t)(layout->in[1].bits + bits);
  buffer->iterations = (uint8_t)bits;
}

/* Bytes of shared memory that a buffer may take: all where that is asked for, else those of rings, which are empty where
 * values are exchanged: not in rounds, in which producers fill them for the next one. */
static int held_bytes(const draft *d) {
  const plan_kernel *kernel = d->kernel;
  if (d->options && d->options->whole_buffers) return kernel->target.shared_bytes;
  return kernel->launch.rounds > 0 ? 0 : rounds_ring_bytes(kernel);
}

/* Through a buffer, part after part: store, barrier, load. matrix: plan_matrix_kind of either. */
static llrt_status buffer_steps(draft *d, const swizzle *chosen, const uint8_t matrix[2],
                                const plan_value *target, int *at) {
  plan_kernel *kernel = d->kernel;
  int in = *at, buffer = kernel->n_buffers;
  if (buffer == PLAN_MAX_BUFFERS)
    return llrt_error(LLRT_INTERNAL, "a kernel of more than %d buffers", PLAN_MAX_BUFFERS);
  kernel->buffer[kernel->n_buffers] = chosen->buffer;
  if (kernel->launch.rounds > 0) kernel->buffer[kernel->n_buffers].offset = rounds_ring_bytes(kernel);
  kernel->n_buffers++;
  add_iterations(target, d->region_bits, &kernel->buffer[buffer]);
  LLRT_TRY(draft_value(kernel, target, at));
  for (int part = 0; part < 1 << chosen->rep_bits; part++) {
    plan_step store = {.kind = PLAN_SHARED_STORE, .in = (uint8_t)in, .buffer = (uint8_t)buffer,
                       .vector = (uint8_t)chosen->vector[0], .matrix = matrix[0],
                       .repetition = (uint8_t)part};
    plan_step load = {.kind = PLAN_SHARED_LOAD, .out = (uint8_t)*at, .buffer = (uint8_t)buffer,
                      .vector = (uint8_t)chosen->vector[1], .matrix = matrix[1],
                      .repetition = (uint8_t)part};
    if (draft_shared_in_use(kernel)) LLRT_TRY(barrier_step(d, !draft_others_read(kernel)));
    LLRT_TRY(draft_step(kernel, store));
    LLRT_TRY(barrier_step(d, plan_is_local(kernel, buffer, &kernel->value[*at])));
    LLRT_TRY(draft_step(kernel, load));
  }
  return LLRT_OK;
}

/* The same, with accesses of lanes on both sides. */
static llrt_status swizzle_steps(draft *d, const frame *from, const frame *to,
                                 const plan_value *target, int *at) {
  static const uint8_t no_matrix[2];
  swizzle chosen;
  LLRT_TRY(swizzle_plan(&d->kernel->target, held_bytes(d), target->bits, from, to, &chosen));
  if (d->options && d->options->single_accesses) chosen.vector[0] = chosen.vector[1] = 0;
  return buffer_steps(d, &chosen, no_matrix, target, at);
}

/* ---- what shares a lane ---- */

/* Host, two elements a lane: lane shuffles from value *at in frame `from` to frame `to` of the same word. */
static llrt_status shuffle_steps(draft *d, const frame *from, const frame *to, const plan_value *start,
                                 int *at) {
  frame rounds[FRAME_MAX_LANES + 1];
  int n = shuffle_rounds(from, to, draft_interleave_bits(d, start->bits), rounds);
  if (n < 0) return llrt_error(LLRT_INTERNAL, "lane shuffles cannot free what shares a lane");
  for (int i = 0; i < n; i++) LLRT_TRY(convert_step(d, PLAN_SHUFFLE, &rounds[i], start, at));
  return LLRT_OK;
}

/* Whether both have the same in-word vectors, and no other vector of either has a part in them. */
static bool words_agree(const frame *from, const frame *to) {
  uint64_t word = bits_mask(to->word), parts = 0;
  for (int i = 0; i < to->n_registers; i++)
    parts |= i < to->word ? from->registers[i] ^ to->registers[i]
                          : frame_coordinates(from, to->registers[i]) & word;
  for (int i = 0; i < to->n_lanes; i++) parts |= frame_coordinates(from, to->lanes[i]) & word;
  return from->word == to->word && parts == 0;
}

/* Whether PLAN_REGISTERS leads from one to the other. */
static bool same_threads(const frame *from, const frame *to) {
  f2_basis span;
  f2_basis_init(&span);
  for (int i = 0; i < from->n_registers; i++) f2_basis_insert(&span, from->registers[i]);
  for (int i = 0; i < to->n_registers; i++)
    if (!f2_basis_contains(&span, to->registers[i])) return false;
  return memcmp(from->lanes, to->lanes, sizeof from->lanes) == 0;
}

/* Host, two elements a lane: brings the word of `to` into the lanes. *from becomes the frame of value *at
 * afterwards: what is left takes shuffles of whole lanes. */
static llrt_status change_packing(draft *d, frame *from, const frame *to, const plan_value *start,
                                  int *at) {
  frame before, after;
  if (!packed_middle(from, to, &before, &after))
    return llrt_error(LLRT_INTERNAL, "too few registers to change what shares a lane");
  if (same_threads(from, &before)) LLRT_TRY(rename_steps(d, from, &before, start, at));
  else LLRT_TRY(shuffle_steps(d, from, &before, start, at));
  *from = after;
  return rename_steps(d, &before, &after, start, at);
}

/* ---- routes ---- */

/* One conversion as its routes see it. A route appends its steps, or says by *found that it has none. */
typedef struct conversion {
  draft *d;
  const plan_value *start, *target;
  frame from, to;
  const uint8_t *matrix; /* matrix_route: plan_matrix_kind of store and load */
} conversion;

typedef llrt_status route(const conversion *c, int *at, bool *found);

static llrt_status shuffle_to(const conversion *c, const frame *rounds, int n, int *at) {
  for (int i = 0; i < n; i++)
    LLRT_TRY(convert_step(c->d, PLAN_SHUFFLE, &rounds[i], c->start, at));
  return LLRT_OK;
}

/* Registers in common: `word` of them for words that stay whole all the way, those of the wanted word first.
 * False where there are too few. */
static bool common_word(const frame *from, const frame *to, frame *word) {
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
  frame from, to;
  int ends, begins; /* steps after c->from and before c->to */
  frame ending[FRAME_MAX_LANES], beginning[FRAME_MAX_LANES];
} shuffle_sides;

/* False where a lane that holds copies has no register to take. */
static bool end_copies(const conversion *c, shuffle_sides *s) {
  bool all[2];
  s->from = c->from;
  s->to = c->to;
  s->ends = s->begins = 0;
  if (c->d->kernel->target.lanes_first) return true;
  s->ends = frame_fill_copies(&c->from, &c->to, false, s->ending, &all[0]);
  s->begins = frame_fill_copies(&c->to, &c->from, false, s->beginning, &all[1]);
  if (s->ends > 0) s->from = s->ending[s->ends - 1];
  if (s->begins > 0) s->to = s->beginning[s->begins - 1];
  return all[0] && all[1];
}

/* Lane shuffles, all inside the warp: with words formed of common registers before, and formed anew after
 * where those are not the target's. Copies end first and begin last. */
static llrt_status shuffle_route(const conversion *c, int *at, bool *found) {
  shuffle_sides s;
  frame based, rounds[FRAME_MAX_LANES + 1];
  *found = false;
  if (!same_warps(c->start, c->target) || !end_copies(c, &s)) return LLRT_OK;
  frame formed = s.to;
  if (!frame_rebase(&s.from, &formed, &based) &&
      (!common_word(&s.from, &s.to, &formed) || !frame_rebase(&s.from, &formed, &based)))
    return LLRT_OK;
  int n = frame_equal(&based, &formed)
              ? 0
              : shuffle_rounds(&based, &formed, draft_interleave_bits(c->d, c->start->bits), rounds);
  if (n < 0) return LLRT_OK;
  if (c->d->kernel->target.lanes_first && n > c->d->kernel->target.max_shuffle_rounds)
    return LLRT_OK;
  *found = true;
  LLRT_TRY(shuffle_to(c, s.ending, s.ends, at));
  LLRT_TRY(rename_steps(c->d, &s.from, &based, c->start, at));
  LLRT_TRY(shuffle_to(c, rounds, n, at));
  LLRT_TRY(rename_steps(c->d, &formed, &s.to, c->start, at));
  for (int i = s.begins - 1; i > 0; i--) LLRT_TRY(shuffle_to(c, &s.beginning[i - 1], 1, at));
  return s.begins > 0 ? shuffle_to(c, &c->to, 1, at) : LLRT_OK;
}

/* Shared memory; in whole words where the thread can form them, else in parts of words. */
static llrt_status shared_route(const conversion *c, int *at, bool *found) {
  frame based;
  *found = true;
  if (!frame_rebase(&c->from, &c->to, &based)) based = c->from;
  LLRT_TRY(rename_steps(c->d, &c->from, &based, c->start, at));
  return swizzle_steps(c->d, &based, &c->to, c->target, at);
}

/* One shuffle that brings lane vector u into a register above the word: in the place of one that the target
 * has in no register, if there is such. False where it cannot be done in whole words. */
static bool bring_in(const frame *at, const frame *to, int brought, uint64_t u, frame *next) {
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
  frame now; /* after them */
  int brought;
  frame rounds[FRAME_MAX_LANES];
} forming;

/* Brings in vector i of the target's word where the thread has it not. False where it cannot be done. */
static bool form(const conversion *c, int i, forming *f) {
  f2_basis span;
  f2_basis_init(&span);
  for (int j = 0; j < f->now.n_registers; j++) f2_basis_insert(&span, f->now.registers[j]);
  if (f2_basis_contains(&span, c->to.registers[i])) return true;
  if (f->brought == FRAME_MAX_LANES ||
      !bring_in(&f->now, &c->to, f->brought, c->to.registers[i], &f->rounds[f->brought]))
    return false;
  f->now = f->rounds[f->brought++];
  return true;
}

/* Shuffles that bring the target's word into the thread, then shared memory in whole words. */
static llrt_status formed_route(const conversion *c, int *at, bool *found) {
  forming f = {.now = c->from};
  frame based;
  *found = false;
  if (c->d->kernel->target.lanes_first || c->to.word != c->from.word ||
      frame_rebase(&c->from, &c->to, &based))
    return LLRT_OK;
  for (int i = 0; i < c->to.word; i++)
    if (!form(c, i, &f)) return LLRT_OK;
  if (!frame_rebase(&f.now, &c->to, &based)) return LLRT_OK;
  *found = true;
  LLRT_TRY(shuffle_to(c, f.rounds, f.brought, at));
  LLRT_TRY(rename_steps(c->d, &f.now, &based, c->start, at));
  return swizzle_steps(c->d, &based, &c->to, c->target, at);
}

/* Whether each block of a cluster has the same on both sides. */
static bool stays_in_blocks(const frame *from, const frame *to) {
  for (int i = 1; i <= from->cluster; i++)
    if (from->warps[from->n_warps - i] != to->warps[to->n_warps - i] || from->warps[from->n_warps - i] == 0) return false;
  return true;
}

/* Shared memory by matrices, with words formed before and after where they are not those of a row. Where the
 * sides have too few registers in common for one, shuffles bring in as many as it needs. */
static llrt_status matrix_route(const conversion *c, int *at, bool *found) {
  const plan_target *target = &c->d->kernel->target;
  swizzle_rows rows = {.matrix = {c->matrix[0], c->matrix[1]}};
  forming f = {.now = c->from};
  int next = 0;
  frame fitted[2];
  plan_value loaded;
  swizzle chosen;
  *found = false;
  if ((rows.matrix[0] && !target->matrix_store) || (rows.matrix[1] && !target->matrix_load))
    return LLRT_OK;
  if (c->d->options && c->d->options->single_accesses) return LLRT_OK;
  if (!stays_in_blocks(&c->from, &c->to)) return LLRT_OK; /* matrices come from the own block's memory only */
  while (!frame_fit_rows(&f.now, &c->to, c->target->bits, &rows, fitted))
    if (next == c->to.word || !form(c, next++, &f)) return LLRT_OK;
  LLRT_TRY(swizzle_plan_rows(target, held_bytes(c->d), c->target->bits, &fitted[0], &fitted[1], &rows, &chosen, found));
  if (!*found) return LLRT_OK;
  LLRT_TRY(shuffle_to(c, f.rounds, f.brought, at));
  LLRT_TRY(rename_steps(c->d, &f.now, &fitted[0], c->start, at));
  frame_to_value(&fitted[1], c->target, &loaded);
  LLRT_TRY(buffer_steps(c->d, &chosen, rows.matrix, &loaded, at));
  return rename_steps(c->d, &fitted[1], &c->to, c->target, at);
}

/* ---- the choice ---- */

typedef struct routing {
  route *way;
  plan_exchange forced; /* by which option */
  uint8_t matrix[2];
} routing;

/* Of equally many clocks the first is taken. */
static const routing routings[] = {
    {shuffle_route, PLAN_EXCHANGE_SHUFFLE, {0}},
    {shared_route, PLAN_EXCHANGE_SHARED, {0}},
    {formed_route, PLAN_EXCHANGE_SHARED, {0}},
    {matrix_route, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_NONE, PLAN_MATRIX_TRANSPOSED}},
    {matrix_route, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_TRANSPOSED, PLAN_MATRIX_NONE}},
    {matrix_route, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_NONE, PLAN_MATRIX_ROWS}},
    {matrix_route, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_ROWS, PLAN_MATRIX_NONE}},
    {matrix_route, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_ROWS, PLAN_MATRIX_TRANSPOSED}},
    {matrix_route, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_TRANSPOSED, PLAN_MATRIX_ROWS}},
    {matrix_route, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_ROWS, PLAN_MATRIX_ROWS}},
    {matrix_route, PLAN_EXCHANGE_MATRIX, {PLAN_MATRIX_TRANSPOSED, PLAN_MATRIX_TRANSPOSED}},
};

draft_mark draft_mark_of(const plan_kernel *kernel) {
  return (draft_mark){kernel->n_steps, kernel->n_values, kernel->n_buffers};
}

void draft_take_back(plan_kernel *kernel, draft_mark to) {
  kernel->n_steps = to.steps;
  kernel->n_values = to.values;
  kernel->n_buffers = to.buffers;
}

/* What is done before a routing. */
enum {
  FIRST_SHARE = 1, /* lanes that hold copies share the registers, so that each stores a part of them */
  FIRST_SWAP = 2,  /* vectors of the target's word come in from the lanes, each for one of the word's */
  FIRST_TURN = 4   /* the target's words are formed, and turned where lanes have a part in them */
};

/* Appends the words of the target, turned. */
static llrt_status turn_words(const conversion *c, int *at, frame *turned, bool *found) {
  frame based;
  *found = frame_turn_words(&c->from, &c->to, c->target->bits, &based, turned);
  if (!*found) return LLRT_OK;
  LLRT_TRY(rename_steps(c->d, &c->from, &based, c->start, at));
  return shuffle_to(c, turned, 1, at);
}

/* Appends what `first` says of a conversion; *to starts from its result. false: there is nothing to do. */
static llrt_status run_first(const conversion *c, int first, int *at, conversion *to, plan_value *start,
                             bool *found) {
  frame steps[FRAME_MAX_LANES];
  bool all;
  *to = *c;
  for (int what = FIRST_SHARE; what <= FIRST_SWAP; what <<= 1) {
    if (!(first & what)) continue;
    int n = what == FIRST_SHARE ? frame_fill_copies(&to->from, &to->to, true, steps, &all)
                                : frame_swap_words(&to->from, &to->to, c->target->bits, steps);
    *found = n > 0;
    if (n == 0) return LLRT_OK;
    LLRT_TRY(shuffle_to(c, steps, n, at));
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

static llrt_status run_routing(const conversion *c, const routing *r, int first, int *at, bool *found) {
  conversion changed;
  plan_value start;
  LLRT_TRY(run_first(c, first, at, &changed, &start, found));
  if (!*found) return LLRT_OK;
  changed.matrix = r->matrix;
  return r->way(&changed, at, found);
}

/* Tries it and takes it back; its cost in clocks, negative where there is none. */
static double try_routing(const conversion *c, const routing *r, int first, int in, llrt_status *status) {
  plan_kernel *kernel = c->d->kernel;
  draft_mark before = draft_mark_of(kernel);
  plan_cost cost = {0};
  plan_cycles cycles;
  bool found = false;
  int at = in;
  *status = run_routing(c, r, first, &at, &found);
  if (*status == LLRT_OK && found)
    plan_cost_steps(kernel, before.steps, kernel->n_steps, &cost);
  draft_take_back(kernel, before);
  if (*status != LLRT_OK || !found) return -1;
  plan_cycles_of(&kernel->target, &cost, 1 << kernel->warp_bits, &cycles);
  return cycles.total;
}

static bool has_copies(const frame *f) {
  for (int i = 0; i < f->n_lanes; i++)
    if (f->lanes[i] >> f->tile_bits) return true;
  return false;
}

/* The routing of the fewest clocks, the first of equals. */
typedef struct choice {
  const routing *way;
  int first;
  double clocks;
  llrt_status refused;
} choice;

static void consider(const conversion *c, const routing *r, int first, int in, choice *best) {
  llrt_status status;
  double clocks = try_routing(c, r, first, in, &status);
  if (status != LLRT_OK) best->refused = status;
  if (clocks < 0 || (best->way && clocks >= best->clocks)) return;
  best->way = r;
  best->first = first;
  best->clocks = clocks;
}

/* The same after what may come first on a GPU. */
static void consider_first(const conversion *c, const routing *r, int in, choice *best) {
  frame steps[FRAME_MAX_LANES], turned;
  bool share = r->way != shuffle_route && has_copies(&c->from);
  bool swap = r->way != formed_route && frame_swap_words(&c->from, &c->to, c->target->bits, steps) > 0;
  if (share) consider(c, r, FIRST_SHARE, in, best);
  if (swap) consider(c, r, FIRST_SWAP, in, best);
  if (share && swap) consider(c, r, FIRST_SHARE | FIRST_SWAP, in, best);
  if (frame_turn_words(&c->from, &c->to, c->target->bits, &steps[0], &turned)) consider(c, r, FIRST_TURN, in, best);
}

llrt_status draft_exchange(draft *d, int in, const plan_value *target, int *out) {
  plan_value start = d->kernel->value[in];
  plan_exchange wanted = d->options ? d->options->exchange : PLAN_EXCHANGE_AUTO;
  bool host = d->kernel->target.lanes_first, found;
  conversion c = {.d = d, .start = &start, .target = target};
  choice best = {.refused = LLRT_OK};
  frame_of_values(&start, target, &c.from, &c.to);
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
  return llrt_error(LLRT_UNSUPPORTED, "%s cannot make this conversion",
                    wanted == PLAN_EXCHANGE_MATRIX ? "matrix instructions" : "lane shuffles");
}
