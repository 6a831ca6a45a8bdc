/* Rows of operands that begin inside lines of memory: what they cost where they are multiplied as
 * they lie, and what copies in front cost, as rows of whole lines (docs/history/odd-pitches.md).
 * See dot_planner.h. */
#include "jit/plan/dot/dot_planner.h"
#include "jit/plan/dot/tile_pace.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/access.h"
#include "layout/storage_rule.h"

/* Of a sector, in which memory is fetched. Rows of 8-bit elements at a pitch of 2880 bytes begin
 * inside lines, half of them, and take as long as those of whole lines (e4m3, 1024 x 2880 x 2880
 * beside x 4096, on an H200: 18.0 and 22.8 us for 23 and 32 turns). */
#define LINE_BITS 256

/* How many times as long as whole lines pieces of 16, 8 and 4 bytes take that threads copy. */
#define PIECES16 1.2
#define PIECES8 2.4
#define PIECES4 3.6
/* Narrow pieces take a multiprocessor's own time: all together ask for this of whole lines. */
#define NARROW_TOGETHER 2.1
/* Clocks in which a tile's first copies by threads arrive, while nothing of the block is
 * multiplied.
 */
#define FIRST_COPIES 2270
/* Of an operand's copy: clocks of a launch; bytes of a clock that the device reads, and as many
 * that it writes. What is copied is in the second-level cache, so that of its memory's time this
 * part is left. */
#define COPY_START 3000
#define COPY_BYTES 750.0
#define COPIED_MEMORY 0.3

bool dot_can_copy(const dot_planner *p, int operand) {
  bool other =
      p->job.tensor[operand ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A] >= 0 || p->job.words[operand];
  return !other && (p->job.tensor[operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A] < 0 ||
                    p->job.scaled_sums[operand]);
}

llrt_status dot_begin_copies(dot_planner *p) {
  for (int i = 0; i < 2; i++) {
    p->copy_type[i] = dot_multiplied_type(&p->job, p->target, i);
    LLRT_TRY(storage_whole_rows(p->rank, dot_piece_bits(p->copy_type[i]), &p->copy[i]));
  }
  return LLRT_OK;
}

/* The copy of a tensor; NULL: there is none. */
static const plan_step *copy_of(const plan_kernel *kernel, int tensor) {
  for (int i = 0; i < kernel->n_steps; i++)
    if (kernel->step[i].kind == PLAN_COPY && kernel->step[i].tensor == tensor)
      return &kernel->step[i];
  return NULL;
}

/* Whether every row begins a line, by what is promised of the extent and of strides. */
static bool has_whole_lines(const dot_planner *p, int tensor, const int8_t axis[2], int64_t line) {
  const int64_t extent = p->desc->promises[0].shape[axis[0]].multiple,
                stride = p->desc->promises[tensor].stride[axis[1]].multiple;
  return (extent > 0 && extent % line == 0) || (stride > 0 && stride % line == 0);
}

static double pieces_take(int bytes) {
  return bytes >= 16 ? PIECES16 : bytes >= 8 ? PIECES8 : PIECES4;
}

static void pace_copied(const dot_planner *p, int i, plan_pace *pace) {
  const int from = llrt_dtype_bits(p->desc->tensors[2 * i].dtype),
            bits = bits_max(from, llrt_dtype_bits(p->copy_type[i]));
  pace->start += COPY_START;
  pace->copied[i] = (int64_t)((double)PACE_FINE * bits / 8 / COPY_BYTES);
  pace->memory[i] = (int64_t)((double)pace->memory[i] * COPIED_MEMORY);
}

/* Of B first. Rows of A that are not there are copied as zeros, piece by piece, and so are those
 * that a tile's positions lack of a power of two. */
static void pace_pieces(int i, int bytes, const tile_facts *tile, plan_pace *pace) {
  const int positions = tile->positions[i], whole = 1 << bits_highest(2 * (uint64_t)positions - 1);
  const double rows = (double)pace->fetch_row * (double)pace->rows / PACE_PART,
               own = (i ? (double)pace->fetch : rows) * pieces_take(bytes) * whole / positions;
  const int64_t before = pace->fetch;
  pace->fetch = (int64_t)(i ? own : (double)pace->fetch + own);
  pace->own = pace->own * before / (pace->fetch + 1); /* memory brings no more than before */
  if (pieces_take(bytes) > NARROW_TOGETHER)
    pace->once[1] = (int64_t)(PACE_PART * NARROW_TOGETHER / pieces_take(bytes));
  if (i == 0) pace->fetch_row = 0;
}

static int64_t line_of(const dot_planner *p, int i) {
  return LINE_BITS / llrt_dtype_bits(p->desc->tensors[2 * i].dtype);
}

/* Whether boxes bring rows of an operand that may begin inside lines. */
static bool boxes_tear(const dot_planner *p, const plan_kernel *kernel, int i) {
  const plan_step *copy = copy_of(kernel, 2 * i);
  if (!copy || !copy->box || copy->lines || p->grouped || (p->copied >> i & 1) || dot_is_rows(p, i))
    return false;
  return !has_whole_lines(p, 2 * i, kernel->box_axis[copy->box - 1], line_of(p, i));
}

int dot_torn_operands(const dot_planner *p, const plan_kernel *kernel) {
  int torn = 0;
  for (int i = 0; i < 2; i++) {
    const plan_step *copy = copy_of(kernel, 2 * i);
    const bool narrow =
        copy && !copy->box && plan_access_bytes(kernel->value[copy->in].bits, copy->vector) < 16;
    if (narrow || boxes_tear(p, kernel, i)) torn |= 1 << i;
  }
  return torn;
}

void dot_pace_pitches(const dot_planner *p, plan_kernel *kernel) {
  plan_pace *pace = &kernel->launch.pace;
  if (p->grouped) return; /* whose model knows what gathers and copies take */
  tile_pace_torn(pace);
  if (kernel->launch.n_boxes == 0) pace->tile += FIRST_COPIES;
  for (int i = 1; i >= 0; i--) {
    const plan_step *copy = copy_of(kernel, 2 * i);
    if (p->copied >> i & 1) pace_copied(p, i, pace);
    if ((p->copied >> i & 1) || dot_is_rows(p, i) || !copy) continue;
    if (!copy->box && !copy->lines) {
      const plan_value *value = &kernel->value[copy->in];
      pace_pieces(i, plan_access_bytes(value->bits, copy->vector), &kernel->tile, pace);
      continue;
    }
    if (!boxes_tear(p, kernel, i)) continue;
    pace->pitch[i] = 1 + kernel->box_axis[copy->box - 1][0] - (p->rank - 3);
    pace->line[i] = line_of(p, i);
    if (i == 0 && !kernel->launch.box[copy->box - 1].rest) tile_pace_absent(pace);
  }
  if (kernel->tile.torn) tile_pace_torn_beside(&kernel->tile, pace);
}
