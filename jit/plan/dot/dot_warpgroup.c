/* Products of warpgroups: both operands go as they are by copies of 4 to 16 bytes into rings of
 * shared memory, laid out as the instructions take them, and from there into the products; no
 * element passes a register:
 *
 *   roles, walk { copies by producers, await them, begin products, await those of the turn before,
 * free their slot } */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/dot/dot_stage.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/box.h"
#include "jit/plan/facts/dot_tiling.h"
#include "jit/plan/facts/value.h"

#define BOX_BYTES 16  /* of which addresses and pitches of boxes are multiples */
#define LEAST_BYTES 4 /* that a thread copies at once */
#define BESIDE_COLUMNS \
  7 /* log2, of an instruction whose sums stand beside those of all turns: both are registers */
#define RESULTS \
  7 /* log2, of a thread; of tiles that lack the last columns, teams' ones and those of 256 rows, \
       twice as many, of which registers hold what there is, which is verified */
#define GROUP_WARPS 3 /* log2: of more, threads have half of the registers */
#define PRODUCERS 4   /* warps: registers are given to whole warpgroups */

/* Elements that instructions multiply as they are in memory. */
static bool is_plain(const dot_draft *x, int operand) {
  const dot_job *job = x->job;
  bool scaled =
      job->tensor[operand ? LLRT_DOT_SCALE_B : LLRT_DOT_SCALE_A] >= 0 && !job->scaled_sums[operand];
  scaled |= job->tensor[operand ? LLRT_DOT_ZERO_B : LLRT_DOT_ZERO_A] >= 0;
  llrt_dtype type = job->desc.tensors[dot_operand_tensor(x, operand)].dtype;
  return !scaled && type == (operand ? x->types.b : x->types.a);
}

/* The copies' accesses, and how much of one no bound parts; whether memory's rows go along the
 * operand's positions. */
static llrt_status find_access(const dot_draft *x, int operand, dot_access *access, int *whole,
                               bool *transposed) {
  int tensor = dot_operand_tensor(x, operand);
  plan_value spread;
  LLRT_TRY(
      dot_memory_value(x, tensor, x->bits[dot_operand_dim(operand)] | x->bits[DOT_DIM_K], access));
  plan_value_spread(x->d.kernel, &access->value, &spread);
  if (plan_access_bytes(access->value.bits, access->vector) < LEAST_BYTES ||
      access->align < access->vector)
    return llrt_error(LLRT_UNSUPPORTED, "operand %c is not read by whole pieces of %d bytes",
                      "AB"[operand], LEAST_BYTES);
  *whole = bits_min(draft_whole_vector(&x->d, &spread, tensor, access->vector), access->vector);
  uint64_t run =
      plan_tile_bits_of(&access->value, plan_value_columns(&access->value, PLAN_REGISTER)[0]);
  *transposed = (run & dot_tile_bits(x, x->bits[dot_operand_dim(operand)])) != 0;
  return LLRT_OK;
}

/* Slots of both rings that shared memory has room for; beside what results may go through, unless
 * all of it is theirs. */
#define MOST_SLOTS 12
#define CLUSTER_SLOTS 8 /* two blocks of clusters are to have room on a multiprocessor */
#define RESULTS_BYTES (34 << 10)
#define BARRIER_BYTES (1 << 10)
#define BESIDE_HALF (8 << 10) /* what is beside a ring of one of two blocks, bytes */

/* Threads' copies of fewer than 16 bytes go through the first-level cache, to which shared memory
 * leaves the rest of 256 KiB: with rings of 216 KiB such a row takes 1.6 times as long as with 192
 * (docs/history/odd-pitches.md). */
#define NARROW_ROOM (161 << 10)

static bool copies_narrow(const dot_draft *x) {
  bool narrow = false;
  for (int i = 0; i < 2 && !x->boxes; i++)
    narrow |= plan_access_bytes(x->d.kernel->value[x->ring[i].copied].bits,
                                x->ring[i].copy.vector) < BOX_BYTES;
  return narrow;
}

