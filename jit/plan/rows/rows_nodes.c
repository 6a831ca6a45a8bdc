/* A program's nodes as steps: each node one, between values that lack the bits of axes along which
 * they do not vary. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "expression/program_narrow.h"
#include "expression/program_range.h"
#include "jit/plan/types/number.h"

llrt_status rows_apply(rows *r, plan_step step, uint64_t tile_bits, int *number) {
  llrt_dtype type = (llrt_dtype)step.type;
  int bits = type == LLRT_BOOL ? 32 : llrt_dtype_bits(type);
  LLRT_TRY(rows_new_value(r, tile_bits, bits, number));
  step.out = (uint8_t)*number;
  if (step.operands < 1) step.in = step.out;
  if (step.operands < 2) step.second = step.in;
  if (step.operands < 3) step.with = step.in;
  if (step.op != EXPR_NUMBER && step.op != EXPR_FLIP) step.number = (plan_number){.arg = -1};
  return draft_step(r->d.kernel, step);
}

llrt_status rows_number(rows *r, llrt_dtype type, plan_number code, int *number) {
  plan_step step = {.kind = PLAN_APPLY, .op = EXPR_NUMBER, .type = (uint8_t)type, .number = code};
  return rows_apply(r, step, 0, number);
}

bool rows_walks(const rows *r, int node) {
  return !r->resident && (r->program->node[node].axes & r->program->reduced) != 0;
}

/* A cast that maps of elements make (include/llrt/map.h), or a step of its own. */
static llrt_status cast_node(rows *r, const program_node *node, int *value) {
  llrt_dtype from = (llrt_dtype)node->from, to = (llrt_dtype)node->type;
  llrt_dtype through = (llrt_dtype)node->through;
  if (from == LLRT_BOOL) from = LLRT_I32; /* 0 and 1 */
  bool mapped = from != LLRT_I64 && through != LLRT_E8M0;
  if (mapped && through) LLRT_TRY(draft_cast(&r->d, from, through, value));
  if (mapped && through) from = through;
  if (mapped) return rows_cast(r, from, to, value);
  plan_step step = {.kind = PLAN_APPLY,
                    .op = EXPR_CAST,
                    .operands = 1,
                    .in = (uint8_t)*value,
                    .element = (uint8_t)from,
                    .type = (uint8_t)to,
                    .through = (uint8_t)through,
                    .positive = program_is_positive(r->program, node->arg[0]),
                    .rounding = node->rounding};
  return rows_apply(r, step, rows_bits_of(r, node->axes), value);
}

static llrt_status scalar_node(rows *r, const program_node *node, int *value) {
  plan_number number;
  LLRT_TRY(draft_arg(&r->d, (plan_arg){.kind = PLAN_ARG_SCALAR, .index = node->slot}, &number));
  return rows_number(r, (llrt_dtype)node->type, number, value);
}

static bool is_moderate(const expr_program *program, int divisor) {
  return program_least(program, divisor) >= -PLAN_LEAST &&
         program_most_finite(program, divisor) <= PLAN_MOST;
}

/* Of a quotient. */
static void what_is_known(const rows *r, int number, plan_step *step) {
  const expr_program *program = r->program;
  int x = program->node[number].arg[0], y = program->node[number].arg[1];
  step->bounded = program_most(program, x) <= PLAN_BOUNDED ||
                  program_most_over(program, x, y) <= PLAN_BOUNDED_OVER;
  step->positive = program_is_positive(program, x);
  step->power = program_is_power(program, y);
  step->least = program_least(program, x) >= -PLAN_LEAST;
  step->moderate = is_moderate(program, y);
  step->coarse = program_is_coarse(program, number);
  step->narrow = program_divides_narrow(program, r->narrow, number);
}

static llrt_status make(rows *r, int number) {
  const program_node *node = &r->program->node[number];
  int *value = &r->value[number];
  plan_step step = {.kind = PLAN_APPLY,
                    .op = node->op,
                    .operands = node->n_args,
                    .element = node->from,
                    .type = node->type,
                    .axis = node->slot,
                    .narrow = r->narrow[number]};
  if (node->op == EXPR_TENSOR) return rows_load(r, number, value);
  if (node->op == EXPR_SCALAR) return scalar_node(r, node, value);
  if (node->op == EXPR_NUMBER)
    return rows_number(r, (llrt_dtype)node->type,
                       (plan_number){.arg = -1, .value = (int64_t)node->bits}, value);
  if (rows_is_cut(r, number)) return rows_make_cut(r, number, value);
  bool scan = program_scans(node->op);
  if (node->reduced && !scan && !r->resident) return rows_walk_reduce(r, number, value);
  if (node->reduced && !scan && rows_joins_halves(r, number))
    return rows_reduce_halves(r, number, value);
  if (rows_joins_one_hot(r, number)) return rows_reduce_one_hot(r, number, value);
  for (int i = 0; i < node->n_args; i++) LLRT_TRY(rows_make_node(r, node->arg[i]));
  if (scan) return rows_scan(r, number, r->value[node->arg[0]], value);
  if (node->reduced) return rows_reduce(r, number, r->value[node->arg[0]], value);
  if (node->op == EXPR_CAST) {
    *value = r->value[node->arg[0]];
    return cast_node(r, node, value);
  }
  if (node->n_args > 0) step.in = (uint8_t)r->value[node->arg[0]];
  if (node->n_args > 1) step.second = (uint8_t)r->value[node->arg[1]];
  if (node->n_args > 2) step.with = (uint8_t)r->value[node->arg[2]];
  if (node->op == EXPR_DIVIDE) what_is_known(r, number, &step);
  if (node->op == EXPR_RCP) step.moderate = is_moderate(r->program, node->arg[0]);
  if (node->op == EXPR_EXP) step.coarse = program_is_added(r->program, number);
  return rows_apply(r, step, rows_bits_of(r, node->axes), value);
}

