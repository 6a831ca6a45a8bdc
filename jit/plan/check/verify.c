/* What emission and interpretation rely on, checked: a plan that fails here is a defect of
 * planning. */
#include "jit/plan/check/verify.h"

#include "base/bits.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/following.h"
#include "jit/plan/facts/block_gather.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/shuffle_round.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/facts/word_lane_swap.h"
#include "jit/plan/facts/lane_byte_permute.h"
#include "jit/plan/kernel/plan_check.h"
#include "jit/plan/kernel/step_table.h"
#include "jit/plan/types/combine.h"
#include "jit/plan/types/dot_instruction.h"
#include "jit/plan/types/number.h"
#include "layout/f2.h"

/* Whether the kernel has an instruction that multiplies and adds so many elements (log2) of a lane
 * of the host at once: its operands lie so, and what they are made of. */
static bool lanes_are_packed(const plan_kernel *kernel, int word) {
  bool packed = false;
  for (int i = 0; i < kernel->n_steps; i++) {
    const plan_step *step = &kernel->step[i];
    if (step->kind != PLAN_DOT || step->instruction >= dot_instruction_count()) continue;
    packed |= dot_instruction_at(step->instruction)->k == word;
  }
  return packed;
}

static llrt_status check_value(const plan_kernel *kernel, int i) {
  const plan_value *value = &kernel->value[i];
  int registers = plan_value_bits(value, PLAN_REGISTER);
  CHECK(llrt_layout_is_valid(&value->layout), "value %d: malformed layout", i);
  CHECK(bits_is_power_of_two(value->bits), "value %d: elements of %d bits", i, value->bits);
  CHECK(value->word <= registers, "value %d: a word of more elements than registers", i);
  CHECK(!kernel->target.simd_lanes || value->word == 0 || value->bits << value->word == 8 ||
            lanes_are_packed(kernel, value->word),
        "value %d: lanes of several elements", i);
  CHECK(registers - value->word <= PLAN_VALUE_BITS, "value %d: too many registers", i);
  CHECK(plan_value_bits(value, PLAN_LANE) == kernel->lane_bits, "value %d: lanes", i);
  CHECK(plan_value_bits(value, PLAN_WARP) == kernel->warp_bits, "value %d: warps", i);
  CHECK(llrt_layout_is_surjective(&value->layout), "value %d: elements without a place", i);
  for (int r = 0; r < registers; r++)
    CHECK(plan_value_columns(value, PLAN_REGISTER)[r] != 0, "value %d: a copy in registers", i);
  return LLRT_OK;
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
  CHECK(map->kind == PLAN_MAP_SCALE && step->second < kernel->n_values, "step %d: value %d", at,
        step->second);
  const plan_value *in = &kernel->value[step->in], *scales = &kernel->value[step->second];
  plan_value expected;
  plan_value_reduce(in, scales->reduced & ~in->reduced, &expected);
  CHECK(!kernel->target.simd_lanes, "step %d: scales of a value on %s", at, kernel->target.name);
  CHECK(scales->bits == llrt_dtype_bits((llrt_dtype)map->scale), "step %d: scales of %d bits", at,
        scales->bits);
  CHECK(scales->reduced == expected.reduced && llrt_layout_equal(&scales->layout, &expected.layout),
        "step %d: v%d is not laid out as v%d", at, step->second, step->in);
  return LLRT_OK;
}

/* Words of a flat kernel: the positions that follow each other in the lowest registers, and on the
 * host in the lowest lanes. */
