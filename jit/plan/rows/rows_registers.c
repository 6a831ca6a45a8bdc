/* How many blocks a multiprocessor has registers for: where a thread has more of them, fewer rows
 * are under way, and where it has too few, ptxas spills. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/rolled/rolled_places.h"
#include "jit/plan/rolled/rolled_straight.h"

/* Elements of weights that a thread has. */
static int weighed_elements(const rows *r) {
  int n = 0;
  for (int i = 0; i < r->program->n_nodes; i++) {
    plan_value own;
    if (!rows_is_loaded(r, i) || rows_is_of_rows(r, i)) continue;
    if (rows_layout(r, rows_bits_of(r, r->program->node[i].axes), 32, &own) == LLRT_OK)
      n += r->elements >> (r->held[PLAN_REGISTER].n - plan_value_bits(&own, PLAN_REGISTER));
  }
  return n;
}

/* Whether rows wait as they were loaded, two elements in a register: all joins are of halves. */
static bool waits_in_words(rows *r) {
  bool all = true;
  for (int i = 0; i < r->program->n_nodes; i++)
    if (r->program->node[i].reduced) all &= rows_joins_halves(r, i);
  return all;
}

/* Whether something that differs from block to block, and is no row, waits beside the rows. */
static bool has_tables(const rows *r) {
  bool has = false;
  for (int i = 0; i < r->program->n_nodes; i++)
    has |= rows_is_loaded(r, i) && !rows_is_of_rows(r, i) &&
           (r->program->node[i].axes & ~r->program->reduced) != 0;
  return has;
}

/* Whether a thread of so many blocks has registers for each element that it holds, and a few: one
 * where elements wait in their words, else one and a half, or seven quarters where tables by
 * position wait, too, and a quarter of one for each element of weights, unless none are loaded and
 * one axis is joined;
 * with fewer ptxas spills. In clusters the rows that are under way are worth that, and so is a
 * second block, with two registers for each element: memory waits for all that a row's only block
 * does behind its loads. Each part of a multiprocessor deals its registers to warps of its own,
 * threads get them by eights. */
static bool have_registers(rows *r, int blocks) {
  enum {
    UNIT_REGISTERS = 1 << 16,
    UNIT_PARTS = 4,
    DEALT = 8,
    OTHERS = 6,
    OTHERS_OF_WORDS = 8,
    MASKS = 4
  };
  enum { LEAST_BESIDE = 2 };
  const plan_kernel *kernel = r->d.kernel;
  bool few = rows_count_weights(r) == 0 && bits_count(r->program->reduced) == 1;
  bool words = waits_in_words(r);
  int quarters = (words ? 4 : has_tables(r) ? 7 : 6) * r->elements;
  if (!words && !few) quarters += bits_max(weighed_elements(r), r->elements);
  int warps = blocks << kernel->warp_bits, of_part = (warps + UNIT_PARTS - 1) / UNIT_PARTS;
  int registers = UNIT_REGISTERS / UNIT_PARTS / of_part >> kernel->lane_bits;
  int others = words ? OTHERS_OF_WORDS + MASKS * (kernel->n_bounds > 0) : OTHERS;
  bool beside_one = blocks == 2 && registers >= LEAST_BESIDE * r->elements;
  return kernel->cluster_bits || beside_one ||
         registers - registers % DEALT >= quarters / 4 + others;
}

/* Threads that a multiprocessor had better have: of rows with fewer elements as many more, and half
 * as many more of rows that wait in words, or in shared memory. Rows in clusters are not aligned
 * and want more registers for each element, which would spill: of these it has no more than the
 * usual number. */
static int threads_of_unit(rows *r, bool waits) {
  enum { USUAL_ELEMENTS = 32, MOST_UNIT_THREADS = 2048 };
  int usual = r->d.kernel->target.tuning->rows_unit_threads;
  if (r->d.kernel->cluster_bits) return usual;
  if (waits) usual += usual / 2;
  return bits_min(usual * USUAL_ELEMENTS / r->elements, MOST_UNIT_THREADS);
}

/* Whether no two warps share a row of scans. These hold what they are given beside what they make
 * of it: what registers a thread wants is more than rows of reductions tell, and ptxas decides. */
static bool scans_in_warp(const rows *r) {
  uint64_t row = rows_bits_of(r, r->program->reduced);
  bool lies = true;
  for (int i = 0; i < r->held[PLAN_WARP].n; i++) lies &= !(r->held[PLAN_WARP].at[i] & row);
  return lies && rows_have_scans(r->program);
}

int rows_blocks_of_unit(rows *r) {
  const plan_kernel *kernel = r->d.kernel;
  int thread_bits = kernel->lane_bits + kernel->warp_bits - kernel->cluster_bits;
  int wanted = kernel->target.tuning->rows_flat_unit_threads;
  if (r->program->reduced) wanted = threads_of_unit(r, waits_in_words(r));
  int blocks = (wanted + (1 << thread_bits) - 1) >> thread_bits;
  if (!r->resident && r->walk_warps) return bits_max(r->walk_warps >> kernel->warp_bits, 1);
  if (!r->resident && !kernel->target.simd_lanes) return r->walk_blocks;
  if (!r->resident || r->few || scans_in_warp(r)) return 0;
  while (blocks > 1 && !have_registers(r, blocks)) blocks--;
  return blocks;
}

/* Where a multiprocessor has two rows, which are both loaded and then both worked on, and joins
 * wait for others, a third one is worth the instructions that take elements out of words again; but
 * not the code that loops do with. */
static void write_straight(rows *r) {
  enum { UNIT_REGISTERS = 1 << 16, CACHE_PARTS = 2, FEW_ROWS = 2 };
  plan_kernel *kernel = r->d.kernel;
  int before = kernel->resident, threads = kernel->launch.threads;
  int blocks = threads_of_unit(r, true) / threads;
  if (before > FEW_ROWS || blocks <= before || rows_depth(r) < 2 || kernel->cluster_bits ||
      kernel->target.simd_lanes || UNIT_REGISTERS / (blocks * threads) < ROLLED_STRAIGHT_REGISTERS)
    return;
  rolled loops;
  rolled_find(kernel, &loops);
  if (loops.n_runs > 0) return;
  kernel->resident = blocks;
  kernel->straight =
      rolled_may_be_straight(kernel, kernel->target.facts.shared_bytes / CACHE_PARTS / blocks);
  if (!kernel->straight) kernel->resident = before;
}

/* Where turns take all of a row from shared memory a thread has registers for a turn alone. Half of
 * shared memory is left to the first-level cache, through which rows come. */
void rows_reserve_waiting(rows *r) {
  enum { UNIT_REGISTERS = 1 << 16, TURN_REGISTERS = 40, CACHE_PARTS = 2 };
  plan_kernel *kernel = r->d.kernel;
  int before = kernel->resident, threads = kernel->launch.threads;
  int blocks = before > 0 ? threads_of_unit(r, true) / threads : 0;
  for (; blocks > before; blocks--) {
    kernel->resident = blocks;
    int room = kernel->target.facts.shared_bytes / CACHE_PARTS / blocks;
    if (UNIT_REGISTERS / (blocks * threads) >= TURN_REGISTERS && rolled_all_waits(kernel, room))
      break;
  }
  kernel->resident = (uint8_t)bits_max(blocks, before);
  if (blocks <= before) write_straight(r);
  rolled_reserve(kernel);
}
