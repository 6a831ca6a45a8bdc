/* What emission and interpretation rely on, checked: a plan that fails here is a defect of planning. */
#include "jit/plan/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block_gather.h"
#include "jit/plan/dot_box.h"
#include "jit/plan/dot_tiling.h"
#include "jit/plan/eval.h"
#include "jit/plan/number.h"
#include "jit/plan/rounds.h"
#include "jit/plan/scan_eval.h"
#include "jit/plan/word_swap.h"
#include "jit/plan/word_turn.h"

#define CHECK(condition, ...)                                             \
  do {                                                                    \
    if (!(condition)) return llrt_error(LLRT_INTERNAL, "plan: " __VA_ARGS__); \
  } while (0)

static llrt_status check_value(const plan_kernel *kernel, int i) {
  const plan_value *value = &kernel->value[i];
  int registers = plan_value_bits(value, PLAN_REGISTER);
  CHECK(llrt_layout_is_valid(&value->layout), "value %d: malformed layout", i);
  CHECK(bits_is_power_of_two(value->bits), "value %d: elements of %d bits", i, value->bits);
  CHECK(value->word <= registers, "value %d: a word of more elements than registers", i);
  CHECK(registers - value->word <= PLAN_VALUE_BITS, "value %d: too many registers", i);
  CHECK(plan_value_bits(value, PLAN_LANE) == kernel->lane_bits, "value %d: lanes", i);
  CHECK(plan_value_bits(value, PLAN_WARP) == kernel->warp_bits, "value %d: warps", i);
  CHECK(llrt_layout_is_surjective(&value->layout), "value %d: elements without a place", i);
  for (int r = 0; r < registers; r++)
    CHECK(plan_value_columns(value, PLAN_REGISTER)[r] != 0, "value %d: a copy in registers", i);
  return LLRT_OK;
}

/* The vector's registers are there, those inside a word at their place, and nothing else moves the low
 * address bits. */
static llrt_status check_access(const plan_kernel *kernel, int at, const plan_value *value,
                                const plan_address_map *map) {
  const plan_step *step = &kernel->step[at];
  int positions[LLRT_MAX_BITS];
  CHECK(value->bits << step->vector >= 8 || (step->kind == PLAN_LOAD && step->masked),
        "step %d: less than a byte", at);
  if (kernel->target.lanes_first) return LLRT_OK;
  CHECK(plan_access_positions(value, map, PLAN_REGISTER, step->vector, positions),
        "step %d: no registers for a vector of 2^%d", at, step->vector);
  for (int j = 0; j < step->vector && j < value->word; j++)
    CHECK(positions[j] == j, "step %d: words are not formed as memory has them", at);
  uint64_t vector = 0;
  for (int j = 0; j < step->vector; j++) vector |= 1ull << positions[j];
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++) {
    if (i < plan_value_bits(value, PLAN_REGISTER) && vector >> i & 1) continue;
    uint64_t moved = f2_apply(map->column, value->layout.column[i]);
    CHECK((moved & bits_mask(step->vector)) == 0, "step %d: a vector that is not aligned", at);
  }
  return LLRT_OK;
}

/* A block stores in its own memory, and matrices come from there; an access stays in one block. */
static llrt_status check_blocks(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  plan_blocks blocks;
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  if (plan_is_local(kernel, step->buffer, value)) return LLRT_OK;
  CHECK(step->kind == PLAN_SHARED_LOAD && !step->matrix, "step %d: another block's memory", at);
  plan_blocks_of_buffer(kernel, step->buffer, &blocks);
  plan_address_of_buffer(kernel, step->buffer, &map);
  CHECK(plan_access_positions(value, &map, PLAN_REGISTER, step->vector, positions), "step %d: no vector", at);
  for (int j = 0; j < step->vector; j++)
    CHECK(f2_apply(blocks.of_tile, plan_value_columns(value, PLAN_REGISTER)[positions[j]]) == 0,
          "step %d: an access in several blocks", at);
  return LLRT_OK;
}

/* A repetition is registers of the value or warps, each bit of it one or the other: no lane moves an element
 * to another, and words stay whole. */
