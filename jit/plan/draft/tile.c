/* The work tile: a subspace of the digits' bits whose every translate is a union of whole
 * contiguous runs on both sides, so that one pass reads and writes full lines (docs/one-pass.md).
 *
 * Let S and D be the address maps of source and destination on vectors of bits, restricted to
 * COLUMNS digits (a STRIDE digit's bit has no column; its contribution is a multiple of the vector
 * by promise). The tile is span(S^-1 e_0.., D^-1 e_0..) over both runs, enlarged until every vector
 * outside it has a representative modulo the tile whose address is clear in the low vector bits on
 * both sides: then no block ever has to rotate its vectors. */
#include "jit/plan/draft/draft.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/types/tensor_role.h"
#include "layout/f2.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct tiler {
  draft *d;
  int log2_bytes[2]; /* of an element */
  int run[2], vector[2];
  uint64_t run_vector[LLRT_MAX_TENSORS]
                     [LLRT_MAX_BITS]; /* S^-1 e_j: address exactly 2^j, no strided effect */
  int n_run[LLRT_MAX_TENSORS];        /* how many of them exist */
  f2_basis tile;                      /* in order of insertion */
  uint64_t member[LLRT_MAX_BITS];     /* the vectors inserted */
  int n_core;                         /* members that are runs or enlargement */
} tiler;

static uint64_t address(const tiler *w, int t, uint64_t x) { return f2_apply(w->d->column[t], x); }

/* Fills run_vector: preimages of single address bits, in the span of bits that act on t by their
 * column alone; stops counting a run at the first that does not exist. */
static void find_run_vectors(tiler *w, int t) {
  const draft *d = w->d;
  f2_basis columns;
  f2_basis_init(&columns);
  for (int z = 0; z < d->n_bits; z++)
    if (d->column_bits[t] >> z & 1) f2_basis_insert_as(&columns, d->column[t][z], 1ull << z);
  bool run = true;
  for (int j = 0; j < LLRT_MAX_BITS; j++) {
    run &= f2_basis_coordinates(&columns, 1ull << j, &w->run_vector[t][j]);
    if (run) w->n_run[t] = j + 1;
  }
  w->n_run[t] = bits_min(w->n_run[t], d->index_low[t]);
}

/* How many of the run's first vectors an access may hold: elements that an index may leave out one
 * by one are stored one by one. */
static int whole_bits(const tiler *w, int t) {
  int n = 0;
  while (n < w->n_run[t] && !(t == 1 && w->run_vector[t][n] & w->d->skips)) n++;
  return n;
}

int draft_base_align(const draft *d, int t) {
  int align = d->address_align[t];
  const llrt_swizzle *swizzle = &d->kernel->swizzle[t];
  if (swizzle->swizzle_len) align = bits_min(align, swizzle->per_element);
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (d->kernel->digit[i].side[t].kind == PLAN_STRIDE || draft_begins_anywhere(d, t, i))
      align = bits_min(align, d->side[i][t].align);
  return bits_min(align, d->index_align[t]);
}

/* The same of everything but a run of the tensor. (Columns are the run's or are kept clear in its
 * low bits.) */
static int run_alignment(const tiler *w, int t) {
  return bits_min(draft_base_align(w->d, t), w->n_run[t]);
}

/* Whether the runs of tensor t are whole sectors of memory, as far as is known. A GPU's promises
 * end with the widest access: what is aligned to that is taken as aligned to sectors, where no
 * number is known to be less. */
static bool is_whole_lines(const tiler *w, int t) {
  const draft *d = w->d;
  const plan_target *target = &d->kernel->target;
  int line = bits_log2(target->sector_bytes) - w->log2_bytes[t];
  int promised = bits_max(bits_log2(target->access_bytes) - w->log2_bytes[t], 0);
  int align = w->run[t];
  if (target->simd_lanes) return bits_min(align, run_alignment(w, t)) >= line;
  if (d->address_align[t] < promised) align = bits_min(align, d->address_align[t]);
  if (d->index_align[t] < promised) align = bits_min(align, d->index_align[t]);
  if (d->kernel->swizzle[t].swizzle_len) align = bits_min(align, d->kernel->swizzle[t].per_element);
  for (int i = 0; i < d->kernel->n_digits; i++) {
    const plan_digit_side *side = &d->kernel->digit[i].side[t];
    if (side->kind != PLAN_STRIDE) continue;
    if (side->stride.arg < 0 || d->side[i][t].align < promised)
      align = bits_min(align, d->side[i][t].align);
  }
  return align >= line;
}

