/* The host's dot through blocks in scratch memory (Goto and van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication"): in a turn the tile's part of both operands is cast and
 * laid out there once, in the order in which it is multiplied, then sums of a few rows at a time
 * are registers while products along the turn join them.
 *
 *   loop { fill, keep sums }
 *   walk { loop { load A, cast, keep }, loop { load B, cast, keep },
 *          loop { take sums, loop { take A, take B, multiply }, keep sums } }
 *   loop { take sums, epilogue, store }
 *
 * Lanes lie along N, or along M where N is shorter: the *wide* operand has them, of the other, the
 * *narrow* one, all lanes share a number. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/facts/vector_list.h"

#include <string.h>

enum { BUFFER_SUMS, BUFFER_A, BUFFER_B };

/* log2 registers of sums: half of the processor's, so that as many are left for operands. */
#define SUM_BITS(registers) (bits_log2(registers) - 1)
/* log2 registers of the wide operand beside each other, where there are rows for the others. */
#define WIDE_BITS 1
/* log2 rows of which there are few. */
#define FEW_BITS 2
/* log2 products that follow each other without a branch. */
#define UNROLLED_BITS 6

/* An operand on its way: the square that a turn of its loop takes, and how it is loaded. */
typedef struct kept {
  uint64_t square;
  dot_access access;
  plan_step load;
} kept;

typedef struct blocked {
  dot_draft *x;
  int wide, narrow; /* DOT_DIM */
  int lanes;
  int columns, rows; /* log2 registers of sums: along the wide and the narrow dim */
  int unrolled;      /* log2 positions along K that a turn of the innermost loop takes */
  int instruction;
  int packed;         /* log2 elements along K that a word of the instruction's operands has */
  vector_list dim[3]; /* bits of the draft */
  kept operand[2];
} blocked;

/* ---- bits ---- */

static void add(vector_list *list, uint64_t bit) { list->at[list->n++] = bit; }

static void add_range(vector_list *list, const vector_list *from, int first, int end) {
  for (int i = first; i < end && i < from->n; i++) add(list, from->at[i]);
}

static uint64_t mask_of(const vector_list *list) {
  uint64_t mask = 0;
  for (int i = 0; i < list->n; i++) mask |= list->at[i];
  return mask;
}

static void list_dims(const dot_draft *x, vector_list dim[3]) {
  for (int i = 0; i < x->d.tile_bits; i++)
    for (int j = 0; j < 3; j++)
      if (x->d.order[0][i] & x->bits[j]) add(&dim[j], x->d.order[0][i]);
}

static int wide_dim(const dot_draft *x) {
  int m = bits_count(x->bits[DOT_DIM_M]), n = bits_count(x->bits[DOT_DIM_N]);
  return n >= bits_min(x->d.kernel->lane_bits, m) ? DOT_DIM_N : DOT_DIM_M;
}

bool dot_can_block(const dot_draft *x) {
  const plan_kernel *kernel = x->d.kernel;
  bool indexed = false;
  for (int i = 0; i < kernel->n_indices; i++)
    indexed |= !kernel->index[i].uniform && !kernel->experts.used;
  return !indexed && bits_count(x->bits[wide_dim(x)]) >= x->d.kernel->lane_bits;
}

/* Of few rows what is read of the other operand is all that costs: whole lines of memory, one
 * behind the other. */
void dot_shape_block(const dot_draft *x, dot_shape *shape) {
  const draft *d = &x->d;
  int wide = shape->bits[DOT_DIM_N] >= shape->bits[DOT_DIM_M] ? DOT_DIM_N : DOT_DIM_M;
  int tensor = dot_operand_tensor(x, wide == DOT_DIM_N), digit = 0;
  draft_runs runs;
  if (shape->bits[DOT_DIM_M + DOT_DIM_N - wide] > FEW_BITS) return;
  draft_runs_of((draft *)d, tensor, &runs);
  if (runs.n == 0) return;
  while (bits_lowest(runs.vector[0]) >= d->first[digit] + d->bits[digit]) digit++;
  if (d->kernel->digit[digit].axis == d->summed) return;
  shape->bits[wide] += 2;
  shape->bits[DOT_DIM_K] -= 2;
}

void dot_order_blocks(dot_draft *x) { x->d.walked |= x->bits[wide_dim(x)]; }

/* ---- values and buffers ---- */

