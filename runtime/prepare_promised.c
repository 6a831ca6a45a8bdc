/* Which variants an operation's promises reach. See prepared.h. */
#include "runtime/prepared.h"

#include "base/bits.h"

/* x * y, but no more than the largest number; bounds are not negative. */
static int64_t saturating_product(int64_t x, int64_t y) {
  int64_t product;
  return __builtin_mul_overflow(x, y, &product) ? INT64_MAX : product;
}

static int64_t upper_bound(int64_t max) { return max == 0 ? INT64_MAX : max; }

/* What shapes the promises of all tensors together allow. */
typedef struct shape_box {
  int64_t min[LLRT_MAX_RANK], max[LLRT_MAX_RANK], min_elements, max_elements;
} shape_box;

/* Whether something is written where an axis has no positions: what is joined along it, or what
 * lacks it. */
static bool may_be_empty(const llrt_op *op, int axis) {
  const expr_program *program = &op->desc.program;
  bool lacking = false;
  if (op->desc.kind == LLRT_OP_DOT) return axis == op->set->rank - 1;
  if (op->desc.kind != LLRT_OP_COMPUTE)
    return op->desc.kind == LLRT_OP_REDUCE && op->desc.combine.axes >> axis & 1;
  for (int t = 0; t < program->n_tensors; t++)
    lacking |= program->tensor[t].output && !(program->tensor[t].axes >> axis & 1);
  return lacking;
}

static shape_box promised_box(const llrt_op *op) {
  shape_box box = {0}; /* elements: compared_box */
  for (int axis = 0; axis < op->set->rank; axis++) {
    box.min[axis] = may_be_empty(op, axis) ? 0 : 1; /* other empty tensors launch nothing */
    box.max[axis] = INT64_MAX;
    int promising = op->desc.kind == LLRT_OP_DOT || op->desc.kind == LLRT_OP_COMPUTE
                        ? 1
                        : 2; /* a third tensor's shape follows; a dot's first promises all */
    for (int i = 0; i < promising; i++) {
      if (i == 1 && op->desc.combine.axes >> axis & 1) continue; /* one position */
      const llrt_promise *promise = &op->desc.promises[i].shape[axis];
      if (promise->min > box.min[axis]) box.min[axis] = promise->min;
      if (upper_bound(promise->max) < box.max[axis]) box.max[axis] = upper_bound(promise->max);
    }
  }
  return box;
}

/* The box of the shapes that are compared with the launch's range. */
static shape_box compared_box(const plan_launch *launch, const shape_box *promised, int rank) {
  shape_box box = *promised;
  plan_launch_likely(launch, box.min, box.max);
  box.min_elements = box.max_elements = 1;
  for (int axis = 0; axis < rank; axis++) {
    box.min_elements = saturating_product(box.min_elements, box.min[axis]);
    box.max_elements = saturating_product(box.max_elements, box.max[axis]);
  }
  return box;
}

/* The products of the box's extents along the range's axes and across them; at their least and
 * most. */
typedef struct box_products {
  int64_t least_along, most_along, least_across, most_across;
} box_products;

static box_products products_of(const plan_range *range, const shape_box *box, int rank) {
  box_products p = {1, 1, 1, 1};
  for (int axis = 0; axis < rank; axis++) {
    bool along = range->axes >> axis & 1;
    int64_t *least = along ? &p.least_along : &p.least_across;
    int64_t *most = along ? &p.most_along : &p.most_across;
    *least = saturating_product(*least, box->min[axis]);
    *most = saturating_product(*most, box->max[axis]);
  }
  return p;
}