/* log2 elements of 4 bits that a GPU's access may load for a cast: a word of them, or what an
 * access stores of the wider ones. More would have to change places, and each takes up to a
 * register once it is wide. */
static int widened_bits(const tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  if (kernel->target.simd_lanes || kernel->tensor_bits[0] >= 8 || kernel->tensor_bits[1] < 8)
    return LLRT_MAX_BITS;
  return bits_max(draft_word_of(w->d, kernel->tensor_bits[0]),
                  bits_log2(kernel->target.access_bytes) - w->log2_bytes[1]);
}

/* Runs that are aligned to so many bytes are moved by accesses of that width: those of a warp are
 * then together as wide as two overhanging ones, without what shifting them costs. */
#define NARROW_BYTES 8
/* A store overhangs where runs are at least so many vectors: the ends of each are stored by
 * themselves. */
#define STORED_VECTORS 4

/* log2 4-bit elements that accesses to rows which begin in either half of a byte have at least: a
 * word of them. */
#define STRADDLED_BITS 3

/* Whether accesses to 4-bit elements straddle bytes, of rows that begin in either half of one. */
static bool may_straddle(const tiler *w, int t) {
  if (w->log2_bytes[t] >= 0 || !w->d->may_overhang[t] || run_alignment(w, t) >= 1) return false;
  if (t == 0) return w->n_run[t] >= STRADDLED_BITS;
  return w->n_run[t] >= STRADDLED_BITS + bits_log2(STORED_VECTORS) && draft_is_sequence(w->d);
}

/* Whether accesses of 2^vector elements overhang rows that are aligned to fewer. */
static bool overhangs(const tiler *w, int t, int vector, int aligned) {
  int bytes = w->d->kernel->tensor_bits[t] >> 3;
  if (bytes == 0) return may_straddle(w, t) && vector >= STRADDLED_BITS;
  if (!w->d->may_overhang[t] || aligned >= vector || bytes << aligned >= NARROW_BYTES) return false;
  return bytes << vector >= NARROW_BYTES &&
         (t == 0 || w->n_run[t] - vector >= bits_log2(STORED_VECTORS));
}

/* The widest access: whole elements up to the target's, within the run, aligned where it must be.
 */
static int vector_bits(const tiler *w, int t) {
  const plan_target *target = &w->d->kernel->target;
  int widest = bits_max(bits_log2(target->access_bytes) - w->log2_bytes[t], 0);
  if (t == 0) widest = bits_min(widest, widened_bits(w));
  int vector = bits_min(widest, whole_bits(w, t));
  if (t == 1 && w->log2_bytes[t] < 0 && vector < 1) {
    w->d->parts_bytes = true; /* one thread stores what is left of a byte */
    vector = 1;
  }
  /* Elements that are chosen one by one on the other side: more than an access has values would
   * part the lanes' accesses to them. */
  for (int j = 0; j < vector && !target->simd_lanes; j++) {
    int values = draft_index_vector(w->d, 1 - t, w->run_vector[t][j]);
    if (values >= 0) vector = bits_min(vector, values);
  }
  const llrt_swizzle *swizzle = &w->d->kernel->swizzle[t];
  if (swizzle->swizzle_len)
    vector = bits_min(vector, bits_min(swizzle->per_element, run_alignment(w, t)));
  if (t == 1 && may_straddle(w, t))
    vector = bits_min(vector, w->n_run[t] - bits_log2(STORED_VECTORS));
  bool straddles = w->log2_bytes[t] < 0 && overhangs(w, t, vector, run_alignment(w, t));
  if (target->access_align_bytes == 1 && !straddles) return vector;
  w->d->overhang[t] = overhangs(w, t, vector, run_alignment(w, t));
  return w->d->overhang[t] ? vector : bits_min(vector, run_alignment(w, t));
}

