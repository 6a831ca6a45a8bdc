/* See step_case.h: random layouts, and kernels put together by hand. */
#include "step_case.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "layout/f2.h"

#include <criterion/criterion.h>
#include <string.h>

uint64_t step_random(uint64_t *seed) {
  *seed ^= *seed >> 12;
  *seed ^= *seed << 25;
  *seed ^= *seed >> 27;
  return *seed * 0x2545F4914F6CDD1D >> 8;
}

int step_below(uint64_t *seed, int n) { return (int)(step_random(seed) % (unsigned)n); }

bool step_once_in(uint64_t *seed, int n) { return step_below(seed, n) == 0; }

void step_random_matrix(uint64_t *seed, int n, int fixed, bool permutation, uint64_t *columns) {
  f2_basis basis;
  f2_basis_init(&basis);
  for (int i = 0; i < fixed; i++) columns[i] = 1ull << i;
  for (int i = fixed; i < n;) {
    uint64_t x = permutation ? 1ull << step_below(seed, n) : step_random(seed) & bits_mask(n);
    x &= ~bits_mask(fixed);
    if (f2_basis_insert(&basis, x)) columns[i++] = x;
  }
}

int step_place_bits(const step_places *places) {
  return places->registers + places->lanes + places->warps - bits_count(places->zero_lanes) -
         bits_count(places->zero_warps);
}

plan_value step_value(const step_places *places, const uint64_t *columns, int bits, int word) {
  plan_value value = {.word = (uint8_t)word, .bits = (uint8_t)bits};
  llrt_layout *layout = &value.layout;
  int at = 0, from = 0;
  *layout = llrt_layout_empty();
  llrt_layout_add_out(layout, "tile", step_place_bits(places));
  llrt_layout_add_in(layout, "register", places->registers);
  llrt_layout_add_in(layout, "lane", places->lanes);
  llrt_layout_add_in(layout, "warp", places->warps);
  llrt_layout_add_in(layout, "iteration", 0);
  for (int i = 0; i < places->registers; i++) layout->column[at++] = columns[from++];
  for (int i = 0; i < places->lanes; i++)
    layout->column[at++] = places->zero_lanes >> i & 1 ? 0 : columns[from++];
  for (int i = 0; i < places->warps; i++)
    layout->column[at++] = places->zero_warps >> i & 1 ? 0 : columns[from++];
  return value;
}

plan_value step_value_in_order(const step_places *places, const int *order, int n,
                               const uint64_t *columns, int bits, int word) {
  uint64_t placed[LLRT_MAX_BITS], taken = 0;
  for (int k = 0; k < n; k++) {
    placed[order[k]] = columns[k];
    taken |= 1ull << order[k];
  }
  for (int i = 0, k = n; i < step_place_bits(places); i++)
    if (!(taken >> i & 1)) placed[i] = columns[k++];
  return step_value(places, placed, bits, word);
}

void step_random_places(uint64_t *seed, const plan_target *target, int bits, int most,
                        step_places *places, int *word) {
  bool host = target->simd_lanes;
  *word = host ? bits == 4 : bits < 32 ? 5 - bits_log2(bits) : 0;
  *places = (step_places){.registers = *word + step_below(seed, most + 1),
                          .warps = host ? 0 : step_below(seed, 3)};
  places->lanes =
      host ? bits_log2(target->vector_bytes * 8 / bits_max(bits, 8)) : target->lane_bits;
  if (step_once_in(seed, 3) && !host)
    places->zero_lanes = step_random(seed) & bits_mask(places->lanes);
  if (step_once_in(seed, 4)) places->zero_warps = step_random(seed) & bits_mask(places->warps);
  if (step_once_in(seed, 4) && host)
    places->zero_lanes = bits_mask(places->lanes) & ~bits_mask(step_below(seed, places->lanes + 1));
}

