/* What emission and interpretation rely on where memory is touched: accesses, matrices, copies,
 * panels, what is collected. */
#include "jit/plan/check/verify.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/following.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/matrix.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/plan_check.h"
#include "layout/f2.h"

/* The vector's registers are there, those inside a word at their place, and nothing else moves the
 * low address bits. */
static llrt_status check_access(const plan_kernel *kernel, int at, const plan_value *value,
                                const plan_address_map *map) {
  const plan_step *step = &kernel->step[at];
  int positions[LLRT_MAX_BITS];
  bool half = step->kind == PLAN_STORE && kernel->stored_half;
  CHECK(value->bits << step->vector >= 8 || step->kind == PLAN_LOAD || half,
        "step %d: less than a byte", at);
  if (kernel->target.simd_lanes) return LLRT_OK;
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

/* Whether what other blocks push comes in while a buffer may be in use: all but those that come
 * into use behind the wait for it. */
static bool is_used_meanwhile(const plan_kernel *kernel, int buffer, int wait) {
  bool behind = buffer > plan_pushed_buffer(kernel);
  for (int i = 0; i < wait; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind == PLAN_SHARED_STORE || step->kind == PLAN_SHARED_LOAD)
      behind &= step->buffer != buffer;
  }
  return !behind;
}

/* A buffer that blocks push to: loads are of the own block, each element is one thread's, and the
 * block waits in between. */
static llrt_status check_pushed(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  const llrt_layout *layout = &buffer->layout;
  const bool load = step->kind == PLAN_SHARED_LOAD;
  CHECK(kernel->cluster_bits > 0 && buffer->bits == 32 && value->bits == 32 && step->vector <= 2 &&
            buffer->slots == 0 && layout->in[1].bits == 0 && !step->matrix &&
            !plan_fetches_together(kernel),
        "step %d: buffer %d cannot be pushed to", at, step->buffer);
  CHECK(layout->in[0].bits + layout->in[2].bits == layout->out[0].bits,
        "buffer %d: several copies of an element are pushed", step->buffer);
  CHECK(!plan_meets_cluster(kernel, at), "step %d: blocks that met push", at);
  CHECK(plan_pushed_buffer(kernel) == step->buffer, "buffer %d is pushed to, too", step->buffer);
  CHECK(!load || plan_is_local(kernel, step->buffer, value), "step %d: another block's memory", at);
  const plan_step *other = &kernel->step[at + (load ? -1 : 1)];
  CHECK(other->kind == PLAN_BARRIER && other->pushed, "step %d: nothing waits for what is pushed",
        at);
  for (int i = 0; i < kernel->n_buffers; i++)
    CHECK(i == step->buffer || !is_used_meanwhile(kernel, i, at) ||
              plan_buffer_end(&kernel->buffer[i]) <= buffer->offset,
          "buffers %d and %d, which is pushed to, lie in one place", i, step->buffer);
  return LLRT_OK;
}

/* A block stores in its own memory, or pushes, and matrices come from there; an access stays in one
 * block. */
static llrt_status check_blocks(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  plan_blocks blocks;
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  const bool pushed = kernel->buffer[step->buffer].pushed;
  if (pushed) LLRT_TRY(check_pushed(kernel, at, value));
  if (plan_is_local(kernel, step->buffer, value)) return LLRT_OK;
  CHECK((step->kind == PLAN_SHARED_LOAD || pushed) && !step->matrix,
        "step %d: another block's memory", at);
  plan_blocks_of_buffer(kernel, step->buffer, &blocks);
  plan_address_of_buffer(kernel, step->buffer, &map);
  CHECK(plan_access_positions(value, &map, PLAN_REGISTER, step->vector, positions),
        "step %d: no vector", at);
  for (int j = 0; j < step->vector; j++)
    CHECK(f2_apply(blocks.of_tile, plan_value_columns(value, PLAN_REGISTER)[positions[j]]) == 0,
          "step %d: an access in several blocks", at);
  return LLRT_OK;
}

/* A repetition is registers of the value or warps, each bit of it one or the other: no lane moves
 * an element to another, and words stay whole. */
