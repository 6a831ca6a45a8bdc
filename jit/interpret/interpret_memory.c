/* Steps that touch memory: global, shared, copies from one to the other. */
#include "jit/interpret/interpret.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/tile_padding.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/types/number.h"
#include "layout/f2.h"

#include <stdlib.h>

/* ---- global memory ---- */

/* Whether indices keep the step from touching memory at a position; else what they add to the
 * address. */
static bool is_left_out(const interpreter *in, const plan_step *step, const int64_t *position,
                        plan_index_terms *terms) {
  plan_index_terms other;
  plan_index_terms_at(in->kernel, step->tensor, position, in->args, terms);
  if (!terms->valid) return true;
  for (int t = 0; t < in->kernel->n_tensors && step->kind == PLAN_STORE; t++) {
    plan_index_terms_at(in->kernel, t, position, in->args, &other);
    if (!other.kept) return true;
  }
  return false;
}

/* The digits' positions of tile coordinate `tile`; false where the step's mask leaves them out. */
bool interpreter_position(const interpreter *in, const plan_step *step, uint64_t tile,
                          int64_t position[PLAN_MAX_DIGITS]) {
  const plan_kernel *kernel = in->kernel;
  if (kernel->flat) {
    int64_t index;
    if (!plan_flat_index(kernel, in->block, tile, in->args, &index)) return false;
    plan_flat_position(kernel, index, in->args, in->upper, position);
  } else {
    plan_tile_position(kernel, tile, in->grid, in->upper, position);
  }
  return !step->masked ||
         plan_position_inside(kernel, step->tensor, step->ignored_bounds, position, in->args);
}

/* Where an element lies: none (NULL) where the step's mask or an index leaves it out. */
typedef struct element_place {
  void *array;
  int64_t offset;
  bool gone; /* an index leaves it out */
} element_place;

/* The elements of a tensor's memory, as offsets count them: halves of 128 bits. */
static int64_t span_of(const interpreter *in, int tensor) {
  return in->bindings[tensor].span << in->kernel->split_128;
}

/* The same with the second half of a last byte, which is in the tensor's memory and no element's.
 */
static int64_t whole_span_of(const interpreter *in, int tensor) {
  int64_t halves = in->kernel->tensor_bits[tensor] < 8 ? 1 : 0;
  return (span_of(in, tensor) + halves) >> halves << halves;
}

/* Elements that a panel of the source may be staged from: in place the memory is that of both
 * tensors, and so goes as far as the longer one's. */
static int64_t staged_span_of(const interpreter *in) {
  int64_t source = whole_span_of(in, 0), both = whole_span_of(in, PLAN_DESTINATION);
  bool in_place = !in->kernel->panel.staged && in->tensors[0].data == in->tensors[1].data;
  return in_place && both > source ? both : source;
}

/* Whether the aligned vector of tensor 0 that holds an element is in its memory. */
static llrt_status check_vector(const interpreter *in, int64_t offset) {
  const plan_kernel *kernel = in->kernel;
  int64_t vector = (int64_t)1 << kernel->memory.vector, bits = kernel->tensor_bits[0];
  int64_t data = (int64_t)(uintptr_t)in->tensors[0].data;
  int64_t first = (data + (offset * bits >> 3)) & -vector;
  if (first >= data && first + vector <= data + (span_of(in, 0) * bits >> 3)) return LLRT_OK;
  return llrt_error(
      LLRT_INTERNAL,
      "block %lld loads the vector at element %lld of tensor 0, part of which is outside",
      (long long)in->block, (long long)offset);
}

/* The offset of an element of a tensor from its first byte. */
static int64_t element_offset(const interpreter *in, int tensor, const int64_t *position,
                              const plan_index_terms *terms) {
  uint64_t data = (uint64_t)(uintptr_t)in->tensors[tensor].data,
           base = in->args[tensor]; /* with the storage's offset */
  return plan_offset(in->kernel, tensor, position, terms, in->args, 0) +
         (int64_t)(base - data) * 8 / in->kernel->tensor_bits[tensor];
}

