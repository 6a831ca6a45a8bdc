/* See rows_sizes.h. */
#include "jit/plan/rows/rows_sizes.h"

#include "base/bits.h"

/* Bits of an access of resident rows at least; how many of the elements that are worked on, one in
 * so many of the others, may lie beyond a row's end. */
#define LEAST_ACCESS_BITS 64
#define MOST_WASTE_DIVISOR 10
/* Of a thread, if accesses are to be wide in rows of fewer warps. */
#define MOST_ELEMENTS 48
/* Rows that are not aligned: bits of a word, and log2 elements of such a row at least, beyond those
 * of a warp's lanes. */
#define WORD_BITS 32
#define LEAST_RUN_BITS 3
/* Of what a block of several keeps of a row one in so many more are read again. */
#define KEPT_SHARE 4
/* Tensors of a row that a block with as many threads as there may be walks. */
#define LIGHT_INPUTS 3

/* Instructions that an element of a node takes, about. */
static int weight_of(int op) {
  switch (op) {
  case EXPR_LOG:
  case EXPR_LOG2:
  case EXPR_SIN:
  case EXPR_COS:
  case EXPR_TANH:
  case EXPR_ERF:
  case EXPR_GELU: return 40;
  case EXPR_EXP:
  case EXPR_EXP2:
  case EXPR_SIGMOID:
  case EXPR_SILU: return 25;
  case EXPR_DIVIDE: return 10;
  default: return 1;
  }
}

int rows_fewer_elements(const rows *r) {
  const expr_program *program = r->program;
  int weight = 0;
  for (int i = 0; i < program->n_nodes; i++)
    if (program->node[i].axes & program->reduced) weight += weight_of(program->node[i].op);
  return weight > 80 ? 2 : 0;
}

int rows_row_warps(const rows_tiler *w, int bits) {
  const plan_target *target = &w->d->kernel->target;
  int fewer = rows_fewer_elements(w->r);
  int whole = bits_log2(PLAN_MOST_THREADS) - target->lane_bits;
  int most = bits_min(target->warp_bits + fewer, whole);
  if (w->r->clusters) most = whole + target->cluster_bits;
  return bits_max(0, bits_min(bits - (target->tuning->rows_row_bits - fewer), most));
}

int64_t rows_known_row(const rows_tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  int axis, digits = 0;
  if (bits_count(w->r->program->reduced) != 1) return 0;
  axis = bits_lowest(w->r->program->reduced);
  for (int i = 0; i < kernel->n_digits; i++) digits += kernel->digit[i].axis == axis;
  if (digits != 1) return 0;
  return w->d->shape[axis].known < 0 ? 0 : w->d->shape[axis].known;
}

/* Whether few of the elements that are worked on lie beyond the end of a row, in registers that are
 * the same in all of so many threads; *elements: of a thread. */
static bool wastes_little(int64_t row, int vector, int thread_bits, int64_t *elements) {
  int64_t at_once = 1ll << (vector + thread_bits);
  int64_t worked_on = (row + at_once - 1) / at_once * at_once;
  *elements = worked_on >> thread_bits;
  return worked_on * MOST_WASTE_DIVISOR <= row * (MOST_WASTE_DIVISOR + 1);
}

void rows_choose_resident(rows_tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  int lanes = kernel->target.lane_bits, bits = bits_count(w->reduced);
  int64_t row = rows_known_row(w), elements;
  int least = bits_log2(bits_max(LEAST_ACCESS_BITS / kernel->tensor_bits[w->anchor], 1));
  int warps = rows_row_warps(w, bits - lanes);
  if (row == 0 || bits < lanes + w->vector) return;
  for (; w->vector > least; w->vector--) {
    if (wastes_little(row, w->vector, lanes + warps, &elements)) return;
    w->fewer = warps > 0 && wastes_little(row, w->vector, lanes + warps - 1, &elements) &&
               elements <= MOST_ELEMENTS;
    if (w->fewer) return;
  }
}