static llrt_status check_flat_words(const plan_kernel *kernel, int at, const plan_value *value) {
  int word = 5 - bits_log2(value->bits), inside = kernel->target.simd_lanes ? value->word : word;
  CHECK(inside <= word && value->word >= inside, "step %d: words of %d bits", at,
        value->bits << value->word);
  for (int j = 0; j < word; j++) {
    uint64_t column = j < inside ? plan_value_columns(value, PLAN_REGISTER)[j]
                                 : plan_value_columns(value, PLAN_LANE)[j - inside];
    CHECK(column == 1ull << j, "step %d: no whole words", at);
  }
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
  if (step->lazy) LLRT_TRY(plan_verify_lazy(kernel, at));
  bool scales = values->kind == PLAN_MAP_SCALE;
  CHECK(!values->words || ((values->kind == PLAN_MAP_CAST || (scales && step->by_value)) &&
                           !kernel->target.simd_lanes && in->bits << in->word == 32),
        "step %d: a cast of no words", at);
  CHECK(values->shift == 0 ||
            (scales && step->by_value && values->from == LLRT_E2M1 && values->to == LLRT_E5M2),
        "step %d: divided by 2^%d", at, values->shift);
  if (scales)
    CHECK(step->tensor < kernel->n_tensors && number_format_of((llrt_dtype)values->scale),
          "step %d: no scales", at);
  if (values->kind == PLAN_MAP_CAST || scales)
    CHECK(number_cast_exists((llrt_dtype)values->from, (llrt_dtype)values->to) ||
              (values->kind == PLAN_MAP_CAST &&
               (number_extends((llrt_dtype)values->from, (llrt_dtype)values->to) ||
                number_nears((llrt_dtype)values->from, (llrt_dtype)values->to))),
          "step %d: no such cast", at);
  else if (values->kind >= PLAN_MAP_MULTIPLY && values->kind <= PLAN_MAP_SILU)
    CHECK(values->from == values->to && (values->from == LLRT_F32 || values->from == LLRT_F64) &&
              values->arg <= kernel->launch.n_args,
          "step %d: acts on no f32 or f64, or by an argument that there is not", at);
  else if (values->kind == PLAN_MAP_TRUTH)
    CHECK(values->to == LLRT_U32 && combine_exists(LLRT_COMBINE_ANY, (llrt_dtype)values->from),
          "step %d: truth is of u32", at);
  else CHECK(in->word == out->word, "step %d: words change", at);
  if (values->kind != PLAN_MAP_WORD_BITS || in->bits >= 32) return LLRT_OK;
  if (kernel->flat) return check_flat_words(kernel, at, in);
  CHECK(plan_keeps_words(kernel, in, step->tensor ? step->tensor : PLAN_DESTINATION),
        "step %d: no whole words", at);
  return LLRT_OK;
}

static llrt_status check_same(const plan_kernel *kernel, int at, int a, int b) {
  CHECK(kernel->value[a].word == kernel->value[b].word &&
            kernel->value[a].bits == kernel->value[b].bits &&
            llrt_layout_equal(&kernel->value[a].layout, &kernel->value[b].layout),
        "step %d: v%d is not laid out as v%d", at, a, b);
  return LLRT_OK;
}

/* What is carried through a loop inside another: the same elements, whatever the inner one counts.
 */
static llrt_status check_nested(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  CHECK(step->with < kernel->n_values, "step %d: value %d", at, step->with);
  const plan_value *inner = &kernel->value[step->out];
  plan_value outer = *inner;
  int first = llrt_layout_in_bits(&inner->layout) - plan_value_bits(inner, PLAN_ITERATION);
  CHECK(plan_value_bits(inner, PLAN_ITERATION) >= step->iterations, "step %d: v%d is not counted",
        at, step->out);
  for (int i = 0; i < step->iterations; i++)
    CHECK(inner->layout.column[first + i] == 0, "step %d: v%d moves in the loop", at, step->out);
  plan_drop_iterations(&outer, step->iterations);
  for (int i = 0; i < 2; i++) {
    const plan_value *other = &kernel->value[i ? step->with : step->in];
    CHECK(other->word == outer.word && other->bits == outer.bits &&
              other->reduced == outer.reduced && llrt_layout_equal(&other->layout, &outer.layout),
          "step %d: v%d is not laid out as v%d", at, i ? step->with : step->in, step->out);
  }
  return LLRT_OK;
}

