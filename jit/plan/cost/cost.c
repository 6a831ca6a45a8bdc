/* The predicted cost of a kernel: traffic by evaluating every access of one tile, instructions by
 * the rules that emission follows. */
#include "jit/plan/cost/cost.h"

#include "jit/plan/facts/access.h"
#include "jit/plan/facts/following.h"

#include "base/bits.h"
#include "jit/plan/facts/block_gather.h"
#include "jit/plan/facts/eval.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/index_eval.h"
#include "jit/plan/facts/matrix.h"
#include "jit/plan/facts/permute.h"
#include "jit/plan/facts/shuffle_round.h"
#include "jit/plan/facts/row_group.h"
#include "jit/plan/facts/shared_lanes.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/facts/word_lane_swap.h"
#include "jit/plan/facts/lane_byte_permute.h"
#include "jit/plan/kernel/step_table.h"
#include "layout/f2.h"
#include "layout/traffic.h"

#include <assert.h>
#include <string.h>

/* Elements between the same offset in the shared memory of two blocks: the same bank, another word.
 */
#define BLOCK_SHIFT 40

typedef enum traffic_kind { TRAFFIC_GLOBAL, TRAFFIC_SHARED } traffic_kind;

/* An access by all lanes of all warps of the block, one vector after the other. */
typedef struct access_walk {
  const plan_kernel *kernel;
  const plan_value *value;
  const plan_step *step;
  traffic_kind kind;
  uint64_t vector_mask; /* register bits inside one vector, or of one instruction's matrices */
  int matrices;         /* log2 of an instruction that moves them */
  plan_blocks blocks;   /* of the buffer */
} access_walk;

static int64_t element_offset(const access_walk *walk, const llrt_layout *inverse, uint64_t reg,
                              uint64_t lane, uint64_t warp) {
  static const int64_t no_upper[PLAN_MAX_DIGITS];
  int64_t position[PLAN_MAX_DIGITS];
  uint64_t y = plan_value_at(walk->value, reg, lane, warp, 0);
  if (walk->kind == TRAFFIC_SHARED) {
    int offset_bits = walk->kernel->buffer[walk->step->buffer].layout.in[0].bits;
    return (int64_t)(llrt_layout_apply_flat(inverse, y) & bits_mask(offset_bits)) |
           (int64_t)f2_apply(walk->blocks.of_tile, y) << BLOCK_SHIFT;
  }
  plan_tile_position(walk->kernel, y, 0, no_upper, position);
  plan_index_terms terms;
  plan_index_terms_far(walk->kernel, walk->step->tensor, position, PLAN_FAR_STRIDE, &terms);
  return plan_offset(walk->kernel, walk->step->tensor, position, &terms, NULL, PLAN_FAR_STRIDE);
}

/* Whether a lane holds what a lower one has. */
static bool holds_copy(const plan_value *value, int lane) {
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    if (lane >> i & 1 && plan_value_columns(value, PLAN_LANE)[i] == 0) return true;
  return false;
}

/* The addresses that shared memory serves in one access, and its bytes at each; how many. */
static int shared_addresses(const access_walk *walk, const llrt_layout *inverse, int64_t *address,
                            int *bytes) {
  const plan_kernel *kernel = walk->kernel;
  const plan_target *target = &kernel->target;
  bool load = walk->step->kind == PLAN_SHARED_LOAD;
  int lanes = 1 << kernel->lane_bits;
  *bytes = plan_access_bytes(walk->value->bits, target->simd_lanes ? 0 : walk->step->vector);
  if (walk->step->matrix) lanes = 8 << walk->matrices;
  for (int lane = 0; lane < lanes; lane++) {
    address[lane] = element_offset(walk, inverse, 0, (uint64_t)lane, 0) * walk->value->bits / 8;
    if (!load && holds_copy(walk->value, lane)) address[lane] = TRAFFIC_NONE;
  }
  if (!walk->step->matrix) plan_order_lanes(target, *bytes, load, address);
  return lanes;
}

/* Instructions of a warp that make the addresses of a shared step, as emission does it
 * (jit/emit/place/place.c): what lane and warp add, then for each set of register bits that move
 * the same address bits a XOR and a sum. */
enum { ADDRESS_START = 10, ADDRESS_EACH = 2 };