static llrt_status check_repetition(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  const llrt_layout *layout = &kernel->buffer[step->buffer].layout;
  llrt_layout inverse;
  plan_repetitions repetitions;
  CHECK(layout->n_in == 3, "buffer %d: offset, repetition and block", step->buffer);
  CHECK(layout->in[2].bits == kernel->cluster_bits, "buffer %d: blocks", step->buffer);
  uint64_t parts = bits_mask(layout->in[1].bits) << layout->in[0].bits;
  CHECK(step->repetition >> plan_buffer_parts(&kernel->buffer[step->buffer]) == 0, "step %d: repetition %d", at, step->repetition);
  LLRT_TRY(llrt_layout_right_inverse(layout, &inverse));
  plan_repetitions_of(kernel, step->buffer, value, &repetitions);
  for (int i = 0; i < kernel->lane_bits; i++)
    CHECK((f2_apply(inverse.column, plan_value_columns(value, PLAN_LANE)[i]) & parts) == 0,
          "step %d: lanes in several repetitions", at);
  for (int i = 0; i < plan_value_bits(value, PLAN_REGISTER); i++)
    CHECK((repetitions.of_register[i] & repetitions.warps) == 0,
          "step %d: a repetition of registers and warps", at);
  for (int i = 0; i < value->word; i++)
    CHECK((f2_apply(inverse.column, value->layout.column[i]) & parts) == 0,
          "step %d: a word in several repetitions", at);
  return check_blocks(kernel, at, value);
}

/* A vector has one value of each index of its tensor; stored, of the others that leave elements out. */
static llrt_status check_vector_indices(const plan_kernel *kernel, int at, const plan_value *value,
                                        const plan_address_map *map) {
  const plan_step *step = &kernel->step[at];
  plan_dim dim = kernel->target.lanes_first ? PLAN_LANE : PLAN_REGISTER;
  int positions[LLRT_MAX_BITS];
  if (!plan_access_positions(value, map, dim, step->vector, positions)) return LLRT_OK;
  for (int i = 0; i < kernel->n_indices; i++) {
    const plan_index *index = &kernel->index[i];
    bool left_out = step->kind == PLAN_STORE && plan_leaves_out(index);
    if (index->tensor != step->tensor && !left_out) continue;
    uint64_t selecting = plan_axes_bits(kernel, index->axes);
    for (int j = 0; j < step->vector; j++) {
      uint64_t moved = f2_apply(kernel->space.column, plan_value_columns(value, dim)[positions[j]]);
      CHECK(!(moved & selecting), "step %d: a vector with several values of index %d", at, i);
    }
  }
  return LLRT_OK;
}

/* What follows up to the dot that uses the value are maps, or makes other values. */
static llrt_status check_lazy(const plan_kernel *kernel, int at) {
  int value = kernel->step[at].out;
  CHECK(!kernel->target.lanes_first, "step %d: lazy on %s", at, kernel->target.name);
  for (int i = at + 1; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    bool map = step->kind == PLAN_MAP && step->in == value;
    if (step->kind == PLAN_DOT && (step->in == value || step->second == value)) return LLRT_OK;
    CHECK(step->kind == PLAN_MAP && (!map || step->lazy), "step %d: v%d is not there", i, value);
    if (map) value = step->out;
  }
  return llrt_error(LLRT_INTERNAL, "plan: step %d: nothing uses what is lazy", at);
}

/* Whole words; a row's bytes move as its instruction wants, and nothing else moves them. */
static llrt_status check_matrix(const plan_kernel *kernel, int at, const plan_value *value,
                                const plan_address_map *map) {
  const plan_step *step = &kernel->step[at];
  const plan_target *target = &kernel->target;
  plan_matrix matrix;
  CHECK(step->kind == PLAN_SHARED_LOAD ? target->matrix_load : target->matrix_store,
        "step %d: matrices on %s", at, target->name);
  CHECK(step->matrix <= PLAN_MATRIX_TRANSPOSED, "step %d: matrices of kind %d", at, step->matrix);
  CHECK(kernel->lane_bits == PLAN_MATRIX_LANES && value->bits << value->word == 32,
        "step %d: no words of a matrix", at);
  CHECK(step->matrix == PLAN_MATRIX_ROWS || value->word > 0,
        "step %d: elements of %d bits, transposed", at, value->bits);
  plan_matrix_of(kernel, step, value, &matrix);
  CHECK(step->vector == matrix.row, "step %d: rows of 2^%d elements", at, step->vector);
  for (int j = 0; j < matrix.row; j++)
    CHECK(f2_apply(map->column, matrix.inside[j]) == 1ull << j, "step %d: no row of a matrix", at);
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++) {
    uint64_t x = value->layout.column[i];
    bool inside = false;
    for (int j = 0; j < matrix.row; j++) inside |= matrix.inside[j] == x;
    CHECK(inside || (f2_apply(map->column, x) & bits_mask(matrix.row)) == 0,
          "step %d: a row that is not aligned", at);
  }
  for (int i = 0; i < kernel->lane_bits; i++)
    CHECK(plan_value_columns(value, PLAN_LANE)[i], "step %d: copies of a matrix", at);
  return LLRT_OK;
}