/* has: bits of the draft that the value's tensor has; others of the lists are copies. */
static llrt_status make_value(const blocked *p, llrt_dtype type, uint64_t has,
                              const vector_list *registers, const vector_list *lanes,
                              const vector_list *iterations, plan_value *out) {
  const draft *d = &p->x->d;
  const vector_list *const from[] = {registers, lanes, iterations};
  vector_list made[3];
  const vector_list *const lists[] = {&made[0], &made[1], NULL, &made[2]};
  *out = (plan_value){.bits = (uint8_t)llrt_dtype_bits(type),
                      .reduced = bits_mask(d->tile_bits) & ~dot_tile_bits(p->x, has)};
  for (int l = 0; l < 3; l++) {
    made[l].n = from[l]->n;
    for (int i = 0; i < from[l]->n; i++)
      made[l].at[i] = plan_value_bits_of(out, dot_tile_bits(p->x, from[l]->at[i] & has));
  }
  return vector_lists_layout(d->tile_bits - bits_count(out->reduced), lists, &out->layout);
}

static llrt_status make_buffer(const blocked *p, llrt_dtype type, const vector_list *order) {
  const draft *d = &p->x->d;
  plan_kernel *kernel = d->kernel;
  plan_buffer *buffer = &kernel->buffer[kernel->n_buffers];
  uint64_t has = dot_tile_bits(p->x, mask_of(order));
  const plan_value like = {.reduced = bits_mask(d->tile_bits) & ~has};
  *buffer = (plan_buffer){.bits = (uint8_t)llrt_dtype_bits(type)};
  if (kernel->n_buffers > 0) buffer->offset = plan_buffer_end(buffer - 1);
  buffer->bytes = plan_access_bytes(buffer->bits, order->n);
  buffer->layout = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(&buffer->layout, "tile", order->n));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "offset", order->n));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "repetition", 0));
  LLRT_TRY(llrt_layout_add_in(&buffer->layout, "block", 0));
  for (int i = 0; i < order->n; i++)
    buffer->layout.column[i] = plan_value_bits_of(&like, dot_tile_bits(p->x, order->at[i]));
  kernel->n_buffers++;
  return LLRT_OK;
}

static llrt_status shared_step(blocked *p, plan_step_kind kind, int buffer, int value) {
  int vector = p->lanes + p->x->d.kernel->value[value].word;
  plan_step step = {.kind = (uint8_t)kind, .buffer = (uint8_t)buffer, .vector = (uint8_t)vector};
  if (kind == PLAN_SHARED_LOAD) step.out = (uint8_t)value;
  else step.in = (uint8_t)value;
  return draft_step(p->x->d.kernel, step);
}

static llrt_status barrier(blocked *p) {
  return draft_step(p->x->d.kernel, (plan_step){.kind = PLAN_BARRIER});
}

static llrt_status open_loop(blocked *p, int iterations, int *at) {
  *at = p->x->d.kernel->n_steps;
  return draft_step(p->x->d.kernel,
                    (plan_step){.kind = PLAN_LOOP, .iterations = (uint8_t)iterations});
}

static void close_body(blocked *p, int at);

/* A loop over what the destination has of a value, which is laid out by what it counts. */
static llrt_status open_present(blocked *p, int iterations, int value, int at[2]) {
  LLRT_TRY(open_loop(p, iterations, &at[0]));
  at[1] = p->x->d.kernel->n_steps;
  if (p->x->d.kernel->n_bounds == 0) at[1] = -1;
  if (at[1] < 0) return LLRT_OK;
  return draft_step(p->x->d.kernel,
                    (plan_step){.kind = PLAN_IF_PRESENT, .looped = true, .in = (uint8_t)value});
}

static void close_present(blocked *p, const int at[2]) {
  if (at[1] >= 0) close_body(p, at[1]);
  close_body(p, at[0]);
}

static void close_body(blocked *p, int at) {
  plan_kernel *kernel = p->x->d.kernel;
  draft_close(kernel, at);
}

/* ---- sums, a few registers at a time ---- */

