/* Operands of products with packed weights on their way: which come by rings that copies fill,
 * which are loaded, and what casts rows in between. */
#include "jit/plan/facts/dot_shared.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot/dot.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/packed/dot_packed_kernel.h"

int packed_access_vector(const packed *p, const plan_value *value, int tensor) {
  dot_access access;
  dot_value_access(&p->x, tensor, value, &access);
  return bits_min(access.vector, access.align);
}

static int whole_vector(const packed *p, const plan_value *value, int tensor, int vector) {
  plan_value spread;
  plan_value_spread(p->x.d.kernel, value, &spread);
  return draft_whole_vector(&p->x.d, &spread, tensor, vector);
}

/* What a copy takes at once: elements that lie in memory as they do in the buffer, in the order of
 * the value's registers. */
static int copied_vector(const packed *p, const plan_value *value, int tensor) {
  int vector = packed_access_vector(p, value, tensor), positions[LLRT_MAX_BITS], same = 0;
  plan_value spread;
  plan_address_map map;
  plan_value_spread(p->x.d.kernel, value, &spread);
  plan_address_of_tensor(p->x.d.kernel, tensor, &map);
  bool found = plan_access_positions(&spread, &map, PLAN_REGISTER, vector, positions);
  while (found && same < vector && positions[same] == same) same++;
  return same;
}

/* How many low offset bits of a buffer are registers of the value. */
static int buffer_vector(const plan_value *value, const plan_buffer *buffer, int most) {
  const uint64_t *registers = plan_value_columns(value, PLAN_REGISTER);
  int n = bits_min(bits_min(plan_value_bits(value, PLAN_REGISTER), buffer->layout.in[0].bits),
                   most),
      v = 0;
  while (v < n && registers[v] == buffer->layout.column[v]) v++;
  return v;
}

/* Puts a buffer behind the others. */
static llrt_status add_buffer(packed *p, plan_buffer *buffer, int alignment, int *number) {
  plan_kernel *kernel = p->x.d.kernel;
  buffer->offset =
      kernel->n_buffers > 0 ? plan_buffer_end(&kernel->buffer[kernel->n_buffers - 1]) : 0;
  buffer->offset = (buffer->offset + alignment - 1) & -alignment;
  if (kernel->n_buffers == PLAN_MAX_BUFFERS ||
      (!p->shape.own && plan_buffer_end(buffer) > kernel->target.facts.shared_bytes))
    return llrt_error(LLRT_UNSUPPORTED, "rings take %d bytes of shared memory, a block has %d",
                      plan_buffer_end(buffer), kernel->target.facts.shared_bytes);
  *number = kernel->n_buffers++;
  kernel->buffer[*number] = *buffer;
  return LLRT_OK;
}

static llrt_status cast_map(packed *p, const packed_operand *rows, plan_step *step) {
  const uint8_t from = (uint8_t)p->job.desc.tensors[rows->tensor].dtype;
  *step = (plan_step){.kind = PLAN_MAP};
  return draft_map(p->x.d.kernel,
                   (plan_map){.kind = PLAN_MAP_CAST, .from = from, .to = (uint8_t)p->compute},
                   &step->map);
}

/* Rows of 8 bits, from their ring to where products read numbers of the compute type. */
static llrt_status plan_cast(packed *p, packed_operand *rows, const plan_value *copied,
                             int *number) {
  plan_kernel *kernel = p->x.d.kernel;
  plan_value wide = draft_retyped(&p->x.d, copied, 16);
  plan_buffer buffer;
  int taken;
  for (int dim = PLAN_LANE; dim <= PLAN_WARP; dim++)
    for (int i = 0; i < plan_value_bits(copied, dim); i++)
      if (plan_value_columns(copied, dim)[i] == 0)
        return llrt_error(LLRT_UNSUPPORTED,
                          "rows of A that are cast are copied by several threads at once");
  LLRT_TRY(packed_rows_buffer(p, &wide, rows->copy.box ? p->shape.slots : 2, &buffer));
  LLRT_TRY(add_buffer(p, &buffer, DOT_SHARED_ALIGNMENT, number));
  LLRT_TRY(draft_value(kernel, copied, &taken));
  LLRT_TRY(draft_value(kernel, &wide, &rows->held));
  rows->cast[0] = (plan_step){.kind = PLAN_SHARED_LOAD,
                              .buffer = rows->copy.buffer,
                              .out = (uint8_t)taken,
                              .vector = rows->copy.vector};
  LLRT_TRY(cast_map(p, rows, &rows->cast[1]));
  rows->cast[1].in = (uint8_t)taken;
  rows->cast[1].out = (uint8_t)rows->held;
  rows->cast[2] = (plan_step){.kind = PLAN_SHARED_STORE,
                              .in = (uint8_t)rows->held,
                              .buffer = (uint8_t)*number,
                              .vector = 3};
  rows->n_cast = 3;
  return LLRT_OK;
}