/* Accesses are aligned, or need not be, or overhang rows that lanes hold piece by piece. */
static llrt_status check_alignment(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  const plan_memory *memory = &kernel->memory;
  int vector = bits_log2(value->bits) - 3 + step->vector; /* log2 bytes */
  plan_group group;
  if (!step->overhang) {
    CHECK(step->misaligned == 0 || kernel->target.access_align_bytes == 1, "step %d: misaligned", at);
    return LLRT_OK;
  }
  CHECK(!kernel->target.lanes_first && kernel->n_indices == 0 &&
            kernel->swizzle[step->tensor].swizzle_len == 0,
        "step %d: rows that cannot be overhung", at);
  CHECK(vector >= 2 && vector <= 4 && step->misaligned <= vector, "step %d: vectors of 2^%d bytes", at,
        vector);
  CHECK(!step->loose || (step->kind == PLAN_LOAD && step->masked &&
                         plan_may_be_loose(kernel, step->tensor, value, step->vector)),
        "step %d: may not be loose", at);
  CHECK(step->loose || plan_group_of(kernel, step->tensor, value, step->vector, &group),
        "step %d: no pieces of rows", at);
  if (step->kind == PLAN_STORE) return LLRT_OK;
  CHECK(step->tensor == 0 && memory->used && memory->vector == vector,
        "step %d: memory is not known", at);
  CHECK(step->masked || memory->guards, "step %d: loads without a guard", at);
  return LLRT_OK;
}

/* What bounds part is moved lane by lane on the host, where lanes hold elements; on a GPU it is stored element by
 * element. */
static llrt_status check_parted(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  bool host = kernel->target.lanes_first;
  bool fits = host ? value->word == 0 && !step->streaming
                   : step->kind == PLAN_STORE && value->bits >= 8 && !step->overhang && step->misaligned == 0 &&
                         plan_is_ordered(kernel, step->tensor, value, step->vector);
  CHECK(!step->parted || (step->masked && kernel->n_indices == 0 && fits), "step %d: may not be parted", at);
  return LLRT_OK;
}

static llrt_status check_memory_step(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  bool load = step->kind == PLAN_LOAD || step->kind == PLAN_SHARED_LOAD;
  plan_address_map map;
  plan_value spread;
  const plan_value *value = &kernel->value[load ? step->out : step->in];
  if (step->kind == PLAN_LOAD || step->kind == PLAN_STORE) {
    plan_value_spread(kernel, value, &spread);
    value = &spread;
    CHECK(step->tensor < kernel->n_tensors, "step %d: tensor %d", at, step->tensor);
    CHECK(value->bits == kernel->tensor_bits[step->tensor], "step %d: width of the tensor", at);
    if (kernel->flat) {
      int pair = value->bits < 8 && step->kind == PLAN_STORE;
      CHECK(step->vector >= pair && step->masked, "step %d: a flat kernel moves elements", at);
      for (int i = 0; i < step->vector; i++)
        CHECK(plan_value_columns(value, PLAN_REGISTER)[i] == 1ull << i, "step %d: no vector", at);
      return LLRT_OK;
    }
    plan_address_of_tensor(kernel, step->tensor, &map);
    LLRT_TRY(check_parted(kernel, at, value));
    CHECK(!step->staged || (kernel->panel.gathered && step->kind == PLAN_LOAD && step->tensor == 0),
          "step %d: there is no panel", at);
    LLRT_TRY(check_alignment(kernel, at, value));
    LLRT_TRY(check_vector_indices(kernel, at, value, &map));
  } else {
    CHECK(step->buffer < kernel->n_buffers, "step %d: buffer %d", at, step->buffer);
    CHECK(value->bits == kernel->buffer[step->buffer].bits, "step %d: width of the buffer", at);
    plan_address_of_buffer(kernel, step->buffer, &map);
    LLRT_TRY(check_repetition(kernel, at, value));
    CHECK(!step->lazy || (step->kind == PLAN_SHARED_LOAD && step->matrix), "step %d: lazy", at);
    if (step->lazy) LLRT_TRY(check_lazy(kernel, at));
    if (step->matrix) return check_matrix(kernel, at, value, &map);
  }
  return check_access(kernel, at, value, &map);
}