/* Lanes, and as many rows as transpose them; the loop's bits are x->iterated. */
static llrt_status open_sums(blocked *p, int loop[2], int *value) {
  const vector_list *wide = &p->dim[p->wide], *narrow = &p->dim[p->narrow];
  vector_list lanes = {0}, registers = {0}, rest = {0};
  plan_value sums;
  add_range(&lanes, wide, 0, p->lanes);
  add_range(&registers, narrow, 0, p->lanes);
  add_range(&rest, wide, p->lanes, wide->n);
  add_range(&rest, narrow, p->lanes, narrow->n);
  p->x->n_iterated = rest.n;
  memcpy(p->x->iterated, rest.at, (size_t)rest.n * sizeof *rest.at);
  LLRT_TRY(make_value(p, p->x->types.sum, mask_of(wide) | mask_of(narrow), &registers, &lanes,
                      &rest, &sums));
  LLRT_TRY(draft_value(p->x->d.kernel, &sums, value));
  return open_present(p, rest.n, *value, loop);
}

static llrt_status fill_steps(blocked *p) {
  int loop[2], value;
  LLRT_TRY(open_sums(p, loop, &value));
  LLRT_TRY(draft_step(p->x->d.kernel, (plan_step){.kind = PLAN_FILL,
                                                  .combiner = LLRT_COMBINE_SUM,
                                                  .exclusive = true,
                                                  .type = (uint8_t)p->x->types.sum,
                                                  .out = (uint8_t)value}));
  LLRT_TRY(shared_step(p, PLAN_SHARED_STORE, BUFFER_SUMS, value));
  close_present(p, loop);
  return barrier(p);
}

static llrt_status result_steps(blocked *p) {
  int loop[2], value;
  LLRT_TRY(open_sums(p, loop, &value));
  LLRT_TRY(shared_step(p, PLAN_SHARED_LOAD, BUFFER_SUMS, value));
  LLRT_TRY(dot_epilogue(p->x, value));
  close_present(p, loop);
  return LLRT_OK;
}

/* ---- operands on their way into scratch memory ---- */

/* As it is multiplied. */
static llrt_dtype type_of(const blocked *p, int operand) {
  return operand ? p->x->types.b : p->x->types.a;
}

/* How many bits of an axis hold those of the memory's words: the elements of a lane, of 32 bits
 * where their bits are permuted. */
static int word_reach(const blocked *p, int operand, const draft_runs *runs,
                      const vector_list *axis) {
  int element = p->x->d.kernel->tensor_bits[dot_operand_tensor(p->x, operand)], reach = 0;
  int bits = p->x->job->words[operand] ? 5 - bits_log2(element) : draft_word_of(&p->x->d, element);
  for (int j = 0; j < bits_min(bits, runs->n); j++)
    for (int i = 0; i < axis->n; i++)
      if (runs->vector[j] & axis->at[i]) reach = bits_max(reach, i + 1);
  return reach;
}

/* A square of as many positions as there are lanes, of the axis in memory twice as many where lanes
 * hold two elements; and whole words. */
static void list_square(const blocked *p, int operand, vector_list *own, vector_list *sums) {
  const draft *d = &p->x->d;
  const vector_list *dim = &p->dim[dot_operand_dim(operand)], *k = &p->dim[DOT_DIM_K];
  int tensor = dot_operand_tensor(p->x, operand),
      word = draft_word_of(d, d->kernel->tensor_bits[tensor]);
  draft_runs runs;
  draft_runs_of((draft *)d, tensor, &runs);
  bool along_k = runs.n > 0 && runs.vector[0] & p->x->bits[DOT_DIM_K];
  add_range(own, dim, 0,
            bits_max(p->lanes + (along_k ? 0 : word), word_reach(p, operand, &runs, dim)));
  add_range(sums, k, 0,
            bits_max(p->lanes + (along_k ? word : 0), word_reach(p, operand, &runs, k)));
}

static void iterate_outside(blocked *p, int operand, uint64_t square) {
  const vector_list *lists[] = {&p->dim[DOT_DIM_K], &p->dim[dot_operand_dim(operand)]};
  p->x->n_iterated = 0;
  for (int l = 0; l < 2; l++)
    for (int i = 0; i < lists[l]->n; i++)
      if (!(lists[l]->at[i] & square)) p->x->iterated[p->x->n_iterated++] = lists[l]->at[i];
}

/* Where the square's elements are kept from: the wide operand's lanes are those of the sums, the
 * narrow one's those of memory. */