/* Tiles along axes stay below this: one of 64 KiB moved 8-bit images at 0.93 of a copy on an H200,
 * one of 32 KiB at 0.96. Maps of one range of bits (reversals, any matrix) want runs of 256 bytes
 * on both sides more: 0.94 against 0.87. */
#define AXIS_TILE_BYTES (32 << 10)
/* Those of 8 bits that become 16: transposed, tiles of 32 KiB moved 0.94 of a copy, of 16 KiB 0.97.
 */
#define WIDENED_TILE_BYTES (16 << 10)

/* Those that are written over links, of elements that stay as wide (four H100, 512 MiB of bf16 a
 * rank): of 32 KiB 1131 us, of 16 KiB 1121, with pieces of 128 bytes on the source's side instead
 * 1126, of 8 KiB 1252. */
#define LINKED_TILE_BYTES (16 << 10)

static int axis_tile_bytes(const draft *d) {
  const uint8_t *bits = d->kernel->tensor_bits;
  if (d->desc->linked && bits[0] == bits[1]) return LINKED_TILE_BYTES;
  return bits[0] == 8 && bits[1] == 16 ? WIDENED_TILE_BYTES : AXIS_TILE_BYTES;
}

static bool has_axes(const draft *d) {
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (d->kernel->digit[i].rest) return true;
  return false;
}

/* More registers, log2, that a tile of two loops may have: 64 x 64 bytes have 128 of 32 bytes. */
#define HALVED_ROOM 2

static bool wants_whole_runs(const draft *d) {
  return d->options && d->options->whole_runs && !d->kernel->target.simd_lanes && has_axes(d);
}

/* log2 elements that the registers of a block and its shared memory hold. */
static int room_bits(const tiler *w) {
  const plan_kernel *kernel = w->d->kernel;
  const plan_target *target = &kernel->target;
  int wide = bits_max(w->log2_bytes[0], w->log2_bytes[1]);
  int word = bits_min(draft_word_of(w->d, kernel->tensor_bits[0]),
                      draft_word_of(w->d, kernel->tensor_bits[1]));
  int warps =
      wants_whole_runs(w->d) ? bits_log2(PLAN_MOST_THREADS) - kernel->lane_bits : target->warp_bits;
  int room = kernel->lane_bits + warps + target->register_bits + word;
  if (target->simd_lanes && !w->d->whole && kernel->n_maps == 0) room += HALVED_ROOM;
  int bytes = target->facts.shared_bytes;
  if (!target->simd_lanes && has_axes(w->d) && !wants_whole_runs(w->d))
    bytes = bits_min(bytes, axis_tile_bytes(w->d));
  return bits_min(room, bits_highest((uint64_t)bytes) - wide);
}

/* Runs that together have at most `most` bits: the host's source run gives way first, because it
 * stores whole lines; a GPU's destination run first (docs/history/convert-tiles.md), unless its
 * ends are stored by themselves. Where runs of one vector are still too many, vectors are narrowed:
 * the host's source again, down to a quarter of a line. Half a line stored past the caches costs
 * ten times a whole one. */
static void choose_runs(tiler *w, int most) {
  const plan_options *options = w->d->options;
  const plan_target *target = &w->d->kernel->target;
  int run_bytes = options && options->run_bytes ? options->run_bytes : target->run_bytes;
  for (int t = 0; t < 2; t++) {
    int wanted = bits_max(bits_log2(run_bytes) - w->log2_bytes[t], 0);
    w->run[t] = bits_min(wanted, w->n_run[t]);
  }
  for (int i = 0; i < 2; i++) {
    int t = target->simd_lanes || w->d->overhang[1] ? i : 1 - i;
    while (w->run[0] + w->run[1] > most && w->run[t] > w->vector[t]) w->run[t]--;
  }
  while (w->run[0] + w->run[1] > most) {
    int longer = w->run[1] >= w->run[0] + (target->simd_lanes ? 3 : 0) ? 1 : 0;
    w->vector[longer] = --w->run[longer];
  }
}

