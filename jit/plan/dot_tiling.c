/* See dot_tiling.h. */
#include "jit/plan/dot_tiling.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft.h"

#include <string.h>

#define CHECK(condition, ...)                                             \
  do {                                                                    \
    if (!(condition)) return llrt_error(LLRT_INTERNAL, "plan: " __VA_ARGS__); \
  } while (0)

/* One operand: its columns in the kernel's tile bits. */
typedef struct side {
  const plan_value *value;
  uint64_t bits; /* of the kernel's tile that it has */
  uint64_t registers[24], lanes[8], warps[8];
} side;

typedef struct tiler {
  const plan_kernel *kernel;
  const dot_instruction *row;
  side side[3];
  uint64_t image[32]; /* by coordinate bit of the instruction: a tile vector, 0: not known yet */
} tiler;

/* Bits that iterations count are those of this turn: none of the operand's. */
static void read_side(const plan_kernel *kernel, int number, side *out) {
  const plan_value *value = &kernel->value[number];
  uint64_t *const lists[] = {out->registers, out->lanes, out->warps};
  out->value = value;
  out->bits = plan_turn_bits_in(kernel, value);
  for (plan_dim dim = PLAN_REGISTER; dim <= PLAN_WARP; dim++)
    for (int i = 0; i < plan_value_bits(value, dim); i++)
      lists[dim][i] = plan_tile_bits_of(value, plan_value_columns(value, dim)[i]);
}

/* The instruction's coordinate bit lies at tile vector x. */
static bool agree(tiler *t, uint32_t coordinate, uint64_t x) {
  uint64_t *image = &t->image[bits_lowest(coordinate)];
  if (*image == 0) *image = x;
  return x != 0 && *image == x;
}

static bool is_whole_warp(const dot_operand *operand) { return operand->lanes > 0; }

static llrt_status match_operand(tiler *t, int at, int number, const dot_operand *operand) {
  const side *s = &t->side[number];
  CHECK(plan_value_bits(s->value, PLAN_REGISTER) >= operand->registers && s->value->word <= operand->registers,
        "step %d: operand %d has too few registers for %s", at, number, t->row->name);
  CHECK(!is_whole_warp(operand) || operand->lanes == t->kernel->lane_bits, "step %d: lanes of %s", at,
        t->row->name);
  for (int i = 0; i < operand->registers; i++)
    CHECK(agree(t, operand->column[i], s->registers[i]), "step %d: operand %d does not divide by %s: register %d",
          at, number, t->row->name, i);
  for (int i = 0; i < operand->lanes; i++)
    CHECK(agree(t, operand->column[operand->registers + i], s->lanes[i]),
          "step %d: operand %d does not divide by %s: lane %d", at, number, t->row->name, i);
  return LLRT_OK;
}

/* Lanes outside the instruction and warps hold what the result's need. On the host a lane may hold what all share. */
static llrt_status match_threads(const tiler *t, int at, const dot_operand operand[3]) {
  const side *acc = &t->side[DOT_ACC];
  bool host = t->kernel->target.lanes_first;
  for (int o = 0; o < 2; o++) {
    const side *s = &t->side[o];
    bool all = true, none = true;
    for (int i = 0; i < t->kernel->lane_bits && !is_whole_warp(&operand[DOT_ACC]); i++) {
      uint64_t wanted = acc->lanes[i] & s->bits;
      CHECK(s->lanes[i] == wanted, "step %d: operand %d, lane %d", at, o, i);
      all &= s->lanes[i] == acc->lanes[i];
      none &= s->lanes[i] == 0;
    }
    CHECK(!host || all || none, "step %d: operand %d has some of the result's lanes", at, o);
    for (int i = 0; i < t->kernel->warp_bits; i++)
      CHECK(s->warps[i] == (acc->warps[i] & s->bits), "step %d: operand %d, warp %d", at, o, i);
  }
  return LLRT_OK;
}

/* The registers of an operand outside the instruction, labelled with register indices. */
static void outer_registers(const side *s, int inside, f2_basis *out) {
  f2_basis_init(out);
  for (int i = inside; i < plan_value_bits(s->value, PLAN_REGISTER); i++)
    f2_basis_insert_as(out, s->registers[i], 1ull << i);
}

static llrt_status match_results(const tiler *t, int at, const f2_basis outer[2], dot_tiling *out) {
  const side *acc = &t->side[DOT_ACC];
  int inside = out->operand[DOT_ACC].registers;
  out->n_out = plan_value_bits(acc->value, PLAN_REGISTER) - inside;
  CHECK(out->n_out <= DOT_MAX_OUTER, "step %d: 2^%d instructions", at, out->n_out);
  for (int i = 0; i < out->n_out; i++) {
    uint64_t x = acc->registers[inside + i];
    out->of_out[DOT_ACC][i] = 1ull << (inside + i);
    for (int o = 0; o < 2; o++)
      CHECK(f2_basis_coordinates(&outer[o], x & t->side[o].bits, &out->of_out[o][i]),
            "step %d: operand %d is not in the thread of result bit %d", at, o, i);
  }
  return LLRT_OK;
}