static llrt_status wanted_value(blocked *p, int operand, const dot_access *access,
                                const vector_list *own, const vector_list *sums, plan_value *out) {
  vector_list lanes = {0}, registers = {0}, iterations = {.n = p->x->n_iterated};
  memcpy(iterations.at, p->x->iterated, sizeof p->x->iterated);
  if (dot_operand_dim(operand) != p->wide) {
    *out = draft_retyped(&p->x->d, &access->value, llrt_dtype_bits(type_of(p, operand)));
    return LLRT_OK;
  }
  add_range(&lanes, own, 0, p->lanes);
  add_range(&registers, sums, 0, sums->n);
  add_range(&registers, own, p->lanes, own->n);
  return make_value(p, type_of(p, operand),
                    p->x->bits[dot_operand_dim(operand)] | p->x->bits[DOT_DIM_K], &registers,
                    &lanes, &iterations, out);
}

/* The buffer of an operand: whole words of the instruction. Wide: as it is multiplied, panels of
 * the registers beside each other. Narrow: as memory has it, along K before rows. */
static llrt_status operand_buffer(blocked *p, int operand, const dot_access *access) {
  const vector_list *dim = &p->dim[dot_operand_dim(operand)], *k = &p->dim[DOT_DIM_K];
  vector_list order = {0};
  uint64_t all = mask_of(dim) | mask_of(k), taken = 0;
  add_range(&order, k, 0, p->packed);
  if (dot_operand_dim(operand) == p->wide) {
    add_range(&order, dim, 0, p->lanes + p->columns);
  } else {
    for (int dim_at = 0, at = 0; dim_at < 2; dim_at++) {
      int n = dim_at == 0 ? access->value.word : plan_value_bits(&access->value, PLAN_LANE);
      at = dim_at == 0 ? 0 : plan_value_bits(&access->value, PLAN_REGISTER);
      for (int i = 0; i < n; i++) {
        uint64_t tile = plan_tile_bits_of(&access->value, access->value.layout.column[at + i]);
        for (int z = 0; z < p->x->d.tile_bits; z++)
          if (tile >> z & 1 && !(p->x->d.order[0][z] & mask_of(&order)))
            add(&order, p->x->d.order[0][z]);
      }
    }
  }
  taken = mask_of(&order);
  for (int l = 0; l < 2; l++) {
    const vector_list *list = l ? dim : k;
    for (int i = 0; i < list->n; i++)
      if (!(list->at[i] & taken) && list->at[i] & all) add(&order, list->at[i]);
  }
  return make_buffer(p, type_of(p, operand), &order);
}

/* Elements along K in registers of one lane become whole words of the instruction; others lie
 * beside each other in memory, or are stored one by one. */
static llrt_status form_words(blocked *p, int *value) {
  plan_kernel *kernel = p->x->d.kernel;
  plan_value out = kernel->value[*value];
  uint64_t *column = out.layout.column;
  for (int i = 0; i < p->packed; i++) {
    uint64_t wanted = plan_value_bits_of(&out, dot_tile_bits(p->x, p->dim[DOT_DIM_K].at[i]));
    int at = i, registers = plan_value_bits(&out, PLAN_REGISTER);
    while (at < registers && column[at] != wanted) at++;
    if (at == registers) return LLRT_OK;
    memmove(&column[i + 1], &column[i], (size_t)(at - i) * sizeof *column);
    column[i] = wanted;
  }
  if (p->packed == 0) return LLRT_OK;
  int in = *value;
  out.word = (uint8_t)p->packed;
  LLRT_TRY(draft_value(kernel, &out, value));
  return draft_step(kernel,
                    (plan_step){.kind = PLAN_REGISTERS, .in = (uint8_t)in, .out = (uint8_t)*value});
}

/* Bounds that none of the operand's tensors looks at, and those of the axis that it lacks. */
static uint32_t others_bounds(const blocked *p, int operand) {
  static const llrt_dot_role roles[2][3] = {{LLRT_DOT_A, LLRT_DOT_SCALE_A, LLRT_DOT_ZERO_A},
                                            {LLRT_DOT_B, LLRT_DOT_SCALE_B, LLRT_DOT_ZERO_B}};
  const plan_kernel *kernel = p->x->d.kernel;
  int lacks = p->x->job->desc.tensors[0].rank - (operand ? 3 : 2);
  uint32_t others = 0;
  for (int i = 0; i < kernel->n_bounds; i++) {
    bool own = false;
    for (int r = 0; r < 3; r++) {
      int tensor = p->x->job->tensor[roles[operand][r]];
      own |= tensor >= 0 && kernel->bound[i].tensors >> tensor & 1;
    }
    if (!own || kernel->digit[kernel->bound[i].top].axis == lacks) others |= 1u << i;
  }
  return others;
}

