/* Operations as handles: prepare, run, save, load. */
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "runtime/context.h"
#include "runtime/description.h"
#include "runtime/launch_log.h"
#include "runtime/prepared.h"
#include "runtime/promise.h"
#include "runtime/reach.h"
#include "runtime/tuned.h"

#include <llrt/dot.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

llrt_status llrt_op_prepare(llrt_device *device, const llrt_op_desc *given, llrt_op **out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "op is NULL");
  *out = NULL;
  return llrt_op_prepare_as(device, given, (op_wishes){.lazy = false}, out);
}

llrt_status llrt_op_prepare_as(llrt_device *device, const llrt_op_desc *given, op_wishes wishes,
                               llrt_op **out) {
  LLRT_REQUIRE(device, "device is NULL");
  op_description own, *desc = &own;
  LLRT_TRY(llrt_description_take(given, desc));
  LLRT_TRY(llrt_validate_desc(desc));
  llrt_description_normalise(desc);
  desc->any_order = wishes.any_order;
  desc->linked = wishes.linked;
  LLRT_REQUIRE(!desc->any_order || !desc->dot.batch_invariant,
               "params: tune is LLRT_TUNE_ANY_ORDER, and the product is batch invariant: its order "
               "of sums does not change");
  kernel_cache *cache = &device->context->cache;
  storage_set *set;
  LLRT_TRY(llrt_cache_get_set(cache, desc->tensors, desc->n_tensors, desc->dot.roles, &set));
  llrt_op *op;
  llrt_status status = llrt_cache_get_op(cache, device, desc, set, &op);
  if (status == LLRT_OK) {
    atomic_fetch_add(&op->handles, 1);
    if (wishes.lazy) atomic_store(&op->lazy, true);
    status = wishes.lazy ? llrt_op_plan(op) : llrt_op_ready_all(op);
    if (status == LLRT_OK) atomic_store(&set->prepared, true);
    if (status == LLRT_OK) *out = op;
    else llrt_op_destroy(&op);
  }
  llrt_storage_set_release(set);
  llrt_cache_enforce(cache);
  return status;
}

void llrt_op_destroy(llrt_op **address) {
  if (!address || !*address) return;
  llrt_op *op = *address;
  kernel_cache *cache = &op->device->context->cache;
  *address = NULL;
  if (atomic_fetch_sub(&op->handles, 1) == 1)
    atomic_store(&cache->grown, true); /* its kernels count again */
  llrt_op_release(op);
  llrt_cache_enforce(cache);
}

static bool same_indices(const storage_set *a, const storage_set *b, int tensor) {
  if (a->n_indices[tensor] != b->n_indices[tensor]) return false;
  return memcmp(a->index[tensor], b->index[tensor], sizeof a->index[tensor]) == 0;
}

/* The tensors' storages are the description's: the same bytes as a rule, or else equal rules; the
 * same indices. */
static llrt_status check_storages(const llrt_op *op, const llrt_tensor *tensors) {
  llrt_hash key;
  LLRT_TRY(llrt_storage_set_key(tensors, op->set->n, op->set->roles, &key));
  if (key.low == op->set->key.low && key.high == op->set->key.high) return LLRT_OK;
  storage_set given;
  LLRT_TRY(llrt_storage_set_init(tensors, op->set->n, op->set->roles, &given));
  for (int i = 0; i < op->set->n; i++) {
    LLRT_REQUIRE(llrt_storage_equal(&given.storage[i], &op->set->storage[i]),
                 "the %s's storage is not the operation's", op_tensor_called(op->set->roles, i));
    LLRT_REQUIRE(same_indices(&given, op->set, i), "the %s's indices are not the operation's",
                 op_tensor_called(op->set->roles, i));
    LLRT_REQUIRE(given.device_extents[i] == op->set->device_extents[i],
                 "the %s has extents in device memory along other axes than the operation",
                 op_tensor_called(op->set->roles, i));
  }
  return LLRT_OK;
}

/* Types count where values are computed, else their widths. */
static llrt_status check_types(const llrt_op *op, const llrt_tensor *tensors) {
  const llrt_tensor *own = op->desc.tensors;
  bool casts = own[0].dtype != own[1].dtype || op->set->n > 2 || op->desc.kind != LLRT_OP_CONVERT;
  for (int i = 0; i < op->set->n; i++) {
    bool fits = casts ? tensors[i].dtype == own[i].dtype
                      : tensors[i].dtype == tensors[0].dtype &&
                            llrt_dtype_bits(tensors[i].dtype) == llrt_dtype_bits(own[i].dtype);
    LLRT_REQUIRE(fits, "the operation's %s is %s, not %s", op_tensor_called(op->set->roles, i),
                 llrt_dtype_name(own[i].dtype), llrt_dtype_name(tensors[i].dtype));
  }
  return LLRT_OK;
}