static int count_addresses(const access_walk *walk, const llrt_layout *inverse) {
  const plan_value *value = walk->value;
  uint64_t moving = 0;
  f2_basis known;
  f2_basis_init(&known);
  for (int i = 0; i < plan_value_bits(value, PLAN_LANE); i++)
    moving |= (uint64_t)element_offset(walk, inverse, 0, 1ull << i, 0);
  for (int i = 0; i < plan_value_bits(value, PLAN_WARP); i++)
    moving |= (uint64_t)element_offset(walk, inverse, 0, 0, 1ull << i);
  moving &= bits_mask(BLOCK_SHIFT);
  for (int i = 0; i < plan_value_bits(value, PLAN_REGISTER); i++)
    if (!(walk->vector_mask >> i & 1))
      f2_basis_insert(&known, (uint64_t)element_offset(walk, inverse, 1ull << i, 0, 0) & moving);
  return ADDRESS_START + ADDRESS_EACH * ((1 << known.rank) - 1);
}

/* Instructions that make the addresses of the blocks that a thread loads from. */
static int count_blocks(const access_walk *walk) {
  f2_basis known;
  f2_basis_init(&known);
  for (int i = 0; i < plan_value_bits(walk->value, PLAN_REGISTER); i++)
    f2_basis_insert(
        &known, f2_apply(walk->blocks.of_tile, plan_value_columns(walk->value, PLAN_REGISTER)[i]));
  return ADDRESS_EACH << known.rank;
}

/* Shared wavefronts of all accesses, whose number is added to cost. One tells of all: registers and
 * warps only XOR a constant to every address. Warps and lanes that hold copies store nothing. */
static int walk_shared(const access_walk *walk, const llrt_layout *inverse, plan_cost *cost) {
  const plan_kernel *kernel = walk->kernel;
  const plan_target *target = &kernel->target;
  int64_t address[TRAFFIC_MAX_LANES];
  bool load = walk->step->kind == PLAN_SHARED_LOAD;
  int n = 0, warp_bits = 0, bytes;
  plan_repetitions repetitions;
  plan_repetitions_of(kernel, walk->step->buffer, walk->value, &repetitions);
  for (uint64_t reg = 0; reg < 1ull << plan_value_bits(walk->value, PLAN_REGISTER); reg++)
    n += !(reg & walk->vector_mask) &&
         plan_repetition_has(&repetitions, walk->step->repetition, reg);
  for (int i = 0; i < kernel->warp_bits; i++) /* copies in blocks do store */
    warp_bits += (load || plan_value_columns(walk->value, PLAN_WARP)[i] != 0 ||
                  i >= kernel->warp_bits - kernel->cluster_bits) &&
                 repetitions.of_warp[i] == 0;
  int lanes = shared_addresses(walk, inverse, address, &bytes);
  cost->shared_accesses += n << warp_bits;
  if (!target->simd_lanes) cost->addresses += count_addresses(walk, inverse);
  if (load && !plan_is_local(kernel, walk->step->buffer, walk->value))
    cost->addresses += count_blocks(walk);
  return traffic_wavefronts(address, lanes, bytes, target->banks, target->bank_bytes) * n
         << warp_bits;
}

/* Requests of a warp whose pieces begin at `address`, by step->overhang
 * (jit/emit/memory/emit_overhang.c); sectors. */
static int overhanging_sectors(const access_walk *walk, const plan_group *group,
                               const int64_t *address, int bytes) {
  const plan_target *target = &walk->kernel->target;
  int64_t vector[TRAFFIC_MAX_LANES], part[TRAFFIC_MAX_LANES];
  bool load = walk->step->kind == PLAN_LOAD;
  int vectors = 0, parts = 0, pieces = 1 << group->lanes, reach = bytes << group->lanes;
  int element = bits_max(walk->value->bits / 8, 1), lanes = 1 << walk->kernel->lane_bits;
  for (int lane = 0; lane < lanes; lane++) {
    int64_t first = load ? address[lane] & -bytes : (address[lane] + bytes - 1) & -bytes;
    int64_t shift = address[lane] - first, piece = lane >> group->first_lane & (pieces - 1);
    if (load || piece < pieces - 1 || shift == 0) vector[vectors++] = first;
    if (load && piece == 0 && shift != 0) part[parts++] = first + reach;
    if (load || shift == 0 || piece * element >= bytes) continue;
    int64_t start = address[lane] - piece * bytes - shift, at = piece * element;
    part[parts++] = start + at + (at < bytes + shift ? reach - bytes : -bytes);
  }
  return traffic_sectors(vector, vectors, bytes, target->sector_bytes) +
         traffic_sectors(part, parts, load ? bytes : element, target->sector_bytes);
}