static llrt_status keep_whole(blocked *p, int operand, plan_step load, const dot_access *access) {
  plan_kernel *kernel = p->x->d.kernel;
  int loop, value;
  LLRT_TRY(open_loop(p, p->x->n_iterated, &loop));
  LLRT_TRY(draft_value(kernel, &access->value, &value));
  load.out = (uint8_t)value;
  LLRT_TRY(draft_step(kernel, load));
  p->x->inside = true;
  llrt_status status = dot_operand_dim(operand) == p->wide
                           ? dot_prepare_operand(p->x, operand, &value)
                           : dot_decode_operand(p->x, operand, &value);
  p->x->inside = false;
  LLRT_TRY(status);
  LLRT_TRY(form_words(p, &value));
  LLRT_TRY(shared_step(p, PLAN_SHARED_STORE, operand ? BUFFER_B : BUFFER_A, value));
  close_body(p, loop);
  return LLRT_OK;
}

/* At the edge a register at a time goes where it belongs, so that there is little code. */
static llrt_status keep_edge(blocked *p, int operand, const dot_access *access) {
  plan_kernel *kernel = p->x->d.kernel;
  dot_access thin = {.value = access->value};
  plan_step load = {.kind = PLAN_LOAD, .tensor = (uint8_t)dot_operand_tensor(p->x, operand)}, whole;
  int loop[2], value, moved = plan_value_bits(&thin.value, PLAN_REGISTER) - thin.value.word;
  plan_iterate_registers(&thin.value, moved);
  dot_value_access(p->x, load.tensor, &thin.value, &thin);
  LLRT_TRY(draft_value(kernel, &thin.value, &value));
  LLRT_TRY(open_present(p, p->x->n_iterated + moved, value, loop));
  load.out = (uint8_t)value;
  dot_access_steps(p->x, load, &thin, &whole, &load);
  LLRT_TRY(draft_step(kernel, load));
  LLRT_TRY(dot_decode_operand(p->x, operand, &value));
  LLRT_TRY(shared_step(p, PLAN_SHARED_STORE, operand ? BUFFER_B : BUFFER_A, value));
  close_present(p, loop);
  return LLRT_OK;
}

/* What there is to know of an operand before its steps: how it is loaded, what is kept. */
static llrt_status plan_operand(blocked *p, int operand) {
  kept *o = &p->operand[operand];
  vector_list own = {0}, sums = {0};
  plan_step load = {.kind = PLAN_LOAD, .tensor = (uint8_t)dot_operand_tensor(p->x, operand)},
            masked;
  list_square(p, operand, &own, &sums);
  o->square = mask_of(&own) | mask_of(&sums);
  iterate_outside(p, operand, o->square);
  LLRT_TRY(dot_memory_value(
      p->x, load.tensor, p->x->bits[dot_operand_dim(operand)] | p->x->bits[DOT_DIM_K], &o->access));
  LLRT_TRY(
      wanted_value(p, operand, &o->access, &own, &sums, operand ? &p->x->how.b : &p->x->how.a));
  LLRT_TRY(operand_buffer(p, operand, &o->access));
  dot_access_steps(p->x, load, &o->access, &o->load, &masked);
  return LLRT_OK;
}

/* Zeros, which stay where there are no rows or columns. */
static llrt_status clear_operand(blocked *p, int operand) {
  plan_kernel *kernel = p->x->d.kernel;
  int loop, value;
  iterate_outside(p, operand, p->operand[operand].square);
  LLRT_TRY(draft_value(kernel, operand ? &p->x->how.b : &p->x->how.a, &value));
  LLRT_TRY(open_loop(p, p->x->n_iterated, &loop));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_FILL,
                                          .combiner = LLRT_COMBINE_SUM,
                                          .exclusive = true,
                                          .type = (uint8_t)type_of(p, operand),
                                          .out = (uint8_t)value}));
  LLRT_TRY(form_words(p, &value));
  LLRT_TRY(shared_step(p, PLAN_SHARED_STORE, operand ? BUFFER_B : BUFFER_A, value));
  close_body(p, loop);
  return LLRT_OK;
}