/* Checks tensors against the operation and binds them. */
llrt_status llrt_op_bind(const llrt_op *op, const llrt_tensor *tensors, int n, const void *stream,
                         op_call *call) {
  LLRT_REQUIRE(op, "op is NULL");
  LLRT_REQUIRE(tensors, "tensors is NULL");
  LLRT_REQUIRE(n == op->set->n, "the operation has %d tensors, not %d", op->set->n, n);
  LLRT_TRY(llrt_validate_tensors(tensors, n, op->set->roles, stream));
  LLRT_REQUIRE(tensors[0].device == op->device, "the operation is of another device");
  LLRT_TRY(check_types(op, tensors));
  LLRT_REQUIRE(tensors[0].rank == op->set->rank, "the operation has rank %d, the tensors %d",
               op->set->rank, tensors[0].rank);
  LLRT_TRY(check_storages(op, tensors));
  return llrt_validate_shapes(&op->desc, tensors, op->set, call);
}

static llrt_status pick(const llrt_op *op, const op_call *call, int *variant) {
  *variant = llrt_op_pick(op, &call->tensor[0]);
  if (*variant >= 0) return LLRT_OK;
  return llrt_error(LLRT_NOT_PREPARED, "the operation holds no kernel for this shape");
}

/* The variant for a run; what a lazy operation lacks is compiled. */
static llrt_status pick_ready(const llrt_op *op, const op_call *call, void *stream, int *variant) {
  if (atomic_load_explicit(&op->lazy, memory_order_relaxed))
    return llrt_op_ready((llrt_op *)op, &call->tensor[0], stream, variant);
  LLRT_TRY(pick(op, call, variant));
  if (atomic_load_explicit(&op->module[*variant], memory_order_acquire)) return LLRT_OK;
  return llrt_error(LLRT_NOT_PREPARED, "the operation holds no kernel for this shape");
}

llrt_status llrt_op_workspace(const llrt_op *op, const llrt_tensor *tensors, int n, size_t *bytes) {
  LLRT_ENTRY();
  LLRT_REQUIRE(bytes, "bytes is NULL");
  *bytes = 0;
  op_call call;
  int variant;
  LLRT_TRY(llrt_op_bind(op, tensors, n, NULL, &call));
  if (call.empty) return LLRT_OK;
  LLRT_TRY(pick(op, &call, &variant));
  const llrt_op *tuned = llrt_tuned_for(op, &call.tensor[0]);
  size_t more = 0;
  LLRT_TRY(llrt_op_workspace_bytes(op, &call, bytes));
  if (tuned != op) LLRT_TRY(llrt_op_workspace_bytes(tuned, &call, &more));
  if (more > *bytes) *bytes = more;
  return LLRT_OK;
}

/* One of the run's numbers, where the description has it. */
static llrt_status take_number(const double *given, bool acts, const char *name, double *number) {
  if (!given) return LLRT_OK;
  LLRT_REQUIRE(acts, "the operation was described without %s", name);
  LLRT_REQUIRE(!isnan(*given), "%s is NaN", name);
  *number = *given;
  return LLRT_OK;
}

static llrt_status take_numbers(const llrt_op *op, const llrt_run_params *params, op_call *call) {
  if (params->scalars) call->scalars = params->scalars;
  bool computes = op->desc.kind == LLRT_OP_COMPUTE && op->desc.program.n_scalars > 0;
  LLRT_REQUIRE(computes == (params->scalars != NULL),
               computes ? "the expression has numbers, and the run brings none"
                        : "the operation has no scalars");
  LLRT_TRY(take_number(params->alpha, op->desc.dot.has_alpha, "alpha", &call->alpha));
  return take_number(params->beta, op->desc.dot.has_beta, "beta", &call->beta);
}

static llrt_status run(const llrt_op *op, void *stream, const llrt_tensor *tensors, int n,
                       const llrt_run_params *params, int32_t room_bytes) {
  op_call call;
  llrt_run_params own;
  int variant;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_run_params, params, &own));
  LLRT_TRY(llrt_op_bind(op, tensors, n, stream, &call));
  LLRT_TRY(take_numbers(op, &own, &call));
  call.room_bytes = room_bytes;
  if (call.empty) return LLRT_OK;
  LLRT_TRY(llrt_validate_memory(&op->desc, op->set, &call));
  LLRT_TRY(llrt_check_reach(&call, op->set, stream));
  LLRT_TRY(llrt_promises_check(&call, op->set, op->desc.promises));
  op = llrt_tuned_for(op, &call.tensor[0]);
  LLRT_TRY(pick_ready(op, &call, stream, &variant));
  return llrt_op_launch(op, variant, &call, &own, stream);
}