static int slots_of(const dot_draft *x, int bytes) {
  const int all = x->d.kernel->target.facts.shared_bytes -
                  (x->all_memory ? BARRIER_BYTES : RESULTS_BYTES),
            room = copies_narrow(x) ? bits_min(all, NARROW_ROOM) : all;
  if (x->d.kernel->resident > 1) return DOT_SLOTS;
  if (x->halves) return bits_max(bits_min((all / 2 - BESIDE_HALF) / bytes, MOST_SLOTS), DOT_SLOTS);
  return bits_max(bits_min(room / bytes, x->cluster && !x->beside ? CLUSTER_SLOTS : MOST_SLOTS),
                  DOT_SLOTS);
}

/* Bytes of a ring's slot: where boxes alone copy, up to the end of what they fill. */
static int slot_bytes(const dot_draft *x, int operand) {
  const plan_kernel *kernel = x->d.kernel;
  const plan_step *copy = &x->ring[operand].masked;
  if (!x->boxes || plan_cuts_boxes(kernel)) return plan_buffer_held(&kernel->buffer[copy->buffer]);
  return (plan_box_end(kernel, copy) + DOT_SHARED_ALIGNMENT - 1) & -DOT_SHARED_ALIGNMENT;
}

/* Says where the rings lie, and how many slots they have. */
static llrt_status place_rings(dot_draft *x) {
  plan_kernel *kernel = x->d.kernel;
  int end = 0, bytes[2] = {slot_bytes(x, 0), slot_bytes(x, 1)};
  kernel->slots = (uint8_t)slots_of(x, bytes[0] + bytes[1]);
  for (int i = 0; i < 2; i++) {
    plan_buffer *buffer = &kernel->buffer[x->ring[i].copy.buffer];
    buffer->bytes = bytes[i];
    buffer->slots = kernel->slots;
    buffer->offset = (end + DOT_SHARED_ALIGNMENT - 1) & -DOT_SHARED_ALIGNMENT;
    end = plan_buffer_end(buffer);
  }
  if (end <= kernel->target.facts.shared_bytes) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "rings take %d bytes of shared memory, a block has %d", end,
                    kernel->target.facts.shared_bytes);
}

/* Whether neighbouring lanes have the pieces of a turn's line of a row, and the same of all rows.
 */
static llrt_status copy_lines(const dot_draft *x, int operand, bool transposed,
                              const dot_access *access) {
  const plan_value *value = &access->value;
  const uint64_t *lanes = plan_value_columns(value, PLAN_LANE);
  uint64_t along = dot_tile_bits(x, x->bits[DOT_DIM_K]);
  const int pieces = bits_count(along) - access->vector;
  bool whole = !transposed && value->bits << access->vector == 8 * BOX_BYTES &&
               value->bits << bits_count(along) == PLAN_LINE_BYTES * 8;
  for (int i = 0; i < access->vector; i++) along &= along - 1;
  for (int i = 0; i < pieces && whole; i++, along &= along - 1)
    whole = plan_tile_bits_of(value, lanes[i]) == (along & -along);
  if (whole) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "operand %c is not copied by lines of memory", "AB"[operand]);
}

#define FEW_ROWS 4 /* log2, of a tile of experts */

/* Whether weights' reads are all that counts: of experts with few rows. 16 rows of 128 experts
 * [4096, 3072] take 716 us on an H200 by lines one by one, two by two 756: these ask for half as
 * much again of the other half of the second-level cache (docs/history/grouped-products.md). */
static bool fetches_lines(const dot_draft *x) {
  return x->d.kernel->experts.shared && bits_count(x->bits[DOT_DIM_M]) <= FEW_ROWS;
}

