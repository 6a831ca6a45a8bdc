/* From a description to loaded kernels: plan, compile, link, load. */
#include "runtime/prepared.h"

#include "base/bits.h"
#include "base/float_mode.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/cost/predict.h"
#include "jit/plan/plan_make.h"
#include "runtime/context.h"
#include "runtime/disk_folder.h"
#include "runtime/policy.h"
#include "runtime/tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

llrt_status llrt_op_make(llrt_device *device, const op_description *desc, const storage_set *set,
                         llrt_op **out) {
  *out = NULL;
  llrt_op *op = memory_zeroed(1, sizeof *op);
  if (!op) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an operation");
  op->device = device;
  op->set = llrt_storage_set_hold(set);
  if (!op->set) {
    free(op);
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an operation");
  }
  op->desc = *desc;
  for (int i = 0; i < set->n; i++) {
    op->desc.tensors[i] = llrt_storage_set_tensor(op->set, i, desc->tensors[i].dtype);
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
  if (!op || atomic_fetch_sub(&op->references, 1) != 1) return;
  for (int i = 0; i < atomic_load(&op->n_variants); i++) {
    backend_module *module = atomic_load(&op->module[i]);
    if (module) op->device->backend->unload(op->device, module);
    llrt_kernel_variant_fini(&op->variant[i]);
  }
  free(op->variant);
  pthread_mutex_destroy(&op->build);
  llrt_tuned_release(atomic_load(&op->tuned));
  llrt_storage_set_release(op->set);
  llrt_storage_set_release(op->counted);
  free(op->planned);
  free(op);
}

const plan_launch *llrt_op_decides(const llrt_op *op, int variant) {
  const plan_launch *first = &op->variant[variant].launch;
  return plan_launch_decides(first, &op->variant[variant + first->later].launch);
}

int llrt_op_pick(const llrt_op *op, const llrt_tensor *first) {
  int n = atomic_load_explicit(&op->n_variants, memory_order_acquire), best = -1;
  int64_t least = 0;
  for (int i = 0; i < n; i++) {
    if (op->variant[i].launch.stage > 0) continue;
    const plan_launch *launch = llrt_op_decides(op, i);
    if (!plan_launch_takes(launch, first)) continue;
    if (launch->pace.units == 0) return best < 0 ? i : best;
    int64_t cost = plan_launch_cost(launch, first, op->device->info.compute_units);
    if (best >= 0 && cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

static bool is_loaded(const llrt_op *op, int variant) {
  return atomic_load_explicit(&op->module[variant], memory_order_acquire) != NULL;
}

int llrt_op_pick_compiled(const llrt_op *op, const llrt_tensor *first) {
  int n = atomic_load_explicit(&op->n_variants, memory_order_acquire);
  for (int i = 0; i < n; i++) {
    bool begins = op->variant[i].launch.stage == 0;
    if (begins && plan_launch_takes(llrt_op_decides(op, i), first) && is_loaded(op, i)) return i;
  }
  return -1;
}

uint64_t llrt_op_loaded(const llrt_op *op) {
  uint64_t loaded = 0;
  _Static_assert(PLAN_MAX_VARIANTS <= 64, "a bit for each");
  for (int i = 0; i < PLAN_MAX_VARIANTS; i++) loaded |= (uint64_t)is_loaded(op, i) << i;
  return loaded;
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
  variant->code = memory_new(result->size + 1);
  if (!variant->code) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a kernel's code");
  memcpy(variant->code, result->data, result->size);
  ((char *)variant->code)[result->size] = 0;
  variant->size = result->size;
  return LLRT_OK;
}

static llrt_status compile_variant(llrt_op *op, const plan_kernel *kernel,
                                   kernel_variant *variant) {
  llrt_context *context = op->device->context;
  if (llrt_policy_of(context) == LLRT_COMPILE_FORBIDDEN)
    return llrt_error(LLRT_UNAVAILABLE,
                      "a kernel would have to be compiled, which the context's policy forbids");
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

/* Has the driver link the code, unless that was done for a device of this capability. */
static llrt_status link_variant(llrt_device *device, kernel_variant *variant) {
  if (!device->backend->link) return LLRT_OK;
  if (variant->linked && variant->capability == device->target.facts.capability) return LLRT_OK;
  void *linked;
  size_t size;
  LLRT_TRY(device->backend->link(device, variant->code, variant->size, &linked, &size));
  free(variant->linked);
  variant->linked = linked;
  variant->linked_size = size;
  variant->capability = device->target.facts.capability;
  return LLRT_OK;
}

static llrt_status load_code(llrt_device *device, const kernel_variant *variant,
                             backend_module **module) {
  const bool linked = device->backend->link && variant->linked,
             stays = variant->launch.rounds > 0 && variant->launch.dealt == 0;
  backend_code code = {.data = linked ? variant->linked : variant->code,
                       .size = linked ? variant->linked_size : variant->size,
                       .entry = PLAN_ENTRY_NAME,
                       .shared_bytes = variant->launch.shared_bytes,
                       .cluster = variant->launch.cluster,
                       .threads = stays ? variant->launch.threads : 0,
                       .boxes = variant->launch.n_boxes > 0};
  return device->backend->load(device, &code, module);
}

/* What another driver linked may be nothing to this one: then it links the code itself. */
static llrt_status link_and_load(llrt_device *device, kernel_variant *variant,
                                 backend_module **module) {
  bool linked_before = variant->linked && variant->capability == device->target.facts.capability;
  LLRT_TRY(link_variant(device, variant));
  llrt_status status = load_code(device, variant, module);
  if (status != LLRT_UNSUPPORTED || !linked_before) return status;
  variant->capability = 0;
  LLRT_TRY(link_variant(device, variant));
  return load_code(device, variant, module);
}

/* A kernel that was saved on another device may want more than this one's blocks have. */
static llrt_status check_shared_memory(const llrt_device *device, const plan_launch *launch) {
  if (launch->shared_bytes <= device->target.facts.shared_bytes) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED,
                    "the kernel's blocks take %d bytes of shared memory, and those of %s have %d",
                    launch->shared_bytes, device->info.name, device->target.facts.shared_bytes);
}

/* What the driver keeps of loaded code is taken to be as large as the code. */
static size_t count_bytes(const llrt_op *op) {
  int n = atomic_load(&op->n_variants);
  size_t bytes = sizeof *op + (size_t)n * sizeof *op->variant;
  for (int i = 0; i < n; i++) {
    const kernel_variant *variant = &op->variant[i];
    size_t loaded = variant->linked ? variant->linked_size : variant->size;
    bytes += variant->size + variant->linked_size + (is_loaded(op, i) ? loaded : 0);
  }
  for (const tuned_choice *choice = atomic_load(&op->tuned); choice; choice = choice->next)
    bytes += sizeof *choice + (choice->op ? atomic_load(&choice->op->bytes) : 0);
  return bytes;
}

static llrt_status load_variant(llrt_op *op, int index) {
  kernel_variant *variant = &op->variant[index];
  LLRT_TRY(check_shared_memory(op->device, &variant->launch));
  backend_module *module;
  LLRT_TRY(link_and_load(op->device, variant, &module));
  op->code_hash[index] = (uint32_t)llrt_hash_bytes(variant->code, variant->size).low;
  atomic_store_explicit(&op->module[index], module, memory_order_release);
  atomic_store(&op->bytes, count_bytes(op));
  atomic_store(&op->device->context->cache.grown, true);
  return LLRT_OK;
}

static llrt_status build_kernel(llrt_op *op, int index, const plan_kernel *kernel) {
  if (is_loaded(op, index)) return LLRT_OK; /* in a try that failed at another stage */
  kernel_variant *variant = &op->variant[index];
  llrt_status status = variant->code ? LLRT_OK : compile_variant(op, kernel, variant);
  if (status == LLRT_OK) status = load_variant(op, index);
  if (status != LLRT_OK) llrt_kernel_variant_fini(variant);
  return status;
}

/* ---- several kernels ---- */

/* Kernels that are compiled and linked at the same time; `build` is held. */
typedef struct together {
  llrt_op *op;
  const plan_kernel *kernels; /* of kernel `first` of the operation, and those behind it */
  int first, n, number[PLAN_MAX_VARIANTS];
  pthread_mutex_t mutex; /* of the rest: the first error */
  llrt_status status;
  char message[1024];
} together;

static void note_error(together *t, llrt_status status) {
  pthread_mutex_lock(&t->mutex);
  if (t->status == LLRT_OK) snprintf(t->message, sizeof t->message, "%s", llrt_error_text());
  if (t->status == LLRT_OK) t->status = status;
  pthread_mutex_unlock(&t->mutex);
}

static void compile_some(void *data, int64_t begin, int64_t end) {
  together *t = data;
  for (int64_t i = begin; i < end; i++) {
    int number = t->number[i];
    kernel_variant *variant = &t->op->variant[number];
    llrt_status status = compile_variant(t->op, &t->kernels[number - t->first], variant);
    if (status == LLRT_OK) status = link_variant(t->op->device, variant);
    if (status != LLRT_OK) note_error(t, status);
  }
}

/* Those of `wanted` (bit i: kernel first + i) that have no code yet, on the context's threads,
 * begun in the order in which they are built one after the other: the last stage of each variant
 * first. It compiles nothing where it fails. */
static llrt_status compile_together(llrt_op *op, int first, const plan_kernel *kernels,
                                    uint64_t wanted) {
  together t = {.op = op, .kernels = kernels, .first = first};
  for (int i = 0; i < PLAN_MAX_VARIANTS && wanted >> i; i += 1 + kernels[i].launch.later)
    for (int number = i + kernels[i].launch.later; number >= i; number--)
      if (wanted >> number & 1 && !op->variant[first + number].code &&
          !is_loaded(op, first + number))
        t.number[t.n++] = first + number;
  if (t.n < 2 || llrt_compiles_behind()) return LLRT_OK; /* which takes one core */
  pthread_mutex_init(&t.mutex, NULL);
  llrt_parallel_run(&op->device->context->parallel, t.n, 1, compile_some, &t);
  pthread_mutex_destroy(&t.mutex);
  if (t.status == LLRT_OK) return LLRT_OK;
  for (int i = 0; i < t.n; i++) llrt_kernel_variant_fini(&op->variant[t.number[i]]);
  return llrt_error(t.status, "%s", t.message);
}

/* All stages, the first one last: it says that the variant is ready. stages: as in the plan's list.
 */
static llrt_status build_variant(llrt_op *op, int index, const plan_kernel *stages) {
  LLRT_TRY(compile_together(op, index, stages, bits_mask(stages->launch.later + 1)));
  for (int i = stages->launch.later; i >= 0; i--) LLRT_TRY(build_kernel(op, index + i, &stages[i]));
  return LLRT_OK;
}

/* ---- an operation's variants ---- */

/* Of an operation that has none. */
static llrt_status take_recipes(llrt_op *op, const plan_kernel *kernels, int n) {
  kernel_variant *variant = memory_zeroed((size_t)n, sizeof *variant);
  if (!variant) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for an operation's kernels");
  for (int i = 0; i < n; i++) {
    variant[i].launch = kernels[i].launch;
    variant[i].clocks = plan_predict_clocks(&kernels[i]);
  }
  op->variant = variant;
  atomic_store_explicit(&op->n_variants, n, memory_order_release);
  return LLRT_OK;
}

/* A plan is hundreds of kilobytes: it lives while kernels are built from it, and is made again
 * should a later call need another variant. Ownership: free. */
static llrt_status make_plan(llrt_op *op, plan **out) {
  *out = op->planned;
  op->planned = NULL;
  if (*out) return LLRT_OK;
  *out = memory_new(sizeof **out);
  if (!*out) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = plan_make(&op->desc, &op->device->target, NULL, *out);
  if (status != LLRT_OK) {
    if (status == LLRT_UNSUPPORTED) atomic_store(&op->refused, true);
    free(*out);
    *out = NULL;
    return status;
  }
  int known = atomic_load(&op->n_variants);
  if (known == (*out)->n_variants) return LLRT_OK;
  status = known > 0 ? llrt_error(LLRT_INTERNAL, "the plan has %d kernels, and had %d",
                                  (*out)->n_variants, known)
                     : take_recipes(op, (*out)->variant, (*out)->n_variants);
  if (status == LLRT_OK) return LLRT_OK;
  free(*out);
  *out = NULL;
  return status;
}

llrt_status llrt_op_plan(llrt_op *op) {
  if (atomic_load_explicit(&op->n_variants, memory_order_acquire) > 0) return LLRT_OK;
  pthread_mutex_lock(&op->build);
  plan *made = NULL;
  llrt_status status = LLRT_OK;
  if (atomic_load(&op->n_variants) == 0 && !llrt_disk_fetch(op)) status = make_plan(op, &made);
  if (made) op->planned = made;
  pthread_mutex_unlock(&op->build);
  return status;
}

bool llrt_op_has_code(const llrt_op *op, int variant) {
  for (int i = 0; i <= op->variant[variant].launch.later; i++)
    if (!op->variant[variant + i].code) return false;
  return true;
}

/* An operation whose variants are made ready, one after the other; `build` is held. */
typedef struct builder {
  llrt_op *op;
  plan *made;    /* once something has to be compiled */
  bool begun;    /* other processes wait for what is compiled from then on */
  int lock;      /* or they do not: -1 */
  bool compiled; /* the disk lacks what the operation has */
  uint64_t own;  /* bit i: kernel i's code was compiled here, and is yet to be loaded */
} builder;

/* From here on this thread compiles. What another process has compiled since is looked for once
 * more. */
static void begin_compiling(builder *b) {
  if (b->begun) return;
  b->begun = true;
  b->lock = llrt_disk_begin(b->op);
  llrt_disk_fetch(b->op);
}

/* Of code that is there already. Where a device takes none of it the code is dropped, as if it had
 * not been found. */
static bool load_variant_of_code(llrt_op *op, int variant) {
  if (!llrt_op_has_code(op, variant)) return false;
  llrt_status status = LLRT_OK;
  int later = op->variant[variant].launch.later;
  for (int i = later; i >= 0 && status == LLRT_OK; i--)
    if (!is_loaded(op, variant + i)) {
      status = load_variant(op, variant + i);
      atomic_fetch_or(&op->from_disk, (uint64_t)1 << (variant + i));
    }
  for (int i = 0; i <= later && status != LLRT_OK; i++)
    if (!is_loaded(op, variant + i)) llrt_kernel_variant_fini(&op->variant[variant + i]);
  return status == LLRT_OK;
}

static llrt_status ready_variant(builder *b, int variant) {
  llrt_op *op = b->op;
  bool own = b->own >> variant & 1;
  if (is_loaded(op, variant) || (!own && load_variant_of_code(op, variant))) return LLRT_OK;
  begin_compiling(b);
  if (!own && load_variant_of_code(op, variant)) return LLRT_OK;
  if (!b->made) LLRT_TRY(make_plan(op, &b->made));
  LLRT_TRY(build_variant(op, variant, &b->made->variant[variant]));
  b->compiled = true;
  return LLRT_OK;
}

static void end_building(builder *b) {
  if (b->compiled) llrt_disk_store(b->op, true);
  llrt_disk_unlock(b->lock);
  free(b->made);
}

/* Recipes, from the disk or planned now. */
static llrt_status take_variants(builder *b) {
  if (atomic_load(&b->op->n_variants) > 0 || llrt_disk_fetch(b->op)) return LLRT_OK;
  begin_compiling(b);
  return atomic_load(&b->op->n_variants) > 0 ? LLRT_OK : make_plan(b->op, &b->made);
}

static llrt_status build_for(llrt_op *op, const llrt_tensor *first, int *variant) {
  builder b = {.op = op, .lock = -1};
  llrt_status status = take_variants(&b);
  if (status == LLRT_OK) {
    *variant = llrt_op_pick(op, first);
    status = *variant >= 0 ? ready_variant(&b, *variant) : llrt_op_refuse_shape(op, first);
  }
  end_building(&b);
  return status;
}

/* The same where nothing may be compiled, nor waited for. */
static bool find_ready(llrt_op *op, const llrt_tensor *first, int *variant) {
  if (!llrt_disk_cache_is_on(&op->device->context->disk)) return false;
  if (pthread_mutex_trylock(&op->build) != 0) return false;
  if (atomic_load(&op->n_variants) == 0) llrt_disk_fetch(op);
  *variant = llrt_op_pick(op, first);
  bool ready = *variant >= 0 && (is_loaded(op, *variant) || load_variant_of_code(op, *variant));
  pthread_mutex_unlock(&op->build);
  return ready;
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
  backend_stream state;
  LLRT_TRY(op->device->backend->stream_state(op->device, stream, &state));
  if (state.capturing) return llrt_not_prepared(&op->desc, op->set, "the stream captures");
  if (policy == LLRT_COMPILE_NEVER)
    return find_ready(op, first, variant)
               ? LLRT_OK
               : llrt_not_prepared(&op->desc, op->set, "the policy is never to compile");
  pthread_mutex_lock(&op->build);
  llrt_tuned_look(op, false);
  llrt_status status = build_for(op, first, variant);
  pthread_mutex_unlock(&op->build);
  return status;
}

/* Of these variants those that the disk lacks, too, if they are several. */
static llrt_status compile_variants(builder *b, uint64_t variants) {
  llrt_op *op = b->op;
  uint64_t lacking = 0;
  for (int i = 0; i < atomic_load(&op->n_variants); i++)
    if (variants >> i & 1 && !is_loaded(op, i) && !llrt_op_has_code(op, i))
      lacking |= (uint64_t)1 << i;
  if (bits_count(lacking) < 2) return LLRT_OK;
  begin_compiling(b);
  for (int i = 0; i < atomic_load(&op->n_variants); i++) {
    if (!(lacking >> i & 1) || llrt_op_has_code(op, i)) continue;
    b->own |= bits_mask(1 + op->variant[i].launch.later) << i;
  }
  if (!b->made) LLRT_TRY(make_plan(op, &b->made));
  return compile_together(op, 0, b->made->variant, b->own);
}

static llrt_status build_all(llrt_op *op) {
  builder b = {.op = op, .lock = -1};
  llrt_status status = take_variants(&b);
  const uint64_t promised = status == LLRT_OK ? llrt_op_promised(op) : 0;
  if (status == LLRT_OK) status = compile_variants(&b, promised);
  for (int i = 0; i < atomic_load(&op->n_variants) && status == LLRT_OK; i++)
    if (promised >> i & 1) status = ready_variant(&b, i);
  end_building(&b);
  return status;
}

llrt_status llrt_op_ready_all(llrt_op *op) {
  if (atomic_load_explicit(&op->complete, memory_order_acquire)) return LLRT_OK;
  pthread_mutex_lock(&op->build);
  llrt_tuned_look(op, false);
  llrt_status status = build_all(op);
  if (status == LLRT_OK) atomic_store_explicit(&op->complete, true, memory_order_release);
  pthread_mutex_unlock(&op->build);
  return status;
}

llrt_status llrt_op_compile_kernels(llrt_op *op, const plan_kernel *stages, int n) {
  LLRT_TRY(take_recipes(op, stages, n));
  for (int i = 0; i < n; i++) {
    LLRT_TRY(compile_variant(op, &stages[i], &op->variant[i]));
    LLRT_TRY(link_variant(op->device, &op->variant[i]));
  }
  return LLRT_OK;
}

llrt_status llrt_op_build_kernels(llrt_op *op, const plan_kernel *stages, int n) {
  LLRT_TRY(llrt_op_compile_kernels(op, stages, n));
  return llrt_op_load_variants(op);
}

llrt_status llrt_op_load_variants(llrt_op *op) {
  for (int i = 0; i < atomic_load(&op->n_variants); i++) {
    if (op->variant[i].code) LLRT_TRY(load_variant(op, i));
  }
  return LLRT_OK;
}