static bool add_member(tiler *w, uint64_t x) {
  if (!f2_basis_insert(&w->tile, x)) return false;
  w->member[w->tile.rank - 1] = x;
  return true;
}

/* Low address bits of both sides as one word: src below `low0` bits, dst below `low1` from bit 32.
 */
static uint64_t low_pair(const tiler *w, uint64_t x, int low0, int low1) {
  return (address(w, 0, x) & bits_mask(low0)) | (address(w, 1, x) & bits_mask(low1)) << 32;
}

/* Adds vectors until the tile's low vector bits on both sides have the rank of the whole space's.
 */
static void enlarge(tiler *w) {
  f2_basis pairs;
  f2_basis_init(&pairs);
  for (int i = 0; i < w->tile.rank; i++)
    f2_basis_insert(&pairs, low_pair(w, w->member[i], w->vector[0], w->vector[1]));
  for (int z = 0; z < w->d->n_bits; z++)
    if (f2_basis_insert(&pairs, low_pair(w, 1ull << z, w->vector[0], w->vector[1])))
      add_member(w, 1ull << z);
}

/* The runs of both sides and their enlargement, as long as a block has room for. On a GPU bits that
 * both runs have count once: 8-bit rows that are cut into pieces of 64 bytes, 4 bytes of scales,
 * gain up to 5 % by runs of 256 instead of 128 bytes (docs/history/convert-tiles.md). */
static void build_core(tiler *w) {
  int room = room_bits(w), shared = w->d->kernel->target.simd_lanes ? 0 : room;
  for (int most = room + shared;; most--) {
    choose_runs(w, most);
    f2_basis_init(&w->tile);
    for (int t = 0; t < 2; t++)
      for (int j = 0; j < w->run[t]; j++) add_member(w, w->run_vector[t][j]);
    enlarge(w);
    if (w->tile.rank <= room || most == 0) return;
  }
}

/* x plus a tile vector such that the low bits of both addresses are clear, if there is one. */
static bool clear_low(const tiler *w, uint64_t x, int low0, int low1, uint64_t *cleared) {
  f2_basis pairs;
  uint64_t tile_vector;
  f2_basis_init(&pairs);
  for (int i = 0; i < w->n_core; i++)
    f2_basis_insert_as(&pairs, low_pair(w, w->member[i], low0, low1), w->member[i]);
  if (!f2_basis_coordinates(&pairs, low_pair(w, x, low0, low1), &tile_vector)) return false;
  *cleared = x ^ tile_vector;
  return true;
}

/* The representative of x modulo the tile that is clear in as many low address bits as can be had:
 * always the vector bits of both sides, by enlarge. */
static uint64_t representative(const tiler *w, uint64_t x) {
  uint64_t best = x;
  bool found = clear_low(w, x, w->run[0], w->run[1], &best) ||
               clear_low(w, x, w->run[0], w->vector[1], &best) ||
               clear_low(w, x, w->vector[0], w->run[1], &best) ||
               clear_low(w, x, w->vector[0], w->vector[1], &best);
  assert(found);
  (void)found;
  return best;
}

/* ---- what follows the tile ---- */

static uint64_t rest_bits(const draft *d) {
  uint64_t mask = 0;
  for (int i = 0; i < d->kernel->n_digits; i++)
    if (d->kernel->digit[i].rest) mask |= bits_mask(d->bits[i]) << d->first[i];
  return mask;
}

/* The next vector outside `span`: the lowest address bit of side `first`, else of the other side,
 * else any bit. `allowed` bits only. 0 when there is none. */
