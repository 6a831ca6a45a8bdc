/* Values from tensors and into them. A tensor that lacks axes is loaded once for all along them. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "expression/program_range.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/number.h"
#include "layout/f2.h"

/* log2 elements of an access to a tensor, and of what divides its address. */
typedef struct accesses {
  int vector, align;
  bool overhang; /* rows are not aligned, and aligned vectors that overhang them move them */
  bool exact;    /* the same of loads, but by words that hold nothing else */
} accesses;

/* Whether such vectors may move 2^vector elements of the value. Loads of the first tensor alone:
 * kernels know the ends of its memory. */
static bool can_overhang(const draft *d, const plan_value *value, const plan_step *step,
                         int vector) {
  bool whole = plan_tile_bits_in(d->kernel, value) == bits_mask(d->tile_bits);
  return whole && (step->kind == PLAN_STORE || step->tensor == 0) &&
         draft_group_fits(d, step->tensor, value, vector);
}

static bool can_be_exact(const draft *d, const plan_value *value, const plan_step *step,
                         int vector) {
  plan_value spread;
  plan_value_spread(d->kernel, value, &spread);
  return step->kind == PLAN_LOAD && draft_can_be_exact(d, step->tensor, &spread, vector);
}

/* Whether the two elements of a byte are those that the value's first register tells apart: another
 * tensor's bytes may hold others. */
static bool begins_with_byte(const plan_value *spread, const plan_address_map *map) {
  int position;
  return plan_access_positions(spread, map, PLAN_REGISTER, 1, &position) && position == 0;
}

static accesses accesses_of(draft *d, const plan_value *value, const plan_step *step) {
  const plan_kernel *kernel = d->kernel;
  int tensor = step->tensor;
  plan_address_map map;
  plan_value spread;
  draft_runs runs;
  int vector = bits_log2(kernel->target.access_bytes * 8 / value->bits);
  plan_dim dim = kernel->target.simd_lanes ? PLAN_LANE : PLAN_REGISTER;
  const llrt_swizzle *swizzle = &kernel->swizzle[tensor];
  plan_address_of_tensor(kernel, tensor, &map);
  plan_value_spread(kernel, value, &spread);
  draft_runs_of(d, tensor, &runs);
  for (int v = vector; v > runs.align; v--) {
    bool exact = can_be_exact(d, value, step, v);
    if (exact || can_overhang(d, value, step, v))
      return (accesses){.vector = v, .align = runs.align, .overhang = true, .exact = exact};
  }
  if (kernel->target.access_align_bytes > 1) vector = bits_min(vector, runs.align);
  if (swizzle->swizzle_len) vector = bits_min(vector, bits_min(swizzle->per_element, runs.align));
  int word = kernel->target.simd_lanes ? value->word : 0;
  if (value->bits < 8 && runs.align < 1) return (accesses){0}; /* a row may begin inside a byte */
  if (word > 0 && !begins_with_byte(&spread, &map)) vector = word = 0;
  for (int i = 0; i < LLRT_MAX_BITS; i++)
    map.column[i] >>= word; /* lanes come behind those of a byte */
  vector = bits_max(vector - word, 0);
  while (vector > 0 && !plan_access_fits(&spread, &map, dim, vector)) vector--;
  return (accesses){.vector = vector + word, .align = runs.align};
}

/* Of accesses that bounds may part those that they do not; of the host's bytes with two elements
 * one at a time. */
static int masked_vector(draft *d, const plan_value *value, int tensor, int vector) {
  const plan_kernel *kernel = d->kernel;
  plan_value spread;
  plan_value_spread(kernel, value, &spread);
  if (!kernel->target.simd_lanes || value->word == 0)
    return draft_whole_vector(d, &spread, tensor, vector);
  uint64_t moved = f2_apply(kernel->space.column, plan_value_columns(&spread, PLAN_REGISTER)[0]);
  return vector > 0 && !draft_splits(d, moved, tensor) ? 1 : 0;
}