/* The same by words: each lane those that its piece touches
 * (jit/emit/memory/emit_overhang_words.c). */
static int sectors_of_words(const access_walk *walk, const int64_t *address, int bytes) {
  const plan_target *target = &walk->kernel->target;
  int64_t word[TRAFFIC_MAX_LANES];
  int lanes = 1 << walk->kernel->lane_bits, total = 0, aligned = bytes >> walk->step->misaligned;
  for (int k = 0; k < bytes / 4 + (aligned < 4); k++) {
    for (int lane = 0; lane < lanes; lane++)
      word[lane] =
          (address[lane] & -4) + (4 * k < bytes || address[lane] % 4 != 0 ? 4 * k : bytes - 4);
    total += traffic_sectors(word, lanes, 4, target->sector_bytes);
  }
  return total;
}

/* Sectors of the whole tile. Rows that overhang are taken as beginning one unit of their alignment
 * off. */
static int walk_access(const access_walk *walk, const llrt_layout *inverse) {
  const plan_kernel *kernel = walk->kernel;
  const plan_target *target = &kernel->target;
  int64_t address[TRAFFIC_MAX_LANES];
  int bits = walk->value->bits, total = 0, lanes = 1 << kernel->lane_bits;
  int bytes = bits_max(
      plan_access_bytes(bits, target->simd_lanes ? walk->value->word : walk->step->vector), 1);
  uint64_t registers = 1ull << plan_value_bits(walk->value, PLAN_REGISTER);
  plan_group group = {.lanes = 0};
  int64_t off = walk->step->misaligned ? bytes >> walk->step->misaligned : 0;
  if (walk->step->overhang && !walk->step->loose)
    plan_group_of(kernel, walk->step->tensor, walk->value, walk->step->vector, &group);
  for (uint64_t warp = 0; warp < 1ull << kernel->warp_bits; warp++) {
    for (uint64_t reg = 0; reg < registers; reg++) {
      if (reg & walk->vector_mask) continue;
      for (int lane = 0; lane < lanes; lane++)
        address[lane] = element_offset(walk, inverse, reg, (uint64_t)lane, warp) * bits / 8 + off;
      if (walk->step->by_words) total += sectors_of_words(walk, address, bytes);
      else if (walk->step->overhang) total += overhanging_sectors(walk, &group, address, bytes);
      else total += traffic_sectors(address, lanes, bytes, target->sector_bytes);
    }
  }
  return total;
}

static uint64_t vector_register_mask(const plan_kernel *kernel, const plan_value *value,
                                     const plan_address_map *map, int vector) {
  int positions[LLRT_MAX_BITS];
  uint64_t mask = 0;
  if (kernel->target.simd_lanes) return bits_mask(value->word);
  bool found = plan_access_positions(value, map, PLAN_REGISTER, vector, positions);
  assert(found);
  for (int i = 0; found && i < vector; i++) mask |= 1ull << positions[i];
  return mask;
}

static int count_step(const plan_kernel *kernel, const plan_step *step, traffic_kind kind,
                      int value, plan_cost *cost) {
  access_walk walk = {.kernel = kernel, .value = &kernel->value[value], .step = step, .kind = kind};
  plan_address_map map;
  llrt_layout inverse = llrt_layout_empty();
  plan_value spread;
  if (kind == TRAFFIC_GLOBAL) {
    plan_value_spread(kernel, walk.value, &spread);
    walk.value = &spread;
    plan_address_of_access(kernel, step, &map);
  } else {
    plan_address_of_buffer(kernel, step->buffer, &map);
    plan_blocks_of_buffer(kernel, step->buffer, &walk.blocks);
    if (llrt_layout_right_inverse(&kernel->buffer[step->buffer].layout, &inverse) != LLRT_OK)
      return 0;
  }
  if (step->matrix) {
    plan_value addresses;
    plan_matrix matrix;
    plan_matrix_of(kernel, step, walk.value, &matrix);
    plan_matrix_addresses(walk.value, &matrix, &addresses);
    walk.vector_mask = bits_mask(walk.value->word);
    for (int i = 0; i < matrix.count; i++) walk.vector_mask |= 1ull << matrix.position[i];
    walk.matrices = matrix.count;
    walk.value = &addresses;
    return walk_shared(&walk, &inverse, cost);
  }
  walk.vector_mask = vector_register_mask(kernel, walk.value, &map, step->vector);
  return kind == TRAFFIC_SHARED ? walk_shared(&walk, &inverse, cost) : walk_access(&walk, &inverse);
}