static uint64_t next_vector(const tiler *w, const f2_basis *span, int first, uint64_t allowed) {
  for (int side = 0; side < 2; side++) {
    int t = (first + side) % 2;
    for (int j = 0; j < LLRT_MAX_BITS; j++) {
      uint64_t x = w->run_vector[t][j];
      if (x && !(x & ~allowed) && !f2_basis_contains(span, x)) return x;
    }
  }
  for (int z = 0; z < w->d->n_bits; z++)
    if (allowed >> z & 1 && !f2_basis_contains(span, 1ull << z)) return 1ull << z;
  return 0;
}

/* More bits for the tile, so that a block has enough bytes in flight. */
static void extend(tiler *w) {
  const draft *d = w->d;
  int tile_bytes =
      d->options && d->options->tile_bytes ? d->options->tile_bytes : d->kernel->target.tile_bytes;
  int wide = bits_max(w->log2_bytes[0], w->log2_bytes[1]);
  int narrower = bits_min(d->kernel->tensor_bits[0], d->kernel->tensor_bits[1]);
  int packed = d->kernel->target.simd_lanes ? 3 * draft_word_of(d, narrower) : 0;
  int wanted = bits_max(bits_log2(tile_bytes) - wide, d->kernel->lane_bits + packed);
  uint64_t allowed =
      ~d->opaque; /* so that a block has one value of an index, unless it would be tiny */
  for (int turn = 0; w->tile.rank < wanted; turn++) {
    uint64_t x = next_vector(w, &w->tile, turn % 2, allowed & d->walked);
    if (x == 0) x = next_vector(w, &w->tile, turn % 2, allowed);
    if (x == 0 && (allowed == ~0ull || w->tile.rank > d->kernel->lane_bits)) return;
    if (x == 0) allowed = ~0ull;
    else add_member(w, representative(w, x));
  }
}

/* Bits above the tile that one block takes one after the other, by turns of both sides: the
 * destination's first, so that lines that lie next to each other are written soon after each other.
 */
static void extend_strip(tiler *w) {
  draft *d = w->d;
  const plan_target *target = &d->kernel->target;
  int rank = w->tile.rank;
  for (int t = 1; t >= 0 && d->strips; t--) {
    int bits = bits_log2(target->strip_bytes[t]) - w->log2_bytes[t];
    for (int j = w->run[t]; j < bits_min(bits, w->n_run[t]); j++)
      if (!f2_basis_contains(&w->tile, w->run_vector[t][j]))
        add_member(w, representative(w, w->run_vector[t][j]));
  }
  d->strip_bits = w->tile.rank - rank;
}

/* A basis of the strip: rows of the source as far as it has them, the destination's run, the rest.
 */
static void order_ahead(const tiler *w) {
  draft *d = w->d;
  f2_basis span;
  int n = 0;
  f2_basis_init(&span);
  for (int j = 0; j < w->n_run[0] && f2_basis_contains(&w->tile, w->run_vector[0][j]); j++)
    if (f2_basis_insert(&span, w->run_vector[0][j])) d->ahead[n++] = w->run_vector[0][j];
  for (int i = 0; i < w->tile.rank; i++)
    if (f2_basis_insert(&span, d->order[1][i])) d->ahead[n++] = d->order[1][i];
  assert(n == w->tile.rank);
}

/* The next vector for the grid: on the host one that the source has no column of comes in the order
 * of its memory. */
static uint64_t next_grid_vector(const tiler *w, const f2_basis *span, int side, uint64_t allowed) {
  const draft *d = w->d;
  int best = -1;
  uint64_t x = next_vector(w, span, side, allowed);
  if (x == 0 || x & d->column_bits[side] || !d->kernel->target.simd_lanes) return x;
  for (int z = 0; z < d->n_bits; z++) {
    if (!(allowed >> z & 1) || f2_basis_contains(span, 1ull << z)) continue;
    if (best < 0 ||
        d->side[draft_digit_of(d, z)][side].order < d->side[draft_digit_of(d, best)][side].order)
      best = z;
  }
  return best < 0 ? x : 1ull << best;
}

/* Block representatives: completes the tile over the fixed digits' bits, in the destination's order
 * on a GPU, the source's on the host (space.c). */