static llrt_status check_repetition(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  const llrt_layout *layout = &kernel->buffer[step->buffer].layout;
  llrt_layout inverse;
  plan_repetitions repetitions;
  CHECK(layout->n_in == 3, "buffer %d: offset, repetition and block", step->buffer);
  CHECK(layout->in[2].bits == kernel->cluster_bits, "buffer %d: blocks", step->buffer);
  uint64_t parts = bits_mask(layout->in[1].bits) << layout->in[0].bits;
  CHECK(step->repetition >> plan_buffer_parts(&kernel->buffer[step->buffer]) == 0,
        "step %d: repetition %d", at, step->repetition);
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

/* Whether a step stores single bytes of 4-bit elements, of which it may keep a half. */
static bool stores_halves(const plan_step *step, const plan_value *value) {
  return step->parted && step->kind == PLAN_STORE && value->bits < 8 && step->vector == 1;
}

/* A vector has one value of each index of its tensor; stored, of the others that leave elements
 * out. */
static llrt_status check_vector_indices(const plan_kernel *kernel, int at, const plan_value *value,
                                        const plan_address_map *map) {
  const plan_step *step = &kernel->step[at];
  plan_dim dim = kernel->target.simd_lanes ? PLAN_LANE : PLAN_REGISTER;
  int positions[LLRT_MAX_BITS];
  if (!plan_access_positions(value, map, dim, step->vector, positions)) return LLRT_OK;
  for (int i = 0; i < kernel->n_indices; i++) {
    const plan_index *index = &kernel->index[i];
    bool left_out =
        step->kind == PLAN_STORE && plan_leaves_out_all(index) && !stores_halves(step, value);
    if (index->tensor != step->tensor && !left_out) continue;
    uint64_t selecting = plan_axes_bits(kernel, index->axes);
    if (index->tensor == step->tensor)
      selecting &= ~plan_following_bits(kernel, index, step->following);
    for (int j = 0; j < step->vector; j++) {
      uint64_t moved = f2_apply(kernel->space.column, plan_value_columns(value, dim)[positions[j]]);
      CHECK(!(moved & selecting), "step %d: a vector with several values of index %d", at, i);
    }
  }
  return LLRT_OK;
}

/* What follows up to the dot that uses the value are maps, or makes other values. */
llrt_status plan_verify_lazy(const plan_kernel *kernel, int at) {
  int value = kernel->step[at].out;
  CHECK(!kernel->target.simd_lanes, "step %d: lazy on %s", at, kernel->target.name);
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

/* Of rows that begin in either half of a byte: an element in front of each group, by places that
 * all positions have. */
static llrt_status check_front_of(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  plan_value front;
  CHECK(step->second < kernel->n_values && plan_front_of(kernel, value, step->vector, &front),
        "step %d: nothing lies in front of groups", at);
  const plan_value *own = &kernel->value[step->second];
  CHECK(own->bits == value->bits && own->reduced == front.reduced &&
            llrt_layout_equal(&own->layout, &front.layout),
        "step %d: v%d does not lie in front of its groups", at, step->second);
  CHECK(kernel->sequence.n == kernel->n_digits && !kernel->high_first[PLAN_DESTINATION] &&
            kernel->origin[PLAN_DESTINATION] % 2 == 0,
        "step %d: elements in no order", at);
  return LLRT_OK;
}

static llrt_status check_front(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->tensor == 0 && step->masked && step->vector == 0 && !step->overhang &&
            !step->staged && !kernel->flat && !kernel->target.simd_lanes &&
            kernel->n_indices == 0 && kernel->sequence.n == kernel->n_digits,
        "step %d: nothing lies in front", at);
  return LLRT_OK;
}

/* Accesses are aligned, or need not be, or overhang rows that lanes hold piece by piece. */
static llrt_status check_alignment(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  const plan_memory *memory = &kernel->memory;
  int vector = bits_log2(value->bits) - 3 + step->vector; /* log2 bytes */
  plan_group group;
  if (!step->overhang) {
    CHECK(step->misaligned == 0 || kernel->target.access_align_bytes == 1, "step %d: misaligned",
          at);
    return LLRT_OK;
  }
  CHECK(!kernel->target.simd_lanes && kernel->n_indices == 0 &&
            kernel->swizzle[step->tensor].swizzle_len == 0,
        "step %d: rows that cannot be overhung", at);
  CHECK(vector >= 2 && vector <= 4 && step->misaligned <= vector, "step %d: vectors of 2^%d bytes",
        at, vector);
  CHECK(!step->loose || (step->kind == PLAN_LOAD && step->masked &&
                         plan_may_be_loose(kernel, step->tensor, value, step->vector)),
        "step %d: may not be loose", at);
  CHECK(step->loose || plan_group_of(kernel, step->tensor, value, step->vector, &group),
        "step %d: no pieces of rows", at);
  CHECK(!step->by_groups || (step->kind == PLAN_STORE && value->bits >= 8),
        "step %d: may not go by groups", at);
  CHECK(!step->by_words ||
            (step->kind == PLAN_LOAD && !step->loose && (step->misaligned > 0 || step->exact)),
        "step %d: may not go by words", at);
  if (step->kind == PLAN_STORE)
    return value->bits < 8 ? check_front_of(kernel, at, value) : LLRT_OK;
  CHECK(value->bits >= 8 || step->by_words,
        "step %d: 4-bit elements that straddle bytes, not by words", at);
  CHECK(!step->exact || (step->by_words && value->bits >= 16), "step %d: may not be exact", at);
  if (step->exact) return LLRT_OK;
  CHECK(step->tensor == 0 && memory->used && memory->vector == plan_memory_vector(kernel, step),
        "step %d: memory is not known", at);
  CHECK(step->masked || memory->guards, "step %d: loads without a guard", at);
  return LLRT_OK;
}

/* What bounds part is moved lane by lane on the host, where lanes hold elements; on a GPU it is
 * stored element by element. A byte of 4-bit elements is read where it is parted. */
static llrt_status check_parted(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  bool host = kernel->target.simd_lanes;
  if (stores_halves(step, value)) return LLRT_OK;
  bool fits = host ? value->word == 0 && !step->streaming
                   : step->kind == PLAN_STORE && value->bits >= 8 && !step->overhang &&
                         step->misaligned == 0 &&
                         plan_is_ordered(kernel, step->tensor, value, step->vector);
  CHECK(!step->parted || (step->masked && kernel->n_indices == 0 && fits),
        "step %d: may not be parted", at);
  return LLRT_OK;
}

/* Whether step `at` is in the body of one that has asked about so many values of the index. */
static bool is_known_to_follow(const plan_kernel *kernel, int at, const plan_index *index) {
  bool known = false;
  for (int i = 0; i < at; i++) {
    const plan_step *asked = &kernel->step[i];
    if (asked->kind == PLAN_IF_INTERIOR && at <= i + asked->body && asked->by_values)
      known |= &kernel->index[asked->by_values - 1] == index &&
               asked->vector >= kernel->step[at].following;
  }
  return known;
}

/* Positions whose values follow each other are the registers of an access, and nothing else moves
 * them. */
static llrt_status check_following(const plan_kernel *kernel, int at, const plan_value *value) {
  const plan_step *step = &kernel->step[at];
  if (step->following == 0) return LLRT_OK;
  const plan_index *index = plan_slots_of(kernel, step->tensor);
  CHECK(step->kind == PLAN_STORE && step->following <= step->vector && !step->overhang &&
            !step->parted && index && is_known_to_follow(kernel, at, index),
        "step %d: values that may not follow", at);
  uint64_t own = plan_following_bits(kernel, index, step->following);
  int n = 0;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++) {
    uint64_t moved = f2_apply(kernel->space.column, value->layout.column[i]);
    bool one = i < plan_value_bits(value, PLAN_REGISTER) && bits_count(moved) == 1;
    n += one && moved & own;
    CHECK(one || !(moved & own), "step %d: parts of an access in several threads", at);
  }
  for (int j = 0; j < step->following; j++)
    CHECK(index->column[j] == 1ull << j, "step %d: values that lie apart", at);
  CHECK(n == step->following, "step %d: 2^%d positions of 2^%d", at, n, step->following);
  return LLRT_OK;
}

