/* See dot_tiling.h. */
#include "jit/plan/facts/dot_tiling.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/tile_padding.h"
#include "jit/plan/facts/thread_registers.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/plan_check.h"
#include "layout/f2.h"

#include <string.h>

/* One operand: its columns in the kernel's tile bits. */
typedef struct side {
  const plan_value *value;
  uint64_t bits; /* of the kernel's tile that it has */
  uint64_t registers[24], lanes[8], warps[8];
  bool shared;
  plan_address_map map; /* shared: of the buffer */
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
  CHECK(plan_value_bits(s->value, PLAN_REGISTER) >= operand->registers &&
            s->value->word <= operand->registers,
        "step %d: operand %d has too few registers for %s", at, number, t->row->name);
  CHECK(!is_whole_warp(operand) || operand->lanes == t->kernel->lane_bits, "step %d: lanes of %s",
        at, t->row->name);
  CHECK(operand->warps <= t->kernel->warp_bits, "step %d: warps of %s", at, t->row->name);
  for (int i = 0; i < operand->registers; i++)
    CHECK(agree(t, operand->column[i], s->registers[i]),
          "step %d: operand %d does not divide by %s: register %d", at, number, t->row->name, i);
  for (int i = 0; i < operand->lanes; i++)
    CHECK(agree(t, operand->column[operand->registers + i], s->lanes[i]),
          "step %d: operand %d does not divide by %s: lane %d", at, number, t->row->name, i);
  for (int i = 0; i < operand->warps; i++)
    CHECK(agree(t, operand->column[operand->registers + operand->lanes + i], s->warps[i]),
          "step %d: operand %d does not divide by %s: warp %d", at, number, t->row->name, i);
  return LLRT_OK;
}

/* ---- operands in shared memory ---- */

/* Bytes by which a tile vector moves the operand's address. */
static uint64_t shared_place(const side *s, uint64_t x) {
  return f2_apply(s->map.column, plan_value_bits_of(s->value, x & s->bits)) * s->value->bits / 8;
}

/* Where no operand's registers say which bits of the tile the instruction sums, they are the
 * lowest. */
static void choose_summed(tiler *t) {
  const side *a = &t->side[DOT_A], *b = &t->side[DOT_B];
  uint64_t summed = (a->bits | b->bits) & ~t->side[DOT_ACC].bits;
  int first = t->row->m + t->row->n;
  if (!a->shared || !b->shared) return;
  for (int i = 0; i < t->row->k; i++, summed &= summed - 1) t->image[first + i] = summed & -summed;
}

static llrt_status match_shared(tiler *t, int at, int o, dot_tiling *out) {
  const side *s = &t->side[o];
  const dot_instruction *row = t->row;
  int first = o == DOT_A ? 0 : row->m, n = o == DOT_A ? row->m : row->n;
  uint64_t position[8], k[8];
  for (int i = 0; i < n; i++) position[i] = shared_place(s, t->image[first + i]);
  for (int i = 0; i < row->k; i++) k[i] = shared_place(s, t->image[row->m + row->n + i]);
  CHECK(dot_matrix_of(position, n, k, row->k, s->value->bits, &out->matrix[o]),
        "step %d: operand %d does not lie in shared memory as %s takes it", at, o, row->name);
  for (int i = out->operand[DOT_ACC].warps; i < t->kernel->warp_bits; i++) {
    out->of_warp[o][i] = shared_place(s, t->side[DOT_ACC].warps[i]);
    CHECK(dot_matrix_moves(&out->matrix[o], out->of_warp[o][i]), "step %d: operand %d, warp %d", at,
          o, i);
  }
  return LLRT_OK;
}

/* Where the operand's part at a tile vector begins: registers, or bytes. */
static bool find_place(const tiler *t, int o, const f2_basis *outer, uint64_t x,
                       const dot_matrix *matrix, uint64_t *index) {
  const side *s = &t->side[o];
  if (!s->shared) return f2_basis_coordinates(outer, x & s->bits, index);
  *index = shared_place(s, x);
  return dot_matrix_moves(matrix, *index);
}