static llrt_status place_element(const interpreter *in, const plan_step *step, uint64_t tile,
                                 element_place *found) {
  const plan_kernel *kernel = in->kernel;
  int64_t position[PLAN_MAX_DIGITS];
  *found = (element_place){0};
  if (!interpreter_position(in, step, tile, position)) return LLRT_OK;
  plan_index_terms terms;
  if (is_left_out(in, step, position, &terms)) {
    found->gone = !terms.valid;
    return LLRT_OK;
  }
  int64_t offset = element_offset(in, step->tensor, position, &terms);
  if (offset < 0 || offset >= span_of(in, step->tensor))
    return llrt_error(LLRT_INTERNAL, "block %lld reaches element %lld of tensor %d, which has %lld",
                      (long long)in->block, (long long)offset, step->tensor,
                      (long long)span_of(in, step->tensor));
  if (step->overhang && step->kind == PLAN_LOAD && !step->masked && !step->exact)
    LLRT_TRY(check_vector(in, offset));
  bool kept = kernel->stored_half > 0 && step->kind == PLAN_STORE &&
              (offset & 1) != kernel->stored_half - 1;
  if (kept) return LLRT_OK;
  found->array = terms.base ? terms.base : in->tensors[step->tensor].data;
  found->offset = offset ^ kernel->high_first[step->tensor];
  return LLRT_OK;
}

/* Loads or stores an element of `bits`. */
static void move_element(const element_place *place, int bits, uint64_t *element, bool load) {
  unsigned char *byte = (unsigned char *)place->array + place->offset * bits / 8;
  if (bits >= 8) {
    if (load) memcpy(element, byte, (size_t)bits / 8);
    else memcpy(byte, element, (size_t)bits / 8);
    return;
  }
  int shift = (int)(place->offset & 1) * 4;
  if (load) *element = *byte >> shift & 15;
  else *byte = (unsigned char)((*byte & ~(15 << shift)) | (int)(*element & 15) << shift);
}

llrt_status interpreter_load(const interpreter *in, const plan_step *step, uint64_t tile,
                             uint64_t *element) {
  element_place place;
  LLRT_TRY(place_element(in, step, tile, &place));
  if (place.array) move_element(&place, in->kernel->tensor_bits[step->tensor], element, true);
  return LLRT_OK;
}

/* Where the block's panel begins: at the tensor's end or behind it, if nothing of the panel is
 * inside the bounds. What of it is touched is for those to check who touch it. */
static llrt_status place_panel(const interpreter *in, element_place *panel) {
  const plan_step first = {.kind = PLAN_LOAD, .tensor = in->kernel->panel.tensor};
  int64_t position[PLAN_MAX_DIGITS];
  plan_index_terms terms;
  *panel = (element_place){.array = in->tensors[first.tensor].data};
  if (!interpreter_position(in, &first, 0, position))
    return llrt_error(LLRT_INTERNAL, "block %lld has no panel", (long long)in->block);
  plan_index_terms_at(in->kernel, first.tensor, position, in->args, &terms);
  if (terms.base) panel->array = terms.base;
  panel->offset = element_offset(in, first.tensor, position, &terms);
  return LLRT_OK;
}

/* Of a panel that is gathered from, only that it was staged is kept: its elements are the tensor's.
 */
static llrt_status stage_values(interpreter *in) {
  int64_t values = plan_number_value(&in->kernel->index[0].extent, in->args, 0);
  if (values > in->kernel->panel.most)
    return llrt_error(LLRT_INTERNAL, "a panel of %lld values", (long long)values);
  in->staged = in->phase;
  return LLRT_OK;
}