/* What is summed outside the instruction are registers of both operands. */
static llrt_status match_sums(const tiler *t, int at, const f2_basis outer[2], dot_tiling *out) {
  const side *a = &t->side[DOT_A], *b = &t->side[DOT_B];
  uint64_t summed = (a->bits | b->bits) & ~t->side[DOT_ACC].bits;
  f2_basis done;
  f2_basis_init(&done);
  CHECK((t->side[DOT_ACC].bits & ~(a->bits | b->bits)) == 0, "step %d: a result along what no operand has", at);
  CHECK((summed & ~(a->bits & b->bits)) == 0, "step %d: a sum along what one operand has", at);
  for (int i = t->row->m + t->row->n; i < t->row->m + t->row->n + t->row->k; i++)
    CHECK((t->image[i] & ~summed) == 0 && f2_basis_insert(&done, t->image[i]), "step %d: k bit %d", at, i);
  for (int i = out->operand[DOT_A].registers; i < plan_value_bits(a->value, PLAN_REGISTER); i++) {
    uint64_t x = a->registers[i];
    if (x & ~summed || !f2_basis_insert(&done, x)) continue;
    CHECK(out->n_sum < DOT_MAX_OUTER, "step %d: too long a sum", at);
    out->of_sum[DOT_A][out->n_sum] = 1ull << i;
    CHECK(f2_basis_coordinates(&outer[DOT_B], x, &out->of_sum[DOT_B][out->n_sum]),
          "step %d: operand 1 is not in the thread along register %d of operand 0", at, i);
    out->n_sum++;
  }
  CHECK(done.rank == bits_count(summed), "step %d: part of the sum is in other threads", at);
  return LLRT_OK;
}

llrt_status plan_dot_tiling(const plan_kernel *kernel, const plan_step *step, dot_tiling *out) {
  const int numbers[3] = {step->in, step->second, step->out};
  int at = (int)(step - kernel->step);
  tiler t = {.kernel = kernel, .row = dot_instruction_at(step->instruction)};
  f2_basis outer[2];
  memset(out, 0, sizeof *out);
  CHECK(t.row && dot_instruction_is_of(t.row, &kernel->target), "step %d: instruction %d", at, step->instruction);
  out->row = t.row;
  const int types[3] = {t.row->a, t.row->b, t.row->acc};
  for (int o = 0; o < 3; o++) {
    CHECK(numbers[o] < kernel->n_values, "step %d: value %d", at, numbers[o]);
    CHECK(kernel->value[numbers[o]].bits == llrt_dtype_bits((llrt_dtype)types[o]), "step %d: operand %d has %d bits",
          at, o, kernel->value[numbers[o]].bits);
    dot_instruction_operand(t.row, o, &out->operand[o]);
    read_side(kernel, numbers[o], &t.side[o]);
  }
  for (int o = 0; o < 3; o++) LLRT_TRY(match_operand(&t, at, o, &out->operand[o]));
  LLRT_TRY(match_threads(&t, at, out->operand));
  for (int o = 0; o < 2; o++) outer_registers(&t.side[o], out->operand[o].registers, &outer[o]);
  LLRT_TRY(match_results(&t, at, outer, out));
  return match_sums(&t, at, outer, out);
}

llrt_status plan_verify_dot(const plan_kernel *kernel, int at) {
  const plan_step *step = &kernel->step[at];
  dot_tiling tiling;
  CHECK(step->with < kernel->n_values && step->second < kernel->n_values, "step %d: no such value", at);
  const plan_value *with = &kernel->value[step->with], *out = &kernel->value[step->out];
  CHECK(with->bits == out->bits && with->word == out->word && with->reduced == out->reduced &&
            llrt_layout_equal(&with->layout, &out->layout),
        "step %d: v%d is not laid out as v%d", at, step->with, step->out);
  return plan_dot_tiling(kernel, step, &tiling);
}

void plan_cost_dot(const plan_kernel *kernel, const plan_step *step, plan_cost *cost) {
  dot_tiling tiling;
  if (plan_dot_tiling(kernel, step, &tiling) != LLRT_OK) return;
  cost->products += 1 << (tiling.n_out + tiling.n_sum);
  cost->product_clocks += tiling.row->clocks * (1 << (tiling.n_out + tiling.n_sum));
}
