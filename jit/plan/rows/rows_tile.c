/* The work tile of an expression. Every bit of it is a bit of one digit, and one register, lane or
 * warp, so that a value which varies along fewer axes is the same layout without their bits.
 *
 * The lowest registers are an access's vector of the tensor that is largest and widest, lanes are
 * what follows there in memory, then registers and warps take the rest of a row. How a row lies
 * follows from its own axes' digits and types, never from how many rows there are. */
#include "jit/plan/rows/rows_sizes.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/value.h"

#include <string.h>

/* log2 elements of a thread at most. */
#define MOST_BITS 6
/* Rows that are not aligned: log2 words of a thread that lie in rows one after the other, between
 * which nothing is stored by halves. */
#define RUN_BITS 2
/* log2 positions, at most, of an axis of which a thread has all. */
#define MOST_FLIPPED_BITS 1
/* log2 warps, at most, beside each other in slots that fill a sector. */
#define MOST_SLOT_WARP_BITS 4
/* log2 registers of the host, and of rows that lie in them. */
#define HOST_BITS 1
#define HOST_MOST_BITS 4
/* The same where something is scanned along them, for which rows are not walked. */
#define HOST_SCAN_BITS 7

/* ---- the order ---- */

static int find_anchor(const rows *r) {
  const expr_program *program = r->program;
  int best = 0;
  for (int t = 1; t < program->n_tensors; t++) {
    int more = bits_count(program->tensor[t].axes) - bits_count(program->tensor[best].axes);
    int wider = r->d.kernel->tensor_bits[t] - r->d.kernel->tensor_bits[best];
    if (more > 0 || (more == 0 && wider > 0)) best = t;
  }
  return best;
}

/* Where a bit moves the anchor's address; what does not move it comes last. */
static int memory_order(const rows_tiler *w, int bit) {
  const draft *d = w->d;
  int i = draft_digit_of(d, bit);
  const plan_digit_side *side = &d->kernel->digit[i].side[w->anchor];
  if (side->kind == PLAN_COLUMNS && d->column[w->anchor][bit])
    return bits_lowest(d->column[w->anchor][bit]);
  if (side->kind == PLAN_COLUMNS) return 64 * (LLRT_MAX_DIGITS + 2) + bit;
  return 64 * (1 + bits_max(d->side[i][w->anchor].order, 0)) + bit - d->first[i];
}

static void sort_bits(rows_tiler *w) {
  for (int z = 0; z < w->d->n_bits; z++) {
    int at = w->n_sorted++;
    for (; at > 0 && memory_order(w, w->sorted[at - 1]) > memory_order(w, z); at--)
      w->sorted[at] = w->sorted[at - 1];
    w->sorted[at] = z;
  }
}

static uint64_t bits_of_axes(const draft *d, uint32_t axes) {
  uint64_t bits = 0;
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (d->kernel->digit[i].axis >= 0 && axes >> d->kernel->digit[i].axis & 1)
      bits |= bits_mask(d->bits[i]) << d->first[i];
  return bits;
}

/* ---- placing ---- */

/* Of a digit with an upper part the tile has its lowest bits. */
static bool may_follow(const rows_tiler *w, int bit) {
  int i = draft_digit_of(w->d, bit);
  uint64_t below = bits_mask(bit) & ~bits_mask(w->d->first[i]);
  return !w->d->kernel->digit[i].rest || (below & ~w->used) == 0;
}

static void place(rows_tiler *w, plan_dim dim, int bit) {
  w->at[dim][w->n[dim]++] = bit;
  w->used |= 1ull << bit;
}

/* Bits of `allowed` in the anchor's order until the dim has `wanted`. */
static void fill(rows_tiler *w, plan_dim dim, int wanted, uint64_t allowed) {
  bool more = true;
  while (more && w->n[dim] < wanted) {
    more = false;
    for (int i = 0; i < w->n_sorted && !more; i++) {
      int bit = w->sorted[i];
      if (w->used >> bit & 1 || !(allowed >> bit & 1) || !may_follow(w, bit)) continue;
      place(w, dim, bit);
      more = true;
    }
  }
}