/* Words of a GPU hold elements that lie side by side in memory. */
static int word_of(draft *d, const plan_value *value, int tensor) {
  int most = bits_min(draft_word_of(d, value->bits), plan_value_bits(value, PLAN_REGISTER));
  plan_address_map map;
  plan_value spread;
  int positions[LLRT_MAX_BITS], word = 0;
  if (d->kernel->target.simd_lanes) return value->bits < 8 ? most : 0;
  plan_address_of_tensor(d->kernel, tensor, &map);
  plan_value_spread(d->kernel, value, &spread);
  while (word < most && plan_access_positions(&spread, &map, PLAN_REGISTER, word + 1, positions) &&
         positions[word] == word)
    word++;
  return word;
}

llrt_status rows_tensor_value(rows *r, int tensor, plan_value *value) {
  LLRT_TRY(rows_layout(r, rows_bits_of(r, r->program->tensor[tensor].axes),
                       r->d.kernel->tensor_bits[tensor], value));
  value->word = (uint8_t)word_of(&r->d, value, tensor);
  return LLRT_OK;
}

/* Whether 4-bit elements are moved one by one: a thread, on the host a lane, has not both of a
 * byte; in a word, if memory has them the other way round. */
static bool moves_single(const rows *r, const plan_step *step, const plan_value *value) {
  const plan_kernel *kernel = r->d.kernel;
  bool words = kernel->target.simd_lanes || kernel->high_first[step->tensor];
  bool whole = step->vector > 0 && (!words || value->word > 0);
  return kernel->tensor_bits[step->tensor] < 8 && !whole;
}

/* Two kernels store single elements of bytes, each one half of every byte. */
static llrt_status check_halves(rows *r) {
  if (r->d.kernel->stored_half) return LLRT_OK;
  r->wants_halves = true;
  return llrt_error(LLRT_UNSUPPORTED, "4-bit elements whose bytes no single thread has whole");
}

bool rows_may_be_inside(const rows *r) {
  const plan_kernel *kernel = r->d.kernel;
  bool may = true;
  for (int i = 0; i < kernel->n_bounds; i++)
    may &= kernel->bound[i].full.arg >= 0 || kernel->bound[i].full.value > 0;
  return may;
}

/* An access in the block's interior, and at edges, where bounds may leave elements out. */
typedef struct access_forms {
  bool edge, inside; /* which of the two there are */
  plan_step whole, masked;
} access_forms;

/* The step as an access by single elements, if it has to be one. */
static llrt_status make_single(rows *r, const plan_value *value, plan_step *step) {
  if (!moves_single(r, step, value)) return LLRT_OK;
  step->vector = step->misaligned = 0;
  step->by_words = false;
  return step->kind == PLAN_STORE ? check_halves(r) : LLRT_OK;
}

/* How far a masked access goes. A byte of 4-bit elements that a thread has is stored by it, also
 * where bounds leave one of them out: it is kept then. */
static void mask_vector(rows *r, const plan_value *value, int most, plan_step *step) {
  bool single = moves_single(r, step, value);
  step->vector = (uint8_t)masked_vector(&r->d, value, step->tensor, most);
  step->parted = step->kind == PLAN_STORE && value->bits < 8 && !single && step->vector < 1;
  if (step->parted) step->vector = 1;
}

/* Whether some bound is about the tensor: a weight of rows, of which a block has several, has none.
 */
static bool is_bounded(const plan_kernel *kernel, int tensor) {
  bool bounded = false;
  for (int i = 0; i < kernel->n_bounds; i++) bounded |= kernel->bound[i].tensors >> tensor & 1;
  return bounded;
}