static llrt_status plan_ring(dot_draft *x, const dot_space *space, int operand) {
  plan_kernel *kernel = x->d.kernel;
  dot_ring *ring = &x->ring[operand];
  dot_access access;
  plan_address_map map;
  bool transposed;
  int buffer, whole;
  LLRT_TRY(find_access(x, operand, &access, &whole, &transposed));
  LLRT_TRY(draft_value(kernel, &access.value, &ring->copied));
  LLRT_TRY(dot_stage_buffer(&x->d, &access.value, space, operand, transposed, 0, &buffer));
  plan_address_of_buffer(kernel, buffer, &map);
  if (plan_access_widest(kernel, &access.value, &map, PLAN_REGISTER) < access.vector)
    return llrt_error(LLRT_UNSUPPORTED,
                      "rows of operand %c lie otherwise in memory than products want them in "
                      "shared memory",
                      "AB"[operand]);
  ring->copy = (plan_step){.kind = PLAN_COPY,
                           .tensor = (uint8_t)dot_operand_tensor(x, operand),
                           .in = (uint8_t)ring->copied,
                           .buffer = (uint8_t)buffer,
                           .vector = (uint8_t)access.vector};
  ring->masked = ring->copy;
  ring->masked.masked = true;
  ring->masked.vector = (uint8_t)whole;
  bool found = false;
  if (x->lines) {
    LLRT_TRY(copy_lines(x, operand, transposed, &access));
    ring->copy.lines = ring->masked.lines = true;
  } else if (plan_access_bytes(access.value.bits, access.vector) == BOX_BYTES)
    LLRT_TRY(dot_plan_box(x, operand, transposed, &ring->copy, LLRT_MAX_BITS, &found));
  const bool cut = kernel->experts.used && !kernel->experts.shared; /* threads copy last turns */
  if ((!found || cut) && whole < access.vector)
    return llrt_error(LLRT_UNSUPPORTED, "an extent of operand %c cuts pieces of %d bytes",
                      "AB"[operand], plan_access_bytes(access.value.bits, access.vector));
  if (found) {
    const int last = kernel->launch.n_boxes - 1;
    plan_box *box = &kernel->launch.box[last];
    box->single = fetches_lines(x);
    box->rest = plan_box_may_lack(kernel, ring->copy.tensor, box, kernel->box_axis[last]) & 1;
  }
  x->boxes &= found;
  ring->masked.box = (uint8_t)(found ? kernel->launch.n_boxes : 0);
  return LLRT_OK;
}

/* Of the tiles that are made at the same time, one on each multiprocessor, those of r places along
 * one axis and units / r along the other read least where
 * r^2 is units times the quotient of what a tile reads along each. */
void dot_plan_bands(dot_draft *x, const int64_t read[2]) {
  plan_kernel *kernel = x->d.kernel;
  int64_t along[2];
  int first = x->job->desc.tensors[0].rank - 3;
  for (int i = 0; i < 2; i++) {
    if (kernel->n_places < 2 || kernel->place[i].digit < 0) return;
    int dim = kernel->digit[kernel->place[i].digit].axis - first;
    if (dim != DOT_DIM_M && dim != DOT_DIM_N) return;
    along[i] = read[dim == DOT_DIM_N];
  }
  for (kernel->band = 1;
       2 * (int64_t)kernel->band * kernel->band * along[1] < kernel->target.facts.units * along[0];)
    kernel->band *= 2;
}

/* Whether the tile's last positions of M or N are other blocks' (dot_shape.own). */
static bool lacks_some(const dot_draft *x) {
  const int rank = x->job->desc.tensors[0].rank;
  return x->d.tile_positions[rank - 3] > 0 || x->d.tile_positions[rank - 2] > 0;
}

#define MOST_BESIDE 192 /* columns whose sums, twice, a thread of two warpgroups has room for */

/* Tiles of fewer columns than a power of two are one instruction's: by narrower ones each would
 * read the first operand again. */
static int columns_beside(const dot_draft *x) {
  const int rank = x->job->desc.tensors[0].rank, all = bits_count(x->bits[DOT_DIM_N]);
  const int64_t own = x->d.tile_positions[rank - 2];
  const int most = BESIDE_COLUMNS - (x->d.kernel->warp_bits > GROUP_WARPS);
  return own > 0 && own <= MOST_BESIDE && all > most ? all : most;
}

/* Where threads copy one operand they copy both, but for rows of experts that an index gathers, or
 * weights of a list of pointers: the other operand is the larger part. */
static void mix_copies(dot_draft *x) {
  plan_kernel *kernel = x->d.kernel;
  if (x->boxes) return;
  if (kernel->experts.shared && kernel->launch.n_boxes == 1)
    x->mixed = x->ring[0].masked.box ? 1 : 2;
  else kernel->launch.n_boxes = x->ring[0].masked.box = x->ring[1].masked.box = 0;
}