/* Byte permutes, shifts and merges that make the words of `out` from those of `in`. */
static void count_registers(const plan_value *in, const plan_value *out, plan_cost *cost) {
  plan_permute made;
  for (int w = 0; w < 1 << (plan_value_bits(out, PLAN_REGISTER) - out->word); w++) {
    plan_permute_of(in, out, w, &made);
    plan_permute_cost(&made, &cost->permutes, &cost->logic);
  }
}

/* Instructions of a shuffle round a warp; see jit/emit/value/emit_shuffle.c. */
static void count_shuffle(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  plan_shuffle_round round;
  plan_word_lane_swap swap;
  plan_lane_byte_permute turn;
  if (plan_lane_byte_permute_of(&kernel->value[step->in], &kernel->value[step->out], &turn)) {
    plan_lane_byte_permute_cost(&kernel->value[step->out], cost);
    return;
  }
  if (plan_word_lane_swap_of(&kernel->value[step->in], &kernel->value[step->out], &swap)) {
    plan_word_lane_swap_cost(kernel->target.tuning, &swap, &kernel->value[step->out], cost);
    return;
  }
  plan_shuffle_round_of(&kernel->value[step->in], &kernel->value[step->out], &round);
  const plan_value *out = &kernel->value[step->out];
  int words = 1 << (plan_value_bits(out, PLAN_REGISTER) - out->word);
  /* GPUs shuffle 32 bits. */
  int each = !kernel->target.simd_lanes && out->bits == 64 ? 2 : 1;
  if (kernel->target.simd_lanes || round.chooser == 0) {
    cost->shuffles += each * words;
  } else if (!round.paired) {
    cost->shuffles += round.stays ? 0 : each * words;
    cost->selects += words;
  } else {
    cost->shuffles += each * (round.stays ? words / 2 : words);
    cost->selects += words + (round.drawn == 0 ? 0 : round.stays ? words / 2 : words);
    if (kernel->target.selects_by_products && out->bits <= 32)
      cost->multiplied_selects += words / 2;
  }
}

/* Instructions of a scan a warp; see jit/emit/value/emit_scan.c. */
static void count_scan(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  const plan_value *in = &kernel->value[step->in];
  int left = plan_value_bits(in, PLAN_REGISTER), words = 1 << left, prefixes = 0;
  int each = !kernel->target.simd_lanes && in->bits == 64 ? 2 : 1;
  bool lanes = false;
  plan_scan_bit bits[LLRT_MAX_BITS];
  if (!plan_scan_bits(kernel, step, bits)) return;
  for (int i = 0; i < kernel->order[step->order].n; i++) {
    if (!bits[i].lane) {
      cost->logic += (lanes ? prefixes : words) / 2 + (1 << --left);
      continue;
    }
    if (!lanes) prefixes = 1 << left;
    lanes = true;
    cost->shuffles += each << left;
    cost->selects += each * prefixes;
    cost->logic += prefixes + (1 << left);
  }
  if (lanes) cost->logic += words;
}

/* Two shifts and a merge a word where the halves of a tensor's bytes are exchanged. */
static void count_swaps(const plan_kernel *kernel, const plan_step *step, int value,
                        plan_cost *cost) {
  const plan_value *moved = &kernel->value[value];
  if (kernel->high_first[step->tensor])
    cost->logic += 3 << (plan_value_bits(moved, PLAN_REGISTER) - moved->word);
}

/* What shifts the pieces of rows: shuffles of their words, of the ends' too where they are stored,
 * selects by whole words and funnel shifts. */