/* Whether the element is one of the block's panel, and staged before the last barrier. */
static llrt_status check_staged(const interpreter *in, uint64_t tile) {
  uint64_t neighbour = tile & bits_mask(in->kernel->panel.width);
  int64_t position[PLAN_MAX_DIGITS], first[PLAN_MAX_DIGITS];
  if (in->staged == 0 || in->staged >= in->phase)
    return llrt_error(LLRT_INTERNAL, "a panel is read without a barrier after it was staged");
  plan_tile_position(in->kernel, tile, in->grid, in->upper, position);
  plan_tile_position(in->kernel, neighbour, in->grid, in->upper, first);
  for (int i = 0; i < in->kernel->n_digits; i++)
    if (in->kernel->digit[i].side[0].kind != PLAN_INDEXED && position[i] != first[i])
      return llrt_error(LLRT_INTERNAL, "digit %d moves inside a panel", i);
  return LLRT_OK;
}

/* How many elements of a tensor the block's panel has there, which begins at element `first`. */
static int64_t panel_elements(const interpreter *in, int64_t first) {
  const plan_kernel *kernel = in->kernel;
  const plan_panel *panel = &kernel->panel;
  int64_t n = panel->elements, span = span_of(in, panel->tensor), position[PLAN_MAX_DIGITS], index;
  if (panel->ended) {
    const plan_bound *bound = &kernel->bound[panel->ended - 1];
    plan_flat_index(kernel, in->block, 0, in->args, &index);
    plan_flat_position(kernel, index, in->args, in->upper, position);
    int64_t at =
        bound->axis < 0 ? position[bound->top] : plan_coordinate(kernel, bound->axis, position);
    int64_t left = (plan_bound_limit(kernel, bound, in->args) - at) * panel->pitch;
    n = left < n ? left : n;
  }
  if (panel->total > 0) span = panel->total;
  return (panel->total > 0 || (panel->staged && panel->tensor == 0)) && n > span - first
             ? (span > first ? span - first : 0)
             : n;
}

/* What was stored to the panel goes to memory: all of it. */
static llrt_status interpret_copy_out(interpreter *in) {
  element_place at;
  LLRT_TRY(place_panel(in, &at));
  int64_t n = panel_elements(in, at.offset);
  for (int64_t i = 0; i < n; i++, at.offset++) {
    if (in->written[i] == 0 || in->written[i] >= in->phase)
      return llrt_error(LLRT_INTERNAL, "block %lld stores no element %lld of its panel",
                        (long long)in->block, (long long)i);
    if (at.offset >= whole_span_of(in, PLAN_DESTINATION))
      return llrt_error(LLRT_INTERNAL, "block %lld copies element %lld of %lld",
                        (long long)in->block, (long long)at.offset,
                        (long long)span_of(in, PLAN_DESTINATION));
    move_element(&at, in->kernel->tensor_bits[PLAN_DESTINATION], &in->shared[i], false);
  }
  return LLRT_OK;
}

/* The panel's elements, each where its offset in the panel says. */
llrt_status interpret_stage(interpreter *in) {
  const plan_kernel *kernel = in->kernel;
  element_place at;
  if (kernel->panel.gathered) return stage_values(in);
  if (kernel->panel.tensor == PLAN_DESTINATION) return interpret_copy_out(in);
  LLRT_TRY(place_panel(in, &at));
  int64_t n = panel_elements(in, at.offset);
  if (n > 0 && at.offset + n > staged_span_of(in))
    return llrt_error(LLRT_INTERNAL, "block %lld stages element %lld of %lld", (long long)in->block,
                      (long long)(at.offset + n - 1), (long long)staged_span_of(in));
  for (int64_t i = 0; i < n; i++, at.offset++) {
    in->shared[i] = 0;
    move_element(&at, kernel->tensor_bits[0], &in->shared[i], true);
    in->written[i] = in->phase;
  }
  return LLRT_OK;
}

/* Stores an element, at `place` in memory, to the block's panel, which takes each element once. */
static llrt_status store_staged(interpreter *in, const element_place *place, uint64_t element) {
  element_place panel;
  LLRT_TRY(place_panel(in, &panel));
  int64_t i = place->offset - panel.offset;
  if (i < 0 || i >= panel_elements(in, panel.offset) || in->written[i] != 0)
    return llrt_error(LLRT_INTERNAL, "element %lld is not one of the panel's, or stored twice",
                      (long long)i);
  in->shared[i] = element;
  in->written[i] = in->phase;
  return LLRT_OK;
}