/* Rows of 8 bits that each warp casts for itself: its own alone, pairs along K, which lie in no
 * order that matrices have. */
static bool warps_cast(const packed *p) {
  return packed_casts_rows(p) && !p->shape.warpgroups && p->shape.warps[PACKED_N] == 0;
}

static llrt_status plan_widening(packed *p, packed_operand *rows) {
  plan_value narrow = draft_retyped(&p->x.d, &rows->value, 8);
  int loaded;
  LLRT_TRY(draft_value(p->x.d.kernel, &narrow, &loaded));
  LLRT_TRY(cast_map(p, rows, &rows->widen));
  rows->load.out = rows->widen.in = (uint8_t)loaded;
  rows->widen.out = (uint8_t)rows->number;
  return LLRT_OK;
}

#define PIECE_BYTES 16 /* of which addresses and pitches of boxes are multiples */

/* Where there are producers rows come by boxes, if their memory has such. */
static llrt_status plan_boxes(packed *p, packed_operand *rows) {
  plan_kernel *kernel = p->x.d.kernel;
  bool found = false;
  if (p->shape.producers == 0 ||
      plan_access_bytes(kernel->tensor_bits[rows->tensor], rows->copy.vector) < PIECE_BYTES)
    return LLRT_OK;
  LLRT_TRY(dot_plan_box(&p->x, 0, false, &rows->copy, packed_line(p), &found));
  if (found) rows->copy.box = (uint8_t)kernel->launch.n_boxes;
  return LLRT_OK;
}

/* The accesses by which threads load what they want from a buffer. */
static int loaded_vector(const packed *p, const packed_operand *operand,
                         const plan_buffer *buffer) {
  return buffer_vector(&operand->value, buffer,
                       bits_log2(p->x.d.kernel->target.access_bytes * 8 / buffer->bits));
}

/* Whether accesses take less than a byte, which masked loads of memory alone do. */
static bool is_part_of_byte(const plan_value *value, int vector) {
  return value->bits << vector < 8;
}

/* The ring of an operand: accesses that are whole, of 4 bytes at least. A's rows are read by
 * matrices. */
static llrt_status plan_ring(packed *p, int at) {
  plan_kernel *kernel = p->x.d.kernel;
  packed_operand *operand = &p->operand[at];
  plan_value copied;
  plan_buffer buffer;
  int number;
  if (!kernel->target.async_copies || !kernel->target.matrix_load) return LLRT_OK;
  int access = bits_log2(kernel->target.access_bytes * 8 / kernel->tensor_bits[operand->tensor]);
  LLRT_TRY(packed_copied(p, at, access, false, &copied, &buffer));
  int vector =
      whole_vector(p, &copied, operand->tensor, copied_vector(p, &copied, operand->tensor));
  if (plan_access_bytes(copied.bits, vector) < 4) return LLRT_OK;
  if (at != PACKED_ROWS && vector < access && p->shape.producers > 0) {
    /* what is in more pieces than one is for as many lanes: producers' time goes by instructions */
    access = vector;
    LLRT_TRY(packed_copied(p, at, access, false, &copied, &buffer));
  }
  if (at != PACKED_ROWS && is_part_of_byte(&operand->value, loaded_vector(p, operand, &buffer)))
    return LLRT_OK;
  operand->ring = true;
  operand->copy =
      (plan_step){.kind = PLAN_COPY, .tensor = (uint8_t)operand->tensor, .vector = (uint8_t)vector};
  if (at == PACKED_ROWS) LLRT_TRY(plan_boxes(p, operand));
  bool widens = at == PACKED_ROWS && warps_cast(p);
  if (operand->copy.box || widens) LLRT_TRY(packed_copied(p, at, access, true, &copied, &buffer));
  if (p->runs && at != PACKED_ROWS)
    LLRT_TRY(packed_plan_runs(p, at, &copied, &buffer, &operand->copy));
  const int alignment = at == PACKED_ROWS ? DOT_SHARED_ALIGNMENT : p->runs ? PLAN_LINE_BYTES : 1;
  LLRT_TRY(add_buffer(p, &buffer, alignment, &number));
  LLRT_TRY(draft_value(kernel, &copied, &operand->held));
  operand->copy.in = (uint8_t)operand->held;
  operand->copy.buffer = (uint8_t)number;
  if (copied.bits < operand->value.bits && !widens)
    LLRT_TRY(plan_cast(p, operand, &copied, &number));
  operand->load = (plan_step){
      .kind = PLAN_SHARED_LOAD, .buffer = (uint8_t)number, .out = (uint8_t)operand->number};
  operand->load.vector = (uint8_t)loaded_vector(p, operand, &buffer);
  if (widens) return plan_widening(p, operand);
  if (at != PACKED_ROWS) return LLRT_OK;
  operand->load.matrix = PLAN_MATRIX_ROWS;
  operand->load.vector = (uint8_t)bits_log2(16 * 8 / operand->value.bits); /* 16 bytes */
  operand->load.lazy = true;
  return LLRT_OK;
}