/* The bit that moves tensor t's address by so many elements, if none has it yet; -1: there is none.
 */
static int bit_of_step(const rows_tiler *w, int t, uint64_t step) {
  for (int z = 0; z < w->d->n_bits; z++)
    if (w->d->column[t][z] == step && may_follow(w, z) && !(w->used >> z & 1) &&
        w->d->kernel->digit[draft_digit_of(w->d, z)].side[t].kind == PLAN_COLUMNS)
      return z;
  return -1;
}

/* The bits that move the anchor's address by 1, 2, 4, … */
static void place_vector(rows_tiler *w, plan_dim dim, int wanted) {
  for (int j = 0; j < wanted; j++) {
    int found = bit_of_step(w, w->anchor, 1ull << j);
    if (found < 0) return;
    place(w, dim, found);
  }
}

/* A thread has all positions of a short axis along which something is taken backwards: that then is
 * the same registers in another order (rows_flip.c). */
static void place_flipped(rows_tiler *w) {
  const expr_program *program = w->r->program;
  uint16_t flipped = 0;
  for (int t = 0; t < program->n_tensors; t++) flipped |= program->tensor[t].flipped;
  for (int a = 0; a < EXPR_MAX_AXES; a++) {
    uint64_t own = flipped >> a & 1 ? bits_of_axes(w->d, 1u << (program->leading + a)) : 0;
    if (bits_count(own) > MOST_FLIPPED_BITS) continue;
    for (int z = 0; z < w->d->n_bits; z++)
      if (own >> z & 1 && !(w->used >> z & 1) && may_follow(w, z)) place(w, PLAN_REGISTER, z);
  }
}

/* A thread has both elements of a byte of every tensor. */
static void place_nibbles(rows_tiler *w) {
  for (int t = 0; t < w->d->kernel->n_tensors; t++) {
    int found = w->d->kernel->tensor_bits[t] < 8 ? bit_of_step(w, t, 1) : -1;
    if (found >= 0) place(w, PLAN_REGISTER, found);
  }
}

/* A thread has whole words of outputs of which bits are permuted, on the host neighbouring lanes
 * what a lane's register does not hold. What is below in a digit with an upper part comes along. */
static void place_words(rows_tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  for (int t = 0; t < kernel->n_tensors; t++) {
    int word = w->r->program->tensor[t].words ? rows_word_bits(kernel, t) : 0;
    for (int j = 0; j < word; j++)
      for (int z = 0; z < w->d->n_bits; z++) {
        int first = w->d->first[draft_digit_of(w->d, z)];
        if (w->d->column[t][z] != 1ull << j || w->used >> z & 1) continue;
        bool lane = kernel->target.simd_lanes && kernel->tensor_bits[t] << j >= 8;
        place(w, lane ? PLAN_LANE : PLAN_REGISTER, z);
        for (int below = first; below < z && !may_follow(w, z); below++)
          if (!(w->used >> below & 1)) place(w, PLAN_LANE, below);
      }
  }
}

/* The bit that moves the coordinate along an axis by so much, if none has it yet; -1: there is
 * none.
 */
static int bit_of_position(const rows_tiler *w, int axis, int64_t step) {
  for (int z = 0; z < w->d->n_bits; z++) {
    const plan_digit *digit = &w->d->kernel->digit[draft_digit_of(w->d, z)];
    int at = z - w->d->first[draft_digit_of(w->d, z)];
    if (digit->axis == axis && digit->step << at == step && !(w->used >> z & 1) && may_follow(w, z))
      return z;
  }
  return -1;
}

/* Positions whose slots fill sectors of outputs' memory, until the dim has `most` bits. */
static void place_slots(rows_tiler *w, plan_dim dim, int most) {
  for (int t = 0; t < w->d->kernel->n_tensors; t++) {
    int axis = 0, n = rows_slots(w->r, t, &axis);
    for (int j = 0; j < n && w->n[dim] < most; j++) {
      int found = bit_of_position(w, axis, 1ll << j);
      if (found >= 0) place(w, dim, found);
    }
  }
}

