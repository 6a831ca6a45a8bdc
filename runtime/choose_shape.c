/* Kernels for a call's own shape. A tile spans powers of two of positions along each axis; where an
 * extent is small and no power of two, or smaller than the tile, only a kernel that knows it ends
 * its tiles where the axis ends. What that is worth: docs/history/one-line-shapes.md. */
#include "runtime/choice.h"

#include "base/status.h"
#include "runtime/disk_cache.h"
#include "runtime/key.h"
#include "runtime/promise.h"

#define START_CLOCKS 3000    /* of any launch: about 2 us */
#define WORTH_THE_FIRST 0.95 /* of the time of what would serve else */
#define WORTH_ANOTHER 0.8
#define MOST_SHAPES 16 /* of a description that are asked about */
#define AS_GOOD 1.02   /* of the time with all small extents compiled in */

/* ---- the time ---- */

static double widest_bytes(const op_call *call) {
  double bytes = 0;
  for (int i = 0; i < call->n; i++) {
    double own = call->bits[i] / 8.0;
    for (int axis = 0; axis < call->tensor[0].rank; axis++)
      own *= (double)call->tensor[0].shape[axis];
    if (own > bytes) bytes = own;
  }
  return bytes;
}

/* Of a kernel of so many clocks a byte that moves so many bytes. */
static double clocks_of(const choice *c, double clocks, double bytes) {
  return START_CLOCKS + clocks * bytes / c->device->info.compute_units;
}

double llrt_choice_clocks(const choice *c, const llrt_op *op) {
  int variant = llrt_op_pick(op, &c->call->tensor[0]);
  if (variant < 0) return -1;
  const kernel_variant *v = &op->variant[variant];
  double bytes = widest_bytes(c->call);
  double covered =
      plan_launch_covered_bytes(&v->launch, c->call->tensor, c->call->binding, c->call->n);
  return clocks_of(c, v->clocks, covered > bytes ? covered : bytes);
}

/* ---- whether to ask ---- */

static int shapes_of(const choice *c, bool count) {
  return llrt_cache_shapes(c->cache, c->device, c->desc, c->set, count);
}

static double worth(int shapes) { return shapes == 0 ? WORTH_THE_FIRST : WORTH_ANOTHER; }

/* The call's own promises with small extents as they are; addresses and strides by class. False:
 * no extent is small. */
static bool fix_small_extents(const choice *c, op_description *fixed) {
  *fixed = *c->desc;
  llrt_promises_coarse(c->call, c->set, fixed);
  llrt_promises_widen(c->set, fixed);
  return llrt_promises_fix_extents(fixed, c->set->rank);
}

/* Of the operation's variants the fastest, without anything beyond the ends of axes: what a kernel
 * of the shape's own may come to. */
static double least_clocks(const choice *c, const llrt_op *op) {
  double least = op->variant[0].clocks;
  for (int i = 1; i < atomic_load(&op->n_variants); i++)
    if (op->variant[i].clocks < least) least = op->variant[i].clocks;
  return clocks_of(c, least, widest_bytes(c->call));
}

bool llrt_choice_may_gain(const choice *c, const llrt_op *op) {
  int shapes = shapes_of(c, false);
  if (shapes == 0 || !op) return shapes < MOST_SHAPES;
  double clocks = llrt_choice_clocks(c, op);
  return clocks >= 0 && shapes < MOST_SHAPES && least_clocks(c, op) < worth(shapes) * clocks;
}

/* ---- the shape's own ---- */

/* An operation of the description with recipes: of the disk, or (unless only stored ones are asked
 * for) planned. *own = NULL: there is none. Ownership: the caller's. */
static llrt_status make_known(const choice *c, const op_description *desc, bool stored,
                              llrt_op **own) {
  LLRT_TRY(llrt_op_make(c->device, desc, c->set, own));
  bool known = stored ? llrt_disk_fetch(*own) : llrt_op_plan(*own) == LLRT_OK;
  if (known && llrt_choice_clocks(c, *own) >= 0) return LLRT_OK;
  llrt_op_release(*own);
  *own = NULL;
  return LLRT_OK;
}

/* Opens every axis whose extent does not count: as many shapes as can share the kernel. */
static llrt_status open_axes(const choice *c, bool stored, op_description *fixed, llrt_op **own) {
  double most = AS_GOOD * llrt_choice_clocks(c, *own);
  for (int axis = 0; axis < c->set->rank; axis++) {
    op_description wider = *fixed;
    llrt_op *other;
    if (!llrt_promises_open_axis(&wider, axis)) continue;
    LLRT_TRY(make_known(c, &wider, stored, &other));
    if (other && llrt_choice_clocks(c, other) <= most) {
      *fixed = wider;
      llrt_choice_reject(*own);
      *own = other;
    } else if (other) {
      llrt_choice_reject(other);
    }
  }
  return LLRT_OK;
}

/* Clocks of `other`, or where that is NULL of a kernel for all extents; -1: there is none. */
static llrt_status clocks_else(const choice *c, const llrt_op *other, double *clocks) {
  llrt_op *open;
  *clocks = other ? llrt_choice_clocks(c, other) : -1;
  if (other) return LLRT_OK;
  LLRT_TRY(make_known(c, c->desc, false, &open));
  if (!open) return LLRT_OK;
  *clocks = llrt_choice_clocks(c, open);
  llrt_choice_reject(open);
  return LLRT_OK;
}

llrt_status llrt_choice_of_shape(const choice *c, llrt_op *other, llrt_op **op) {
  op_description fixed;
  llrt_op *own;
  double clocks;
  *op = NULL;
  if (!fix_small_extents(c, &fixed)) return LLRT_OK;
  int shapes = shapes_of(c, true);
  LLRT_TRY(clocks_else(c, other, &clocks));
  LLRT_TRY(make_known(c, &fixed, false, &own));
  if (!own) return LLRT_OK;
  llrt_status status = LLRT_OK;
  bool is_worth = llrt_choice_clocks(c, own) < worth(shapes) * clocks;
  if (is_worth) status = open_axes(c, false, &fixed, &own);
  if (is_worth && status == LLRT_OK) return llrt_choice_keep(c, own, &fixed, op);
  llrt_choice_reject(own);
  return status;
}

llrt_status llrt_choice_of_stored_shape(const choice *c, llrt_op **op) {
  op_description fixed;
  llrt_op *own;
  *op = NULL;
  if (!fix_small_extents(c, &fixed)) return LLRT_OK;
  LLRT_TRY(make_known(c, &fixed, true, &own));
  if (!own) return LLRT_OK;
  llrt_status status = open_axes(c, true, &fixed, &own);
  int variant = llrt_op_pick(own, &c->call->tensor[0]);
  if (status == LLRT_OK && llrt_op_has_code(own, variant)) {
    shapes_of(c, true);
    return llrt_choice_keep(c, own, &fixed, op);
  }
  llrt_op_release(own);
  return status;
}
