/* The largest or least of f16 or bf16, or of their sizes, as they are loaded: two in a word. What
 * comes behind takes the elements out of their words when it wants them, so that rows which wait
 * for each other's warps hold half as many registers. */
#include "jit/plan/rows/rows.h"

#include "base/status.h"
#include "jit/plan/block/block.h"
#include "jit/plan/facts/value.h"

/* What is joined: the tensor's node; *sizes: of its elements their sizes. */
static int joined_tensor(const rows *r, const program_node *node, bool *sizes) {
  int at = node->arg[0];
  *sizes = r->program->node[at].op == EXPR_ABS;
  return *sizes ? r->program->node[at].arg[0] : at;
}

/* Whether what lies beyond the axes' ends has to be left out. It was loaded as 0, which no size is
 * below: the largest size of a row that has elements is the same with it. */
static bool ends_count(const rows *r, const program_node *node, bool sizes) {
  bool any = false, zeros = sizes && node->op == EXPR_MAX && r->d.kernel->fill == 0;
  for (int a = 0; a < r->program->rank; a++)
    any |= node->reduced >> a & 1 && rows_reach_beyond(r, a) && !(zeros && r->d.shape[a].known > 0);
  return any;
}

/* The innermost group that the reduction is along. */
static int first_group(const rows *r, const program_node *node) {
  int g = 0;
  while (!rows_part_of(r, node, g)) g++;
  return g;
}

/* Whether a thread has several elements along it. */
static bool in_threads(const rows *r, const program_node *node) {
  uint64_t own = rows_bits_of(r, rows_part_of(r, node, first_group(r, node))), held = 0;
  for (int i = 0; i < r->held[PLAN_REGISTER].n; i++) held |= r->held[PLAN_REGISTER].at[i];
  return (own & held) != 0;
}

bool rows_joins_halves(rows *r, int number) {
  const program_node *node = &r->program->node[number];
  bool sizes;
  if (!r->resident || !r->d.kernel->target.half_extremes) return false;
  if ((node->op != EXPR_MAX && node->op != EXPR_MIN) || node->type != LLRT_F32) return false;
  const program_node *tensor = &r->program->node[joined_tensor(r, node, &sizes)];
  plan_value value;
  if (tensor->op != EXPR_TENSOR || (tensor->from != LLRT_BF16 && tensor->from != LLRT_F16) ||
      ends_count(r, node, sizes) || !in_threads(r, node))
    return false;
  return rows_tensor_value(r, tensor->slot, &value) == LLRT_OK && value.word == 1;
}

llrt_status rows_reduce_halves(rows *r, int number, int *out) {
  const program_node *node = &r->program->node[number];
  plan_kernel *kernel = r->d.kernel;
  bool sizes;
  int tensor = joined_tensor(r, node, &sizes);
  llrt_dtype type = (llrt_dtype)r->program->node[tensor].from;
  uint8_t part = rows_part_of(r, node, first_group(r, node));
  LLRT_TRY(rows_fetch(r, tensor));
  uint64_t left =
      plan_tile_bits_in(kernel, &kernel->value[r->loaded[tensor]]) & ~rows_bits_of(r, part);
  reduce_value joined = {.op = rows_combiner(node->op), .type = type, .sizes = sizes};
  LLRT_TRY(rows_renamed(r, r->loaded[tensor], 0, &joined.key));
  LLRT_TRY(reduce_threads(&r->d, &joined, bits_count(left)));
  const plan_map map = {
      .kind = PLAN_MAP_CAST, .from = (uint8_t)type, .to = LLRT_F32, .any_nan = true};
  LLRT_TRY(draft_retype(&r->d, map, &joined.key));
  joined.type = LLRT_F32;
  joined.sizes = false;
  LLRT_TRY(rows_join_block(r, sizes && node->op == EXPR_MAX, &joined, bits_count(left)));
  LLRT_TRY(rows_end_join(r, &joined, left, out));
  return rows_join_groups(r, node, part, out);
}