/* Words stay whole, or one vector of the word changes places with one of the lanes. */
static llrt_status check_shuffle(const plan_kernel *kernel, int at) {
  const plan_value *in = &kernel->value[kernel->step[at].in],
                   *out = &kernel->value[kernel->step[at].out];
  plan_word_lane_swap swap;
  CHECK(in->word == out->word && in->bits == out->bits, "step %d: words change", at);
  for (int i = 0; i < in->word; i++)
    CHECK(plan_value_columns(in, PLAN_REGISTER)[i] == plan_value_columns(out, PLAN_REGISTER)[i] ||
              (!kernel->target.simd_lanes && plan_word_lane_swap_of(in, out, &swap)),
          "step %d: words are torn", at);
  plan_lane_byte_permute turn;
  plan_shuffle_round round;
  if (plan_lane_byte_permute_of(in, out, &turn)) {
    CHECK(!kernel->target.simd_lanes, "step %d: words turn on %s", at, kernel->target.name);
    return LLRT_OK;
  }
  if (plan_word_lane_swap_of(in, out, &swap)) return LLRT_OK;
  CHECK(plan_shuffle_round_of(in, out, &round) || kernel->target.simd_lanes,
        "step %d: no round of a shuffle", at);
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
  CHECK(llrt_layout_equal(&asked->layout, &out->layout),
        "step %d: coordinates are not laid out as v%d", at, step->out);
  CHECK((asked->bits == 32 || asked->bits == 64) && asked->word == 0,
        "step %d: coordinates of %d bits", at, asked->bits);
  CHECK(step->axis_bits <= PLAN_GATHER_AXIS_BITS &&
            step->axis + step->axis_bits <= out->layout.out[0].bits,
        "step %d: an axis of %d bits", at, step->axis_bits);
  if (!step->staged) {
    CHECK(!kernel->target.simd_lanes && plan_gather_lanes_of(kernel, step, &lanes),
          "step %d: elements of other warps", at);
    return LLRT_OK;
  }
  CHECK(step->buffer < kernel->n_buffers, "step %d: buffer %d", at, step->buffer);
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  CHECK(buffer->bits == in->bits && buffer->layout.in[1].bits == 0,
        "step %d: buffer %d is no whole tile", at, step->buffer);
  return LLRT_OK;
}

/* Iterations that are asked about are those of the innermost loop, or of what is around it. */
static llrt_status check_looped(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  int innermost = 0;
  CHECK(!step->looped || kernel->target.simd_lanes, "step %d: iterations of a GPU", at);
  CHECK(step->looped || step->iterations == 0, "step %d: no iterations", at);
  CHECK(step->in_ring <= kernel->n_buffers &&
            (!step->in_ring || kernel->buffer[step->in_ring - 1].slots > 0),
        "step %d: there is no ring", at);
  for (int i = 0; i < at; i++)
    if (kernel->step[i].kind == PLAN_LOOP && i + kernel->step[i].body >= at)
      innermost = kernel->step[i].iterations;
  CHECK(step->iterations == 0 || step->iterations == innermost, "step %d: 2^%d turns around it", at,
        innermost);
  return LLRT_OK;
}

/* In a turned loop stand a walk, before it what fills values with constants, behind it what uses
 * what it carried: nothing else lasts from one pass over the iterations to the next. */
static llrt_status check_turned(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  int walks = 0, end = at + step->body, first = at + 1;
  CHECK(kernel->target.simd_lanes && step->iterations > 0 && !step->joins,
        "step %d: no loop that can be turned", at);
  const plan_step *present = &kernel->step[first]; /* its steps are the loop's */
  if (present->kind == PLAN_IF_PRESENT && present->looped && first + present->body == end) first++;
  for (int i = first; i <= end; i += 1 + kernel->step[i].body + kernel->step[i].otherwise) {
    const plan_step *inner = &kernel->step[i];
    walks += inner->kind == PLAN_WALK && !inner->bare;
    CHECK(walks > 0 || inner->kind == PLAN_FILL, "step %d: more than constants before the walk", i);
  }
  CHECK(walks == 1, "step %d: %d walks that carry something", at, walks);
  return LLRT_OK;
}

/* An index that alone chooses its tensor's positions, of which the tile has so many. */
static llrt_status check_by_values(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  if (!step->by_values) return LLRT_OK;
  CHECK(!kernel->target.simd_lanes && !kernel->flat && step->by_values <= kernel->n_indices &&
            !step->looped && !step->in_ring && step->vector <= kernel->lane_bits,
        "step %d: no values to ask about", at);
  const plan_index *index = &kernel->index[step->by_values - 1];
  int asked = step->vector > 0 ? step->vector : 1;
  CHECK(plan_slots_of(kernel, index->tensor) == index &&
            bits_count(plan_following_bits(kernel, index, asked)) == asked,
        "step %d: no 2^%d values of i%d", at, step->vector, step->by_values - 1);
  return LLRT_OK;
}