/* An element from the panel. */
static llrt_status load_staged(interpreter *in, const element_place *place, uint64_t tile,
                               uint64_t *element) {
  element_place panel;
  if (in->kernel->panel.gathered) {
    LLRT_TRY(check_staged(in, tile));
    move_element(place, in->kernel->tensor_bits[0], element, true);
    return LLRT_OK;
  }
  LLRT_TRY(place_panel(in, &panel));
  int64_t i = place->offset - panel.offset;
  if (i < 0 || i >= in->kernel->panel.elements || in->written[i] == 0 ||
      in->written[i] >= in->phase)
    return llrt_error(LLRT_INTERNAL, "element %lld of the panel is not staged", (long long)i);
  *element = in->shared[i];
  return LLRT_OK;
}

/* ---- what is collected ---- */

/* Where an element of the destination lies, whatever bounds say. */
static int64_t unbounded_offset(const interpreter *in, uint64_t tile) {
  const plan_kernel *kernel = in->kernel;
  uint64_t data = (uint64_t)(uintptr_t)in->tensors[PLAN_DESTINATION].data,
           base = in->args[PLAN_DESTINATION];
  int64_t position[PLAN_MAX_DIGITS];
  plan_tile_position(kernel, tile, in->grid, in->upper, position);
  return plan_offset(kernel, PLAN_DESTINATION, position, NULL, in->args, 0) +
         (int64_t)(base - data) * 8 / kernel->tensor_bits[PLAN_DESTINATION];
}

/* Whether element `at` of what is collected is in a row. */
static bool is_in_row(const plan_step *step, int64_t at) {
  return at / step->pitch < step->rows && at % step->pitch < step->elements;
}

/* An element that is stored, or left out by a bound (`place` has no array), among what is
 * collected. */
static llrt_status collect_element(interpreter *in, const element_place *place, uint64_t tile) {
  const interpreter_collection *collection = &in->collection;
  int64_t at = unbounded_offset(in, tile) - collection->first;
  if (at < 0 || at >= collection->step->reach || (place->array && !is_in_row(collection->step, at)))
    return llrt_error(LLRT_INTERNAL, "block %lld collects element %lld", (long long)in->block,
                      (long long)at);
  if (place->array) collection->stored[at] = 1;
  return LLRT_OK;
}

static llrt_status check_collected(const interpreter *in, const plan_step *step) {
  for (int i = 0; i < step->reach; i++)
    if (is_in_row(step, i) && !in->collection.stored[i])
      return llrt_error(LLRT_INTERNAL, "block %lld does not collect element %d",
                        (long long)in->block, i);
  return LLRT_OK;
}

/* The steps store at once; what they store is what they are to collect, in rows that begin where
 * they are to. */
llrt_status interpret_collect(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  int64_t width = in->kernel->tensor_bits[PLAN_DESTINATION] / 8;
  int64_t first = unbounded_offset(in, interpreter_kernel_tile(in, step->in, 0));
  uint64_t address =
      (uint64_t)(uintptr_t)in->tensors[PLAN_DESTINATION].data + (uint64_t)(first * width);
  if (address & (uint64_t)((width << step->vector) - 1))
    return llrt_error(LLRT_INTERNAL, "block %lld collects from byte %lld on", (long long)in->block,
                      (long long)address);
  in->collection = (interpreter_collection){
      .step = step, .first = first, .stored = calloc((size_t)step->reach, 1)};
  if (!in->collection.stored)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for the plan interpreter");
  llrt_status status = interpret_steps(in, at + 1, step->body);
  if (status == LLRT_OK) status = check_collected(in, step);
  free(in->collection.stored);
  in->collection = (interpreter_collection){0};
  return status;
}

/* ---- elements in front ---- */

