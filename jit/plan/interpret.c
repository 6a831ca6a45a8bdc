/* Executes a kernel over host memory, a block after another, every step for all warps before the next:
 * the oracle for planning. Checks what hardware would not forgive: accesses outside a tensor, shared
 * reads of what was not written since the last barrier began to hold. */
#include "jit/plan/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/combine.h"
#include "jit/plan/dot_tiling.h"
#include "jit/plan/eval.h"
#include "jit/plan/number.h"
#include "jit/plan/scan_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct interpreter {
  const plan_kernel *kernel;
  const llrt_tensor *tensors;
  const llrt_storage_binding *bindings;
  uint64_t args[PLAN_MAX_ARGS];
  int64_t block;
  uint64_t grid;
  int64_t upper[PLAN_MAX_DIGITS];
  uint64_t iteration;
  uint64_t *value[PLAN_MAX_VALUES];   /* elements by (register, lane, warp), register fastest */
  uint64_t *tile[PLAN_MAX_VALUES];    /* their tile coordinates in iteration 0 */
  int64_t *place;                     /* of a tile coordinate, scratch of run_exchange */
  uint64_t *shared;          /* elements of every buffer by offset in 4 bits */
  size_t shared_size;        /* of one block */
  int staged;                 /* phase in which a panel of values was, 0: none */
  int *written, *read, phase; /* phase of the last write and read, counted by barriers from 1 */
  int met;                    /* the phase that a barrier of all blocks of the cluster began */
  int *group, groups;         /* that a copy belongs to that is under way, from 1; 0: none. Groups so far */
  int *reading, products, multiplied; /* the last group of products that reads, 0: none; groups so far, groups done */
  int64_t released;                   /* turns whose slots producers may have again */
  int pending[PLAN_MAX_VALUES];       /* the group that makes a value; past `multiplied`: it is under way */
  int64_t turn, begin, end;   /* of the block's share of a walk; turn -1 outside */
} interpreter;

static int64_t value_size(const plan_kernel *kernel, int i) {
  return (int64_t)1 << (plan_value_bits(&kernel->value[i], PLAN_REGISTER) + kernel->lane_bits +
                        kernel->warp_bits);
}

static void interpreter_fini(interpreter *in) {
  for (int i = 0; i < PLAN_MAX_VALUES; i++) {
    free(in->value[i]);
    free(in->tile[i]);
  }
  free(in->place);
  free(in->shared);
  free(in->written);
  free(in->group);
  free(in->reading);
  free(in->read);
}

static llrt_status interpreter_init(interpreter *in) {
  const plan_kernel *kernel = in->kernel;
  bool failed = false;
  size_t tile_size = 1;
  for (int i = 0; i < kernel->n_values; i++) {
    size_t n = (size_t)1 << kernel->value[i].layout.out[0].bits;
    if (n > tile_size) tile_size = n;
  }
  failed |= !(in->place = calloc(tile_size, sizeof *in->place));
  for (int i = 0; i < kernel->n_values; i++) {
    size_t n = (size_t)value_size(kernel, i);
    failed |= !(in->value[i] = calloc(n, sizeof(uint64_t)));
    failed |= !(in->tile[i] = calloc(n, sizeof(uint64_t)));
    for (size_t at = 0; at < n && in->tile[i]; at++)
      in->tile[i][at] = f2_apply(kernel->value[i].layout.column, at);
  }
  in->shared_size = (size_t)kernel->panel.elements;
  for (int i = 0; i < kernel->n_buffers; i++) {
    size_t places = (size_t)plan_buffer_end(&kernel->buffer[i]) * 2; /* elements of 4 bits */
    if (places > in->shared_size) in->shared_size = places;
  }
  size_t places = (in->shared_size << kernel->cluster_bits) + 1;
  failed |= !(in->shared = calloc(places, sizeof(uint64_t)));
  failed |= !(in->written = calloc(places, sizeof(int)));
  failed |= !(in->read = calloc(places, sizeof(int)));
  failed |= !(in->group = calloc(places, sizeof(int)));
  failed |= !(in->reading = calloc(places, sizeof(int)));
  return failed ? llrt_error(LLRT_OUT_OF_MEMORY, "the plan interpreter's memory") : LLRT_OK;
}

/* ---- elements of a value ---- */


static uint64_t tile_at(const interpreter *in, int value, int64_t at) {
  if (in->iteration == 0) return in->tile[value][at];
  const uint64_t *columns = plan_value_columns(&in->kernel->value[value], PLAN_ITERATION);
  return in->tile[value][at] ^ f2_apply(columns, in->iteration);
}

/* The same in the kernel's tile, which has bits that the value may be reduced along. */
static uint64_t kernel_tile_at(const interpreter *in, int value, int64_t at) {
  return plan_tile_bits_of(&in->kernel->value[value], tile_at(in, value, at));
}

/* The first of the places that hold the same element as `at`: copies are zero columns. */
static int64_t first_place(const interpreter *in, int value, int64_t at) {
  const llrt_layout *layout = &in->kernel->value[value].layout;
  for (int i = 0; i < llrt_layout_in_bits(layout); i++)
    if (layout->column[i] == 0) at &= ~((int64_t)1 << i);
  return at;
}

/* ---- global memory ---- */

/* Whether indices keep the step from touching memory at a position; else what they add to the address. */
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
static bool step_position(const interpreter *in, const plan_step *step, uint64_t tile,
                          int64_t position[PLAN_MAX_DIGITS]) {
  const plan_kernel *kernel = in->kernel;
  if (kernel->flat) {
    int64_t index;
    if (!plan_flat_index(kernel, in->block, tile, in->args, &index)) return false;
    plan_flat_position(kernel, index, in->args, in->upper, position);
  } else {
    plan_tile_position(kernel, tile, in->grid, in->upper, position);
  }
  return !step->masked || plan_position_inside(kernel, step->tensor, step->apart, position, in->args);
}

/* Where an element lies: none (NULL) where the step's mask or an index leaves it out. */
typedef struct element_place {
  void *array;
  int64_t offset;
  bool gone; /* an index leaves it out */
} element_place;