static void complete_grid(tiler *w) {
  draft *d = w->d;
  f2_basis span = w->tile;
  uint64_t fixed = bits_mask(d->n_bits) & ~rest_bits(d), x;
  int side = d->kernel->target.simd_lanes ? 0 : 1;
  while ((x = next_grid_vector(w, &span, side, fixed & d->walked)) != 0 ||
         (x = next_grid_vector(w, &span, side, fixed)) != 0) {
    f2_basis_insert(&span, x);
    d->grid[d->n_grid++] = representative(w, x);
  }
}

/* A basis of the tile for side t: its run first, then the other side's, then the rest; everything
 * after the run clear in the low run (or at least vector) bits of t's address. The strip's bits
 * come last. */
static void order_side(const tiler *w, int t) {
  draft *d = w->d;
  f2_basis span;
  int n = 0;
  f2_basis_init(&span);
  for (int j = 0; j < w->run[t]; j++) {
    f2_basis_insert(&span, w->run_vector[t][j]);
    d->order[t][n++] = w->run_vector[t][j];
  }
  for (int pass = 0; pass < 2; pass++) {
    int count = pass == 0 ? w->run[1 - t] : w->tile.rank - d->strip_bits;
    for (int i = 0; i < count; i++) {
      uint64_t x = pass == 0 ? w->run_vector[1 - t][i] : w->member[i];
      bool core = pass == 0 || i < w->n_core;
      if (core)
        for (int j = 0; j < w->run[t]; j++)
          if (address(w, t, x) >> j & 1) x ^= w->run_vector[t][j];
      if (f2_basis_insert(&span, x)) d->order[t][n++] = x;
    }
  }
  for (int i = w->tile.rank - d->strip_bits; i < w->tile.rank; i++) d->order[t][n++] = w->member[i];
  assert(n == w->tile.rank);
}

/* Elements of 4 bits move as the bytes that hold two: those must lie whole in every run. */
static llrt_status check_pairs(const tiler *w, int t) {
  const char *role = op_tensor_called(w->d->desc->dot.roles, t);
  if (w->log2_bytes[t] >= 0) return LLRT_OK;
  if (w->n_run[t] < 1)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "4-bit elements move in bytes, and the %s has no stride that is known to be 1", role);
  if (run_alignment(w, t) < 1 && !may_straddle(w, t))
    return llrt_error(LLRT_UNSUPPORTED,
                      "4-bit elements move in bytes, and a stride of the %s is odd or not promised "
                      "to be even",
                      role);
  return LLRT_OK;
}

void draft_runs_of(draft *d, int t, draft_runs *out) {
  tiler w = {.d = d};
  for (int i = 0; i < 2; i++) w.log2_bytes[i] = draft_log2_bytes(d, i);
  if (t > 1) w.log2_bytes[1] = draft_log2_bytes(d, t);
  find_run_vectors(&w, t);
  out->n = w.n_run[t];
  memcpy(out->vector, w.run_vector[t], sizeof out->vector);
  out->align = run_alignment(&w, t);
}

llrt_status draft_tile(draft *d) {
  tiler w = {.d = d};
  for (int t = 0; t < 2; t++) w.log2_bytes[t] = draft_log2_bytes(d, t);
  for (int t = 0; t < 2; t++) find_run_vectors(&w, t);
  for (int t = 0; t < 2; t++) LLRT_TRY(check_pairs(&w, t));
  draft_walk_indices(d, (const uint64_t[]){w.run_vector[0][0], w.run_vector[1][0]});
  for (int t = 0; t < 2; t++) w.vector[t] = vector_bits(&w, t);
  build_core(&w);
  w.n_core = w.tile.rank;
  extend(&w);
  extend_strip(&w);
  complete_grid(&w);
  d->tile_bits = w.tile.rank;
  for (int t = 0; t < 2; t++) {
    d->run[t] = w.run[t];
    d->vector[t] = w.vector[t];
    d->align[t] = bits_min(run_alignment(&w, t), w.vector[t]);
    d->whole_lines[t] = is_whole_lines(&w, t);
    order_side(&w, t);
  }
  order_ahead(&w);
  return LLRT_OK;
}