/* log2 elements, at most `most`, by which rows lie apart, wherever the first one begins. */
static int row_alignment(const rows_tiler *w, int most) {
  const plan_kernel *kernel = w->d->kernel;
  int align = most;
  for (int i = 0; i < kernel->n_digits; i++)
    if (kernel->digit[i].axis >= 0 && kernel->digit[i].side[w->anchor].kind == PLAN_STRIDE)
      align = bits_min(align, w->d->side[i][w->anchor].align);
  return align;
}

bool rows_are_odd(const rows_tiler *w, int vector) { return row_alignment(w, vector) < vector; }

/* Whether all tensors of which rows have parts are of 16 or 32 bits. */
static bool have_words(const rows_tiler *w) {
  const expr_program *program = w->r->program;
  bool have = true;
  for (int t = 0; t < program->n_tensors; t++) {
    int bits = w->d->kernel->tensor_bits[t];
    if (program->tensor[t].axes & program->reduced) have &= bits == 16 || bits == 32;
  }
  return have;
}

int rows_odd_vector(const rows_tiler *w, int widest) {
  int bits = w->d->kernel->tensor_bits[w->anchor];
  const plan_target *target = &w->d->kernel->target;
  bool long_rows = bits_count(w->reduced) >= target->lane_bits + LEAST_RUN_BITS;
  if (bits > WORD_BITS || target->access_align_bytes <= 1 || !long_rows ||
      !rows_are_odd(w, widest) || !have_words(w))
    return widest;
  return bits_max(row_alignment(w, widest), bits_log2(WORD_BITS / bits));
}

static int count_inputs(const rows *r) {
  int n = 0;
  for (int t = 0; t < r->program->n_tensors; t++) n += !r->program->tensor[t].output;
  return n;
}

/* log2 blocks that share a row whose value has no room in one of so many blocks of a
 * multiprocessor: of one that is made of several tensors each turn that does not stay would read
 * all of these again. 0: it has room, or blocks cannot share it. */
static int blocks_of_row(const rows_tiler *w, int64_t bytes, int blocks) {
  const plan_target *target = &w->d->kernel->target;
  int64_t room = rows_room(w->r, blocks);
  int shared = 0;
  if (!rows_has_cut(w->r) || target->tuning->rows_cluster_warp_bits == 0 || !rows_may_cluster(w->r))
    return 0;
  while (bytes >> shared > room && shared < target->cluster_bits) shared++;
  return bytes >> shared > room ? 0 : shared;
}

/* A row that one walk reads: nothing stays, and blocks have as few registers as those that share
 * their memory. */
static void choose_single_walk(rows_tiler *w, int *bits, int *warps) {
  const plan_tuning *tuning = w->d->kernel->target.tuning;
  int lanes = w->d->kernel->target.lane_bits;
  *bits = tuning->rows_walk_bits - 1;
  while (*warps > 0 && rows_known_row(w) <= 1ll << (lanes + *bits + *warps)) --*warps;
  w->r->walk_warps = tuning->rows_walk_blocks << tuning->rows_walk_warp_bits;
}

void rows_choose_walk(rows_tiler *w, int *bits, int *warps) {
  const plan_tuning *tuning = w->d->kernel->target.tuning;
  int tensors, shared = rows_shared_bits(w->r, &tensors), blocks = tuning->rows_walk_blocks;
  int64_t bytes = rows_known_row(w) * shared / 8;
  bool odd = rows_are_odd(w, w->vector);
  *bits = tuning->rows_walk_bits - odd;
  *warps = tuning->rows_walk_warp_bits;
  w->r->walk_blocks = w->r->walk_warps = w->cluster = 0;
  if (!w->r->may_keep || blocks == 0 || rows_known_row(w) == 0) return;
  if (shared == 0) {
    choose_single_walk(w, bits, warps);
    return;
  }
  int64_t room = rows_room(w->r, blocks);
  w->cluster = tensors == 1 ? blocks_of_row(w, bytes, blocks) : 0;
  bool most = w->cluster > 0 || (tensors == 1 && bytes <= room + room / KEPT_SHARE);
  bool light = odd || (tensors == 1 && count_inputs(w->r) <= LIGHT_INPUTS);
  w->r->walk_blocks = most ? blocks : 1;
  if (most || light) *bits = tuning->rows_walk_bits - 1;
  if (!most) *warps += light;
  *warps += w->cluster;
}
