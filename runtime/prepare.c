/* From a description to loaded kernels: plan, compile, link, load. */
#include "runtime/prepared.h"

#include "base/float_mode.h"
#include "base/status.h"
#include "jit/plan/predict.h"
#include "runtime/context.h"
#include "runtime/policy.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

llrt_status llrt_op_make(llrt_device *device, const llrt_op_desc *desc, const storage_set *set,
                         llrt_op **out) {
  *out = NULL;
  llrt_op *op = calloc(1, sizeof *op);
  if (!op) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an operation");
  op->device = device;
  op->set = *set;
  op->desc = *desc;
  for (int i = 0; i < set->n; i++) {
    op->desc.tensors[i] = llrt_storage_set_tensor(&op->set, i, desc->tensors[i].dtype);
    op->desc.tensors[i].device = device;
  }
  atomic_init(&op->references, 1);
  pthread_mutex_init(&op->build, NULL);
  *out = op;
  return LLRT_OK;
}

llrt_op *llrt_op_retain(llrt_op *op) {
  atomic_fetch_add(&op->references, 1);
  return op;
}

void llrt_op_release(llrt_op *op) {
  if (atomic_fetch_sub(&op->references, 1) != 1) return;
  for (int i = 0; i < PLAN_MAX_VARIANTS; i++) {
    backend_module *module = atomic_load(&op->module[i]);
    if (module) op->device->backend->unload(op->device, module);
    free(op->variant[i].code);
  }
  pthread_mutex_destroy(&op->build);
  free(op->planned);
  free(op);
}

int llrt_op_pick(const llrt_op *op, const llrt_tensor *first) {
  int n = atomic_load_explicit(&op->n_variants, memory_order_acquire), best = -1;
  int64_t least = 0;
  for (int i = 0; i < n; i++) {
    const plan_launch *launch = &op->variant[i].launch;
    if (launch->stage > 0 || !plan_range_takes(&launch->range, first)) continue;
    if (launch->range.turn_clocks == 0) return best < 0 ? i : best;
    int64_t clocks = plan_launch_clocks(launch, first, op->device->info.compute_units);
    if (best >= 0 && clocks >= least) continue;
    best = i;
    least = clocks;
  }
  return best;
}

static bool is_loaded(const llrt_op *op, int variant) {
  return atomic_load_explicit(&op->module[variant], memory_order_acquire) != NULL;
}

int llrt_op_pick_compiled(const llrt_op *op, const llrt_tensor *first) {
  int n = atomic_load_explicit(&op->n_variants, memory_order_acquire);
  for (int i = 0; i < n; i++) {
    const plan_launch *launch = &op->variant[i].launch;
    if (launch->stage == 0 && plan_range_takes(&launch->range, first) && is_loaded(op, i)) return i;
  }
  return -1;
}

/* ---- one variant ---- */

static int64_t now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Of a caller's thread, who may let inexact results trap. */
static double ms_since(int64_t start) {
  llrt_float_mode callers = llrt_float_mode_enter();
  double spent = (double)(now_us() - start) * 1e-3;
  llrt_float_mode_leave(callers);
  return spent;
}

/* Copies what the compiler library made into memory of this library's own. */
static llrt_status take_code(const llrt_jit_result *result, kernel_variant *variant) {
  variant->code = malloc(result->size + 1);
  if (!variant->code) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a kernel's code");
  memcpy(variant->code, result->data, result->size);
  ((char *)variant->code)[result->size] = 0;
  variant->size = result->size;
  return LLRT_OK;
}

static llrt_status compile_variant(llrt_op *op, const plan_kernel *kernel,
                                   kernel_variant *variant) {
  llrt_context *context = op->device->context;
  if (context->no_compile) {
    return llrt_error(LLRT_UNAVAILABLE, "a kernel would have to be compiled, which the context's "
                                        "no_compile forbids");
  }
  const llrt_jit_interface *jit;
  LLRT_TRY(llrt_jit_library_get(&context->jit, &jit));
  int64_t start = now_us();
  llrt_jit_result result = {0};
  llrt_status status = jit->compile(kernel, LLRT_EMIT_OBJECT, &result);
  if (status != LLRT_OK) return llrt_error(status, "%s", result.message);
  status = take_code(&result, variant);
  jit->release(&result);
  LLRT_TRY(status);
  atomic_fetch_add_explicit(&context->compiles, 1, memory_order_relaxed);
  llrt_tell_compile(op, ms_since(start), llrt_compiles_behind());
  return LLRT_OK;
}