static llrt_status find_forms(rows *r, plan_step step, const plan_value *value, access_forms *f) {
  draft *d = &r->d;
  accesses own = accesses_of(d, value, &step);
  f->edge = is_bounded(d->kernel, step.tensor);
  f->inside = !f->edge || rows_may_be_inside(r);
  step.vector = (uint8_t)own.vector;
  step.misaligned = (uint8_t)bits_max(own.vector - own.align, 0);
  step.overhang = own.overhang;
  step.exact = own.exact;
  step.by_words = own.exact || draft_by_words(d, &step, value);
  f->whole = step;
  step.masked = true;
  if (!own.overhang) mask_vector(r, value, own.vector, &step);
  if (step.vector < own.vector && can_be_exact(d, value, &f->whole, own.vector)) {
    step.overhang = step.by_words = step.exact = true;
    step.vector = (uint8_t)own.vector;
  }
  step.by_groups = step.kind == PLAN_STORE && own.overhang && value->bits >= 8;
  step.misaligned = (uint8_t)bits_max(step.vector - own.align, 0);
  f->masked = step;
  if (f->inside) LLRT_TRY(make_single(r, value, &f->whole));
  return f->edge ? make_single(r, value, &f->masked) : LLRT_OK;
}

static llrt_status access_steps(rows *r, plan_step step, const plan_value *value) {
  plan_kernel *kernel = r->d.kernel;
  access_forms f;
  LLRT_TRY(find_forms(r, step, value, &f));
  if (f.edge && f.inside)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                            .joins = step.kind == PLAN_LOAD,
                                            .body = 1,
                                            .otherwise = 1,
                                            .out = step.out}));
  if (f.inside) LLRT_TRY(draft_step(kernel, f.whole));
  return f.edge ? draft_step(kernel, f.masked) : LLRT_OK;
}

/* A load as a copy of what it would load. */
static plan_step copy_of(plan_step load, int value, int buffer) {
  load.kind = PLAN_COPY;
  load.in = (uint8_t)value;
  load.out = 0;
  load.buffer = (uint8_t)buffer;
  load.fills = load.masked;
  return load;
}

llrt_status rows_copy_elements(rows *r, int number, int value, int buffer, bool *may) {
  enum { COPY_BITS = 128 };
  plan_kernel *kernel = r->d.kernel;
  plan_step step = {.kind = PLAN_LOAD, .tensor = r->program->node[number].slot};
  access_forms f;
  LLRT_TRY(find_forms(r, step, &kernel->value[value], &f));
  int bits = kernel->value[value].bits;
  *may = !f.whole.overhang && f.whole.misaligned == 0 && bits << f.whole.vector == COPY_BITS &&
         (!f.edge || (f.masked.vector == f.whole.vector && !f.masked.overhang));
  if (!*may) return LLRT_OK;
  if (f.edge && f.inside)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR, .body = 1, .otherwise = 1}));
  if (f.inside) LLRT_TRY(draft_step(kernel, copy_of(f.whole, value, buffer)));
  return f.edge ? draft_step(kernel, copy_of(f.masked, value, buffer)) : LLRT_OK;
}

llrt_status rows_load_elements(rows *r, int number, const plan_value *laid_out) {
  const plan_step step = {.kind = PLAN_LOAD,
                          .tensor = r->program->node[number].slot,
                          .out = (uint8_t)r->loaded[number]};
  return access_steps(r, step, laid_out);
}

llrt_status rows_fetch(rows *r, int number) {
  const program_node *node = &r->program->node[number];
  int *value = &r->loaded[number];
  plan_value loaded;
  if (*value != ROWS_NONE) return LLRT_OK;
  LLRT_TRY(rows_tensor_value(r, node->slot, &loaded));
  if (r->is_kept[number]) return rows_load_kept(r, number, &loaded);
  if (r->ring == number) return rows_load_ring(r, &loaded);
  LLRT_TRY(draft_value(r->d.kernel, &loaded, value));
  return rows_load_elements(r, number, &loaded);
}

