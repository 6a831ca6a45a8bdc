/* The faults. */
#include "faults.h"

#include <stdio.h>

/* ---- memory ends ---- */

enum { MOST_BLOCKS = 4096, LARGE = 4096 };

/* More than any device has. */
static void too_large(faults_bench *bench) {
  void *memory = NULL;
  llrt_status status = llrt_memory_allocate(bench->device, (size_t)1 << 46, &memory);
  faults_answer(bench, "allocate 64 TiB", status, status == LLRT_OUT_OF_MEMORY && !memory);
  faults_works(bench, bench->stream);
}

/* Takes what the device has, in blocks of halving sizes. Returns their number. */
static int take_all(const faults_bench *bench, unsigned long long *blocks) {
  int (*allocate)(unsigned long long *, size_t);
  int n = 0;
  *(void **)&allocate = faults_symbol(bench, "cuMemAlloc_v2");
  for (size_t bytes = (size_t)1 << 40; bytes >= (size_t)1 << 16; bytes /= 2)
    while (n < MOST_BLOCKS && allocate(&blocks[n], bytes) == 0) n++;
  return n;
}

static void give_back(const faults_bench *bench, const unsigned long long *blocks, int n) {
  int (*release)(unsigned long long);
  *(void **)&release = faults_symbol(bench, "cuMemFree_v2");
  for (int i = 0; i < n; i++) MUST(release(blocks[i]));
}

/* What needs no more memory than there is works; what needs some is OUT_OF_MEMORY. */
static void while_full(faults_bench *bench, const llrt_tensor *large) {
  void *memory = NULL;
  llrt_tensor made = {0};
  llrt_op *op = NULL;
  llrt_status status = llrt_memory_allocate(bench->device, (size_t)64 << 20, &memory);
  faults_answer(bench, "allocate", status, status == LLRT_OUT_OF_MEMORY);
  status = llrt_convert(large, &bench->columns, NULL, bench->stream, &made);
  faults_answer(bench, "convert to new memory", status, status == LLRT_OUT_OF_MEMORY);
  status = llrt_op_load(bench->device, bench->kernel, bench->kernel_bytes, &op);
  faults_answer(bench, "load", status, status == LLRT_OK || status == LLRT_OUT_OF_MEMORY);
  llrt_op_destroy(&op);
  status = llrt_stream_synchronize(bench->device, bench->stream);
  faults_answer(bench, "synchronize", status, status == LLRT_OK);
  faults_works(bench, bench->stream);
}

/* The device's memory is somebody else's. An emulated device's is this machine's, and stays. */
static void memory_full(faults_bench *bench) {
  static unsigned long long blocks[MOST_BLOCKS];
  llrt_tensor large = bench->rows_of, made;
  size_t bytes = (size_t)LARGE * LARGE * sizeof(float);
  if (bench->emulated) {
    printf(" not on an emulated device;");
    return;
  }
  large.shape[0] = large.shape[1] = LARGE;
  LLRT_MUST(llrt_memory_allocate(bench->device, bytes, &large.data));
  int n = take_all(bench, blocks);
  while_full(bench, &large);
  give_back(bench, blocks, n);
  llrt_status status = llrt_convert(&large, &bench->columns, NULL, bench->stream, &made);
  faults_answer(bench, "given back: convert", status, status == LLRT_OK);
  if (status == LLRT_OK) LLRT_MUST(llrt_tensor_free(&made, bench->stream));
  faults_works(bench, bench->stream);
  LLRT_MUST(llrt_memory_free(bench->device, large.data));
}

/* ---- another program's kernel ---- */