static void count_overhang(const plan_kernel *kernel, const plan_step *step, int value,
                           plan_cost *cost) {
  if (!step->overhang || step->misaligned == 0) return;
  const plan_value *moved = &kernel->value[value];
  int words = plan_access_bytes(moved->bits, step->vector) / 4, n = bits_log2(words);
  int pieces = 1 << (plan_value_bits(moved, PLAN_REGISTER) - step->vector);
  int aligned = n + 2 - step->misaligned; /* log2 bytes */
  cost->permutes += aligned < 2 ? pieces * words : 0;
  if (step->by_words) return;
  cost->shuffles += pieces * words * (step->kind == PLAN_STORE ? 2 : 1);
  for (int b = n - 1; b >= 0 && aligned < 3 + b; b--)
    cost->selects += pieces * (words + (1 << b) - 1 + (aligned < 2));
}

/* Joined words of a warp, and the shuffles of a fold across lanes. */
static void count_joins(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  int registers = 1 << plan_value_bits(in, PLAN_REGISTER),
      left = 1 << plan_value_bits(out, PLAN_REGISTER);
  int bit[LLRT_MAX_BITS];
  if (step->kind == PLAN_JOIN) cost->combined += left;
  if (step->kind == PLAN_FOLD) cost->combined += (registers - left) >> in->word;
  if (step->kind != PLAN_FOLD_LANES) return;
  int rounds = plan_fold_bits(in, PLAN_LANE, out->layout.out[0].bits, bit);
  int words = in->bits == 64 ? 2 : 1;
  if (plan_folds_at_once(kernel, step)) {
    cost->shuffles += registers;
    return;
  }
  if (step->pairs) words += kernel->value[step->index_in].bits == 64 ? 2 : 1;
  cost->combined += rounds * registers;
  cost->shuffles += rounds * registers * words;
}

/* Loads from a panel at random: 32 lanes find 3.5 of them in one of 32 banks; the panel itself is
 * read once. */
static void count_panel(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  const plan_value *value = &kernel->value[step->out];
  int accesses = 1 << (plan_value_bits(value, PLAN_REGISTER) + kernel->warp_bits);
  cost->shared_accesses += accesses;
  cost->shared_load_wavefronts += accesses * 7 / 2 << (kernel->lane_bits - 5);
  cost->index_sectors += plan_index_sectors(kernel, value, step->tensor);
}

static void count_kind(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_LOAD:
    if (step->staged && kernel->panel.gathered) {
      count_panel(kernel, step, cost);
      break;
    }
    cost->load_sectors += count_step(kernel, step, TRAFFIC_GLOBAL, step->out, cost);
    count_swaps(kernel, step, step->out, cost);
    count_overhang(kernel, step, step->out, cost);
    cost->index_sectors += plan_index_sectors(kernel, &kernel->value[step->out], step->tensor);
    break;
  case PLAN_STORE:
    cost->store_sectors += count_step(kernel, step, TRAFFIC_GLOBAL, step->in, cost);
    count_swaps(kernel, step, step->in, cost);
    count_overhang(kernel, step, step->in, cost);
    cost->index_sectors += plan_index_sectors(kernel, &kernel->value[step->in], step->tensor);
    break;
  case PLAN_SHARED_STORE:
    cost->shared_store_wavefronts += count_step(kernel, step, TRAFFIC_SHARED, step->in, cost);
    break;
  case PLAN_SHARED_LOAD:
    cost->shared_load_wavefronts += count_step(kernel, step, TRAFFIC_SHARED, step->out, cost);
    break;
  case PLAN_SHUFFLE: count_shuffle(kernel, step, cost); break;
  case PLAN_REGISTERS:
    count_registers(&kernel->value[step->in], &kernel->value[step->out], cost);
    break;
  case PLAN_MAP: {
    const plan_value *out = &kernel->value[step->out];
    cost->mapped += 1 << (plan_value_bits(out, PLAN_REGISTER) - out->word);
    break;
  }
  case PLAN_BARRIER: cost->barriers++; break;
  case PLAN_SCAN: count_scan(kernel, step, cost); break;
  case PLAN_COPY:
    cost->load_sectors += count_step(kernel, step, TRAFFIC_GLOBAL, step->in, cost);
    cost->shared_store_wavefronts += count_step(kernel, step, TRAFFIC_SHARED, step->in, cost);
    break;
  case PLAN_DOT: plan_cost_dot(kernel, step, cost); break;
  case PLAN_GATHER: plan_gather_cost(kernel, step, cost); break;
  case PLAN_JOIN:
  case PLAN_FOLD:
  case PLAN_FOLD_LANES: count_joins(kernel, step, cost); break;
  case PLAN_APPLY:
    cost->mapped += 1 << plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
    break;
  default: assert(false); /* its row says that it is counted here */
  }
}