llrt_status dot_plan_warpgroups(dot_draft *x, const dot_space *space, const dot_types *types) {
  const dot_room room = {.results = RESULTS + (x->d.kernel->team_bits > 0 || lacks_some(x)),
                         .operand = 16,
                         .columns = types->short_sums ? columns_beside(x) : 0};
  plan_kernel *kernel = x->d.kernel;
  x->types = *types;
  if (!dot_layouts_group(kernel, space, &room, x->swapped, &x->how) || !is_plain(x, 0) ||
      !is_plain(x, 1))
    return llrt_error(LLRT_UNSUPPORTED, "no instruction of warpgroups multiplies these elements");
  x->boxes = true;
  for (int i = 0; i < 2; i++) LLRT_TRY(plan_ring(x, space, i));
  if (!x->boxes && kernel->cluster_bits > 0)
    return llrt_error(LLRT_UNSUPPORTED, "clusters are made where all copies are boxes");
  if ((!x->boxes || plan_cuts_boxes(kernel)) && kernel->warp_bits > GROUP_WARPS)
    return llrt_error(LLRT_UNSUPPORTED,
                      "where threads copy, %d warps have too few registers for sums",
                      1 << kernel->warp_bits);
  mix_copies(x);
  for (int i = 0; i < 2 && !x->boxes; i++)
    if (!x->ring[i].masked.box && x->ring[i].masked.vector < x->ring[i].copy.vector)
      return llrt_error(LLRT_UNSUPPORTED, "an extent cuts pieces that threads copy whole");
  if (!x->boxes && !x->mixed && lacks_some(x) && kernel->warp_bits == GROUP_WARPS &&
      plan_access_bytes(kernel->value[x->ring[1].copied].bits, x->ring[1].copy.vector) < BOX_BYTES)
    return llrt_error(
        LLRT_UNSUPPORTED,
        "threads that copy narrow pieces take long for a tile of parts of powers of two");
  LLRT_TRY(place_rings(x));
  x->rings = x->warpgroups = true;
  dot_plan_bands(x, (int64_t[]){(int64_t)1 << bits_count(x->bits[DOT_DIM_M]),
                                (int64_t)1 << bits_count(x->bits[DOT_DIM_N])});
  kernel->producers = PRODUCERS;
  return LLRT_OK;
}

llrt_status dot_open_warpgroups(dot_draft *x) {
  return draft_step(x->d.kernel, (plan_step){.kind = PLAN_ROLES});
}

llrt_status dot_fill_warpgroups(dot_draft *x) {
  plan_kernel *kernel = x->d.kernel;
  int at = kernel->n_steps, n;
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_PRODUCE}));
  LLRT_TRY(dot_copy_operands(x, &n));
  kernel->step[at].body = (uint8_t)n;
  return draft_step(kernel, (plan_step){.kind = PLAN_FILLED});
}

llrt_status dot_warpgroup_products(dot_draft *x, int with, int *out) {
  const dot_ring *a = &x->ring[x->swapped], *b = &x->ring[1 - x->swapped]; /* the instruction's */
  const int value[2] = {a->copied, b->copied}, buffer[2] = {a->copy.buffer, b->copy.buffer};
  LLRT_TRY(dot_stage_products(&x->d, &x->how, value, buffer, with, out));
  dot_tiling tiling;
  plan_kernel *kernel = x->d.kernel;
  kernel->step[kernel->n_steps - 1].fresh_sums = x->types.short_sums;
  llrt_status status = plan_dot_tiling(kernel, &kernel->step[kernel->n_steps - 1], &tiling);
  kernel->step[kernel->n_steps - 1].late_sums =
      status == LLRT_OK && x->types.short_sums && tiling.n_out == 0 &&
      tiling.n_sum == plan_dot_fresh(&tiling) + 1 && !x->d.kernel->deal.used;
  if (status == LLRT_OK && (tiling.leaves || !lacks_some(x))) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "no instruction of warpgroups reads the operands as they lie in shared memory");
}