/* Lanes outside the instruction and warps hold what the result's need. On the host a lane may hold
 * what all share. */
static llrt_status match_threads(const tiler *t, int at, const dot_operand operand[3]) {
  const side *acc = &t->side[DOT_ACC];
  bool host = t->kernel->target.simd_lanes;
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
    for (int i = operand[o].warps; i < t->kernel->warp_bits && !s->shared; i++)
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
      CHECK(find_place(t, o, &outer[o], x, &out->matrix[o], &out->of_out[o][i]),
            "step %d: operand %d is not in the thread of result bit %d", at, o, i);
  }
  return LLRT_OK;
}

/* Whether an instruction's columns are all positions of the digit, in their order. */
static bool is_columns(const tiler *t, const plan_padding *padding) {
  bool same = padding->n == t->row->n;
  for (int i = 0; i < t->row->n && same; i++) same = t->image[t->row->m + i] == padding->bit[i];
  return same;
}

/* Where the tile has positions that are of no block, and those are the last columns of each
 * instruction, or a quarter that is whole instructions, they are left out. */
static void leave_foreign(const tiler *t, dot_tiling *out) {
  const side *acc = &t->side[DOT_ACC];
  int inside = out->operand[DOT_ACC].registers;
  plan_padding padding;
  uint64_t skipped = 0;
  out->columns = 1 << t->row->n;
  if (t->row->family != DOT_WGMMA) return;
  plan_padding_find(t->kernel, &padding);
  bool quarter = padding.n >= 2 && padding.own == 3ll << (padding.n - 2);
  for (int i = 0; i < out->n_out && quarter; i++)
    for (int b = padding.n - 2; b < padding.n; b++)
      if (acc->registers[inside + i] == padding.bit[b]) skipped |= 1ull << i;
  if (padding.n > 0 && is_columns(t, &padding)) out->columns = (int)padding.own;
  else if (bits_count(skipped) == 2) out->skipped = skipped;
  else return;
  out->leaves = true;
}

/* What is summed outside the instruction are registers of both operands. */
static llrt_status match_sums(const tiler *t, int at, const f2_basis outer[2], dot_tiling *out) {
  const side *a = &t->side[DOT_A], *b = &t->side[DOT_B];
  uint64_t summed = (a->bits | b->bits) & ~t->side[DOT_ACC].bits;
  f2_basis done;
  f2_basis_init(&done);
  CHECK((t->side[DOT_ACC].bits & ~(a->bits | b->bits)) == 0,
        "step %d: a result along what no operand has", at);
  CHECK((summed & ~(a->bits & b->bits)) == 0, "step %d: a sum along what one operand has", at);
  for (int i = t->row->m + t->row->n; i < t->row->m + t->row->n + t->row->k; i++)
    CHECK((t->image[i] & ~summed) == 0 && f2_basis_insert(&done, t->image[i]), "step %d: k bit %d",
          at, i);
  int n = a->shared ? bits_count(summed) : plan_value_bits(a->value, PLAN_REGISTER);
  uint64_t left = summed;
  for (int i = a->shared ? 0 : out->operand[DOT_A].registers; i < n; i++, left &= left - 1) {
    uint64_t x = a->shared ? left & -left : a->registers[i];
    if (x & ~summed || !f2_basis_insert(&done, x)) continue;
    CHECK(out->n_sum < DOT_MAX_OUTER, "step %d: too long a sum", at);
    for (int o = 0; o < 2; o++)
      CHECK(find_place(t, o, &outer[o], x, &out->matrix[o], &out->of_sum[o][out->n_sum]),
            "step %d: operand %d is not in the thread along bit %d of the sum", at, o, i);
    out->n_sum++;
  }
  CHECK(done.rank == bits_count(summed), "step %d: part of the sum is in other threads", at);
  return LLRT_OK;
}