/* Registers of the host move as vectors: lanes that hold copies are the last ones. */
static bool copies_are_last(const plan_value *value) {
  const uint64_t *lanes = plan_value_columns(value, PLAN_LANE);
  for (int i = 1; i < plan_value_bits(value, PLAN_LANE); i++)
    if (lanes[i - 1] == 0 && lanes[i] != 0) return false;
  return true;
}

llrt_status plan_verify_access(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  bool load = step->kind == PLAN_LOAD || step->kind == PLAN_SHARED_LOAD;
  plan_address_map map;
  plan_value spread;
  const plan_value *value = &kernel->value[load ? step->out : step->in];
  CHECK(!kernel->target.simd_lanes || copies_are_last(value),
        "step %d: copies in lanes before others", at);
  if (step->kind == PLAN_LOAD || step->kind == PLAN_STORE) {
    plan_value_spread(kernel, value, &spread);
    value = &spread;
    CHECK(step->tensor < kernel->n_tensors, "step %d: tensor %d", at, step->tensor);
    CHECK(value->bits == kernel->tensor_bits[step->tensor], "step %d: width of the tensor", at);
    CHECK(!kernel->target.simd_lanes || value->word == 0 || value->bits < 8,
          "step %d: lanes of several elements", at);
    if (kernel->flat) {
      int pair = value->bits < 8 && step->kind == PLAN_STORE && !kernel->stored_half;
      CHECK(step->vector >= pair && step->masked, "step %d: a flat kernel moves elements", at);
      CHECK(!step->parted || stores_halves(step, value), "step %d: may not be parted", at);
      CHECK(!step->staged || kernel->panel.positions > 0, "step %d: there is no panel", at);
      CHECK(!step->staged || kernel->panel.staged || kernel->panel.vector == 0 ||
                (plan_value_bits(value, PLAN_REGISTER) == kernel->panel.vector &&
                 value->word <= kernel->panel.vector &&
                 kernel->panel.positions % (1 << kernel->panel.vector) == 0),
            "step %d: no vector of the panel", at);
      for (int i = 0; i < (kernel->target.simd_lanes ? value->word : step->vector); i++)
        CHECK(plan_value_columns(value, PLAN_REGISTER)[i] == 1ull << i, "step %d: no vector", at);
      return LLRT_OK;
    }
    if (step->front) return check_front(kernel, at);
    LLRT_TRY(check_following(kernel, at, value));
    plan_address_of_access(kernel, step, &map);
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
    if (step->lazy) LLRT_TRY(plan_verify_lazy(kernel, at));
    if (step->matrix) return check_matrix(kernel, at, value, &map);
  }
  return check_access(kernel, at, value, &map);
}