/* Whether some shape of the box lies in the range, and whether all do. */
static bool range_meets(const plan_range *range, const shape_box *box, int rank) {
  box_products p = products_of(range, box, rank);
  bool meets = range->min_elements <= box->max_elements &&
               box->min_elements <= upper_bound(range->max_elements);
  meets &= range->min_along <= p.most_along && p.least_across <= upper_bound(range->max_across) &&
           range->min_across <= p.most_across;
  for (int axis = 0; axis < rank; axis++) {
    bool empty = range->or_empty >> axis & 1 && box->min[axis] == 0;
    meets &= (range->min_extent[axis] <= box->max[axis] || empty) &&
             box->min[axis] <= upper_bound(range->max_extent[axis]);
  }
  return meets;
}

static bool range_covers(const plan_range *range, const shape_box *box, int rank) {
  box_products p = products_of(range, box, rank);
  bool covers = range->min_elements <= box->min_elements &&
                box->max_elements <= upper_bound(range->max_elements);
  covers &= range->min_along <= p.least_along && p.most_across <= upper_bound(range->max_across) &&
            range->min_across <= p.least_across && range->max_values == 0;
  for (int axis = 0; axis < rank; axis++) {
    covers &= range->min_extent[axis] <= box->min[axis] &&
              box->max[axis] <= upper_bound(range->max_extent[axis]);
  }
  return covers;
}

/* ---- which of them some promised shape takes ---- */

#define MOST_SHAPES \
  16384 /* more are not gone through: some 50 ms, as a kernel's compiling takes \
         */

/* A product's promised extents, axis by axis: the least one, and how many there are. */
typedef struct shape_steps {
  int64_t first[LLRT_MAX_RANK], step[LLRT_MAX_RANK], n[LLRT_MAX_RANK], all;
} shape_steps;

static shape_steps steps_of(const llrt_op *op, const shape_box *box) {
  shape_steps s = {.all = 1};
  for (int axis = 0; axis < op->set->rank; axis++) {
    int64_t step = op->desc.promises[0].shape[axis].multiple;
    s.step[axis] = step > 1 ? step : 1;
    int64_t first = bits_ceil_div(box->min[axis], s.step[axis]);
    int64_t last = box->max[axis] / s.step[axis];
    s.first[axis] = first * s.step[axis];
    s.n[axis] = last < first ? 0 : last - first == INT64_MAX ? INT64_MAX : last - first + 1;
    s.all = saturating_product(s.all, s.n[axis]);
  }
  return s;
}

/* Of products, whose extents say which variant a shape takes. Bit i of *wanted: shapes that the
 * promises allow take variant i. False: there are too many shapes to go through. */
static bool find_wanted(const llrt_op *op, const shape_box *box, uint64_t *wanted) {
  if (op->desc.kind != LLRT_OP_DOT) return false;
  const shape_steps steps = steps_of(op, box);
  if (steps.all > MOST_SHAPES) return false;
  llrt_tensor first = op->desc.tensors[0];
  *wanted = 0;
  for (int64_t i = 0; i < steps.all; i++) {
    int64_t rest = i;
    for (int axis = 0; axis < op->set->rank; axis++) {
      first.shape[axis] = steps.first[axis] + rest % steps.n[axis] * steps.step[axis];
      rest /= steps.n[axis];
    }
    const int variant = llrt_op_pick(op, &first);
    if (variant >= 0) *wanted |= (uint64_t)1 << variant;
  }
  return true;
}

/* Those whose ranges some promised shape lies in, up to one without a pace that takes all, as
 * llrt_op_pick goes through them. */
uint64_t llrt_op_promised(const llrt_op *op) {
  const shape_box promises = promised_box(op);
  uint64_t promised = 0;
  if (find_wanted(op, &promises, &promised)) return promised;
  for (int i = 0; i < atomic_load(&op->n_variants); i += 1 + op->variant[i].launch.later) {
    const plan_launch *launch = llrt_op_decides(op, i);
    const shape_box box = compared_box(launch, &promises, op->set->rank);
    if (range_meets(&launch->range, &box, op->set->rank)) promised |= (uint64_t)1 << i;
    if (launch->pace.units == 0 && range_covers(&launch->range, &box, op->set->rank)) break;
  }
  return promised;
}