/* Whether what lies in front of an element is asked for: the element is inside, and its byte's
 * second. */
static bool wants_front(const interpreter *in, const plan_step *step, uint64_t tile,
                        int64_t position[PLAN_MAX_DIGITS]) {
  plan_step stored = *step;
  stored.tensor = PLAN_DESTINATION;
  return interpreter_position(in, &stored, tile, position) &&
         element_offset(in, PLAN_DESTINATION, position, NULL) % 2 != 0;
}

/* Elements of tensor 0 that are to lie in front of others; what is not asked for is none of theirs.
 */
static llrt_status load_front(const interpreter *in, const plan_step *step, int value) {
  const plan_kernel *kernel = in->kernel;
  int bits = kernel->tensor_bits[0];
  for (int64_t at = 0; at < interpreter_size(kernel, value); at++) {
    int64_t position[PLAN_MAX_DIGITS], before[PLAN_MAX_DIGITS];
    uint64_t *element = &in->value[value][at];
    *element = ~kernel->fill & bits_mask(bits);
    if (!wants_front(in, step, interpreter_kernel_tile(in, value, at), position)) continue;
    if (!plan_position_before(kernel, position, in->args, before))
      return llrt_error(LLRT_INTERNAL, "block %lld: nothing lies in front of an element",
                        (long long)in->block);
    *element = kernel->fill;
    if (!plan_position_inside(kernel, 0, 0, before, in->args)) continue;
    element_place place = {.array = in->tensors[0].data,
                           .offset = element_offset(in, 0, before, NULL)};
    if (place.offset < 0 || place.offset >= span_of(in, 0))
      return llrt_error(LLRT_INTERNAL, "block %lld reaches element %lld in front",
                        (long long)in->block, (long long)place.offset);
    place.offset ^= kernel->high_first[0];
    move_element(&place, bits, element, true);
  }
  return LLRT_OK;
}

/* Of a store of rows that begin in either half of a byte: the first half, where a group has the
 * second. */
static void store_front(const interpreter *in, const plan_step *step) {
  int value = step->second;
  for (int64_t at = 0; at < interpreter_size(in->kernel, value); at++) {
    int64_t position[PLAN_MAX_DIGITS];
    if (!wants_front(in, &(plan_step){.masked = true, .ignored_bounds = step->ignored_bounds},
                     interpreter_kernel_tile(in, value, at), position))
      continue;
    element_place place = {.array = in->tensors[PLAN_DESTINATION].data};
    place.offset = element_offset(in, PLAN_DESTINATION, position, NULL) - 1;
    move_element(&place, 4, &in->value[value][at], false);
  }
}

/* ---- tensors ---- */

/* Of an access its registers beside the first. */
static int64_t beside_first(const interpreter *in, const plan_step *step, int value) {
  const plan_value *of = &in->kernel->value[value];
  plan_address_map map;
  int positions[LLRT_MAX_BITS];
  int64_t beside = 0;
  plan_address_of_tensor(in->kernel, step->tensor, &map);
  if (!plan_access_positions(of, &map, PLAN_REGISTER, step->vector, positions)) return 0;
  for (int v = 0; v < step->vector; v++) beside |= (int64_t)1 << positions[v];
  return beside;
}

/* What is loaded where there is no element: of an access whose first element is inside, which may
 * be whole, nothing that anybody uses (docs/steps.md, `loose`). */
static uint64_t loaded_outside(const interpreter *in, const plan_step *step, int value,
                               int64_t at) {
  if (!step->loose) return in->kernel->fill;
  int64_t first = at & ~beside_first(in, step, value), position[PLAN_MAX_DIGITS];
  bool open = interpreter_position(in, step, interpreter_kernel_tile(in, value, first), position);
  return open ? ~in->kernel->fill & bits_mask(in->kernel->tensor_bits[step->tensor])
              : in->kernel->fill;
}