/* The panel is what its places select, which are constants; vectors are of the first place's digit
 * alone. Not AMD's: LLVM joins accesses of an element each to accesses of LDS that are not aligned.
 */
llrt_status plan_verify_staged(const plan_kernel *kernel, int at) {
  const plan_panel *panel = &kernel->panel;
  int bits = kernel->tensor_bits[0];
  int64_t positions = 1;
  CHECK(kernel->target.isa == PLAN_ISA_NVPTX && bits >= 8 && bits <= 32 && kernel->n_indices == 0 &&
            kernel->n_terms == 0 && kernel->swizzle[0].swizzle_len == 0,
        "step %d: elements that no panel has", at);
  CHECK(panel->places > 0 && panel->places <= kernel->n_places && panel->end.arg >= 0 &&
            panel->room >= panel->elements,
        "step %d: %d places", at, panel->places);
  for (int i = 0; i < panel->places; i++) {
    const plan_place *place = &kernel->place[i];
    CHECK(place->digit >= 0 && place->count.arg < 0, "step %d: a place that only a run knows", at);
    positions *= place->count.value;
  }
  CHECK(positions == panel->positions && positions % (1 << panel->vector) == 0,
        "step %d: %lld positions", at, (long long)positions);
  CHECK(panel->vector >= 5 - bits_log2(bits), "step %d: no whole words", at);
  return LLRT_OK;
}

/* Accesses that load and store alike, of sizes that copies have: elements in the same order on both
 * sides. */
