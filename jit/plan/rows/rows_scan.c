/* Scans along an axis: the block's (jit/plan/block/scan.c), whose tree is that of the row's bits;
 * of walked rows a turn's, behind what the turns before have come to. What lies beyond the axis's
 * end is the neutral element. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/facts/value.h"

static draft_scan_spec spec_of(const rows *r, const program_node *node) {
  return (draft_scan_spec){.combiner = (uint8_t)rows_combiner(node->op),
                           .type = (uint8_t)rows_joined_type(node),
                           .order = r->along[bits_lowest(node->reduced)],
                           .exclusive = (node->rounding & EXPR_EXCLUSIVE) != 0,
                           .reverse = (node->rounding & EXPR_REVERSE) != 0,
                           .carry = -1};
}

/* ---- walked ---- */

/* Whether each turn's positions along the axis stand behind those of the turn before: what the tile
 * has of it are its lowest bits, and turns count the others upward. */
static bool turns_rise(const rows *r, int axis) {
  const draft *d = &r->d;
  const plan_kernel *kernel = d->kernel;
  int64_t tile = 0, beyond = INT64_MAX;
  uint64_t used = 0;
  int places = 0;
  for (int i = 0; i < d->n_grid; i++) used |= d->grid[i]; /* bits that number blocks or turns */
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    if (digit->axis != axis) continue;
    int bits = digit->rest ? digit->bits : d->bits[i]; /* the rest's above are the upper part's */
    for (int b = 0; b < bits; b++) {
      int64_t weight = digit->step << b;
      bool walked = used >> (d->first[i] + b) & 1;
      if (!walked && weight > tile) tile = weight;
      if (walked && weight < beyond) beyond = weight;
    }
    places += digit->rest;
    int64_t above = digit->step << digit->bits;
    if (digit->rest && above < beyond) beyond = above;
  }
  return tile < beyond && places <= 1;
}

static llrt_status check_walk(rows *r, const program_node *node) {
  plan_turns *walk = &r->d.kernel->walk;
  bool reverse = (node->rounding & EXPR_REVERSE) != 0, other = false;
  if (r->n_groups > 1)
    return llrt_error(LLRT_UNSUPPORTED,
                      "a scan beside reductions along other axes, and rows too long for a block");
  for (int i = 0; i < r->program->n_nodes; i++) {
    const program_node *scan = &r->program->node[i];
    other |= program_scans(scan->op) && ((scan->rounding & EXPR_REVERSE) != 0) != reverse;
  }
  if (other)
    return llrt_error(LLRT_UNSUPPORTED,
                      "scans in both directions along rows that are too long for a block");
  if (!turns_rise(r, bits_lowest(node->reduced)))
    return llrt_error(LLRT_UNSUPPORTED,
                      "a scan along rows that are too long for a block, and whose "
                      "elements do not follow each other in it");
  walk->down = reverse;
  return LLRT_OK;
}

/* The neutral element, of the layout that a scan's total has. */
static llrt_status begin_scan(rows *r, int number) {
  const program_node *node = &r->program->node[number];
  plan_value laid_out, total;
  uint64_t along = r->of_axis[bits_lowest(node->reduced)];
  LLRT_TRY(check_walk(r, node));
  LLRT_TRY(rows_layout(r, rows_bits_of(r, r->program->node[node->arg[0]].axes),
                       llrt_dtype_bits(rows_joined_type(node)), &laid_out));
  plan_value_reduce(&laid_out, laid_out.reduced | along, &total);
  LLRT_TRY(draft_value(r->d.kernel, &total, &r->first[number]));
  LLRT_TRY(draft_value(r->d.kernel, &total, &r->carried[number]));
  return draft_step(r->d.kernel, (plan_step){.kind = PLAN_FILL,
                                             .out = (uint8_t)r->first[number],
                                             .combiner = (uint8_t)rows_combiner(node->op),
                                             .type = (uint8_t)rows_joined_type(node)});
}

llrt_status rows_begin_scans(rows *r, int number) {
  const program_node *node = &r->program->node[number];
  bool scan = program_scans(node->op);
  if (!rows_walks(r, number) || (node->reduced && !scan) || r->carried[number] != ROWS_NONE)
    return LLRT_OK;
  for (int i = 0; i < node->n_args; i++) LLRT_TRY(rows_begin_scans(r, node->arg[i]));
  return scan ? begin_scan(r, number) : LLRT_OK;
}

bool rows_end_scans(rows *r) {
  bool any = false;
  for (int i = 0; i < r->program->n_nodes; i++) {
    any |= r->carried[i] != ROWS_NONE;
    r->carried[i] = r->first[i] = ROWS_NONE;
  }
  return any;
}

static llrt_status carry_on(rows *r, int number, const draft_scan_spec *spec, int total) {
  int next;
  LLRT_TRY(draft_join_before(&r->d, spec, r->carried[number], total, &next));
  return draft_step(r->d.kernel, (plan_step){.kind = PLAN_CARRY,
                                             .in = (uint8_t)r->first[number],
                                             .with = (uint8_t)next,
                                             .out = (uint8_t)r->carried[number]});
}

/* ---- both ---- */

/* Sums of what stands before begin with +0; the neutral element is -0. */
static llrt_status add_zero(rows *r, const program_node *node, int *value) {
  plan_step step = {.kind = PLAN_APPLY,
                    .op = EXPR_ADD,
                    .operands = 2,
                    .element = node->type,
                    .type = node->type,
                    .in = (uint8_t)*value};
  int zero;
  bool real = node->type == LLRT_F32 || node->type == LLRT_F64;
  if (node->op != EXPR_CUMSUM || !(node->rounding & EXPR_EXCLUSIVE) || !real) return LLRT_OK;
  LLRT_TRY(rows_number(r, (llrt_dtype)node->type, (plan_number){.arg = -1, .value = 0}, &zero));
  step.second = (uint8_t)zero;
  return rows_apply(r, step, rows_bits_of(r, node->axes), value);
}

llrt_status rows_scan(rows *r, int number, int in, int *out) {
  const program_node *node = &r->program->node[number];
  draft_scan_spec spec = spec_of(r, node);
  int total;
  *out = in;
  LLRT_TRY(rows_leave_out(r, node, out));
  if (r->resident) {
    LLRT_TRY(draft_scan(&r->d, *out, &spec, out, NULL));
    return add_zero(r, node, out);
  }
  spec.carry = r->carried[number];
  LLRT_TRY(draft_scan(&r->d, *out, &spec, out, &total));
  LLRT_TRY(add_zero(r, node, out));
  return carry_on(r, number, &spec, total);
}