/* Accesses that load and store alike, of sizes that copies have. */
static llrt_status check_copy(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *value = &kernel->value[step->in];
  plan_address_map map;
  plan_value spread;
  int bits = value->bits << step->vector;
  CHECK(kernel->target.async_copies && !kernel->flat, "step %d: copies on %s", at, kernel->target.name);
  CHECK(step->tensor < kernel->n_tensors && step->buffer < kernel->n_buffers, "step %d: tensor %d, buffer %d", at,
        step->tensor, step->buffer);
  CHECK(value->bits == kernel->tensor_bits[step->tensor] && value->bits == kernel->buffer[step->buffer].bits,
        "step %d: width of tensor and buffer", at);
  CHECK((bits == 32 || bits == 64 || bits == 128) && step->misaligned == 0 && !step->overhang,
        "step %d: copies of %d bits", at, bits);
  CHECK(kernel->buffer[step->buffer].layout.in[1].bits == 0 && kernel->n_indices == 0, "step %d: in parts", at);
  CHECK(plan_is_local(kernel, step->buffer, value), "step %d: copies to another block's memory", at);
  plan_address_of_buffer(kernel, step->buffer, &map);
  LLRT_TRY(check_access(kernel, at, value, &map));
  plan_value_spread(kernel, value, &spread);
  plan_address_of_tensor(kernel, step->tensor, &map);
  LLRT_TRY(check_access(kernel, at, &spread, &map));
  return step->box ? dot_verify_box(kernel, at) : LLRT_OK;
}

static llrt_status check_registers(const plan_kernel *kernel, int at) {
  const plan_value *in = &kernel->value[kernel->step[at].in];
  const plan_value *out = &kernel->value[kernel->step[at].out];
  f2_basis span;
  CHECK(in->bits == out->bits, "step %d: elements change width", at);
  f2_basis_init(&span);
  for (int i = 0; i < plan_value_bits(in, PLAN_REGISTER); i++)
    f2_basis_insert(&span, plan_value_columns(in, PLAN_REGISTER)[i]);
  for (int i = 0; i < plan_value_bits(out, PLAN_REGISTER); i++)
    CHECK(f2_basis_contains(&span, plan_value_columns(out, PLAN_REGISTER)[i]),
          "step %d: register bit %d is not in the thread", at, i);
  for (int i = 0; i < kernel->lane_bits; i++)
    CHECK(plan_value_columns(in, PLAN_LANE)[i] == plan_value_columns(out, PLAN_LANE)[i],
          "step %d: lane bit %d moves", at, i);
  return LLRT_OK;
}

/* Scales of a value: its elements are where those of the input are that they stand for. */
static llrt_status check_scale_value(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_map *map = &kernel->map[step->map];
  CHECK(map->kind == PLAN_MAP_SCALE && step->second < kernel->n_values, "step %d: value %d", at, step->second);
  const plan_value *in = &kernel->value[step->in], *scales = &kernel->value[step->second];
  plan_value expected;
  plan_value_reduce(in, scales->reduced & ~in->reduced, &expected);
  CHECK(!kernel->target.lanes_first, "step %d: scales of a value on %s", at, kernel->target.name);
  CHECK(scales->bits == llrt_dtype_bits((llrt_dtype)map->scale), "step %d: scales of %d bits", at, scales->bits);
  CHECK(scales->reduced == expected.reduced && llrt_layout_equal(&scales->layout, &expected.layout),
        "step %d: v%d is not laid out as v%d", at, step->second, step->in);
  return LLRT_OK;
}

/* A map of words finds their elements side by side. */
static llrt_status check_map(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->map < kernel->n_maps, "step %d: map %d", at, step->map);
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  CHECK(llrt_layout_equal(&in->layout, &out->layout), "step %d: a map moves elements", at);
  const plan_map *values = &kernel->map[step->map];
  CHECK(in->bits == llrt_dtype_bits((llrt_dtype)values->from) &&
            out->bits == llrt_dtype_bits((llrt_dtype)values->to),
        "step %d: width of the map's types", at);
  if (step->by_value) LLRT_TRY(check_scale_value(kernel, at));
  if (step->lazy) LLRT_TRY(check_lazy(kernel, at));
  CHECK(!values->words || (values->kind == PLAN_MAP_CAST && !kernel->target.lanes_first && in->bits << in->word == 32),
        "step %d: a cast of no words", at);
  if (values->kind == PLAN_MAP_SCALE)
    CHECK(step->tensor < kernel->n_tensors && number_format_of((llrt_dtype)values->scale),
          "step %d: no scales", at);
  if (values->kind == PLAN_MAP_CAST || values->kind == PLAN_MAP_SCALE)
    CHECK(number_cast_exists((llrt_dtype)values->from, (llrt_dtype)values->to) ||
              (values->kind == PLAN_MAP_CAST &&
               (number_extends((llrt_dtype)values->from, (llrt_dtype)values->to) ||
                number_nears((llrt_dtype)values->from, (llrt_dtype)values->to))),
          "step %d: no such cast", at);
  else if (values->kind >= PLAN_MAP_MULTIPLY && values->kind <= PLAN_MAP_SILU)
    CHECK(values->from == values->to && (values->from == LLRT_F32 || values->from == LLRT_F64),
          "step %d: acts on no f32 or f64", at);
  else if (values->kind == PLAN_MAP_TRUTH)
    CHECK(values->to == LLRT_U32, "step %d: truth is of u32", at);
  else
    CHECK(in->word == out->word, "step %d: words change", at);
  if (values->kind != PLAN_MAP_WORD_BITS || in->bits >= 32) return LLRT_OK;
  CHECK(!kernel->flat, "step %d: words in a flat kernel", at);
  CHECK(plan_keeps_words(kernel, in, step->tensor ? step->tensor : PLAN_DESTINATION), "step %d: no whole words", at);
  return LLRT_OK;
}