/* A position of a thread, and the one that is asked for. */
static llrt_status check_holds(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  if (!step->holds) return LLRT_OK;
  CHECK(!kernel->target.simd_lanes && !step->looped && !step->in_ring && !step->by_values,
        "step %d: no position to ask about", at);
  CHECK(step->second < kernel->n_values &&
            plan_value_bits(&kernel->value[step->in], PLAN_REGISTER) == 0 &&
            plan_value_bits(&kernel->value[step->second], PLAN_REGISTER) == 0,
        "step %d: more than a position of a thread", at);
  return LLRT_OK;
}

static llrt_status check_step(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  const plan_step_row *row = plan_step_row_of(step->kind);
  CHECK(step->in < kernel->n_values || kernel->n_values == 0, "step %d: value %d", at, step->in);
  CHECK(step->out < kernel->n_values || kernel->n_values == 0, "step %d: value %d", at, step->out);
  CHECK(row && (row->owns || step->body + step->otherwise == 0),
        "step %d: a body that it does not own", at);
  CHECK(at + step->body + step->otherwise < kernel->n_steps, "step %d: body past the end", at);
  switch ((plan_step_kind)step->kind) {
  case PLAN_LOAD:
  case PLAN_STORE:
  case PLAN_SHARED_STORE:
  case PLAN_SHARED_LOAD: return plan_verify_access(kernel, at);
  case PLAN_REGISTERS: return check_registers(kernel, at);
  case PLAN_SHUFFLE: return check_shuffle(kernel, at);
  case PLAN_MAP: return check_map(kernel, at);
  case PLAN_REPORT:
    CHECK(step->index < kernel->n_indices, "step %d: index %d", at, step->index);
    return LLRT_OK;
  case PLAN_IF_PRESENT: return check_looped(kernel, at);
  case PLAN_IF_INTERIOR:
    LLRT_TRY(check_by_values(kernel, at));
    LLRT_TRY(check_holds(kernel, at));
    return check_looped(kernel, at);
  case PLAN_PREFETCH:
    CHECK(step->tensor < kernel->n_tensors && kernel->n_indices == 0 && !kernel->flat,
          "step %d: nothing to ask for", at);
    CHECK(kernel->target.simd_lanes || (step->turns > 0 && step->reach > 0),
          "step %d: asks for nothing", at);
    return LLRT_OK;
  case PLAN_COLLECT: return plan_verify_collect(kernel, at);
  case PLAN_BARRIER: return LLRT_OK;
  case PLAN_LOOP:
    CHECK(!step->nested || step->joins, "step %d: joins nothing", at);
    if (step->turned) return check_turned(kernel, at);
    if (!step->joins) return LLRT_OK;
    LLRT_TRY(step->nested ? check_nested(kernel, at) : check_same(kernel, at, step->in, step->out));
    return check_same(kernel, at, step->out, kernel->step[at + step->body].out);
  case PLAN_REPEAT:
    CHECK(step->turns > 0 && step->body > 0, "step %d: repeats nothing", at);
    LLRT_TRY(check_same(kernel, at, step->in, step->out));
    return check_same(kernel, at, step->out, kernel->step[at + step->body].out);
  case PLAN_STAGE:
    if (kernel->panel.gathered) return plan_verify_panel(kernel, at);
    CHECK(kernel->flat && kernel->panel.positions > 0, "step %d: there is no panel", at);
    if (kernel->panel.staged) return plan_verify_staged(kernel, at);
    CHECK((kernel->panel.elements * kernel->tensor_bits[0] / 8) % (1 << kernel->panel.unit) == 0 &&
              8 << kernel->panel.unit >= kernel->tensor_bits[0],
          "step %d: a panel is not whole accesses", at);
    CHECK(kernel->panel.skew == 0 || (kernel->panel.vector > 0 && kernel->panel.skew >= 4),
          "step %d: a panel of single elements is skewed", at);
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
  case PLAN_APPLY:
  case PLAN_CARRY:
  case PLAN_WALK: return plan_verify_combining(kernel, at);
  case PLAN_COPY: return plan_verify_copy(kernel, at);
  case PLAN_AHEAD:
  case PLAN_COPIED:
    CHECK(kernel->target.async_copies && step->turns >= 0 && kernel->launch.walk.axes,
          "step %d: no turns", at);
    return LLRT_OK;
  case PLAN_DOT: return plan_verify_dot(kernel, at);
  case PLAN_ROLES:
    CHECK(kernel->producers > 0 &&
              (1 << (kernel->warp_bits - kernel->cluster_bits)) % kernel->producers == 0 &&
              kernel->target.async_copies && kernel->barriers % 8 == 0,
          "step %d: %d producers", at, kernel->producers);
    return LLRT_OK;
  case PLAN_PRODUCE: return plan_verify_produce(kernel, at);
  case PLAN_LANDED:
    CHECK(plan_landed_step(kernel) == at && kernel->launch.n_boxes > 0 && step->turns >= 0,
          "step %d: no boxes", at);
    return LLRT_OK;
  case PLAN_SETTLE: return plan_verify_settle(kernel, at);
  case PLAN_FILLED: CHECK(kernel->producers > 0, "step %d: no producers", at); return LLRT_OK;
  case PLAN_RELEASE: return plan_verify_release(kernel, at);
  case PLAN_SEND: return plan_verify_send(kernel, at);
  case PLAN_SENT: CHECK(kernel->producers > 0, "step %d: no roles", at); return LLRT_OK;
  case PLAN_MULTIPLIED:
    CHECK(step->turns >= 0, "step %d: %d groups", at, step->turns);
    return step->turns ? LLRT_OK : check_same(kernel, at, step->in, step->out);
  case PLAN_OPAQUE: return check_same(kernel, at, step->in, step->out);
  }
  return llrt_error(LLRT_INTERNAL, "plan: step %d of unknown kind %d", at, step->kind);
}