/* Whether the aligned vector of tensor 0 that holds an element is in its memory. */
static llrt_status check_vector(const interpreter *in, int64_t offset) {
  const plan_kernel *kernel = in->kernel;
  int64_t vector = (int64_t)1 << kernel->memory.vector, bytes = kernel->tensor_bits[0] / 8;
  int64_t data = (int64_t)(uintptr_t)in->tensors[0].data;
  int64_t first = (data + offset * bytes) & -vector;
  if (first >= data && first + vector <= data + in->bindings[0].span * bytes) return LLRT_OK;
  return llrt_error(LLRT_INTERNAL, "block %lld loads a vector at element %lld that memory has in part",
                    (long long)in->block, (long long)offset);
}

static llrt_status place_element(const interpreter *in, const plan_step *step, uint64_t tile,
                                 element_place *found) {
  const plan_kernel *kernel = in->kernel;
  int64_t position[PLAN_MAX_DIGITS];
  *found = (element_place){0};
  if (!step_position(in, step, tile, position)) return LLRT_OK;
  plan_index_terms terms;
  if (is_left_out(in, step, position, &terms)) {
    found->gone = !terms.valid;
    return LLRT_OK;
  }
  uint64_t data = (uint64_t)(uintptr_t)in->tensors[step->tensor].data;
  uint64_t base = in->args[step->tensor]; /* with the storage's offset */
  int64_t offset = plan_offset(kernel, step->tensor, position, &terms, in->args, 0) +
                   (int64_t)(base - data) * 8 / kernel->tensor_bits[step->tensor];
  if (offset < 0 || offset >> kernel->halves >= in->bindings[step->tensor].span)
    return llrt_error(LLRT_INTERNAL, "block %lld reaches element %lld of tensor %d, which has %lld",
                      (long long)in->block, (long long)offset, step->tensor,
                      (long long)in->bindings[step->tensor].span);
  if (step->overhang && step->kind == PLAN_LOAD && !step->masked)
    LLRT_TRY(check_vector(in, offset));
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

/* Where the block's panel begins. */
static llrt_status place_panel(const interpreter *in, element_place *panel) {
  const plan_step first = {.kind = PLAN_LOAD, .tensor = 0};
  return place_element(in, &first, 0, panel);
}

/* Of a panel that is gathered from, only that it was staged is kept: its elements are the tensor's. */
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

/* The panel's elements, each where its offset in the panel says. */
static llrt_status run_stage(interpreter *in) {
  const plan_kernel *kernel = in->kernel;
  element_place at;
  if (kernel->panel.gathered) return stage_values(in);
  LLRT_TRY(place_panel(in, &at));
  if (at.offset + kernel->panel.elements > in->bindings[0].span)
    return llrt_error(LLRT_INTERNAL, "block %lld stages element %lld of %lld", (long long)in->block,
                      (long long)(at.offset + kernel->panel.elements - 1),
                      (long long)in->bindings[0].span);
  for (int64_t i = 0; i < kernel->panel.elements; i++, at.offset++) {
    in->shared[i] = 0;
    move_element(&at, kernel->tensor_bits[0], &in->shared[i], true);
    in->written[i] = in->phase;
  }
  return LLRT_OK;
}

/* An element from the panel. */
static llrt_status load_staged(interpreter *in, const element_place *place, uint64_t tile, uint64_t *element) {
  element_place panel;
  if (in->kernel->panel.gathered) {
    LLRT_TRY(check_staged(in, tile));
    move_element(place, in->kernel->tensor_bits[0], element, true);
    return LLRT_OK;
  }
  LLRT_TRY(place_panel(in, &panel));
  int64_t i = place->offset - panel.offset;
  if (i < 0 || i >= in->kernel->panel.elements || in->written[i] == 0 || in->written[i] >= in->phase)
    return llrt_error(LLRT_INTERNAL, "element %lld of the panel is not staged", (long long)i);
  *element = in->shared[i];
  return LLRT_OK;
}

static llrt_status run_global(interpreter *in, const plan_step *step, int value, bool load) {
  int bits = in->kernel->tensor_bits[step->tensor];
  for (int64_t at = 0; at < value_size(in->kernel, value); at++) {
    element_place place;
    uint64_t *element = &in->value[value][at];
    uint64_t tile = kernel_tile_at(in, value, at);
    LLRT_TRY(place_element(in, step, tile, &place));
    if (place.array && step->staged) LLRT_TRY(load_staged(in, &place, tile, element));
    else if (place.array) move_element(&place, bits, element, load);
    else if (load) *element = place.gone ? 0 : step->loose ? ~in->kernel->fill & bits_mask(bits) : in->kernel->fill;
  }
  return LLRT_OK;
}

/* ---- shared memory ---- */

/* Where the turn's slot of a buffer begins, in places of 4 bits. */
static uint64_t slot_place(const interpreter *in, const plan_buffer *buffer) {
  uint64_t slot = buffer->slots ? (uint64_t)(in->turn - in->begin) & bits_mask(buffer->slots) : 0;
  return ((uint64_t)buffer->offset + slot * (uint64_t)buffer->bytes) * 2;
}

static llrt_status check_unread(const interpreter *in, uint64_t offset) {
  if (in->reading[offset] <= in->multiplied) return LLRT_OK;
  return llrt_error(LLRT_INTERNAL, "shared offset %llu is written while products read it", (unsigned long long)offset);
}

static llrt_status run_shared(interpreter *in, const plan_step *step, int value, bool load) {
  const plan_buffer *buffer = &in->kernel->buffer[step->buffer];
  const plan_kernel *kernel = in->kernel;
  llrt_layout offset_of;
  plan_blocks blocks;
  int bits = buffer->layout.in[0].bits, parts = plan_buffer_parts(buffer);
  int64_t per_block = value_size(kernel, value) >> kernel->cluster_bits;
  LLRT_TRY(llrt_layout_right_inverse(&buffer->layout, &offset_of));
  plan_blocks_of_buffer(kernel, step->buffer, &blocks);
  for (int64_t at = 0; at < value_size(in->kernel, value); at++) {
    uint64_t offset = llrt_layout_apply_flat(&offset_of, tile_at(in, value, at));
    if ((offset >> bits & bits_mask(parts)) != step->repetition) continue;
    uint64_t own = (uint64_t)(at / per_block);
    uint64_t block = f2_apply(blocks.of_tile, tile_at(in, value, at)) ^ (own & blocks.own);
    if (!load && block != own)
      return llrt_error(LLRT_INTERNAL, "block %llu stores in another's memory", (unsigned long long)own);
    offset = (offset & bits_mask(bits)) * buffer->bits / 4 + slot_place(in, buffer) + block * in->shared_size;
    if (!load) {
      LLRT_TRY(check_unread(in, offset));
      if (in->read[offset] >= in->phase)
        return llrt_error(LLRT_INTERNAL, "shared offset %llu is written without a barrier after its read",
                          (unsigned long long)offset);
      in->shared[offset] = in->value[value][at];
      in->written[offset] = in->phase;
    } else if (in->group[offset] || in->written[offset] == 0 ||
               in->written[offset] >= (block == own ? in->phase : in->met)) {
      return llrt_error(LLRT_INTERNAL, "shared offset %llu is read without a barrier after its write",
                        (unsigned long long)offset);
    } else {
      in->value[value][at] = in->shared[offset];
      in->read[offset] = in->phase;
    }
  }
  return LLRT_OK;
}

/* ---- copies under way ---- */

static llrt_status run_copy(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  llrt_layout offset_of;
  int64_t per_block = value_size(kernel, step->in) >> kernel->cluster_bits;
  uint64_t inside = bits_mask(buffer->layout.in[0].bits);
  LLRT_TRY(llrt_layout_right_inverse(&buffer->layout, &offset_of));
  for (int64_t at = 0; at < value_size(kernel, step->in); at++) {
    element_place place;
    uint64_t element = 0;
    LLRT_TRY(place_element(in, step, kernel_tile_at(in, step->in, at), &place));
    if (place.array) move_element(&place, buffer->bits, &element, true);
    uint64_t offset = llrt_layout_apply_flat(&offset_of, tile_at(in, step->in, at)) & inside;
    offset = offset * buffer->bits / 4 + slot_place(in, buffer) + (uint64_t)(at / per_block) * in->shared_size;
    LLRT_TRY(check_unread(in, offset));
    if (in->read[offset] >= in->phase)
      return llrt_error(LLRT_INTERNAL, "shared offset %llu is copied to without a barrier after its read",
                        (unsigned long long)offset);
    in->shared[offset] = element;
    in->group[offset] = in->groups + 1;
  }
  return LLRT_OK;
}

static void run_await(interpreter *in, const plan_step *step) {
  for (size_t i = 0; i < in->shared_size << in->kernel->cluster_bits; i++) {
    if (in->group[i] == 0 || in->group[i] > in->groups - step->turns) continue;
    in->group[i] = 0;
    in->written[i] = in->phase;
  }
}

static llrt_status run_steps(interpreter *in, int first, int n);

/* What stands for block `block` of the grid. */
static void enter_block(interpreter *in, int64_t block) {
  in->block = block;
  plan_decode_block(in->kernel, block, in->args, &in->grid, in->upper);
}

/* Turn `turn` of the block's share; queued: ticket number `turn`. */
static void enter_turn(interpreter *in, int64_t turn, uint64_t grid) {
  int64_t own = turn, end;
  in->turn = turn;
  in->grid = grid;
  if (in->kernel->lookback.queued) {
    enter_block(in, turn);
    plan_block_turns(in->kernel, in->upper, in->args, &own, &end);
  }
  plan_decode_turn(in->kernel, own, in->args, &in->grid, in->upper);
}

/* The block's share of turns. Queued: the first block has drawn all tickets before others begin. */
static void find_turns(interpreter *in) {
  const plan_lookback *lookback = &in->kernel->lookback;
  if (!lookback->queued) {
    plan_block_turns(in->kernel, in->upper, in->args, &in->begin, &in->end);
    return;
  }
  in->begin = 0;
  in->end = in->block == 0 ? plan_number_value(&lookback->blocks, in->args, 0) : 0;
}

/* Before a walk the block's share is that of its uppers. */
static llrt_status run_ahead(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  const uint64_t grid = in->grid;
  const int64_t turn = in->turn, begin = in->begin, end = in->end, block = in->block;
  llrt_status status = LLRT_OK;
  int64_t upper[PLAN_MAX_DIGITS];
  memcpy(upper, in->upper, sizeof upper);
  if (turn < 0) {
    find_turns(in);
    in->turn = in->begin;
  }
  if (in->turn + step->turns < in->end) {
    enter_turn(in, in->turn + step->turns, grid & bits_mask(in->kernel->walk.grid_bits));
    status = run_steps(in, at + 1, step->body);
  }
  in->groups++;
  in->block = block;
  in->grid = grid;
  in->turn = turn, in->begin = begin, in->end = end;
  memcpy(in->upper, upper, sizeof upper);
  return status;
}

/* ---- inside the warp ---- */

/* Every place of the result takes the element of the same tile coordinate from its own thread (REGISTERS)
 * or warp (SHUFFLE): number `group` of those of the result, which have 2^to_bits places, and of the source's of
 * 2^from_bits. */
static llrt_status exchange_group(interpreter *in, const plan_step *step, int64_t group, int from_bits,
                                  int to_bits) {
  int64_t first = group << from_bits, end = (group + 1) << from_bits;
  for (int64_t from = first; from < end; from++) in->place[tile_at(in, step->in, from)] = from;
  for (int64_t at = group << to_bits; at < (group + 1) << to_bits; at++) {
    uint64_t wanted = tile_at(in, step->out, at);
    int64_t from = in->place[wanted];
    if (from < first || from >= end || tile_at(in, step->in, from) != wanted)
      return llrt_error(LLRT_INTERNAL, "tile coordinate %llu is not in reach of an exchange",
                        (unsigned long long)wanted);
    in->value[step->out][at] = in->value[step->in][from];
  }
  return LLRT_OK;
}

static llrt_status run_exchange(interpreter *in, const plan_step *step, bool across_lanes) {
  const plan_kernel *kernel = in->kernel;
  int lanes = across_lanes ? kernel->lane_bits : 0;
  int from_bits = plan_value_bits(&kernel->value[step->in], PLAN_REGISTER) + lanes;
  int to_bits = plan_value_bits(&kernel->value[step->out], PLAN_REGISTER) + lanes;
  for (int64_t group = 0; group << to_bits < value_size(kernel, step->out); group++)
    LLRT_TRY(exchange_group(in, step, group, from_bits, to_bits));
  return LLRT_OK;
}

/* ---- gather ---- */

static llrt_status load_gathered(interpreter *in, const plan_step *step, const llrt_layout *offset_of,
                                 uint64_t wanted, uint64_t *element) {
  uint64_t offset = llrt_layout_apply_flat(offset_of, wanted);
  offset = offset * in->kernel->buffer[step->buffer].bits / 4;
  if (in->written[offset] == 0 || in->written[offset] >= in->phase)
    return llrt_error(LLRT_INTERNAL, "shared offset %llu is read without a barrier after its write",
                      (unsigned long long)offset);
  *element = in->shared[offset];
  in->read[offset] = in->phase;
  return LLRT_OK;
}

/* Places [first, first + size) of the source by tile coordinate. */
static void place_group(interpreter *in, int value, int64_t first, int64_t size) {
  for (int64_t from = first; from < first + size; from++) in->place[tile_at(in, value, from)] = from;
}

/* The element of the same warp whose tile coordinate is `wanted`. */
static llrt_status find_gathered(const interpreter *in, int value, int64_t at, int out_bits, int in_bits,
                                 uint64_t wanted, uint64_t *element) {
  int64_t from = in->place[wanted];
  if (from >> in_bits != at >> out_bits || tile_at(in, value, from) != wanted)
    return llrt_error(LLRT_INTERNAL, "tile coordinate %llu is not in reach of a gather",
                      (unsigned long long)wanted);
  *element = in->value[value][from];
  return LLRT_OK;
}

static llrt_status run_gather(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  uint64_t mask = bits_mask(step->axis_bits) << step->axis;
  int in_bits = plan_value_bits(&kernel->value[step->in], PLAN_REGISTER) + kernel->lane_bits;
  int out_bits = plan_value_bits(&kernel->value[step->out], PLAN_REGISTER) + kernel->lane_bits;
  llrt_layout offset_of;
  if (step->staged) LLRT_TRY(llrt_layout_right_inverse(&kernel->buffer[step->buffer].layout, &offset_of));
  for (int64_t at = 0; at < value_size(kernel, step->out); at++) {
    uint64_t asked = in->value[step->second][at] << step->axis & mask;
    uint64_t wanted = (tile_at(in, step->out, at) & ~mask) | asked, *element = &in->value[step->out][at];
    if (!step->staged && (at & (int64_t)bits_mask(out_bits)) == 0)
      place_group(in, step->in, (at >> out_bits) << in_bits, (int64_t)1 << in_bits);
    if (step->staged) LLRT_TRY(load_gathered(in, step, &offset_of, wanted, element));
    else LLRT_TRY(find_gathered(in, step->in, at, out_bits, in_bits, wanted, element));
  }
  return LLRT_OK;
}

/* ---- value maps ---- */

static uint64_t permute_word(const uint8_t perm[32], uint64_t word) {
  uint64_t out = 0;
  for (int i = 0; i < 32; i++) out |= (word >> perm[i] & 1) << i;
  return out;
}

/* Where element i of a 32-bit word lies from its first: `packed` log2 elements side by side, those further on
 * by the stride of lanes (host) or registers (GPU). */
static int64_t word_place(int i, int packed, int64_t stride) {
  return (int64_t)((uint64_t)i & bits_mask(packed)) + (i >> packed) * stride;
}

/* The words of which element `at` is the first. */
static void map_words(interpreter *in, const plan_step *step, int64_t at, int packed, int64_t stride) {
  const uint8_t *perm = in->kernel->map[step->map].perm;
  const uint64_t *from = &in->value[step->in][at];
  uint64_t *to = &in->value[step->out][at], word = 0;
  int bits = in->kernel->value[step->in].bits;
  if (bits >= 32) {
    *to = permute_word(perm, *from & UINT32_MAX) | permute_word(perm, *from >> 32) << 32;
    return;
  }
  for (int i = 0; i < 32 / bits; i++)
    word |= (from[word_place(i, packed, stride)] & bits_mask(bits)) << (i * bits);
  word = permute_word(perm, word);
  for (int i = 0; i < 32 / bits; i++)
    to[word_place(i, packed, stride)] = word >> (i * bits) & bits_mask(bits);
}

/* A map of numbers of f32 or f64 by itself. */
static uint64_t act(const plan_map *map, uint64_t code) {
  const number_format *f = number_format_of((llrt_dtype)map->from);
  double x = number_value(f, code), by = 1;
  if (map->kind == PLAN_MAP_RELU) return x < 0 ? 0 : code;
  if (map->kind == PLAN_MAP_MULTIPLY) by = number_value(f, map->constant);
  if (map->kind == PLAN_MAP_GELU) by = 0.5 * erfc(-x / sqrt(2));
  if (map->kind == PLAN_MAP_SILU) by = 1 / (1 + exp(-x));
  return number_code(f, x * by);
}

/* The scale of element `at` of the input that value `second` has. */
static uint64_t scale_by_value(const interpreter *in, const plan_step *step, int64_t at) {
  const plan_value *value = &in->kernel->value[step->in], *scales = &in->kernel->value[step->second];
  int registers = plan_value_bits(value, PLAN_REGISTER);
  uint64_t own = plan_reduced_register(value, scales, (uint64_t)at & bits_mask(registers));
  return in->value[step->second][(uint64_t)at >> registers << plan_value_bits(scales, PLAN_REGISTER) | own];
}

/* element * scale: the product of two f32 is exact in f64, so it is rounded once. */
static llrt_status scale_element(const interpreter *in, const plan_step *step, int64_t at) {
  const plan_map *map = &in->kernel->map[step->map];
  llrt_dtype from = (llrt_dtype)map->from, to = (llrt_dtype)map->to;
  element_place place = {.array = NULL};
  uint64_t code = 0;
  if (step->by_value) code = scale_by_value(in, step, at);
  else LLRT_TRY(place_element(in, step, kernel_tile_at(in, step->in, at), &place));
  if (place.array) move_element(&place, in->kernel->tensor_bits[step->tensor], &code, true);
  double element = number_value(number_format_of(from), in->value[step->in][at]);
  double scale = number_value(number_format_of((llrt_dtype)map->scale), code);
  double product = map->subtracts ? element - scale : element * scale;
  if (!number_is_wide(from, to)) product = (double)(float)product;
  in->value[step->out][at] = number_code(number_format_of(to), product);
  return LLRT_OK;
}

static llrt_status run_map(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  const plan_map *map = &kernel->map[step->map];
  int bits = kernel->value[step->in].bits;
  int64_t stride = 1, elements = bits_max(32 / bits, 1);
  int packed = kernel->target.lanes_first ? kernel->value[step->in].word : 0;
  if (kernel->target.lanes_first)
    stride <<= plan_value_bits(&kernel->value[step->in], PLAN_REGISTER);
  for (int64_t at = 0; map->words && at < value_size(kernel, step->in); at += elements)
    map_words(in, step, at, 0, 1);
  for (int64_t at = 0; at < value_size(kernel, step->in); at++) {
    if (map->kind == PLAN_MAP_XOR)
      in->value[step->out][at] =
          in->value[step->in][at] ^ (map->constant & bits_mask(bits));
    else if (map->kind == PLAN_MAP_SCALE)
      LLRT_TRY(scale_element(in, step, at));
    else if (map->kind >= PLAN_MAP_MULTIPLY && map->kind <= PLAN_MAP_SILU)
      in->value[step->out][at] = act(map, in->value[step->in][at]);
    else if (map->kind == PLAN_MAP_CAST)
      in->value[step->out][at] =
          number_cast((llrt_dtype)map->from, (llrt_dtype)map->to, in->value[map->words ? step->out : step->in][at]);
    else if (map->kind == PLAN_MAP_TRUTH)
      in->value[step->out][at] = combine_truth((llrt_dtype)map->from, in->value[step->in][at]);
    else if (!(at & (int64_t)bits_mask(packed)) && at / stride % (elements >> packed) == 0)
      map_words(in, step, at, packed, stride);
  }
  return LLRT_OK;
}

/* ---- control ---- */

static void reach_of_iteration(const interpreter *in, const plan_step *step, bool *interior, bool *beyond) {
  plan_iteration_reach(in->kernel, &in->kernel->value[step->in], in->iteration, in->grid, in->upper,
                       in->args, interior, beyond);
}

static bool is_interior(const interpreter *in, const plan_step *step) {
  bool interior, beyond;
  if (!step->looped)
    return plan_block_interior(in->kernel, in->upper, step->apart, in->args) &&
           plan_block_within(in->kernel, in->grid, in->upper, in->args);
  reach_of_iteration(in, step, &interior, &beyond);
  return interior;
}

/* Whether the block, or this iteration, has something to do. */
static bool is_present(const interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  int64_t position[PLAN_MAX_DIGITS], value;
  bool interior, beyond;
  if (step->looped) {
    reach_of_iteration(in, step, &interior, &beyond);
    return !beyond;
  }
  if (plan_block_beyond(kernel, in->upper, in->args)) return false;
  plan_tile_position(kernel, 0, in->grid, in->upper, position);
  for (int i = 0; i < kernel->n_indices; i++)
    if (kernel->index[i].uniform && plan_leaves_out(&kernel->index[i]) &&
        !plan_index_value(kernel, &kernel->index[i], position, in->args, &value))
      return false;
  return true;
}

/* Every value is counted at the element whose other coordinates are 0. */
static llrt_status run_report(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  const plan_index *index = &kernel->index[step->index];
  int32_t *counter = (int32_t *)(uintptr_t)plan_number_value(&index->report, in->args, 0);
  for (int64_t at = 0; at < value_size(kernel, step->in); at++) {
    int64_t position[PLAN_MAX_DIGITS], value;
    if (at != first_place(in, step->in, at)) continue;
    if (!step_position(in, step, tile_at(in, step->in, at), position)) continue;
    bool counts = true;
    for (int i = 0; i < kernel->n_digits; i++) {
      int axis = kernel->digit[i].axis;
      if (axis < 0 || !(index->axes >> axis & 1)) counts &= position[i] == 0;
    }
    if (counts && !plan_index_value(kernel, index, position, in->args, &value)) ++*counter;
  }
  return LLRT_OK;
}

static void copy_value(interpreter *in, int from, int to) {
  in->pending[to] = in->pending[from];
  memcpy(in->value[to], in->value[from], (size_t)value_size(in->kernel, to) * sizeof(uint64_t));
}

static llrt_status run_loop(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  uint64_t outer = in->iteration;
  for (uint64_t i = 0; i < 1ull << step->iterations; i++) {
    in->iteration = outer << step->iterations | i;
    if (step->joins) copy_value(in, i ? step[step->body].out : step->in, step->out);
    LLRT_TRY(run_steps(in, at + 1, step->body));
  }
  in->iteration = outer;
  if (step->joins) copy_value(in, step[step->body].out, step->nested ? step->with : step->out);
  return LLRT_OK;
}

static llrt_status run_repeat(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  copy_value(in, step->in, step->out);
  for (int turn = 0; turn < step->turns; turn++) {
    if (turn > 0) copy_value(in, step[step->body].out, step->out);
    LLRT_TRY(run_steps(in, at + 1, step->body));
  }
  return LLRT_OK;
}

/* ---- combining ---- */

static combine_pair pair_of(const interpreter *in, const plan_step *step, int key, int index, int64_t at) {
  uint64_t position = step->pairs ? in->value[index][at] : 0;
  if (step->pairs && in->kernel->value[index].bits == 32) position = (uint64_t)(int32_t)position;
  return (combine_pair){in->value[key][at], (int64_t)position};
}

static void put_pair(interpreter *in, const plan_step *step, combine_pair pair, int64_t at) {
  in->value[step->out][at] = pair.key & bits_mask(in->kernel->value[step->out].bits);
  if (step->pairs)
    in->value[step->index_out][at] = (uint64_t)pair.index & bits_mask(in->kernel->value[step->index_out].bits);
}

static combine_pair join(const plan_step *step, combine_pair a, combine_pair b) {
  llrt_dtype type = (llrt_dtype)step->type;
  if (step->pairs) return combine_two_pairs(step->combiner, type, a, b);
  return (combine_pair){combine_two(step->combiner, type, a.key, b.key), 0};
}

static void run_fill(interpreter *in, const plan_step *step) {
  llrt_dtype type = (llrt_dtype)step->type;
  const combine_pair neutral = {step->exclusive ? combine_empty(step->combiner, type)
                                                : combine_identity(step->combiner, type), 0};
  for (int64_t at = 0; at < value_size(in->kernel, step->out); at++) put_pair(in, step, neutral, at);
}

static void run_combine(interpreter *in, const plan_step *step) {
  for (int64_t at = 0; at < value_size(in->kernel, step->out); at++)
    put_pair(in, step, join(step, pair_of(in, step, step->in, step->index_in, at),
                            pair_of(in, step, step->with, step->index_with, at)), at);
}

/* The elements at coordinates y + beyond, for all bits beyond the result's tile, as a tree: lowest bit
 * first. known[c] is where the group has coordinate c, or -1. */
static llrt_status fold_at(interpreter *in, const plan_step *step, const int64_t *known, uint64_t y,
                           combine_pair *result) {
  int tile = in->kernel->value[step->out].layout.out[0].bits;
  int n = in->kernel->value[step->in].layout.out[0].bits - tile;
  combine_pair *list = calloc((size_t)1 << n, sizeof *list);
  if (!list) return llrt_error(LLRT_OUT_OF_MEMORY, "the plan interpreter's memory");
  llrt_status status = LLRT_OK;
  int64_t some = 0, held = 0;
  for (int64_t i = 0; i < 1 << n; i++) {
    int64_t at = known[y | (uint64_t)i << tile];
    if (at < 0) continue; /* not in the group: the bits that it holds are a subspace */
    list[held++] = pair_of(in, step, step->in, step->index_in, at);
    some = 1;
  }
  if (!some || !bits_is_power_of_two(held))
    status = llrt_error(LLRT_INTERNAL, "a fold finds %lld elements of a coordinate", (long long)held);
  for (; held > 1; held /= 2)
    for (int64_t i = 0; i < held / 2; i++) list[i] = join(step, list[2 * i], list[2 * i + 1]);
  *result = list[0];
  free(list);
  return status;
}

/* Groups are threads, or warps. A value that is folded across lanes lies within a warp's coordinates. */
static llrt_status run_fold(interpreter *in, const plan_step *step, bool across_lanes) {
  const plan_kernel *kernel = in->kernel;
  int from = plan_value_bits(&kernel->value[step->in], PLAN_REGISTER);
  int to = plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
  int group = across_lanes ? kernel->lane_bits : 0;
  int64_t size = (int64_t)1 << (from + group), out_size = (int64_t)1 << (to + group);
  int64_t coordinates = (int64_t)1 << kernel->value[step->in].layout.out[0].bits;
  for (int64_t g = 0; g < value_size(kernel, step->in) / size; g++) {
    memset(in->place, 0xFF, (size_t)coordinates * sizeof *in->place);
    for (int64_t i = g * size; i < (g + 1) * size; i++) in->place[tile_at(in, step->in, i)] = i;
    for (int64_t i = g * out_size; i < (g + 1) * out_size; i++) {
      combine_pair result;
      LLRT_TRY(fold_at(in, step, in->place, tile_at(in, step->out, i), &result));
      put_pair(in, step, result, i);
    }
  }
  return LLRT_OK;
}

/* Every place of the result takes its element from the same thread. */
static void run_spread(interpreter *in, const plan_step *step) {
  const plan_kernel *kernel = in->kernel;
  int64_t from = (int64_t)1 << plan_value_bits(&kernel->value[step->in], PLAN_REGISTER);
  int64_t to = (int64_t)1 << plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
  for (int64_t at = 0; at < value_size(kernel, step->out); at++)
    for (int64_t i = at / to * from; i < (at / to + 1) * from; i++)
      if (tile_at(in, step->in, i) == tile_at(in, step->out, at))
        in->value[step->out][at] = in->value[step->in][i];
}

/* Relative: to the thread's register 0. */
static int64_t position_at(const interpreter *in, int value, int64_t at) {
  int64_t position[PLAN_MAX_DIGITS];
  plan_tile_position(in->kernel, tile_at(in, value, at), in->grid, in->upper, position);
  return plan_position_of(in->kernel, position, in->args);
}

static void run_position(interpreter *in, const plan_step *step, bool add) {
  const plan_kernel *kernel = in->kernel;
  int laid_out = add ? step->with : step->out;
  int64_t registers = (int64_t)1 << plan_value_bits(&kernel->value[laid_out], PLAN_REGISTER);
  int64_t own = (int64_t)1 << plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
  for (int64_t at = 0; at < value_size(kernel, step->out); at++) {
    int64_t first = position_at(in, laid_out, at / own * registers);
    int64_t x = add ? first + (int64_t)in->value[step->in][at] : position_at(in, step->out, at);
    if (!add && step->relative) x -= first;
    in->value[step->out][at] = (uint64_t)x & bits_mask(kernel->value[step->out].bits);
  }
}

/* ---- products ---- */

/* The elements of an operand that lies in shared memory, as the products' group reads them. */
static llrt_status fetch_operand(interpreter *in, const plan_step *step, int o) {
  const plan_buffer *buffer = &in->kernel->buffer[step->from[o]];
  int value = o ? step->second : step->in;
  int64_t per_block = value_size(in->kernel, value) >> in->kernel->cluster_bits;
  uint64_t inside = bits_mask(buffer->layout.in[0].bits);
  llrt_layout offset_of;
  LLRT_TRY(llrt_layout_right_inverse(&buffer->layout, &offset_of));
  for (int64_t at = 0; at < value_size(in->kernel, value); at++) {
    uint64_t offset = llrt_layout_apply_flat(&offset_of, tile_at(in, value, at)) & inside;
    offset = offset * buffer->bits / 4 + slot_place(in, buffer) + (uint64_t)(at / per_block) * in->shared_size;
    if (in->group[offset] || in->written[offset] == 0 || in->written[offset] >= in->phase)
      return llrt_error(LLRT_INTERNAL, "shared offset %llu is multiplied without a barrier after its write",
                        (unsigned long long)offset);
    in->value[value][at] = in->shared[offset];
    in->reading[offset] = in->products + 1;
  }
  return LLRT_OK;
}

static llrt_status run_dot(interpreter *in, const plan_step *step) {
  for (int o = 0; o < 2; o++)
    if (step->shared >> o & 1) LLRT_TRY(fetch_operand(in, step, o));
  LLRT_TRY(plan_eval_dot(in->kernel, step, in->value));
  bool later = dot_instruction_at(step->instruction)->family == DOT_WGMMA;
  in->pending[step->out] = later ? ++in->products : 0;
  return LLRT_OK;
}

/* What was read until now was read in this phase, as far as other warps know. */
static void run_multiplied(interpreter *in, const plan_step *step) {
  in->multiplied = bits_max(in->multiplied, in->products - step->turns);
  for (size_t i = 0; i < in->shared_size << in->kernel->cluster_bits; i++) {
    if (in->reading[i] == 0 || in->reading[i] > in->multiplied) continue;
    in->reading[i] = 0;
    in->read[i] = in->phase;
  }
  if (step->turns == 0) copy_value(in, step->in, step->out);
}

/* ---- roles ---- */

/* Producers run ahead on hardware; here a turn's copies begin with the turn, for which its slots have to be free. */
static llrt_status run_produce(interpreter *in, int at) {
  int64_t number = in->turn - in->begin, slots = (int64_t)1 << in->kernel->slots;
  if (number >= slots && in->released <= number - slots)
    return llrt_error(LLRT_INTERNAL, "turn %lld wants slots that are not free", (long long)number);
  LLRT_TRY(run_steps(in, at + 1, in->kernel->step[at].body));
  in->groups++;
  return LLRT_OK;
}

static void run_filled(interpreter *in) {
  run_await(in, &(plan_step){.turns = 0});
  in->phase++;
}

static llrt_status run_release(interpreter *in, const plan_step *step) {
  int64_t turn = in->turn - step->turns;
  if (turn < in->begin) return LLRT_OK;
  const int64_t now = in->turn;
  in->turn = turn;
  for (int b = 0; b < in->kernel->n_buffers; b++) {
    const plan_buffer *buffer = &in->kernel->buffer[b];
    uint64_t first = slot_place(in, buffer);
    for (uint64_t i = first; buffer->slots && i < first + (uint64_t)buffer->bytes * 2; i++) {
      if (in->reading[i] > in->multiplied) {
        in->turn = now;
        return llrt_error(LLRT_INTERNAL, "a slot is free while products read it");
      }
      in->read[i] = in->written[i] = 0;
    }
  }
  in->turn = now;
  in->released = turn - in->begin + 1;
  return LLRT_OK;
}

/* Whether the step needs a value that products under way make. */
static bool uses_pending(const interpreter *in, const plan_step *step) {
  bool first = in->pending[step->in] > in->multiplied, with = in->pending[step->with] > in->multiplied;
  bool second = in->pending[step->second] > in->multiplied;
  switch ((plan_step_kind)step->kind) {
    case PLAN_REGISTERS:
    case PLAN_SHUFFLE:
    case PLAN_SHARED_STORE:
    case PLAN_MAP:
    case PLAN_STORE:
    case PLAN_FOLD:
    case PLAN_FOLD_LANES: return first;
    case PLAN_JOIN: return first || with;
    case PLAN_PREFIX: return first || second;
    case PLAN_DOT:
      return first || second || (with && dot_instruction_at(step->instruction)->family != DOT_WGMMA);
    default: return false;
  }
}

static void carry(interpreter *in, const plan_step *from, bool first, const plan_step *walk) {
  if (walk->bare) return;
  copy_value(in, first ? from->in : from->out, walk->out);
  if (walk->pairs) copy_value(in, first ? from->index_in : from->index_out, walk->index_out);
}

static llrt_status run_walk(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  const uint64_t grid = in->grid;
  const int64_t block = in->block;
  int64_t upper[PLAN_MAX_DIGITS];
  memcpy(upper, in->upper, sizeof upper);
  find_turns(in);
  carry(in, step, true, step);
  const int64_t end = in->end;
  for (int64_t turn = in->begin; turn < end; turn++) {
    enter_turn(in, turn, grid);
    LLRT_TRY(run_steps(in, at + 1, step->body));
    carry(in, &step[step->body], false, step);
  }
  in->block = block;
  in->grid = grid;
  in->turn = -1;
  in->begin = in->end = 0;
  memcpy(in->upper, upper, sizeof upper);
  return LLRT_OK;
}

static llrt_status run_step(interpreter *in, int at) {
  const plan_step *step = &in->kernel->step[at];
  if (uses_pending(in, step)) return llrt_error(LLRT_INTERNAL, "step %d uses what products under way make", at);
  switch ((plan_step_kind)step->kind) {
    case PLAN_LOAD: return run_global(in, step, step->out, true);
    case PLAN_STORE: return run_global(in, step, step->in, false);
    case PLAN_SHARED_STORE: return run_shared(in, step, step->in, false);
    case PLAN_SHARED_LOAD: return run_shared(in, step, step->out, true);
    case PLAN_REGISTERS: return run_exchange(in, step, false);
    case PLAN_SHUFFLE: return run_exchange(in, step, true);
    case PLAN_MAP: return run_map(in, step);
    case PLAN_BARRIER:
      in->phase++;
      if (!step->own) in->met = in->phase;
      return LLRT_OK;
    case PLAN_REPORT: return run_report(in, step);
    case PLAN_IF_PRESENT: return is_present(in, step) ? run_steps(in, at + 1, step->body) : LLRT_OK;
    case PLAN_IF_INTERIOR:
      if (is_interior(in, step)) return run_steps(in, at + 1, step->body);
      return run_steps(in, at + 1 + step->body, step->otherwise);
    case PLAN_LOOP: return run_loop(in, at);
    case PLAN_PREFETCH: return LLRT_OK;
    case PLAN_REPEAT: return run_repeat(in, at);
    case PLAN_STAGE: return run_stage(in);
    case PLAN_PUBLISH:
    case PLAN_PEEK:
    case PLAN_AWAIT: return plan_eval_lookback(in->kernel, step, in->block, in->upper, in->args, in->value);
    case PLAN_SCAN: return plan_eval_scan(in->kernel, step, in->value);
    case PLAN_PREFIX: plan_eval_prefix(in->kernel, step, in->value); return LLRT_OK;
    case PLAN_PICK: plan_eval_pick(in->kernel, step, in->value); return LLRT_OK;
    case PLAN_GATHER: return run_gather(in, step);
    case PLAN_AHEAD: return run_ahead(in, at);
    case PLAN_COPY: return run_copy(in, step);
    case PLAN_COPIED: run_await(in, step); return LLRT_OK;
    case PLAN_DOT: return run_dot(in, step);
    case PLAN_MULTIPLIED: run_multiplied(in, step); return LLRT_OK;
    case PLAN_ROLES: return LLRT_OK;
    case PLAN_PRODUCE: return run_produce(in, at);
    case PLAN_FILLED: run_filled(in); return LLRT_OK;
    case PLAN_RELEASE: return run_release(in, step);
    case PLAN_OPAQUE: copy_value(in, step->in, step->out); return LLRT_OK;
    case PLAN_FILL: run_fill(in, step); return LLRT_OK;
    case PLAN_JOIN: run_combine(in, step); return LLRT_OK;
    case PLAN_FOLD: return run_fold(in, step, false);
    case PLAN_FOLD_LANES: return run_fold(in, step, true);
    case PLAN_SPREAD: run_spread(in, step); return LLRT_OK;
    case PLAN_POSITION: run_position(in, step, false); return LLRT_OK;
    case PLAN_POSITION_ADD: run_position(in, step, true); return LLRT_OK;
    case PLAN_WALK: return run_walk(in, at);
  }
  return llrt_error(LLRT_INTERNAL, "step %d of unknown kind %d", at, step->kind);
}

static llrt_status run_steps(interpreter *in, int first, int n) {
  for (int i = first; i < first + n; i++) {
    LLRT_TRY(run_step(in, i));
    i += in->kernel->step[i].body + in->kernel->step[i].otherwise;
  }
  return LLRT_OK;
}

static llrt_status interpret_stage(const plan_kernel *kernel, const plan_run *run) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  llrt_storage_binding bindings[LLRT_MAX_TENSORS];
  interpreter in = {.kernel = kernel, .tensors = run->tensors, .bindings = run->bindings};
  int64_t blocks;
  LLRT_TRY(plan_verify(kernel));
  if (kernel->launch.view.used) {
    LLRT_TRY(plan_view_tensors(&kernel->launch, run, tensors, bindings));
    for (int t = 0; t < kernel->n_tensors; t++) /* results of all splits lie behind each other */
      if (kernel->launch.view.tensor[t] < 0 && kernel->walk.n_places && kernel->walk.split >= 0)
        bindings[t].span *= run->splits;
    in.tensors = tensors;
    in.bindings = bindings;
  }
  LLRT_TRY(plan_run_stage(&kernel->launch, run, in.args, &blocks));
  llrt_status status = interpreter_init(&in);
  for (in.block = 0; in.block << kernel->cluster_bits < blocks && status == LLRT_OK; in.block++) {
    memset(in.written, 0, (in.shared_size << kernel->cluster_bits) * sizeof(int));
    memset(in.read, 0, (in.shared_size << kernel->cluster_bits) * sizeof(int));
    memset(in.group, 0, (in.shared_size << kernel->cluster_bits) * sizeof(int));
    memset(in.reading, 0, (in.shared_size << kernel->cluster_bits) * sizeof(int));
    memset(in.pending, 0, sizeof in.pending);
    in.products = in.multiplied = 0;
    in.released = 0;
    in.phase = in.met = 1;
    in.groups = 0;
    in.turn = -1;
    in.begin = in.end = 0;
    if (!kernel->flat) plan_decode_block(kernel, in.block, in.args, &in.grid, in.upper);
    status = run_steps(&in, 0, kernel->n_steps);
  }
  interpreter_fini(&in);
  return status;
}

llrt_status plan_interpret(const plan_kernel *first, const llrt_tensor *tensors,
                           const llrt_storage_binding *bindings, int n_tensors) {
  plan_run run;
  LLRT_TRY(plan_run_begin(&first->launch, tensors, bindings, n_tensors, &run));
  if (run.workspace_bytes > 0) {
    run.workspace = aligned_alloc(256, (size_t)run.workspace_bytes); /* whole regions of 256 bytes */
    if (!run.workspace) return llrt_error(LLRT_OUT_OF_MEMORY, "the plan interpreter's memory");
    memset(run.workspace, 0, (size_t)run.workspace_bytes);
  }
  llrt_status status = LLRT_OK;
  for (int i = 0; i <= first->launch.later && status == LLRT_OK; i++)
    status = interpret_stage(&first[i], &run);
  free(run.workspace);
  return status;
}