llrt_status interpret_global(interpreter *in, const plan_step *step, int value, bool load) {
  int bits = in->kernel->tensor_bits[step->tensor];
  if (step->front) return load_front(in, step, value);
  if (!load && step->overhang && bits < 8) store_front(in, step);
  for (int64_t at = 0; at < interpreter_size(in->kernel, value); at++) {
    element_place place;
    uint64_t *element = &in->value[value][at];
    uint64_t tile = interpreter_kernel_tile(in, value, at);
    LLRT_TRY(place_element(in, step, tile, &place));
    if (!load && in->collection.step) LLRT_TRY(collect_element(in, &place, tile));
    if (place.array && step->staged && load) LLRT_TRY(load_staged(in, &place, tile, element));
    else if (place.array && step->staged) LLRT_TRY(store_staged(in, &place, *element));
    else if (place.array) move_element(&place, bits, element, load);
    else if (load) *element = place.gone ? 0 : loaded_outside(in, step, value, at);
  }
  return LLRT_OK;
}

/* ---- shared memory ---- */

/* Where the turn's slot of a buffer begins, in places of 4 bits. */
uint64_t interpreter_slot(const interpreter *in, const plan_buffer *buffer) {
  uint64_t slot = buffer->slots ? (uint64_t)(in->turn - in->begin) % buffer->slots : 0;
  return ((uint64_t)buffer->offset + slot * (uint64_t)buffer->bytes) * 2;
}

static llrt_status check_unread(const interpreter *in, uint64_t offset) {
  if (in->reading[offset] <= in->multiplied) return LLRT_OK;
  return llrt_error(LLRT_INTERNAL, "shared offset %llu is written while products read it",
                    (unsigned long long)offset);
}

/* Whoever has an element, among all threads of a cluster: what he copied he sees as soon as it has
 * arrived. */
static int copier_of(const plan_kernel *kernel, int value, int64_t at) {
  return 1 + (int)(at >> plan_value_bits(&kernel->value[value], PLAN_REGISTER));
}

/* The first of those of a block that hold the element, who copies it. */
static int first_copier_of(const interpreter *in, int value, int64_t at, int64_t per_block) {
  int64_t first = interpreter_first_place(in, value, at) & (per_block - 1);
  return copier_of(in->kernel, value, first | (at & -per_block));
}

llrt_status interpret_shared(interpreter *in, const plan_step *step, int value, bool load) {
  const plan_buffer *buffer = &in->kernel->buffer[step->buffer];
  const plan_kernel *kernel = in->kernel;
  llrt_layout offset_of;
  plan_blocks blocks;
  int bits = buffer->layout.in[0].bits, parts = plan_buffer_parts(buffer);
  int64_t per_block = interpreter_size(kernel, value) >> kernel->cluster_bits;
  LLRT_TRY(llrt_layout_right_inverse(&buffer->layout, &offset_of));
  plan_blocks_of_buffer(kernel, step->buffer, &blocks);
  for (int64_t at = 0; at < interpreter_size(in->kernel, value); at++) {
    uint64_t offset = llrt_layout_apply_flat(&offset_of, interpreter_tile(in, value, at));
    if ((offset >> bits & bits_mask(parts)) != step->repetition) continue;
    uint64_t own = (uint64_t)(at / per_block);
    uint64_t block = f2_apply(blocks.of_tile, interpreter_tile(in, value, at)) ^ (own & blocks.own);
    if (!load && block != own && !buffer->pushed)
      return llrt_error(LLRT_INTERNAL, "block %llu stores in another's memory",
                        (unsigned long long)own);
    offset = (offset & bits_mask(bits)) * buffer->bits / 4 + interpreter_slot(in, buffer) +
             block * in->shared_size;
    if (!load) {
      LLRT_TRY(check_unread(in, offset));
      if (in->read[offset] >= in->phase || in->far[offset] >= in->met)
        return llrt_error(LLRT_INTERNAL,
                          "shared offset %llu is written without a barrier after its read",
                          (unsigned long long)offset);
      in->shared[offset] = in->value[value][at];
      in->written[offset] = in->phase;
      in->copier[offset] = 0;
    } else if (in->group[offset] || in->written[offset] == 0 ||
               (in->written[offset] >= (block == own ? in->phase : in->met) &&
                in->copier[offset] != copier_of(kernel, value, at))) {
      return llrt_error(LLRT_INTERNAL,
                        "shared offset %llu is read without a barrier after its write",
                        (unsigned long long)offset);
    } else {
      in->value[value][at] = in->shared[offset];
      in->reader[offset] =
          in->read[offset] < in->phase || in->reader[offset] == copier_of(kernel, value, at)
              ? copier_of(kernel, value, at)
              : 0;
      in->read[offset] = in->phase;
      if (block != own) in->far[offset] = in->phase;
    }
  }
  return LLRT_OK;
}