/* The buffer of an operand that is in one, whole. */
static llrt_status find_buffer(tiler *t, int at, const plan_step *step, int o, dot_tiling *out) {
  const plan_kernel *kernel = t->kernel;
  const plan_value *value = t->side[o].value;
  bool must = t->row->layout[o] == NULL;
  out->shared[o] = t->side[o].shared = step->shared >> o & 1;
  CHECK(!must || out->shared[o], "step %d: operand %d of %s is not in shared memory", at, o,
        t->row->name);
  if (!out->shared[o]) return LLRT_OK;
  CHECK(step->from[o] < kernel->n_buffers, "step %d: buffer %d", at, step->from[o]);
  CHECK(t->row->family == DOT_WGMMA && plan_is_local(kernel, step->from[o], value),
        "step %d: %s and shared memory", at, t->row->name);
  const plan_buffer *buffer = &kernel->buffer[step->from[o]];
  CHECK(buffer->bits == value->bits && buffer->layout.in[1].bits == 0 &&
            buffer->layout.out[0].bits == value->layout.out[0].bits,
        "step %d: buffer %d is not of v%d", at, step->from[o], o ? step->second : step->in);
  CHECK(buffer->offset % DOT_SHARED_ALIGNMENT == 0 &&
            (!buffer->slots || buffer->bytes % DOT_SHARED_ALIGNMENT == 0),
        "step %d: buffer %d is not aligned", at, step->from[o]);
  plan_address_of_buffer(kernel, step->from[o], &t->side[o].map);
  return LLRT_OK;
}

llrt_status plan_dot_tiling(const plan_kernel *kernel, const plan_step *step, dot_tiling *out) {
  const int numbers[3] = {step->in, step->second, step->out};
  int at = (int)(step - kernel->step);
  tiler t = {.kernel = kernel, .row = dot_instruction_at(step->instruction)};
  f2_basis outer[2];
  memset(out, 0, sizeof *out);
  CHECK(t.row && dot_instruction_is_of(t.row, &kernel->target), "step %d: instruction %d", at,
        step->instruction);
  out->row = t.row;
  const int types[3] = {t.row->a, t.row->b, t.row->acc};
  for (int o = 0; o < 3; o++) {
    CHECK(numbers[o] < kernel->n_values, "step %d: value %d", at, numbers[o]);
    CHECK(kernel->value[numbers[o]].bits == llrt_dtype_bits((llrt_dtype)types[o]),
          "step %d: operand %d has %d bits", at, o, kernel->value[numbers[o]].bits);
    dot_instruction_operand(t.row, o, &out->operand[o]);
    read_side(kernel, numbers[o], &t.side[o]);
  }
  for (int o = 0; o < 2; o++) LLRT_TRY(find_buffer(&t, at, step, o, out));
  for (int o = 0; o < 3; o++)
    if (o == DOT_ACC || !out->shared[o]) LLRT_TRY(match_operand(&t, at, o, &out->operand[o]));
  choose_summed(&t);
  for (int o = 0; o < 2; o++)
    if (out->shared[o]) LLRT_TRY(match_shared(&t, at, o, out));
  LLRT_TRY(match_threads(&t, at, out->operand));
  for (int o = 0; o < 2; o++) outer_registers(&t.side[o], out->operand[o].registers, &outer[o]);
  LLRT_TRY(match_results(&t, at, outer, out));
  leave_foreign(&t, out);
  return match_sums(&t, at, outer, out);
}

#define FRESH_POSITIONS 7 /* log2 */

int plan_dot_fresh(const dot_tiling *tiling) {
  return bits_min(tiling->n_sum, bits_max(FRESH_POSITIONS - tiling->row->k, 0));
}

void plan_dot_left(const plan_kernel *kernel, const plan_step *step, plan_padding *out) {
  dot_tiling tiling;
  plan_padding_find(kernel, out);
  if (out->n > 0 && (plan_dot_tiling(kernel, step, &tiling) != LLRT_OK || !tiling.leaves))
    out->n = 0;
}