llrt_status plan_verify_copy(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_value *value = &kernel->value[step->in];
  plan_address_map map;
  plan_value spread;
  int bits = value->bits << step->vector, stored[LLRT_MAX_BITS] = {0}, loaded[LLRT_MAX_BITS] = {0};
  CHECK(kernel->target.async_copies && !kernel->flat, "step %d: copies on %s", at,
        kernel->target.name);
  CHECK(step->tensor < kernel->n_tensors && step->buffer < kernel->n_buffers,
        "step %d: tensor %d, buffer %d", at, step->tensor, step->buffer);
  CHECK(value->bits == kernel->tensor_bits[step->tensor] &&
            value->bits == kernel->buffer[step->buffer].bits,
        "step %d: width of tensor and buffer", at);
  CHECK((step->box || bits == 32 || bits == 64 || bits == 128) && step->misaligned == 0 &&
            !step->overhang,
        "step %d: copies of %d bits", at, bits);
  CHECK(kernel->buffer[step->buffer].layout.in[1].bits == 0, "step %d: in parts", at);
  CHECK(!step->lines || (bits == 128 && !step->box && step->masked && plan_threads_tell(kernel) &&
                         kernel->launch.rounds == 0),
        "step %d: copies of lines", at);
  for (int i = 0; i < kernel->n_indices; i++)
    CHECK((kernel->experts.used || kernel->index[i].uniform) &&
              !(step->box && kernel->index[i].tensor == step->tensor),
          "step %d: copies by an index", at);
  CHECK(plan_is_local(kernel, step->buffer, value), "step %d: copies to another block's memory",
        at);
  plan_address_of_buffer(kernel, step->buffer, &map);
  LLRT_TRY(check_access(kernel, at, value, &map));
  plan_access_positions(value, &map, PLAN_REGISTER, step->vector, stored);
  plan_value_spread(kernel, value, &spread);
  plan_address_of_tensor(kernel, step->tensor, &map);
  LLRT_TRY(check_access(kernel, at, &spread, &map));
  plan_access_positions(&spread, &map, PLAN_REGISTER, step->vector, loaded);
  for (int j = 0; j < step->vector; j++)
    CHECK(stored[j] == loaded[j], "step %d: a copy of elements in another order", at);
  return step->box ? plan_verify_box(kernel, at) : LLRT_OK;
}

/* What index 0 chooses from, in memory that no buffer uses. */
llrt_status plan_verify_panel(const plan_kernel *kernel, int at) {
  const plan_index *index = &kernel->index[0];
  plan_address_map map;
  CHECK(!kernel->flat && !kernel->target.simd_lanes && kernel->n_indices == 1 &&
            index->tensor == 0 && index->kind == LLRT_INDEX_COORDINATE && index->n_parts == 1 &&
            index->tile_bits == 0,
        "step %d: a panel of another index", at);
  CHECK(kernel->n_buffers == 0 && kernel->cluster_bits == 0 && kernel->tensor_bits[0] >= 8 &&
            kernel->tensor_bits[0] << kernel->panel.width <= 64 &&
            kernel->swizzle[0].swizzle_len == 0,
        "step %d: a panel of 2^%d elements a value", at, kernel->panel.width);
  plan_address_of_tensor(kernel, 0, &map);
  for (int j = 0; j < kernel->space.in[0].bits; j++)
    CHECK(map.column[j] == (j < kernel->panel.width ? 1ull << j : 0),
          "step %d: neighbours of a value", at);
  return LLRT_OK;
}

/* What stores collect: whole lines of the destination; nothing of it goes past the caches by
 * itself. */
llrt_status plan_verify_collect(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  int64_t unit = (int64_t)1 << step->vector,
          bytes = step->elements * kernel->tensor_bits[step->tensor] / 8;
  CHECK(kernel->target.simd_lanes && !kernel->flat && step->tensor == PLAN_DESTINATION &&
            step->body > 0 && kernel->tensor_bits[PLAN_DESTINATION] >= 8 && kernel->n_indices == 0,
        "step %d: nothing to collect", at);
  CHECK(step->elements % unit == 0 && (step->rows == 1 || step->pitch % unit == 0) &&
            bytes >=
                2 * kernel->target.sector_bytes - (unit * kernel->tensor_bits[step->tensor] / 8),
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