static llrt_status check_same(const plan_kernel *kernel, int at, int a, int b) {
  CHECK(kernel->value[a].word == kernel->value[b].word &&
            kernel->value[a].bits == kernel->value[b].bits &&
            llrt_layout_equal(&kernel->value[a].layout, &kernel->value[b].layout),
        "step %d: v%d is not laid out as v%d", at, a, b);
  return LLRT_OK;
}

/* What is carried through a loop inside another: the same elements, whatever the inner one counts. */
static llrt_status check_nested(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->with < kernel->n_values, "step %d: value %d", at, step->with);
  const plan_value *inner = &kernel->value[step->out];
  plan_value outer = *inner;
  int first = llrt_layout_in_bits(&inner->layout) - plan_value_bits(inner, PLAN_ITERATION);
  CHECK(plan_value_bits(inner, PLAN_ITERATION) >= step->iterations, "step %d: v%d is not counted", at, step->out);
  for (int i = 0; i < step->iterations; i++)
    CHECK(inner->layout.column[first + i] == 0, "step %d: v%d moves in the loop", at, step->out);
  plan_drop_iterations(&outer, step->iterations);
  for (int i = 0; i < 2; i++) {
    const plan_value *other = &kernel->value[i ? step->with : step->in];
    CHECK(other->word == outer.word && other->bits == outer.bits && other->reduced == outer.reduced &&
              llrt_layout_equal(&other->layout, &outer.layout),
          "step %d: v%d is not laid out as v%d", at, i ? step->with : step->in, step->out);
  }
  return LLRT_OK;
}

/* Words stay whole, or one vector of the word changes places with one of the lanes. */
static llrt_status check_shuffle(const plan_kernel *kernel, int at) {
  const plan_value *in = &kernel->value[kernel->step[at].in], *out = &kernel->value[kernel->step[at].out];
  plan_word_swap swap;
  CHECK(in->word == out->word && in->bits == out->bits, "step %d: words change", at);
  for (int i = 0; i < in->word; i++)
    CHECK(plan_value_columns(in, PLAN_REGISTER)[i] == plan_value_columns(out, PLAN_REGISTER)[i] ||
              (!kernel->target.lanes_first && plan_word_swap_of(in, out, &swap)),
          "step %d: words are torn", at);
  plan_word_turn turn;
  plan_round round;
  if (plan_word_turn_of(in, out, &turn)) {
    CHECK(!kernel->target.lanes_first, "step %d: words turn on %s", at, kernel->target.name);
    return LLRT_OK;
  }
  if (plan_word_swap_of(in, out, &swap)) return LLRT_OK;
  plan_round_of(in, out, &round);
  CHECK((round.drawn & bits_mask(in->word)) == 0, "step %d: parts of words are drawn", at);
  return LLRT_OK;
}

/* What the elements are taken by fits what is taken; they can be reached. */
static llrt_status check_gather(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->second < kernel->n_values, "step %d: value %d", at, step->second);
  CHECK(kernel->cluster_bits == 0, "step %d: a gather in a cluster", at);
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  const plan_value *asked = &kernel->value[step->second];
  plan_gather_lanes lanes;
  CHECK(in->bits == out->bits && in->bits >= 8, "step %d: elements of %d bits", at, in->bits);
  CHECK(llrt_layout_equal(&asked->layout, &out->layout), "step %d: coordinates are not laid out as v%d", at,
        step->out);
  CHECK((asked->bits == 32 || asked->bits == 64) && asked->word == 0, "step %d: coordinates of %d bits", at,
        asked->bits);
  CHECK(step->axis_bits <= PLAN_GATHER_AXIS_BITS &&
            step->axis + step->axis_bits <= out->layout.out[0].bits,
        "step %d: an axis of %d bits", at, step->axis_bits);
  if (!step->staged) {
    CHECK(!kernel->target.lanes_first && plan_gather_lanes_of(kernel, step, &lanes),
          "step %d: elements of other warps", at);
    return LLRT_OK;
  }
  CHECK(step->buffer < kernel->n_buffers, "step %d: buffer %d", at, step->buffer);
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  CHECK(buffer->bits == in->bits && buffer->layout.in[1].bits == 0, "step %d: buffer %d is no whole tile", at,
        step->buffer);
  return LLRT_OK;
}

