/* llrt_op inside: a description and its variants' kernels. The same object serves prepare, load and
 * the one-line calls, which find it in the context's cache. */
#ifndef LLRT_RUNTIME_PREPARED_H
#define LLRT_RUNTIME_PREPARED_H

#include "backends/backend.h"
#include "runtime/kernel_bytes.h"
#include "runtime/validate.h"

#include <pthread.h>
#include <stdatomic.h>

struct llrt_op {
  llrt_device *device;
  op_description desc; /* storages point into set; no data, shape or strides */
  storage_set *set;    /* held */
  llrt_hash key;       /* of an operation that the cache made */
  atomic_int references;
  atomic_int handles; /* callers' (llrt_op_prepare) */
  atomic_bool pinned; /* a capture has launched it: its code stays while the device is open */

  /* The cache's (runtime/cache.h). */
  atomic_bool stays; /* launched without asking whether the stream captured (kernel_cache.near) */
  bool cached;       /* it keeps the operation; set before anybody else knows it */
  int slots;         /* keys by which it is found */
  uint64_t used;     /* when it was last found */
  storage_set *counted; /* whose fixed_ops counts it, held; NULL: nobody's */
  atomic_size_t bytes;  /* of memory that it takes; its set's not among them */
  llrt_op *next;        /* of a list */

  /* What a run reads without a lock: the number of kernels of all variants, listed as in a plan (0:
   * not planned yet), each one's recipe, and its loaded code (NULL: not compiled yet), published in
   * that order. A variant goes by the number of its first kernel, whose code is published last. */
  atomic_int n_variants;
  _Atomic(backend_module *) module[PLAN_MAX_VARIANTS];
  kernel_variant *variant; /* n_variants of them */

  atomic_uint_fast64_t from_disk;        /* bit i: kernel i was loaded of the disk's code */
  uint32_t code_hash[PLAN_MAX_VARIANTS]; /* of loaded code: how the log names kernels */
  atomic_bool wished;                    /* a variant waits to be compiled behind calls */
  atomic_bool refused;                   /* it cannot be planned: UNSUPPORTED */
  atomic_bool complete;                  /* every variant that its promises reach is ready */
  atomic_bool lazy;                      /* runs compile what they lack (llrt_prepare_params) */

  _Atomic(struct tuned_choice *) tuned; /* choices for shapes (tuned.h), the latest first */
  atomic_bool tuned_looked;             /* for those of the disk */

  pthread_mutex_t
      build; /* held while planning, compiling and loading; guards variant[].code and `planned` */
  struct plan *planned; /* until kernels are built from it; NULL: none */
};

/* An operation without kernels, with one reference. Of the description's tensors only dtypes count.
 * Errors: OUT_OF_MEMORY. */
llrt_status llrt_op_make(llrt_device *device, const op_description *desc, const storage_set *set,
                         llrt_op **op);
llrt_op *llrt_op_retain(llrt_op *op);
/* Unloads and frees with the last reference; NULL is accepted. */
void llrt_op_release(llrt_op *op);

/* Of the variant that begins with this kernel the recipe whose range and pace count. */
const plan_launch *llrt_op_decides(const llrt_op *op, int variant);

/* The variant whose range holds the operation's first tensor, or -1 (not planned, or a range that
 * none covers). */
int llrt_op_pick(const llrt_op *op, const llrt_tensor *first);

/* Why no variant takes the shape of the operation's first tensor: an error that names the axis
 * which alone stands in the way, where one does. */
llrt_status llrt_op_refuse_shape(const llrt_op *op, const llrt_tensor *first);

/* Plans it, unless it has a plan's recipes already or the disk has them. Errors: UNSUPPORTED, which
 * is remembered, OUT_OF_MEMORY. */
llrt_status llrt_op_plan(llrt_op *op);

/* Of the variants that are compiled, one whose range holds the tensor, or -1: the first one. */
int llrt_op_pick_compiled(const llrt_op *op, const llrt_tensor *first);

/* Whether code of all the variant's stages is there, loaded or not. Precondition: `build` is held,
 * or nobody else knows the operation. */
bool llrt_op_has_code(const llrt_op *op, int variant);

/* Bit i: kernel i is loaded. */
uint64_t llrt_op_loaded(const llrt_op *op);

/* Makes the variant for it ready and says which it is: found, here or on the disk, or planned,
 * compiled and loaded now, once however many threads ask. Errors: NOT_PREPARED when that is needed
 * while the stream captures, UNAVAILABLE, UNSUPPORTED, COMPILE, DEVICE. */
llrt_status llrt_op_ready(llrt_op *op, const llrt_tensor *first, void *stream, int *variant);

/* Bit i: some shape within the promises takes variant i, of a planned operation. */
uint64_t llrt_op_promised(const llrt_op *op);

/* Makes every variant ready that some shape within the promises reaches. */
llrt_status llrt_op_ready_all(llrt_op *op);

/* Compiles and links the n stages of the only variant of an operation that nobody else knows yet;
 * llrt_op_load_variants loads them. Thread: any, other operations' at the same time. */
llrt_status llrt_op_compile_kernels(llrt_op *op, const plan_kernel *stages, int n);

/* Both of it. */
llrt_status llrt_op_build_kernels(llrt_op *op, const plan_kernel *stages, int n);

/* Loads the code of the variants that have some; for operations that nobody else knows yet. */
llrt_status llrt_op_load_variants(llrt_op *op);

/* What the description does not say; all false: as llrt_op_prepare. */
typedef struct op_wishes {
  bool any_order; /* op_description.any_order */
  bool linked;    /* op_description.linked */
  bool lazy;      /* it is planned, and nothing is compiled */
} op_wishes;

/* llrt_op_prepare after its checks of `out`. */
llrt_status llrt_op_prepare_as(llrt_device *device, const llrt_op_desc *given, op_wishes wishes,
                               llrt_op **out);

/* Checks a run's tensors against the operation and binds them. */
llrt_status llrt_op_bind(const llrt_op *op, const llrt_tensor *tensors, int n, const void *stream,
                         op_call *call);

/* A whole one-line call of a checked description with its tensors; fills desc's promises. set_key
 * (may be NULL): the key of its tensors' storage set, 0 where it is not known; filled. */
llrt_status llrt_op_call(op_description *desc, llrt_hash *set_key, void *stream);

/* Launches a ready variant's stages on bound tensors. params: the workspace, where the variant
 * needs one, or that it is the run's own. Errors: INVALID_ARGUMENT where it is too small. */
llrt_status llrt_op_launch(const llrt_op *op, int variant, const op_call *call,
                           const llrt_run_params *params, void *stream);

/* llrt_op_run, whose blocks take so many bytes of shared memory at least: few are on a
 * multiprocessor at a time. 0: as many as fit. */
llrt_status llrt_op_run_sparsely(const llrt_op *op, void *stream, const llrt_tensor *tensors, int n,
                                 const llrt_run_params *params, int32_t room_bytes);

/* The same with a workspace of the call's own, by the context's allocator, where one is needed. */
llrt_status llrt_op_launch_alone(const llrt_op *op, int variant, const op_call *call, void *stream);

/* Bytes of workspace that suffice for the call and for any with smaller extents, whatever variants
 * these take. */
llrt_status llrt_op_workspace_bytes(const llrt_op *op, const op_call *call, size_t *bytes);

#endif