/* A turn's part of an operand. */
static llrt_status keep_operand(blocked *p, int operand) {
  plan_kernel *kernel = p->x->d.kernel;
  const kept *o = &p->operand[operand];
  iterate_outside(p, operand, o->square);
  if (kernel->n_bounds == 0) return keep_whole(p, operand, o->load, &o->access);
  int branch;
  LLRT_TRY(draft_open(
      kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .ignored_bounds = others_bounds(p, operand)},
      &branch));
  LLRT_TRY(keep_whole(p, operand, o->load, &o->access));
  close_body(p, branch);
  LLRT_TRY(keep_edge(p, operand, &o->access));
  kernel->step[branch].otherwise =
      (uint8_t)(kernel->n_steps - branch - 1 - kernel->step[branch].body);
  return LLRT_OK;
}

/* ---- products ---- */

/* Whether the operands' values are of the types that the instruction takes along K, several in a
 * word. */
static bool fits_words(const blocked *p, const dot_instruction *row) {
  const dot_rule *rule = &p->x->job->rule;
  return rule->compute == DOT_I32 && row->k <= p->dim[DOT_DIM_K].n &&
         dot_dtype_holds((llrt_dtype)row->a, &rule->a.values) &&
         dot_dtype_holds((llrt_dtype)row->b, &rule->b.values);
}

/* The one that takes the most elements at once. */
static void choose_instruction(blocked *p) {
  const dot_instruction *best = NULL;
  for (int i = 0; i < dot_instruction_count(); i++) {
    const dot_instruction *row = dot_instruction_at(i);
    bool fits = row->family == DOT_FMA && row->acc == p->x->types.sum &&
                dot_instruction_is_of(row, &p->x->d.kernel->target);
    if (!fits || (row->k > 0 && !fits_words(p, row)) || (best && best->k >= row->k)) continue;
    best = row;
    p->instruction = i;
  }
  p->packed = best->k;
  p->x->types.a = (llrt_dtype)best->a;
  p->x->types.b = (llrt_dtype)best->b;
}

/* What the loops count: positions along K, then rows, then panels. */
static void list_loops(const blocked *p, vector_list *inner, vector_list *outer) {
  const vector_list *wide = &p->dim[p->wide], *narrow = &p->dim[p->narrow], *k = &p->dim[DOT_DIM_K];
  add_range(inner, k, p->unrolled, k->n);
  add_range(outer, narrow, p->rows, narrow->n);
  add_range(outer, wide, p->lanes + p->columns, wide->n);
  add_range(inner, outer, 0, outer->n);
}

static llrt_status operand_value(blocked *p, int operand, const vector_list *loops, int *number) {
  vector_list registers = {0}, lanes = {0};
  bool is_wide = dot_operand_dim(operand) == p->wide;
  const vector_list *dim = &p->dim[dot_operand_dim(operand)];
  plan_value value;
  add_range(&lanes, &p->dim[p->wide], 0, p->lanes);
  add_range(&registers, &p->dim[DOT_DIM_K], 0, p->unrolled);
  add_range(&registers, dim, is_wide ? p->lanes : 0, is_wide ? p->lanes + p->columns : p->rows);
  LLRT_TRY(make_value(p, type_of(p, operand), mask_of(dim) | mask_of(&p->dim[DOT_DIM_K]),
                      &registers, &lanes, loops, &value));
  value.word = (uint8_t)p->packed;
  return draft_value(p->x->d.kernel, &value, number);
}

static llrt_status multiply_steps(blocked *p, int carried, const vector_list *loops) {
  plan_kernel *kernel = p->x->d.kernel;
  plan_value like = kernel->value[carried];
  int value[2], made;
  for (int o = 0; o < 2; o++) {
    LLRT_TRY(operand_value(p, o, loops, &value[o]));
    LLRT_TRY(shared_step(p, PLAN_SHARED_LOAD, o ? BUFFER_B : BUFFER_A, value[o]));
  }
  LLRT_TRY(draft_value(kernel, &like, &made));
  return draft_step(kernel, (plan_step){.kind = PLAN_DOT,
                                        .in = (uint8_t)value[0],
                                        .second = (uint8_t)value[1],
                                        .with = (uint8_t)carried,
                                        .out = (uint8_t)made,
                                        .instruction = (uint8_t)p->instruction});
}