/* The device reads what threads have stored, as a thread of no warp would. */
llrt_status interpret_send(interpreter *in, const plan_step *step) {
  const plan_buffer *buffer = &in->kernel->buffer[step->buffer];
  llrt_layout offset_of;
  plan_padding padding;
  plan_padding_find(in->kernel, &padding);
  LLRT_TRY(llrt_layout_right_inverse(&buffer->layout, &offset_of));
  for (int64_t at = 0; at < interpreter_size(in->kernel, step->in); at++) {
    element_place place;
    uint64_t tile = interpreter_kernel_tile(in, step->in, at);
    if (plan_padding_has(&padding, tile)) continue;
    LLRT_TRY(place_element(in, step, tile, &place));
    uint64_t offset = llrt_layout_apply_flat(&offset_of, interpreter_tile(in, step->in, at));
    offset = offset * buffer->bits / 4 + (uint64_t)buffer->offset * 2;
    if (in->written[offset] >= in->phase)
      return llrt_error(LLRT_INTERNAL,
                        "shared offset %llu is sent without a barrier behind its store",
                        (unsigned long long)offset);
    in->read[offset] = in->phase;
    if (place.array) move_element(&place, buffer->bits, &in->shared[offset], false);
  }
  return LLRT_OK;
}

/* ---- copies under way ---- */

llrt_status interpret_copy(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  llrt_layout offset_of;
  int64_t per_block = interpreter_size(kernel, step->in) >> kernel->cluster_bits;
  uint64_t inside = bits_mask(buffer->layout.in[0].bits);
  plan_padding padding;
  plan_padding_find(kernel, &padding);
  LLRT_TRY(llrt_layout_right_inverse(&buffer->layout, &offset_of));
  for (int64_t at = 0; at < interpreter_size(kernel, step->in); at++) {
    element_place place;
    uint64_t element = step->fills ? kernel->fill : 0;
    uint64_t tile = interpreter_kernel_tile(in, step->in, at);
    if (step->box && plan_padding_has(&padding, tile)) continue;
    LLRT_TRY(place_element(in, step, tile, &place));
    if (place.array) move_element(&place, buffer->bits, &element, true);
    uint64_t offset =
        llrt_layout_apply_flat(&offset_of, interpreter_tile(in, step->in, at)) & inside;
    offset = offset * buffer->bits / 4 + interpreter_slot(in, buffer) +
             (uint64_t)(at / per_block) * in->shared_size;
    LLRT_TRY(check_unread(in, offset));
    int copier = first_copier_of(in, step->in, at, per_block);
    if (in->read[offset] >= in->phase && in->reader[offset] != copier)
      return llrt_error(LLRT_INTERNAL,
                        "shared offset %llu is copied to without a barrier after its read",
                        (unsigned long long)offset);
    in->shared[offset] = element;
    in->group[offset] = in->groups + 1;
    in->copier[offset] = copier;
  }
  return LLRT_OK;
}

void interpret_await(interpreter *in, const plan_step *step) {
  for (size_t i = 0; i < in->shared_size << in->kernel->cluster_bits; i++) {
    if (in->group[i] == 0 || in->group[i] > in->groups - step->turns) continue;
    in->group[i] = 0;
    in->written[i] = in->phase;
  }
}