/* Slots of rows, the last ring, end where boxes do, which is where blocks' rows end. */
static void shorten_slots(packed *p) {
  plan_kernel *kernel = p->x.d.kernel;
  const packed_operand *rows = &p->operand[PACKED_ROWS];
  plan_buffer *buffer = &kernel->buffer[rows->copy.buffer];
  if (!p->shape.own || !rows->copy.box || rows->n_cast > 0 || plan_cuts_boxes(kernel)) return;
  buffer->bytes =
      (plan_box_end(kernel, &rows->copy) + DOT_SHARED_ALIGNMENT - 1) & -DOT_SHARED_ALIGNMENT;
}

static llrt_status plan_operands(packed *p) {
  LLRT_TRY(packed_weights_value(p, &p->operand[PACKED_WEIGHTS].value));
  for (int i = PACKED_SCALES; i < PACKED_ROWS; i++)
    if (p->operand[i].tensor >= 0) LLRT_TRY(packed_group_value(p, i, &p->operand[i].value));
  LLRT_TRY(packed_rows_value(p, &p->operand[PACKED_ROWS].value));
  for (int i = 0; i < PACKED_OPERANDS; i++) {
    packed_operand *operand = &p->operand[i];
    operand->ring = false;
    operand->copy.box = 0;
    operand->n_cast = 0;
    operand->widen = (plan_step){0};
    if (operand->tensor < 0) continue;
    LLRT_TRY(draft_value(p->x.d.kernel, &operand->value, &operand->number));
    LLRT_TRY(plan_ring(p, i));
  }
  const packed_operand *rows = &p->operand[PACKED_ROWS];
  if ((p->shape.rounds || p->shape.deal) && !rows->copy.box)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "blocks in rounds need A copied by tensor maps, which its storage does not allow");
  bool narrow = p->x.d.kernel->tensor_bits[rows->tensor] < rows->value.bits;
  if ((p->shape.warpgroups || narrow) && !rows->ring)
    return llrt_error(LLRT_UNSUPPORTED, "no copies take rows of A to shared memory");
  for (int i = 0; i < PACKED_OPERANDS && p->shape.producers > 0; i++)
    if (p->operand[i].tensor >= 0 && !p->operand[i].ring)
      return llrt_error(LLRT_UNSUPPORTED,
                        "producer warps copy every operand, and one cannot be copied");
  if (p->runs && !rows->copy.box)
    return llrt_error(LLRT_UNSUPPORTED, "A does not lie as boxes bring it");
  shorten_slots(p);
  return LLRT_OK;
}

/* All by boxes, of one thread, where all of them lie so: what threads of producers copy is as much
 * work as the products are (docs/history/packed-weights.md). */
llrt_status packed_plan_operands(packed *p) {
  plan_kernel *kernel = p->x.d.kernel;
  const draft_mark mark = draft_mark_of(kernel);
  const int32_t n_args = kernel->launch.n_args;
  p->runs = p->shape.producers > 0 && !packed_casts_rows(p) && !kernel->experts.used;
  if (p->runs) {
    const llrt_status status = plan_operands(p);
    if (status != LLRT_UNSUPPORTED) return status;
    draft_take_back(kernel, mark);
    kernel->launch.n_args = n_args;
    kernel->launch.n_boxes = 0;
    p->runs = false;
  }
  return plan_operands(p);
}