void step_begin(step_case *c, const plan_target *target, int n, const step_places *places) {
  plan_kernel *kernel = &c->kernel;
  memset(kernel, 0, sizeof *kernel);
  kernel->target = *target;
  kernel->n_tensors = n;
  kernel->lane_bits = places->lanes;
  kernel->warp_bits = places->warps;
  for (int t = 0; t < n; t++) {
    kernel->tensor_bits[t] = (uint8_t)c->tensor[t].bits;
    kernel->launch.arg[kernel->launch.n_args++] =
        (plan_arg){.kind = PLAN_ARG_ADDRESS, .tensor = (uint8_t)t};
  }
}

void step_make_dense(step_case *c, uint64_t *seed, int tile, int fixed) {
  plan_kernel *kernel = &c->kernel;
  int n = tile + step_below(seed, 2);
  plan_digit *digit = &kernel->digit[kernel->n_digits++];
  *digit = (plan_digit){.bits = (uint8_t)n,
                        .rest = true,
                        .step = 1,
                        .upper = {.arg = -1, .value = 1 + step_below(seed, 2)}};
  for (int t = 0; t < kernel->n_tensors; t++) {
    digit->side[t] =
        (plan_digit_side){.kind = PLAN_COLUMNS, .stride = {.arg = -1, .value = (int64_t)1 << n}};
    for (int z = 0; z < n; z++) kernel->column[t][z] = 1ull << z;
    c->tensor[t].elements = digit->upper.value << n;
    c->tensor[t].lead = 0;
  }
  kernel->space = llrt_layout_empty();
  llrt_layout_add_out(&kernel->space, "d0", n);
  llrt_layout_add_in(&kernel->space, "tile", tile);
  llrt_layout_add_in(&kernel->space, "grid", n - tile);
  step_random_matrix(seed, n, fixed, step_once_in(seed, 2), kernel->space.column);
  kernel->place[kernel->n_places++] = (plan_place){.digit = -1, .bits = (uint8_t)(n - tile)};
  kernel->place[kernel->n_places++] = (plan_place){
      .digit = 0, .count = digit->upper, .magic = {.arg = -1}, .magic_shift = {.arg = -1}};
  kernel->launch.grid[kernel->launch.n_grid++] =
      (plan_grid_place){.axis = -1, .factor = (int64_t)1 << (n - tile)};
  kernel->launch.grid[kernel->launch.n_grid++] =
      (plan_grid_place){.axis = -1, .factor = digit->upper.value};
}

int step_add_value(step_case *c, const plan_value *value) {
  plan_kernel *kernel = &c->kernel;
  cr_assert_lt(kernel->n_values, PLAN_MAX_VALUES);
  kernel->value[kernel->n_values] = *value;
  return kernel->n_values++;
}

plan_step *step_add(step_case *c, plan_step step) {
  plan_kernel *kernel = &c->kernel;
  cr_assert_lt(kernel->n_steps, PLAN_MAX_STEPS);
  kernel->step[kernel->n_steps] = step;
  return &kernel->step[kernel->n_steps++];
}

void step_finish(step_case *c) {
  plan_kernel *kernel = &c->kernel;
  plan_launch *launch = &kernel->launch;
  launch->threads = kernel->target.simd_lanes
                        ? 1
                        : 1 << (kernel->lane_bits + kernel->warp_bits - kernel->cluster_bits);
  launch->cluster = kernel->cluster_bits > 0 ? 1 << kernel->cluster_bits : 0;
  for (int i = 0; i < kernel->n_buffers; i++)
    launch->shared_bytes = bits_max(launch->shared_bytes, plan_buffer_end(&kernel->buffer[i]));
  if (kernel->lookback.used)
    launch->shared_bytes = bits_max(launch->shared_bytes, 16); /* a ticket */
  if (kernel->producers == 0) return;
  launch->threads += kernel->producers << kernel->lane_bits;
  kernel->barriers = (launch->shared_bytes + 7) & -8;
  launch->shared_bytes = kernel->barriers + 24 * kernel->slots; /* three of each slot */
}