/* Of what a program goes on with: whatever a NaN meets becomes one, and which one is open, so none
 * is made another here. */
llrt_status rows_cast(rows *r, llrt_dtype from, llrt_dtype to, int *value) {
  const plan_map map = {.kind = PLAN_MAP_CAST,
                        .from = (uint8_t)from,
                        .to = (uint8_t)to,
                        .any_nan = from != to && (to == LLRT_F32 || to == LLRT_F64)};
  return draft_retype(&r->d, map, value);
}

llrt_status rows_load(rows *r, int number, int *value) {
  const program_node *node = &r->program->node[number];
  llrt_dtype from = (llrt_dtype)node->from, to = (llrt_dtype)node->type;
  LLRT_TRY(rows_fetch(r, number));
  *value = r->loaded[number];
  if (to == LLRT_BOOL)
    return draft_retype(
        &r->d, (plan_map){.kind = PLAN_MAP_TRUTH, .from = (uint8_t)from, .to = LLRT_U32}, value);
  if (from == LLRT_U64) return LLRT_OK; /* the same bits */
  return rows_cast(r, from, to, value);
}

/* Codes as elements of a byte. */
static llrt_status narrow(rows *r, int *value) {
  const plan_map map = {.kind = PLAN_MAP_CAST, .from = LLRT_I32, .to = LLRT_U8, .fits = true};
  return draft_retype(&r->d, map, value);
}

/* Whether the elements of a kept value are those that the tensor has. */
static bool is_encoded(rows *r, int tensor) {
  const program_tensor *own = &r->program->tensor[tensor];
  if (!rows_is_cut(r, own->node) || r->program->node[own->node].through != own->store) return false;
  const plan_value *kept = &r->d.kernel->value[r->loaded[own->node]];
  return !own->words && word_of(&r->d, kept, tensor) == kept->word;
}

/* The value as the tensor's elements. */
static llrt_status encode(rows *r, const program_tensor *tensor, int *value) {
  llrt_dtype from = (llrt_dtype)r->program->node[tensor->node].type;
  llrt_dtype to = (llrt_dtype)tensor->store;
  if (from == LLRT_I64) return LLRT_OK; /* of 64-bit integers the same bits */
  if (to == LLRT_BOOL) return narrow(r, value);
  if (to == LLRT_E8M0) {
    uint64_t tile_bits = plan_tile_bits_in(r->d.kernel, &r->d.kernel->value[*value]);
    plan_step code = {.kind = PLAN_APPLY,
                      .op = EXPR_CAST,
                      .operands = 1,
                      .in = (uint8_t)*value,
                      .element = LLRT_F32,
                      .type = LLRT_I32,
                      .through = LLRT_E8M0,
                      .power = program_is_power(r->program, tensor->node)};
    LLRT_TRY(rows_apply(r, code, tile_bits, value));
    return narrow(r, value);
  }
  return draft_cast(&r->d, from, to, value);
}

llrt_status rows_store_at_edge(rows *r, int tensor, int value) {
  plan_kernel *kernel = r->d.kernel;
  access_forms f;
  const plan_value layout = kernel->value[value];
  const plan_step step = {.kind = PLAN_STORE, .tensor = (uint8_t)tensor, .in = (uint8_t)value};
  LLRT_TRY(find_forms(r, step, &layout, &f));
  return draft_step(kernel, f.edge ? f.masked : f.whole);
}

/* Which of an access's two forms. */
enum { ACCESS_WHOLE, ACCESS_MASKED, ACCESS_BOTH };