/* Bounds of the rows, which the tile may pass by a lot. */
static uint32_t row_bounds(const packed *p) {
  const plan_kernel *kernel = p->x.d.kernel;
  uint32_t rows = 0;
  for (int i = 0; i < kernel->n_bounds; i++)
    if (kernel->digit[kernel->bound[i].top].axis == packed_axis(&p->job, PACKED_M)) rows |= 1u << i;
  return rows;
}

/* Bounds that a turn may be inside of as a whole. */
static uint32_t other_bounds(const packed *p) {
  return (uint32_t)bits_mask(p->x.d.kernel->n_bounds) & ~row_bounds(p);
}

llrt_status packed_load_steps(packed *p, const packed_operand *operand) {
  plan_kernel *kernel = p->x.d.kernel;
  bool rows = operand == &p->operand[PACKED_ROWS] && row_bounds(p);
  plan_step load = {.kind = PLAN_LOAD,
                    .tensor = (uint8_t)operand->tensor,
                    .out = (uint8_t)operand->number,
                    .predicated = true,
                    .masked = rows,
                    .ignored_bounds = ~row_bounds(p)};
  load.vector = (uint8_t)packed_access_vector(p, &operand->value, operand->tensor);
  load.masked |= is_part_of_byte(&operand->value, load.vector);
  bool edge = other_bounds(p) != 0;
  if (edge)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                            .joins = true,
                                            .body = 1,
                                            .otherwise = 1,
                                            .ignored_bounds = row_bounds(p),
                                            .out = (uint8_t)operand->number}));
  LLRT_TRY(draft_step(kernel, load));
  if (!edge) return LLRT_OK;
  load.masked = true;
  load.ignored_bounds = 0;
  load.vector = (uint8_t)whole_vector(p, &operand->value, operand->tensor, load.vector);
  return draft_step(kernel, load);
}

#define LANDING 2 /* turns that boxes begin early */

bool packed_producers_cast(const packed *p) {
  const packed_operand *rows = &p->operand[PACKED_ROWS];
  return rows->n_cast > 0 && rows->copy.box;
}

llrt_status packed_copy_steps(packed *p, plan_step behind) {
  plan_kernel *kernel = p->x.d.kernel;
  const packed_operand *rows = &p->operand[PACKED_ROWS];
  int n = 0, boxes = 0;
  for (int i = 0; i < PACKED_OPERANDS; i++) {
    boxes += p->operand[i].copy.box > 0;
    n += p->operand[i].ring && p->operand[i].copy.box == 0;
  }
  if (n + boxes == 0) return LLRT_OK;
  /* what masks take is there before the walk; producers' turns are too short for a branch */
  const bool all = p->shape.producers > 0 && other_bounds(p) != 0,
             edge = !all && other_bounds(p) != 0;
  behind.body =
      (uint8_t)(boxes + (edge ? 2 * n + 1 : n) + (packed_producers_cast(p) ? rows->n_cast + 1 : 0));
  LLRT_TRY(draft_step(kernel, behind));
  for (int i = 0; i < PACKED_OPERANDS; i++) {
    plan_step copy = p->operand[i].copy;
    copy.masked = true;
    if (copy.box) LLRT_TRY(draft_step(kernel, copy));
  }
  if (edge)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                            .body = (uint8_t)n,
                                            .otherwise = (uint8_t)n,
                                            .ignored_bounds = row_bounds(p)}));
  for (int masked = 0; masked <= edge; masked++)
    for (int i = 0; i < PACKED_OPERANDS; i++) {
      plan_step copy = p->operand[i].copy;
      copy.masked = masked || all || (i == PACKED_ROWS && row_bounds(p));
      copy.ignored_bounds = masked || all ? 0 : ~row_bounds(p);
      if (p->operand[i].ring && copy.box == 0) LLRT_TRY(draft_step(kernel, copy));
    }
  if (!packed_producers_cast(p)) return LLRT_OK;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_LANDED, .turns = LANDING}));
  for (int i = 0; i < rows->n_cast; i++) LLRT_TRY(draft_step(kernel, rows->cast[i]));
  return LLRT_OK;
}