static llrt_status product_steps(blocked *p) {
  plan_kernel *kernel = p->x->d.kernel;
  const vector_list *wide = &p->dim[p->wide], *narrow = &p->dim[p->narrow];
  vector_list inner = {0}, outer = {0}, registers = {0}, lanes = {0};
  plan_value within, between;
  uint64_t has = mask_of(wide) | mask_of(narrow);
  int loop[2], taken, carried, after;
  list_loops(p, &inner, &outer);
  add_range(&lanes, wide, 0, p->lanes);
  add_range(&registers, wide, p->lanes, p->lanes + p->columns);
  add_range(&registers, narrow, 0, p->rows);
  LLRT_TRY(make_value(p, p->x->types.sum, has, &registers, &lanes, &outer, &between));
  LLRT_TRY(make_value(p, p->x->types.sum, has, &registers, &lanes, &inner, &within));
  LLRT_TRY(draft_value(kernel, &between, &taken));
  LLRT_TRY(draft_value(kernel, &within, &carried));
  LLRT_TRY(draft_value(kernel, &between, &after));
  LLRT_TRY(open_present(p, outer.n, taken, loop));
  LLRT_TRY(shared_step(p, PLAN_SHARED_LOAD, BUFFER_SUMS, taken));
  int along;
  LLRT_TRY(draft_open(kernel,
                      (plan_step){.kind = PLAN_LOOP,
                                  .iterations = (uint8_t)(inner.n - outer.n),
                                  .joins = true,
                                  .nested = true,
                                  .in = (uint8_t)taken,
                                  .out = (uint8_t)carried,
                                  .with = (uint8_t)after},
                      &along));
  LLRT_TRY(multiply_steps(p, carried, &inner));
  close_body(p, along);
  LLRT_TRY(barrier(p)); /* between taking sums and keeping them */
  LLRT_TRY(shared_step(p, PLAN_SHARED_STORE, BUFFER_SUMS, after));
  close_present(p, loop);
  return LLRT_OK;
}

/* ---- the whole ---- */

/* Sums fill half of the registers: rows as there are, else columns. */
static void choose_registers(blocked *p) {
  const plan_target *target = &p->x->d.kernel->target;
  bool many =
      target->vector_bytes == 64 || target->name[0] == 'a'; /* AVX-512, AArch64: 32 registers */
  int sums = SUM_BITS(many ? 32 : 16), most = p->dim[p->wide].n - p->lanes;
  p->rows = bits_min(p->dim[p->narrow].n, sums - WIDE_BITS);
  p->columns = bits_min(sums - p->rows, most);
  p->unrolled = bits_min(p->dim[DOT_DIM_K].n, UNROLLED_BITS - p->rows - p->columns + p->packed);
}

static llrt_status sums_buffer(blocked *p) {
  vector_list order = {0};
  const vector_list *wide = &p->dim[p->wide], *narrow = &p->dim[p->narrow];
  add_range(&order, wide, 0, p->lanes + p->columns);
  add_range(&order, narrow, 0, narrow->n);
  add_range(&order, wide, p->lanes + p->columns, wide->n);
  return make_buffer(p, p->x->types.sum, &order);
}

llrt_status dot_blocked_steps(dot_draft *x) {
  plan_kernel *kernel = x->d.kernel;
  blocked p = {.x = x, .wide = wide_dim(x), .lanes = kernel->lane_bits};
  p.narrow = DOT_DIM_M + DOT_DIM_N - p.wide;
  list_dims(x, p.dim);
  choose_instruction(&p);
  choose_registers(&p);
  LLRT_TRY(sums_buffer(&p));
  for (int o = 0; o < 2; o++) LLRT_TRY(plan_operand(&p, o));
  for (int o = 0; o < 2 && kernel->n_bounds > 0; o++) LLRT_TRY(clear_operand(&p, o));
  LLRT_TRY(fill_steps(&p));
  int walk;
  LLRT_TRY(draft_open(kernel, (plan_step){.kind = PLAN_WALK, .bare = true}, &walk));
  LLRT_TRY(keep_operand(&p, 0));
  LLRT_TRY(keep_operand(&p, 1));
  LLRT_TRY(barrier(&p));
  LLRT_TRY(product_steps(&p));
  LLRT_TRY(barrier(&p));
  close_body(&p, walk);
  return result_steps(&p);
}