/* What index 0 chooses from, in memory that no buffer uses. */
static llrt_status check_panel(const plan_kernel *kernel, int at) {
  const plan_index *index = &kernel->index[0];
  plan_address_map map;
  CHECK(!kernel->flat && !kernel->target.lanes_first && kernel->n_indices == 1 && index->tensor == 0 &&
            index->kind == LLRT_INDEX_COORDINATE && index->n_parts == 1 && index->tile_bits == 0,
        "step %d: a panel of another index", at);
  CHECK(kernel->n_buffers == 0 && kernel->cluster_bits == 0 && kernel->tensor_bits[0] >= 8 &&
            kernel->tensor_bits[0] << kernel->panel.width <= 64 && kernel->swizzle[0].swizzle_len == 0,
        "step %d: a panel of 2^%d elements a value", at, kernel->panel.width);
  plan_address_of_tensor(kernel, 0, &map);
  for (int j = 0; j < kernel->space.in[0].bits; j++)
    CHECK(map.column[j] == (j < kernel->panel.width ? 1ull << j : 0), "step %d: neighbours of a value", at);
  return LLRT_OK;
}

/* Whether products read a buffer themselves. */
static bool is_multiplied(const plan_kernel *kernel, int buffer) {
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    for (int o = 0; o < 2 && step->kind == PLAN_DOT; o++)
      if (step->shared >> o & 1 && step->from[o] == buffer) return true;
  }
  return false;
}

/* Behind what has landed: loads from rings that boxes fill, stores to others of as many slots. */
static llrt_status check_landed(const plan_kernel *kernel, int produce, int at) {
  const plan_step *landed = &kernel->step[at], *end = &kernel->step[produce] + kernel->step[produce].body + 1;
  for (const plan_step *step = landed + 1; step < end; step++) {
    CHECK(step->kind == PLAN_SHARED_LOAD || step->kind == PLAN_MAP || step->kind == PLAN_SHARED_STORE,
          "step %d: no work of producers", (int)(step - kernel->step));
    if (step->kind == PLAN_MAP) continue;
    bool boxes = false;
    for (const plan_step *copy = &kernel->step[produce] + 1; copy < landed; copy++)
      boxes |= copy->kind == PLAN_COPY && copy->box && copy->buffer == step->buffer;
    CHECK(kernel->buffer[step->buffer].slots == kernel->slots && boxes == (step->kind == PLAN_SHARED_LOAD) && !step->matrix,
          "step %d: no ring of producers", (int)(step - kernel->step));
  }
  CHECK(landed->turns < kernel->slots, "step %d: boxes of %d turns", at, landed->turns);
  return LLRT_OK;
}

/* Copies to rings of as many slots, at the beginning of a walk that nothing is ahead of: boxes first; then what is made of
 * what they bring. Where there are boxes nobody makes other copies known to products. */
static llrt_status check_produce(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  bool boxes = true;
  CHECK(kernel->producers > 0 && at > 0 && kernel->step[at - 1].kind == PLAN_WALK && kernel->step[at - 1].ahead == 0,
        "step %d: producers outside a walk", at);
  for (int i = at + 1; i <= at + step->body; i++) {
    const plan_step *inner = &kernel->step[i];
    if (inner->kind == PLAN_LANDED) return check_landed(kernel, at, i);
    CHECK(inner->kind == PLAN_COPY || inner->kind == PLAN_IF_INTERIOR, "step %d: no work of producers", i);
    CHECK(inner->kind != PLAN_COPY || kernel->buffer[inner->buffer].slots == kernel->slots, "step %d: slots", i);
    CHECK(boxes || inner->box == 0, "step %d: a box behind other copies", i);
    boxes &= inner->box > 0;
    CHECK(inner->kind != PLAN_COPY || inner->box || kernel->launch.n_boxes == 0 || !is_multiplied(kernel, inner->buffer),
          "step %d: products of what threads copy beside boxes", i);
  }
  return LLRT_OK;
}