/* Turns code as the compiler made it into what load takes. */
static llrt_status link_variant(llrt_device *device, kernel_variant *variant) {
  if (variant->linked || !device->backend->link) return LLRT_OK;
  void *linked;
  size_t size;
  LLRT_TRY(device->backend->link(device, variant->code, variant->size, &linked, &size));
  free(variant->code);
  variant->code = linked;
  variant->size = size;
  variant->linked = true;
  return LLRT_OK;
}

/* A kernel that was saved on another device may want more than this one's blocks have. */
static llrt_status check_shared_memory(const llrt_device *device, const plan_launch *launch) {
  if (launch->shared_bytes <= device->target.shared_bytes) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "the kernel's blocks take %d bytes of shared memory, and those of %s have %d",
                    launch->shared_bytes, device->info.name, device->target.shared_bytes);
}

static llrt_status load_variant(llrt_op *op, int index) {
  kernel_variant *variant = &op->variant[index];
  LLRT_TRY(check_shared_memory(op->device, &variant->launch));
  LLRT_TRY(link_variant(op->device, variant));
  backend_module *module;
  backend_code code = {.data = variant->code, .size = variant->size, .entry = PLAN_ENTRY_NAME,
                       .shared_bytes = variant->launch.shared_bytes,
                       .cluster = variant->launch.cluster,
                       .boxes = variant->launch.n_boxes > 0};
  LLRT_TRY(op->device->backend->load(op->device, &code, &module));
  atomic_store_explicit(&op->module[index], module, memory_order_release);
  return LLRT_OK;
}

static llrt_status build_kernel(llrt_op *op, int index, const plan_kernel *kernel) {
  if (is_loaded(op, index)) return LLRT_OK; /* in a try that failed at another stage */
  kernel_variant *variant = &op->variant[index];
  llrt_status status = variant->code ? LLRT_OK : compile_variant(op, kernel, variant);
  if (status == LLRT_OK) status = load_variant(op, index);
  if (status != LLRT_OK) {
    free(variant->code);
    variant->code = NULL;
  }
  return status;
}

/* All stages, the first one last: it says that the variant is ready. stages: as in the plan's list. */
static llrt_status build_variant(llrt_op *op, int index, const plan_kernel *stages) {
  for (int i = stages->launch.later; i >= 0; i--)
    LLRT_TRY(build_kernel(op, index + i, &stages[i]));
  return LLRT_OK;
}

/* ---- an operation's variants ---- */

/* A plan is hundreds of kilobytes: it lives while kernels are built from it, and is made again
 * should a later call need another variant. Ownership: free. */
static llrt_status make_plan(llrt_op *op, plan **out) {
  *out = op->planned;
  op->planned = NULL;
  if (*out) return LLRT_OK;
  *out = malloc(sizeof **out);
  if (!*out) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = plan_make(&op->desc, &op->device->target, NULL, *out);
  if (status != LLRT_OK) {
    if (status == LLRT_UNSUPPORTED) atomic_store(&op->refused, true);
    free(*out);
    *out = NULL;
    return status;
  }
  if (atomic_load(&op->n_variants) == 0) {
    for (int i = 0; i < (*out)->n_variants; i++) {
      op->variant[i].launch = (*out)->variant[i].launch;
      op->clocks[i] = plan_predict_clocks(&(*out)->variant[i]);
    }
    atomic_store_explicit(&op->n_variants, (*out)->n_variants, memory_order_release);
  }
  return LLRT_OK;
}

llrt_status llrt_op_plan(llrt_op *op) {
  if (atomic_load_explicit(&op->n_variants, memory_order_acquire) > 0) return LLRT_OK;
  pthread_mutex_lock(&op->build);
  plan *made = NULL;
  llrt_status status = LLRT_OK;
  if (atomic_load(&op->n_variants) == 0) status = make_plan(op, &made);
  if (made) op->planned = made;
  pthread_mutex_unlock(&op->build);
  return status;
}

static llrt_status build_for(llrt_op *op, const llrt_tensor *first, int *variant) {
  *variant = llrt_op_pick(op, first);
  if (*variant >= 0 && is_loaded(op, *variant)) return LLRT_OK; /* another thread was faster */
  plan *made;
  LLRT_TRY(make_plan(op, &made));
  *variant = llrt_op_pick(op, first);
  llrt_status status = *variant >= 0
                           ? build_variant(op, *variant, &made->variant[*variant])
                           : llrt_error(LLRT_INTERNAL, "no variant of the plan covers the shape");
  free(made);
  return status;
}