llrt_status plan_verify(const plan_kernel *kernel) {
  CHECK(kernel->n_digits >= 0 && kernel->n_digits <= PLAN_MAX_DIGITS, "%d digits",
        kernel->n_digits);
  CHECK(kernel->n_steps > 0 && kernel->n_steps <= PLAN_MAX_STEPS, "%d steps", kernel->n_steps);
  CHECK(kernel->n_values > 0 && kernel->n_values <= PLAN_MAX_VALUES, "%d values", kernel->n_values);
  CHECK(llrt_layout_is_valid(&kernel->space), "malformed space");
  CHECK(kernel->cluster_bits <= bits_min(PLAN_MAX_CLUSTER_BITS,
                                         bits_min(kernel->target.cluster_bits, kernel->warp_bits)),
        "clusters of 2^%d blocks", kernel->cluster_bits);
  CHECK(kernel->flat || kernel->n_terms == 0, "division in a tiled kernel");
  CHECK(kernel->band == 0 || (kernel->band > 0 && !kernel->flat && kernel->n_places >= 2 &&
                              kernel->place[0].digit >= 0 && kernel->place[1].digit >= 0),
        "bands of %d", kernel->band);
  CHECK(kernel->band_from == 0 ||
            (kernel->band > 0 && kernel->band_pitch.arg < kernel->launch.n_args &&
             bits_is_power_of_two(kernel->band_from)),
        "bands without a pitch");
  for (int i = 0; i < kernel->n_bounds; i++)
    CHECK(kernel->bound[i].top >= 0 && kernel->bound[i].top < kernel->n_digits, "bound %d", i);
  CHECK(kernel->launch.shared_bytes <= kernel->target.facts.shared_bytes,
        "%d bytes of shared memory", kernel->launch.shared_bytes);
  CHECK(kernel->streams_from == 0 || (kernel->streams_from > 0 && kernel->target.simd_lanes &&
                                      kernel->elements.arg < kernel->launch.n_args),
        "stores past the caches from %lld elements on", (long long)kernel->streams_from);
  for (int i = 0; i < kernel->n_values; i++) LLRT_TRY(check_value(kernel, i));
  LLRT_TRY(plan_verify_rounds(kernel));
  for (int i = 0; i < kernel->n_steps; i++) LLRT_TRY(check_step(kernel, i));
  return LLRT_OK;
}