static bool has_slots(const rows *r) {
  bool has = false;
  int axis;
  for (int t = 0; t < r->program->n_tensors; t++) has |= rows_slots(r, t, &axis) > 0;
  return has;
}

/* Lanes take what follows in memory. Where a row lies in pieces of whole lines beside those of
 * other rows, they take more of its pieces before others' elements: a block then has one row, and a
 * multiprocessor room for several. */
static void fill_lanes(rows_tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  uint64_t all = bits_mask(w->d->n_bits);
  int line = bits_log2(PLAN_LINE_BYTES * 8 / kernel->tensor_bits[w->anchor]) - w->vector;
  bool begins = w->n_sorted > 0 && w->reduced >> w->sorted[0] & 1;
  bool slots = has_slots(w->r);
  if (w->r->resident && (begins || slots)) {
    fill(w, PLAN_LANE, bits_min(bits_max(line, 0), kernel->lane_bits), all);
    fill(w, PLAN_LANE, kernel->lane_bits, w->reduced);
  }
  if (slots) place_slots(w, PLAN_LANE, kernel->lane_bits);
  fill(w, PLAN_LANE, kernel->lane_bits, all);
}

/* Whether all that is joined are maxima and minima. */
static bool joins_extremes(const rows *r) {
  bool extremes = true;
  for (int i = 0; i < r->program->n_nodes; i++) {
    const program_node *node = &r->program->node[i];
    extremes &= !node->reduced || node->op == EXPR_MAX || node->op == EXPR_MIN;
  }
  return extremes;
}

/* Tensors that are loaded first and have a row's axes: a label of each row has not. */
static int count_rows(const rows *r) {
  int node[PROGRAM_MAX_NODES], n = rows_loaded_first(r, node), count = 0;
  for (int i = 0; i < n; i++) count += (r->program->node[node[i]].axes & r->program->reduced) != 0;
  return count;
}

/* log2 elements of a thread at most of rows that lie in registers. A row of so many warps and
 * elements would have a multiprocessor for itself, whose memory waits while it is worked on: one
 * tensor's is walked rather, where shared memory keeps it. Extremes are joined as the elements were
 * loaded, in fewer registers. */
static int most_bits(const rows_tiler *w) {
  const plan_tuning *tuning = w->d->kernel->target.tuning;
  bool walks = tuning->rows_walk_blocks > 0 &&
               (count_rows(w->r) == 1 || (rows_has_cut(w->r) && rows_depth(w->r) > 1)) &&
               !joins_extremes(w->r) && !rows_have_scans(w->r->program);
  return walks && !w->fewer ? bits_min(tuning->rows_row_bits, MOST_BITS) : MOST_BITS;
}

/* A row that fewer lanes than a warp's hold: lanes take its first half, and each thread what
 * corresponds to its own in the second half. What is made of a row by every
 * thread of it then is made for twice as many elements, and fewer lanes are joined. Of quarters an
 * access would touch four times as many lines of memory. */
static void place_short_row(rows_tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  int left = bits_count(w->reduced & ~w->used);
  int most = kernel->target.tuning->rows_thread_bits - rows_fewer_elements(w->r);
  bool begins = w->n_sorted > 0 && w->reduced >> w->sorted[0] & 1;
  bool is_short = w->r->resident && begins && 0 < left && left <= kernel->lane_bits;
  if (!is_short || w->n[PLAN_REGISTER] >= most || has_slots(w->r)) return;
  fill(w, PLAN_LANE, w->n[PLAN_LANE] + left - 1, w->reduced);
  fill(w, PLAN_REGISTER, w->n[PLAN_REGISTER] + 1, w->reduced);
}