llrt_status llrt_op_ready(llrt_op *op, const llrt_tensor *first, void *stream, int *variant) {
  *variant = llrt_op_pick(op, first);
  if (*variant >= 0 && is_loaded(op, *variant)) return LLRT_OK;
  llrt_compile_policy policy = llrt_policy_of(op->device->context);
  if (policy != LLRT_COMPILE_NOW && !llrt_compiles_behind() && op->desc.kind == LLRT_OP_CONVERT) {
    *variant = llrt_op_pick_compiled(op, first);
    if (*variant >= 0 && policy == LLRT_COMPILE_BACKGROUND) llrt_compile_behind(op, first);
    if (*variant >= 0) return LLRT_OK;
  }
  if (policy == LLRT_COMPILE_NEVER) return llrt_not_prepared(&op->desc, &op->set, "the policy is never to compile");
  backend_stream state;
  LLRT_TRY(op->device->backend->stream_state(op->device, stream, &state));
  if (state.capturing) {
    return llrt_not_prepared(&op->desc, &op->set, "the stream captures");
  }
  pthread_mutex_lock(&op->build);
  llrt_status status = build_for(op, first, variant);
  pthread_mutex_unlock(&op->build);
  return status;
}

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

/* Whether results come of all of an axis's positions: of none, too. */
static bool is_joined(const llrt_op *op, int axis) {
  if (op->desc.kind == LLRT_OP_DOT) return axis == op->set.rank - 1;
  return op->desc.kind == LLRT_OP_REDUCE && op->desc.combine.axes >> axis & 1;
}

static shape_box promised_box(const llrt_op *op) {
  shape_box box = {.min_elements = 1, .max_elements = 1};
  for (int axis = 0; axis < op->set.rank; axis++) {
    box.min[axis] = is_joined(op, axis) ? 0 : 1; /* other empty tensors launch nothing */
    box.max[axis] = INT64_MAX;
    int promising = op->desc.kind == LLRT_OP_DOT ? 1 : 2; /* a third tensor's shape follows; a dot's first promises all */
    for (int i = 0; i < promising; i++) {
      if (i == 1 && op->desc.combine.axes >> axis & 1) continue; /* one position */
      const llrt_promise *promise = &op->desc.promises[i].shape[axis];
      if (promise->min > box.min[axis]) box.min[axis] = promise->min;
      if (upper_bound(promise->max) < box.max[axis]) box.max[axis] = upper_bound(promise->max);
    }
    box.min_elements = saturating_product(box.min_elements, box.min[axis]);
    box.max_elements = saturating_product(box.max_elements, box.max[axis]);
  }
  return box;
}

/* The products of the box's extents along the range's axes and across them; at their least and most. */
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
    meets &= range->min_extent[axis] <= box->max[axis] &&
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

static llrt_status build_all(llrt_op *op) {
  plan *made;
  LLRT_TRY(make_plan(op, &made));
  shape_box box = promised_box(op);
  llrt_status status = LLRT_OK;
  for (int i = 0; i < made->n_variants && status == LLRT_OK; i += 1 + made->variant[i].launch.later) {
    const plan_range *range = &op->variant[i].launch.range;
    bool needed = range_meets(range, &box, op->set.rank) && !is_loaded(op, i);
    if (needed) status = build_variant(op, i, &made->variant[i]);
    if (range->turn_clocks == 0 && range_covers(range, &box, op->set.rank)) break;
  }
  free(made);
  return status;
}

llrt_status llrt_op_ready_all(llrt_op *op) {
  if (atomic_load_explicit(&op->complete, memory_order_acquire)) return LLRT_OK;
  pthread_mutex_lock(&op->build);
  llrt_status status = build_all(op);
  if (status == LLRT_OK) atomic_store_explicit(&op->complete, true, memory_order_release);
  pthread_mutex_unlock(&op->build);
  return status;
}

llrt_status llrt_op_build_kernels(llrt_op *op, const plan_kernel *stages, int n) {
  for (int i = 0; i < n; i++) op->variant[i].launch = stages[i].launch;
  atomic_store_explicit(&op->n_variants, n, memory_order_release);
  return build_variant(op, 0, stages);
}

llrt_status llrt_op_load_variants(llrt_op *op) {
  for (int i = 0; i < atomic_load(&op->n_variants); i++) {
    if (op->variant[i].code) LLRT_TRY(load_variant(op, i));
  }
  return LLRT_OK;
}
