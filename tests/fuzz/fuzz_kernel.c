/* Bytes as a saved kernel: inspected as they are, then with a right checksum loaded over a driver
 * that has no GPU, and run at several shapes. Whatever they say is refused, or launches stay within
 * the workspace that was asked for. What loads is saved, and loads again. */
#include "tests/fuzz/kernel_base.h"

#include "runtime/prepared.h"

#include <llrt/llrt.h>

#include <string.h>
#include <sys/mman.h>

#define MOST_WORKSPACE ((size_t)1 << 20)
#define TENSOR_BYTES ((size_t)1 << 36)

static llrt_device *device_without_gpu(void) {
  static llrt_device *device;
  static llrt_context *context;
  const llrt_context_params params = {.jit_library = "/nowhere/libllrt-jit.so",
                                      .compile = LLRT_COMPILE_FORBIDDEN};
  const llrt_device_params of_device = {.driver_library = LLRT_FUZZ_DRIVER,
                                        .target = KERNEL_BASE_TARGET};
  if (device) return device;
  FUZZ_CHECK(llrt_context_create(&params, &context) == LLRT_OK);
  if (llrt_device_open(context, "cuda:0", &of_device, &device) != LLRT_OK) {
    fprintf(stderr, "%s\n", llrt_last_error());
    abort();
  }
  return device;
}

/* Addresses that nobody reads: kernels do not run. */
static char *nowhere(void) {
  static char *at;
  if (!at)
    at = mmap(NULL, LLRT_MAX_TENSORS * TENSOR_BYTES, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  FUZZ_CHECK(at != MAP_FAILED);
  return at;
}

static int64_t extent_of(const llrt_op *op, int tensor, int axis, int64_t extent) {
  const op_description *desc = &op->desc;
  bool reduced = desc->kind == LLRT_OP_REDUCE && tensor > 0 && desc->combine.axes >> axis & 1;
  int32_t group = desc->kind == LLRT_OP_DOT ? desc->dot.group[tensor][axis] : 1;
  if (reduced || group == LLRT_GROUP_ALL) return 1;
  return group > 1 ? (extent + group - 1) / group : extent;
}

static int make_tensors(const llrt_op *op, int64_t extent, llrt_tensor *tensors) {
  const storage_set *set = op->set;
  for (int t = 0; t < set->n; t++) {
    tensors[t] = llrt_storage_set_tensor(set, t, op->desc.tensors[t].dtype);
    tensors[t].device = op->device;
    tensors[t].data = nowhere() + (size_t)t * TENSOR_BYTES;
    for (int a = 0; a < set->rank; a++) tensors[t].shape[a] = extent_of(op, t, a, extent - a);
  }
  return set->n;
}

/* A write beyond the workspace is the sanitizer's to see. */
static void run(const llrt_op *op, int64_t extent) {
  llrt_tensor tensors[LLRT_MAX_TENSORS];
  llrt_run_params params = {.size = sizeof params};
  int n = make_tensors(op, extent, tensors);
  if (llrt_op_workspace(op, tensors, n, &params.workspace_bytes) != LLRT_OK) return;
  if (params.workspace_bytes > MOST_WORKSPACE) return;
  size_t aligned = (params.workspace_bytes / 16 + 1) * 16;
  if (params.workspace_bytes) params.workspace = aligned_alloc(16, aligned);
  llrt_op_run(op, NULL, tensors, n, &params);
  free(params.workspace);
}

static void save_and_load(llrt_device *device, const llrt_op *op) {
  llrt_op *again;
  size_t size = 0;
  FUZZ_CHECK(llrt_op_save(op, NULL, &size) == LLRT_OK);
  char *image = malloc(size);
  FUZZ_CHECK(image && llrt_op_save(op, image, &size) == LLRT_OK);
  FUZZ_CHECK(llrt_op_load(device, image, size, &again) == LLRT_OK);
  llrt_op_destroy(&again);
  free(image);
}

static void load(const unsigned char *image, size_t size) {
  static const int64_t extents[] = {2, 9, 64, 1000, 40000};
  llrt_device *device = device_without_gpu();
  llrt_kernel_info info = {0};
  llrt_op *op = NULL;
  llrt_status told = llrt_kernel_inspect(image, size, device, &info);
  llrt_status status = llrt_op_load(device, image, size, &op);
  FUZZ_CHECK((status == LLRT_OK) == (op != NULL));
  FUZZ_CHECK(status == LLRT_OK || llrt_last_error()[0]);
  if (!op) return;
  FUZZ_CHECK(told == LLRT_OK && info.fits);
  for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) run(op, extents[i]);
  save_and_load(device, op);
  llrt_op_destroy(&op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t input) {
  llrt_kernel_info info = {0};
  size_t size;
  if (input == 0) return -1;
  unsigned char *image = kernel_of_input(data, input, false, &size);
  llrt_kernel_inspect(image, size, NULL, &info);
  free(image);
  image = kernel_of_input(data, input, true, &size);
  load(image, size);
  free(image);
  return 0;
}