static void gpu_roles(rows_tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  const plan_tuning *tuning = kernel->target.tuning;
  uint64_t all = bits_mask(w->d->n_bits), kept = all & ~w->reduced;
  place_vector(w, PLAN_REGISTER, w->vector);
  if (w->r->resident) place_flipped(w);
  place_nibbles(w);
  place_words(w);
  place_short_row(w);
  fill_lanes(w);
  if (w->r->resident) {
    if (w->odd) fill(w, PLAN_REGISTER, w->vector + RUN_BITS, w->reduced);
    int bits = bits_count(w->reduced & ~w->used) + w->n[PLAN_REGISTER];
    fill(w, PLAN_WARP, rows_row_warps(w, bits) - w->fewer, w->reduced);
    fill(w, PLAN_REGISTER, most_bits(w), w->reduced);
    if (w->n[PLAN_WARP] == 0) place_slots(w, PLAN_WARP, MOST_SLOT_WARP_BITS);
  } else {
    int bits, warps;
    rows_choose_walk(w, &bits, &warps);
    fill(w, PLAN_REGISTER, bits, w->reduced);
    fill(w, PLAN_WARP, warps - w->fewer, w->reduced);
  }
  if (w->reduced) {
    /* What is the same for several rows of a thread is loaded once for them. */
    bool shares = w->r->resident && rows_count_weights(w->r) > 0 && !w->r->few;
    fill(w, PLAN_WARP, tuning->rows_warp_bits, kept);
    fill(w, PLAN_REGISTER, tuning->rows_thread_bits + shares - rows_fewer_elements(w->r), kept);
    return;
  }
  /* Of one tensor a thread takes twice as many elements, whose accesses are as much under way as
   * those of two tensors, and pay for the thread; the tile is the same. */
  int lone = rows_loaded_first(w->r, NULL) == 1;
  fill(w, PLAN_WARP, tuning->rows_flat_warp_bits - lone - w->r->few, kept);
  fill(w, PLAN_REGISTER, tuning->rows_flat_bits + lone, kept);
}

bool rows_have_scans(const expr_program *program) {
  bool has = false;
  for (int i = 0; i < program->n_nodes; i++) has |= program_scans(program->node[i].op);
  return has;
}

static void host_roles(rows_tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  uint64_t all = bits_mask(w->d->n_bits), kept = all & ~w->reduced;
  place_nibbles(w);
  place_words(w);
  fill(w, PLAN_LANE, kernel->lane_bits, all);
  int most = rows_have_scans(w->r->program) ? HOST_SCAN_BITS : HOST_MOST_BITS;
  fill(w, PLAN_REGISTER, w->r->resident ? most : HOST_BITS, w->reduced);
  fill(w, PLAN_REGISTER, HOST_BITS, kept);
}

/* ---- the tile ---- */

/* Appends the placed bits of `which`: warps, lanes, registers, each by position along its axis. */
static void append(rows_tiler *w, uint64_t which, int place_of[LLRT_MAX_BITS]) {
  draft *d = w->d;
  for (int dim = PLAN_WARP; dim >= PLAN_REGISTER; dim--)
    for (int z = 0; z < d->n_bits; z++)
      for (int i = 0; i < w->n[dim]; i++) {
        if (w->at[dim][i] != z || !(which >> z & 1)) continue;
        place_of[z] = d->tile_bits;
        d->order[0][d->tile_bits++] = 1ull << z;
      }
}

/* Tile bit `at` of an axis, which draft bit z is, among the axis's others by its positions. */
static void put_along(rows_tiler *w, int axis, int z, int at, int64_t weight[LLRT_MAX_BITS]) {
  plan_order *along = &w->r->along[axis];
  int i = draft_digit_of(w->d, z), to = along->n++;
  weight[at] = w->d->kernel->digit[i].step << (z - w->d->first[i]);
  for (; to > 0 && weight[along->bit[to - 1]] > weight[at]; to--)
    along->bit[to] = along->bit[to - 1];
  along->bit[to] = (uint8_t)at;
}