/* What stores collect: whole lines of the destination; nothing of it goes past the caches by itself. */
static llrt_status check_collect(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  int64_t unit = (int64_t)1 << step->vector, bytes = step->elements * kernel->tensor_bits[step->tensor] / 8;
  CHECK(kernel->target.lanes_first && !kernel->flat && step->tensor == PLAN_DESTINATION && step->body > 0 &&
            kernel->tensor_bits[PLAN_DESTINATION] >= 8 && kernel->n_indices == 0,
        "step %d: nothing to collect", at);
  CHECK(step->elements % unit == 0 && (step->rows == 1 || step->pitch % unit == 0) &&
            bytes >= 2 * kernel->target.sector_bytes - (unit * kernel->tensor_bits[step->tensor] / 8),
        "step %d: rows of %d elements", at, step->elements);
  CHECK(step->rows > 0 && step->pitch >= step->elements && step->elements > 0 &&
            step->reach >= (int64_t)(step->rows - 1) * step->pitch + step->elements,
        "step %d: %d rows, %d apart", at, step->rows, step->pitch);
  for (int i = at + 1; i <= at + step->body; i++) {
    const plan_step *inner = &kernel->step[i];
    bool past = inner->kind == PLAN_STORE && (inner->tensor != step->tensor || inner->streaming);
    CHECK(inner->kind != PLAN_COLLECT && !past, "step %d: stores past what is collected", i);
  }
  return LLRT_OK;
}

/* Iterations that are asked about are those of the innermost loop, or of what is around it. */
static llrt_status check_looped(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  int innermost = 0;
  CHECK(!step->looped || kernel->target.lanes_first, "step %d: iterations of a GPU", at);
  CHECK(step->looped || step->iterations == 0, "step %d: no iterations", at);
  for (int i = 0; i < at; i++)
    if (kernel->step[i].kind == PLAN_LOOP && i + kernel->step[i].body >= at) innermost = kernel->step[i].iterations;
  CHECK(step->iterations == 0 || step->iterations == innermost, "step %d: 2^%d turns around it", at, innermost);
  return LLRT_OK;
}

static llrt_status check_step(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->in < kernel->n_values || kernel->n_values == 0, "step %d: value %d", at, step->in);
  CHECK(step->out < kernel->n_values || kernel->n_values == 0, "step %d: value %d", at, step->out);
  CHECK(at + step->body + step->otherwise < kernel->n_steps, "step %d: body past the end", at);
  switch ((plan_step_kind)step->kind) {
    case PLAN_LOAD:
    case PLAN_STORE:
    case PLAN_SHARED_STORE:
    case PLAN_SHARED_LOAD: return check_memory_step(kernel, at);
    case PLAN_REGISTERS: return check_registers(kernel, at);
    case PLAN_SHUFFLE: return check_shuffle(kernel, at);
    case PLAN_MAP: return check_map(kernel, at);
    case PLAN_REPORT:
      CHECK(step->index < kernel->n_indices, "step %d: index %d", at, step->index);
      return LLRT_OK;
    case PLAN_IF_PRESENT:
    case PLAN_IF_INTERIOR: return check_looped(kernel, at);
    case PLAN_PREFETCH:
      CHECK(kernel->target.lanes_first && step->tensor < kernel->n_tensors && kernel->n_indices == 0 &&
                !kernel->flat,
            "step %d: nothing to ask for", at);
      return LLRT_OK;
    case PLAN_COLLECT: return check_collect(kernel, at);
    case PLAN_BARRIER: return LLRT_OK;
    case PLAN_LOOP:
      CHECK(!step->nested || step->joins, "step %d: joins nothing", at);
      if (!step->joins) return LLRT_OK;
      LLRT_TRY(step->nested ? check_nested(kernel, at) : check_same(kernel, at, step->in, step->out));
      return check_same(kernel, at, step->out, kernel->step[at + step->body].out);
    case PLAN_REPEAT:
      CHECK(step->turns > 0 && step->body > 0, "step %d: repeats nothing", at);
      LLRT_TRY(check_same(kernel, at, step->in, step->out));
      return check_same(kernel, at, step->out, kernel->step[at + step->body].out);
    case PLAN_STAGE:
      if (kernel->panel.gathered) return check_panel(kernel, at);
      CHECK(kernel->flat && kernel->panel.positions > 0, "step %d: there is no panel", at);
      CHECK((kernel->panel.elements * kernel->tensor_bits[0] / 8) % (1 << kernel->panel.unit) == 0,
            "step %d: a panel is not whole accesses", at);
      return LLRT_OK;
    case PLAN_PUBLISH:
    case PLAN_PEEK:
    case PLAN_AWAIT: return plan_verify_lookback(kernel, at);
    case PLAN_SCAN: return plan_verify_scan(kernel, at);
    case PLAN_PREFIX: return plan_verify_prefix(kernel, at);
    case PLAN_PICK: return plan_verify_pick(kernel, at);
    case PLAN_GATHER: return check_gather(kernel, at);
    case PLAN_FILL:
    case PLAN_JOIN:
    case PLAN_FOLD:
    case PLAN_FOLD_LANES:
    case PLAN_SPREAD:
    case PLAN_POSITION:
    case PLAN_POSITION_ADD:
    case PLAN_WALK: return plan_verify_combining(kernel, at);
    case PLAN_COPY: return check_copy(kernel, at);
    case PLAN_AHEAD:
    case PLAN_COPIED:
      CHECK(kernel->target.async_copies && step->turns >= 0 && kernel->launch.walk.axes, "step %d: no turns", at);
      return LLRT_OK;
    case PLAN_DOT: return plan_verify_dot(kernel, at);
    case PLAN_ROLES:
      CHECK(kernel->producers > 0 && (1 << (kernel->warp_bits - kernel->cluster_bits)) % kernel->producers == 0 &&
                kernel->target.async_copies && kernel->barriers % 8 == 0,
            "step %d: %d producers", at, kernel->producers);
      return LLRT_OK;
    case PLAN_PRODUCE: return check_produce(kernel, at);
    case PLAN_LANDED:
      CHECK(dot_landed_step(kernel) == at && kernel->launch.n_boxes > 0 && step->turns >= 0, "step %d: no boxes", at);
      return LLRT_OK;
    case PLAN_FILLED:
    case PLAN_RELEASE:
      CHECK(kernel->producers > 0 && step->turns >= 0 && step->turns < kernel->slots, "step %d: no producers", at);
      return LLRT_OK;
    case PLAN_MULTIPLIED:
      CHECK(step->turns >= 0, "step %d: %d groups", at, step->turns);
      return step->turns ? LLRT_OK : check_same(kernel, at, step->in, step->out);
    case PLAN_OPAQUE: return check_same(kernel, at, step->in, step->out);
  }
  return llrt_error(LLRT_INTERNAL, "plan: step %d of unknown kind %d", at, step->kind);
}