llrt_status rows_make_node(rows *r, int node) {
  uint64_t bits;
  if (r->value[node] != ROWS_NONE) return LLRT_OK;
  int of = rows_flip_of(r, node, &bits);
  return of == ROWS_NONE ? make(r, node) : rows_flip(r, node, of, bits, &r->value[node]);
}

llrt_status rows_fetch_for(rows *r, int number) {
  const program_node *node = &r->program->node[number];
  bool scan = program_scans(node->op);
  bool walks = node->reduced && !scan && !r->resident; /* and loads in its turns */
  bool kept = r->is_kept[number] && (r->cut[number] || !rows_keeps_part(r, number));
  if (r->value[number] != ROWS_NONE || kept || walks) return LLRT_OK;
  uint64_t bits;
  int of = node->op == EXPR_TENSOR ? rows_flip_of(r, number, &bits) : ROWS_NONE;
  if (node->op == EXPR_TENSOR) return rows_fetch(r, of == ROWS_NONE ? number : of);
  for (int i = 0; i < node->n_args; i++) LLRT_TRY(rows_fetch_for(r, node->arg[i]));
  return LLRT_OK;
}

/* The tensor that a step, or the first of its body, loads; -1: none. */
static int loaded_tensor(const plan_kernel *kernel, int at) {
  while (kernel->step[at].kind == PLAN_IF_INTERIOR) at++;
  return kernel->step[at].kind == PLAN_LOAD ? kernel->step[at].tensor : -1;
}

/* Steps behind the walk's, loads, up to the first of what rows share. */
static int steps_of_rows(const rows *r, int walk) {
  const plan_kernel *kernel = r->d.kernel;
  const program_tensor *tensor = r->program->tensor;
  uint32_t all = 0;
  int i = walk + 1;
  for (int t = 0; t < r->program->n_tensors; t++) all |= tensor[t].axes;
  while (i < kernel->n_steps) {
    int loaded = loaded_tensor(kernel, i);
    if (loaded >= 0 && (all & ~(tensor[loaded].axes | r->program->reduced))) break;
    i += 1 + kernel->step[i].body + kernel->step[i].otherwise;
  }
  return i - walk - 1;
}

void rows_load_early(rows *r, int walk) {
  plan_kernel *kernel = r->d.kernel;
  int early = steps_of_rows(r, walk);
  if (r->ring == ROWS_NONE && !kernel->target.simd_lanes && early <= PLAN_MAX_AHEAD)
    kernel->step[walk].ahead = (uint8_t)early;
}

/* Whether a step in a walk is one that each warp, or thread, does for itself. A ring's elements are
 * read by the threads that stored them. */
static bool is_alone(const plan_kernel *kernel, const plan_step *step) {
  switch (step->kind) {
  case PLAN_LOAD: return !step->staged;
  case PLAN_STORE:
  case PLAN_REGISTERS:
  case PLAN_SHUFFLE:
  case PLAN_MAP:
  case PLAN_APPLY:
  case PLAN_FILL:
  case PLAN_JOIN:
  case PLAN_FOLD:
  case PLAN_CARRY:
  case PLAN_OPAQUE:
  case PLAN_AHEAD:
  case PLAN_COPY:
  case PLAN_COPIED:
  case PLAN_IF_INTERIOR: return true;
  case PLAN_SHARED_STORE:
  case PLAN_SHARED_LOAD: return kernel->buffer[step->buffer].slots > 0;
  default: return false;
  }
}

void rows_close_walk(rows *r, int walk) {
  plan_kernel *kernel = r->d.kernel;
  bool alone = !kernel->target.simd_lanes && kernel->n_bounds > 0 && !r->resident;
  draft_close(kernel, walk);
  for (int i = walk + 1; i < kernel->n_steps; i++) alone &= is_alone(kernel, &kernel->step[i]);
  kernel->step[walk].by_warps = alone;
}

llrt_status rows_prepare(rows *r, int number) {
  const program_node *node = &r->program->node[number];
  if (!rows_walks(r, number)) return rows_make_node(r, number);
  for (int i = 0; i < node->n_args; i++) LLRT_TRY(rows_prepare(r, node->arg[i]));
  return LLRT_OK;
}