static void fill_tile(rows_tiler *w) {
  rows *r = w->r;
  draft *d = w->d;
  int place_of[LLRT_MAX_BITS];
  int64_t weight[LLRT_MAX_BITS];
  uint64_t inner = 0;
  d->tile_bits = 0;
  append(w, ~w->reduced, place_of);
  for (int g = r->n_groups - 1; g >= 0; g--) {
    uint64_t own = bits_of_axes(d, r->group[g]);
    inner = g > 0 ? bits_of_axes(d, r->group[g - 1]) : 0;
    append(w, own & ~inner, place_of);
  }
  for (int dim = 0; dim < 3; dim++) {
    r->held[dim] = (vector_list){.n = w->n[dim]};
    for (int i = 0; i < w->n[dim]; i++) r->held[dim].at[i] = 1ull << place_of[w->at[dim][i]];
  }
  while (r->held[PLAN_LANE].n < d->kernel->lane_bits)
    r->held[PLAN_LANE].at[r->held[PLAN_LANE].n++] = 0;
  for (int z = 0; z < d->n_bits; z++) {
    int axis = d->kernel->digit[draft_digit_of(d, z)].axis;
    if (!(w->used >> z & 1) || axis < 0) continue;
    r->of_axis[axis] |= 1ull << place_of[z];
    put_along(w, axis, z, place_of[z], weight);
  }
}

static int count_in(const rows_tiler *w, plan_dim dim, uint64_t bits);

/* Elements of a thread that lie before the end of a row of known length: those behind lie behind it
 * in all threads alike, in registers that take no work. */
static int used_elements(const rows_tiler *w) {
  int own = count_in(w, PLAN_REGISTER, w->reduced), others = w->n[PLAN_REGISTER] - own;
  int apart = bits_max(own - w->vector, 0);
  int64_t all = 1ll << bits_count(w->reduced), at_once = all >> apart, row = rows_known_row(w);
  int64_t pieces = row > 0 ? (row + at_once - 1) / at_once : 1ll << apart;
  return (int)(pieces << (own - apart + others));
}

static int count_in(const rows_tiler *w, plan_dim dim, uint64_t bits) {
  int n = 0;
  for (int i = 0; i < w->n[dim]; i++) n += (int)(bits >> w->at[dim][i] & 1);
  return n;
}

/* Whether what a thread reads of all warps, where one is joined with the others, is a value: each
 * warp's is in registers what is kept there, and lanes that hold copies share the warps
 * (jit/plan/block/reduce_block.c). */
static bool joins_fit(const rows_tiler *w) {
  const rows *r = w->r;
  uint64_t all = bits_mask(w->d->n_bits), smaller = 0;
  for (int g = 0; g < r->n_groups; g++) {
    uint64_t own = bits_of_axes(w->d, r->group[g]);
    int copies = w->d->kernel->lane_bits - count_in(w, PLAN_LANE, all & ~own);
    int warps = bits_max(count_in(w, PLAN_WARP, own & ~smaller) - copies, 0);
    if (count_in(w, PLAN_REGISTER, all & ~own) + warps > PLAN_VALUE_BITS) return false;
    smaller = own;
  }
  return true;
}

/* How far along its axis draft bit z is. */
static int64_t weight_along(const rows_tiler *w, int z) {
  int digit = draft_digit_of(w->d, z);
  return w->d->kernel->digit[digit].step << (z - w->d->first[digit]);
}

/* The same of what a scan's warps read of each other (jit/plan/block/scan.c): their totals, of
 * which a thread has one for each register but those below the first warp along the axis. */
static bool scan_fits(const rows_tiler *w, int axis) {
  uint64_t own = bits_of_axes(w->d, 1u << axis);
  int64_t first_warp = INT64_MAX;
  int totals = w->n[PLAN_REGISTER];
  for (int i = 0; i < w->n[PLAN_WARP]; i++) {
    int64_t weight = weight_along(w, w->at[PLAN_WARP][i]);
    if (own >> w->at[PLAN_WARP][i] & 1 && weight < first_warp) first_warp = weight;
  }
  for (int i = 0; i < w->n[PLAN_REGISTER]; i++)
    totals -=
        own >> w->at[PLAN_REGISTER][i] & 1 && weight_along(w, w->at[PLAN_REGISTER][i]) < first_warp;
  return totals + count_in(w, PLAN_WARP, own) <= PLAN_VALUE_BITS;
}