llrt_status llrt_op_run(const llrt_op *op, void *stream, const llrt_tensor *tensors, int n,
                        const llrt_run_params *params) {
  LLRT_ENTRY();
  LLRT_REQUIRE(op, "op is NULL");
  return llrt_op_run_sparsely(op, stream, tensors, n, params, 0);
}

llrt_status llrt_op_run_sparsely(const llrt_op *op, void *stream, const llrt_tensor *tensors, int n,
                                 const llrt_run_params *params, int32_t room_bytes) {
  llrt_status status = run(op, stream, tensors, n, params, room_bytes);
  return status == LLRT_OK ? LLRT_OK : llrt_log_failure(op->device, op->desc.kind, status);
}

/* Choices' kernels stand before the planned ones, as far as there is room: they are for one shape
 * each, and a loaded operation takes the first that fits. */
static llrt_status write_kernels(const llrt_op *op, llrt_text *bytes) {
  kernel_variant variants[PLAN_MAX_VARIANTS];
  int own = atomic_load(&op->n_variants), n = 0;
  for (const tuned_choice *c = atomic_load(&op->tuned); c; c = c->next) {
    int more = c->op ? atomic_load(&c->op->n_variants) : 0;
    if (n + more + own > PLAN_MAX_VARIANTS) break;
    if (more > 0) memcpy(&variants[n], c->op->variant, (size_t)more * sizeof *variants);
    n += more;
  }
  memcpy(&variants[n], op->variant, (size_t)own * sizeof *variants);
  return llrt_kernel_bytes_write(&op->device->target, &op->desc, op->set, variants, n + own, bytes);
}

llrt_status llrt_op_save(const llrt_op *op, void *buffer, size_t *size) {
  LLRT_ENTRY();
  LLRT_REQUIRE(size, "size is NULL");
  size_t capacity = buffer ? *size : 0;
  *size = 0;
  LLRT_REQUIRE(op, "op is NULL");
  llrt_text bytes;
  llrt_text_init(&bytes);
  llrt_op *locked = (llrt_op *)op; /* another thread may be adding a variant's code */
  pthread_mutex_lock(&locked->build);
  llrt_status status = write_kernels(op, &bytes);
  pthread_mutex_unlock(&locked->build);
  if (status == LLRT_OK) {
    *size = bytes.length;
    if (buffer && capacity >= bytes.length) {
      memcpy(buffer, bytes.data, bytes.length);
    } else if (buffer) {
      status = llrt_error(LLRT_INVALID_ARGUMENT, "the buffer has %zu bytes, the kernel %zu",
                          capacity, bytes.length);
    }
  }
  llrt_text_fini(&bytes);
  return status;
}

/* Moves an image's variants into an operation of their own, which the cache does not know. */
static llrt_status op_from_image(llrt_device *device, kernel_image *image, llrt_op **out) {
  if (strcmp(image->target, device->target.name) != 0) {
    return llrt_error(LLRT_UNSUPPORTED, "the kernel is for %s, %s runs %s", image->target,
                      device->info.name, device->target.name);
  }
  llrt_op *op;
  LLRT_TRY(llrt_op_make(device, &image->desc, &image->set, &op));
  op->variant = image->variant;
  atomic_store(&op->n_variants, image->n_variants);
  image->variant = NULL;
  image->n_variants = 0;
  llrt_status status = llrt_op_load_variants(op);
  atomic_store(&op->handles, 1);
  if (status == LLRT_OK) {
    *out = op;
  } else {
    llrt_op_release(op);
  }
  return status;
}

llrt_status llrt_op_load(llrt_device *device, const void *buffer, size_t size, llrt_op **out) {
  LLRT_ENTRY();
  LLRT_REQUIRE(out, "op is NULL");
  *out = NULL;
  LLRT_REQUIRE(device, "device is NULL");
  LLRT_REQUIRE(buffer, "buffer is NULL");
  kernel_image *image = memory_new(sizeof *image);
  if (!image) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a kernel's description");
  llrt_status status = llrt_kernel_bytes_read(buffer, size, image);
  if (status == LLRT_OK) status = op_from_image(device, image, out);
  llrt_kernel_image_fini(image);
  free(image);
  return status;
}