llrt_status plan_verify(const plan_kernel *kernel) {
  CHECK(kernel->n_digits >= 0 && kernel->n_digits <= PLAN_MAX_DIGITS, "%d digits", kernel->n_digits);
  CHECK(kernel->n_steps > 0 && kernel->n_steps <= PLAN_MAX_STEPS, "%d steps", kernel->n_steps);
  CHECK(kernel->n_values > 0 && kernel->n_values <= PLAN_MAX_VALUES, "%d values", kernel->n_values);
  CHECK(llrt_layout_is_valid(&kernel->space), "malformed space");
  CHECK(kernel->cluster_bits <=
            bits_min(PLAN_MAX_CLUSTER_BITS, bits_min(kernel->target.cluster_bits, kernel->warp_bits)),
        "clusters of 2^%d blocks", kernel->cluster_bits);
  CHECK(kernel->flat || kernel->n_terms == 0, "division in a tiled kernel");
  CHECK(kernel->band == 0 || (kernel->band > 0 && !kernel->flat && kernel->n_places >= 2 && kernel->place[0].digit >= 0 &&
                              kernel->place[1].digit >= 0),
        "bands of %d", kernel->band);
  CHECK(kernel->band_from == 0 || (kernel->band > 0 && kernel->band_pitch.arg < kernel->launch.n_args && bits_is_power_of_two(kernel->band_from)),
        "bands without a pitch");
  for (int i = 0; i < kernel->n_bounds; i++)
    CHECK(kernel->bound[i].top >= 0 && kernel->bound[i].top < kernel->n_digits, "bound %d", i);
  CHECK(kernel->launch.shared_bytes <= kernel->target.shared_bytes, "%d bytes of shared memory",
        kernel->launch.shared_bytes);
  CHECK(kernel->streams_from == 0 || (kernel->streams_from > 0 && kernel->target.lanes_first &&
                                      kernel->elements.arg < kernel->launch.n_args),
        "stores past the caches from %lld elements on", (long long)kernel->streams_from);
  for (int i = 0; i < kernel->n_values; i++) LLRT_TRY(check_value(kernel, i));
  LLRT_TRY(plan_verify_rounds(kernel));
  for (int i = 0; i < kernel->n_steps; i++) LLRT_TRY(check_step(kernel, i));
  return LLRT_OK;
}