/* What the kernel's tile costs of a step. */
static void count_tile(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  int in = plan_value_bits(&kernel->value[step->in], PLAN_REGISTER),
      out = plan_value_bits(&kernel->value[step->out], PLAN_REGISTER);
  switch ((plan_step_cost)plan_step_row_of(step->kind)->cost) {
  case PLAN_FREE: break;
  case PLAN_PER_ELEMENT: cost->logic += 1 << out; break;
  case PLAN_PER_DROPPED: cost->selects += (1 << in) - (1 << out); break;
  case PLAN_COUNTED: count_kind(kernel, step, cost); break;
  }
}

void plan_cost_steps(const plan_kernel *kernel, int first, int end, plan_cost *cost) {
  for (int i = first; i < end; i++) count_tile(kernel, &kernel->step[i], cost);
}

/* Adds what a body costs in 2^iterations turns. */
static void add_turns(const plan_cost *body, int iterations, plan_cost *cost) {
  cost->load_sectors += body->load_sectors << iterations;
  cost->store_sectors += body->store_sectors << iterations;
  cost->index_sectors += body->index_sectors << iterations;
  cost->shared_store_wavefronts += body->shared_store_wavefronts << iterations;
  cost->shared_load_wavefronts += body->shared_load_wavefronts << iterations;
  cost->shared_accesses += body->shared_accesses << iterations;
  cost->barriers += body->barriers << iterations;
  cost->shuffles += body->shuffles << iterations;
  cost->selects += body->selects << iterations;
  cost->multiplied_selects += body->multiplied_selects << iterations;
  cost->permutes += body->permutes << iterations;
  cost->logic += body->logic << iterations;
  cost->addresses += body->addresses << iterations;
  cost->combined += body->combined << iterations;
  cost->mapped += body->mapped << iterations;
}

/* Of an edge what the interior does; of copies ahead those of a turn, not those before the walk. */
static void count_steps(const plan_kernel *kernel, int first, int end, plan_cost *cost) {
  int walked = first; /* where the walk ends */
  for (int i = first; i < end; i++) {
    const plan_step *step = &kernel->step[i];
    plan_cost body = {0};
    if (step->kind == PLAN_WALK) walked = i + 1 + step->body;
    if (step->kind == PLAN_AHEAD && i >= walked) {
      i += step->body;
      continue;
    }
    count_tile(kernel, step, cost);
    if (step->kind == PLAN_IF_INTERIOR) {
      count_steps(kernel, i + 1, i + 1 + step->body, cost);
      i += step->body + step->otherwise;
    } else if (step->kind == PLAN_LOOP) {
      count_steps(kernel, i + 1, i + 1 + step->body, &body);
      add_turns(&body, step->iterations, cost);
      i += step->body;
    }
  }
}

void plan_cost_kernel(plan_kernel *kernel) {
  plan_cost *cost = &kernel->cost;
  int widest = 0;
  memset(cost, 0, sizeof *cost);
  for (int t = 0; t <= PLAN_DESTINATION; t++) { /* scales are few */
    cost->bytes_per_element += (kernel->tensor_bits[t] << kernel->split_128) / 8.0;
    widest = bits_max(widest, kernel->tensor_bits[t]);
  }
  if (kernel->flat) {
    cost->tile_bytes = kernel->launch.block_elements * (widest << kernel->split_128) / 8;
    return;
  }
  cost->tile_bytes = plan_access_bytes(widest, kernel->space.in[0].bits);
  cost->min_sectors = bits_max(cost->tile_bytes / kernel->target.sector_bytes, 1);
  cost->min_wavefronts =
      bits_max(cost->tile_bytes / (kernel->target.banks * kernel->target.bank_bytes), 1);
  for (int i = 0; i < kernel->n_values; i++) {
    const plan_value *value = &kernel->value[i];
    cost->registers =
        bits_max(cost->registers, 1 << (plan_value_bits(value, PLAN_REGISTER) - value->word));
  }
  count_steps(kernel, 0, kernel->n_steps, cost);
}