static const char kernels[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                              ".visible .entry store(.param .u64 store_address)\n{\n"
                              "  .reg .b64 %a<2>;\n  .reg .b32 %v<2>;\n"
                              "  ld.param.u64 %a1, [store_address];\n  mov.u32 %v1, 1;\n"
                              "  st.global.u32 [%a1], %v1;\n  ret;\n}\n"
                              ".visible .entry stop(.param .u64 stop_address)\n{\n  trap;\n}\n";

/* Runs a kernel of ours on a stream of its own. Who waits for it is told what it did wrong; where
 * an emulator runs it in the launch, who launches it. */
static void run_kernel(faults_bench *bench, const char *entry, unsigned long long address) {
  int (*load)(void **, const void *, unsigned, int *, void **);
  int (*get_function)(void **, void *, const char *), (*unload)(void *);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
  void *module, *function, *stream, *parameters[] = {&address};
  *(void **)&load = faults_symbol(bench, "cuModuleLoadDataEx");
  *(void **)&get_function = faults_symbol(bench, "cuModuleGetFunction");
  *(void **)&launch = faults_symbol(bench, "cuLaunchKernel");
  *(void **)&unload = faults_symbol(bench, "cuModuleUnload");
  MUST(bench->driver.stream_create(&stream, GRAPH_STREAM_NON_BLOCKING));
  MUST(load(&module, kernels, 0, NULL, NULL));
  MUST(get_function(&function, module, entry));
  int result = launch(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL);
  llrt_status status = llrt_stream_synchronize(bench->device, stream);
  bool told = bench->emulated && result != 0;
  printf(" the launch %d;", result);
  faults_answer(bench, "waiting for it", status, told || status == LLRT_DEVICE);
  unload(module); /* which a device that has failed need not do */
  bench->driver.stream_destroy(stream);
}

/* Conversions are queued on both sides of the kernel that fails. */
static void foreign_kernel(faults_bench *bench, const char *entry, unsigned long long address) {
  LLRT_MUST(llrt_convert_into(&bench->rows_of, &bench->columns_of, NULL, bench->stream));
  run_kernel(bench, entry, address);
  faults_call_all(bench, bench->stream, bench->emulated);
  void *memory = NULL;
  llrt_status status = llrt_memory_allocate(bench->device, 256, &memory);
  faults_answer(bench, "allocate", status, bench->emulated || status != LLRT_OK);
}

static void illegal_address(faults_bench *bench) { foreign_kernel(bench, "store", 64); }

static void trap(faults_bench *bench) { foreign_kernel(bench, "stop", 0); }

/* ---- what calls are given is no longer there ---- */

static void destroyed_stream(faults_bench *bench) {
  void *other;
  MUST(bench->driver.stream_create(&other, GRAPH_STREAM_NON_BLOCKING));
  faults_works(bench, other);
  MUST(bench->driver.stream_destroy(other));
  faults_call_all(bench, other, false);
  faults_works(bench, bench->stream);
}

static void freed_memory(faults_bench *bench) {
  llrt_tensor gone = bench->rows_of;
  LLRT_MUST(llrt_memory_allocate(bench->device, (size_t)64 << 20, &gone.data));
  LLRT_MUST(llrt_memory_free(bench->device, gone.data));
  llrt_status status = llrt_convert_into(&gone, &bench->columns_of, NULL, bench->stream);
  faults_answer(bench, "convert", status, true);
  status = llrt_stream_synchronize(bench->device, bench->stream);
  faults_answer(bench, "synchronize", status, true);
}

/* Refused where the device does not reach it; where it does, no fault. */
static void host_memory(faults_bench *bench) {
  static float numbers[FAULTS_ELEMENTS];
  llrt_tensor here = bench->rows_of;
  here.data = numbers;
  llrt_status status = llrt_convert_into(&here, &bench->columns_of, NULL, bench->stream);
  faults_answer(bench, "convert", status, status == LLRT_OK || status == LLRT_INVALID_ARGUMENT);
  faults_works(bench, bench->stream);
}

/* All that contexts of the device hold ends. Afterwards some calls find the context empty, and
 * work. */
static void reset_context(faults_bench *bench) {
  int (*reset)(int), (*get_device)(int *), device;
  *(void **)&reset = faults_symbol(bench, "cuDevicePrimaryCtxReset_v2");
  *(void **)&get_device = faults_symbol(bench, "cuCtxGetDevice");
  MUST(get_device(&device));
  MUST(reset(device));
  faults_call_all(bench, NULL, true);
}

const faults_kind faults_kinds[] = {
    {"too-large", too_large},
    {"memory-full", memory_full},
    {"illegal-address", illegal_address},
    {"trap", trap},
    {"destroyed-stream", destroyed_stream},
    {"freed-memory", freed_memory},
    {"host-memory", host_memory},
    {"reset-context", reset_context},
    {NULL, NULL},
};