static bool scans_fit(const rows_tiler *w) {
  const expr_program *program = w->r->program;
  bool fit = true;
  for (int i = 0; i < program->n_nodes; i++)
    if (program_scans(program->node[i].op))
      fit &= scan_fits(w, bits_lowest(program->node[i].reduced));
  return fit;
}

/* Accesses as wide, and then as many warps to a row, as its joins have room for. */
static void fitting_gpu_roles(rows_tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  int widest = bits_log2(kernel->target.access_bytes * 8 / kernel->tensor_bits[w->anchor]);
  w->vector = bits_min(widest, 3);
  w->odd = rows_odd_vector(w, w->vector) < w->vector;
  if (w->odd) w->vector = rows_odd_vector(w, w->vector);
  else if (w->r->resident) rows_choose_resident(w);
  gpu_roles(w);
  while (!(joins_fit(w) && scans_fit(w)) &&
         (w->vector > 0 || count_in(w, PLAN_WARP, w->reduced) > 0)) {
    if (w->vector > 0) w->vector--;
    else w->fewer++;
    w->used = 0;
    memset(w->n, 0, sizeof w->n);
    gpu_roles(w);
  }
}

/* Whether blocks of a cluster take less time than one that walks: several tensors' rows, none of
 * them aligned, do not stay in shared memory beside each other, and are loaded by narrow accesses.
 */
static bool clusters_are_worth(const rows_tiler *w) {
  return count_rows(w->r) > 1 && rows_are_odd(w, w->vector) && !rows_has_cut(w->r);
}

/* log2 blocks of a cluster that share the warps of a tile. */
static int cluster_bits(const rows_tiler *w) {
  const plan_target *target = &w->d->kernel->target;
  int beyond = w->n[PLAN_WARP] - target->tuning->rows_cluster_warp_bits;
  return bits_max(bits_min(beyond, target->cluster_bits), 0);
}

llrt_status rows_tile(rows *r, bool *fits) {
  draft *d = &r->d;
  rows_tiler w = {.r = r, .d = d, .anchor = find_anchor(r)};
  w.reduced = bits_of_axes(d, r->program->reduced);
  *fits = true;
  for (int i = 0; i < d->kernel->n_digits; i++) {
    if (d->kernel->digit[i].axis < 0)
      return llrt_error(
          LLRT_UNSUPPORTED,
          "an output's storage has copies of elements, which expressions do not write");
    if (r->resident && draft_is_reduced(d, d->kernel->digit[i].axis) && d->kernel->digit[i].rest)
      *fits = false;
  }
  if (!*fits) return LLRT_OK;
  sort_bits(&w);
  if (d->kernel->target.simd_lanes) host_roles(&w);
  else fitting_gpu_roles(&w);
  *fits = !(r->resident && w.reduced & ~w.used) && (!r->clusters || clusters_are_worth(&w));
  if (!*fits) return LLRT_OK;
  d->kernel->warp_bits = w.n[PLAN_WARP];
  d->kernel->cluster_bits = r->clusters ? cluster_bits(&w) : w.cluster;
  r->elements = used_elements(&w);
  fill_tile(&w);
  draft_fill_grid(d, w.used, w.reduced);
  return LLRT_OK;
}

/* ---- layouts ---- */

uint64_t rows_bits_of(const rows *r, uint32_t axes) {
  uint64_t bits = 0;
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    if (axes >> a & 1) bits |= r->of_axis[a];
  return bits;
}

llrt_status rows_layout(const rows *r, uint64_t tile_bits, int bits, plan_value *out) {
  plan_value whole;
  LLRT_TRY(vector_lists_value(r->d.tile_bits, bits, r->held, &whole));
  plan_value_reduce(&whole, bits_mask(r->d.tile_bits) & ~tile_bits, out);
  if (r->d.kernel->target.simd_lanes) plan_close_lanes(out);
  return LLRT_OK;
}

llrt_status rows_new_value(rows *r, uint64_t tile_bits, int bits, int *number) {
  plan_value value;
  LLRT_TRY(rows_layout(r, tile_bits, bits, &value));
  return draft_value(r->d.kernel, &value, number);
}