static llrt_status store_elements(rows *r, int tensor, int value, int form) {
  plan_kernel *kernel = r->d.kernel;
  access_forms f;
  bool words = r->program->tensor[tensor].words != 0;
  if (words) LLRT_TRY(rows_lay_out_words(r, tensor, &value));
  if (is_encoded(r, tensor)) value = r->loaded[r->program->tensor[tensor].node];
  else LLRT_TRY(encode(r, &r->program->tensor[tensor], &value));
  if (rows_stores_slots(r, tensor, value)) return rows_store_slots(r, tensor, value);
  plan_value *stored = &kernel->value[value];
  if (kernel->tensor_bits[tensor] < 32) stored->word = (uint8_t)word_of(&r->d, stored, tensor);
  if (words) LLRT_TRY(rows_permute_words(r, tensor, &value));
  const plan_value layout = kernel->value[value];
  const plan_step step = {.kind = PLAN_STORE, .tensor = (uint8_t)tensor, .in = (uint8_t)value};
  if (form == ACCESS_BOTH) return access_steps(r, step, &layout);
  LLRT_TRY(find_forms(r, step, &layout, &f));
  return draft_step(kernel, form == ACCESS_WHOLE ? f.whole : f.masked);
}

/* Whether a block inside all bounds has no pads: blocks of a single position of an axis that no
 * other tensor has are not bounded along it, and some of them are pads alone. */
static bool pads_are_bounded(const rows *r, int tensor) {
  bool are = true;
  for (int a = 0; a < r->program->rank; a++)
    are &= !draft_stores_pads(&r->d, tensor, a) || rows_overhang(r, a);
  return are;
}

/* Pads get their value where a block reaches beyond the shape. */
static llrt_status store_with_pads(rows *r, int tensor, int value) {
  plan_kernel *kernel = r->d.kernel;
  int branch = kernel->n_steps, edge = branch;
  if (!pads_are_bounded(r, tensor)) {
    LLRT_TRY(rows_fill_pads(r, tensor, &value));
    return store_elements(r, tensor, value, ACCESS_BOTH);
  }
  if (rows_may_be_inside(r)) {
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR}));
    LLRT_TRY(store_elements(r, tensor, value, ACCESS_WHOLE));
    edge = kernel->n_steps;
  }
  LLRT_TRY(rows_fill_pads(r, tensor, &value));
  LLRT_TRY(store_elements(r, tensor, value, ACCESS_MASKED));
  if (edge == branch) return LLRT_OK;
  kernel->step[branch].body = (uint8_t)(edge - branch - 1);
  kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - edge);
  return LLRT_OK;
}

/* Of two kernels that store halves of bytes the first stores nothing else: what other outputs are
 * made of may lie in their place. */
static bool is_of_later(const rows *r, int tensor, int value) {
  plan_value stored = r->d.kernel->value[value];
  draft *d = (draft *)&r->d;
  plan_step step = {.kind = PLAN_STORE, .tensor = (uint8_t)tensor};
  if (r->d.kernel->stored_half != 1) return false;
  stored.bits = r->d.kernel->tensor_bits[tensor];
  stored.word = (uint8_t)word_of(d, &stored, tensor);
  step.vector = (uint8_t)accesses_of(d, &stored, &step).vector;
  return !moves_single(r, &step, &stored);
}

llrt_status rows_store(rows *r, int tensor, int value) {
  const program_tensor *own = &r->program->tensor[tensor];
  plan_kernel *kernel = r->d.kernel;
  uint64_t wanted = rows_bits_of(r, own->axes);
  llrt_dtype type = (llrt_dtype)r->program->node[own->node].type;
  if (plan_tile_bits_in(kernel, &kernel->value[value]) != wanted) {
    plan_step copy = {.kind = PLAN_APPLY,
                      .op = EXPR_CAST,
                      .operands = 1,
                      .in = (uint8_t)value,
                      .element = (uint8_t)type,
                      .type = (uint8_t)type};
    LLRT_TRY(rows_apply(r, copy, wanted, &value));
  }
  if (is_of_later(r, tensor, value)) return LLRT_OK;
  return rows_has_pads(r, tensor) ? store_with_pads(r, tensor, value)
                                  : store_elements(r, tensor, value, ACCESS_BOTH);
}
