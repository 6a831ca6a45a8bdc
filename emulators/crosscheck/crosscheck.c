/* The same kernels on a real GPU and on the PTX emulator: equal results, and the emulator's
 * counters as CSV for comparison with the hardware's (scripts/compare-counters, docs/testing.md).
 *
 *     emu_crosscheck GPU COUNTERS.csv        e.g. emu_crosscheck cuda:0 emulator.csv
 *
 * Every case launches exactly one kernel on the GPU, in the order of the file's lines. */
#include "emulators/common/emu_counters.h"
#include "emulators/tests/counted_pairs.h"
#include "emulators/ptx/emu_cuda.h"

#include <llrt/llrt.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char *const pairs[][2] = {
    COUNTED_PAIRS,
};
static const char *const targets[] = {"sm_80", "sm_89", "sm_90a"};
static const llrt_dtype dtypes[] = {LLRT_U8, LLRT_BF16, LLRT_F32, LLRT_I64};
static const int64_t shape[2] = {256, 512};

static void must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  fprintf(stderr, "%s: %s\n", what, llrt_last_error());
  exit(1);
}

/* Converts `input` on a device; *output, malloc'ed, gets the destination's bytes. The destination
 * starts out as zeros, so that places which nobody writes compare equal. */
static size_t convert(llrt_device *device, const llrt_storage storage[2], llrt_dtype dtype,
                      const unsigned char *input, unsigned char **output) {
  llrt_tensor tensors[2];
  size_t bytes[2];
  for (int t = 0; t < 2; t++) {
    tensors[t] = (llrt_tensor){.dtype = dtype,
                               .rank = 2,
                               .shape = {shape[0], shape[1]},
                               .storage = &storage[t],
                               .device = device};
    must(llrt_tensor_bytes(&tensors[t], &bytes[t]), "size");
    must(llrt_memory_allocate(device, bytes[t], &tensors[t].data), "memory");
  }
  must(llrt_memory_copy(device, tensors[0].data, input, bytes[0], LLRT_COPY_TO_DEVICE, NULL),
       "copy");
  must(llrt_memory_set(device, tensors[1].data, 0, bytes[1], NULL), "set");
  must(llrt_convert_into(&tensors[0], &tensors[1], NULL, NULL), "convert");
  *output = malloc(bytes[1]);
  if (!*output) must(LLRT_OUT_OF_MEMORY, "output");
  must(llrt_memory_copy(device, *output, tensors[1].data, bytes[1], LLRT_COPY_FROM_DEVICE, NULL),
       "copy back");
  must(llrt_stream_synchronize(device, NULL), "synchronise");
  for (int t = 0; t < 2; t++) must(llrt_memory_free(device, tensors[t].data), "free");
  return bytes[1];
}

static llrt_device *open_device(llrt_context *context, const char *name, const char *target) {
  llrt_device *device = NULL;
  llrt_device_params params = {.target = target};
  must(llrt_device_open(context, name, target ? &params : NULL, &device), name);
  return device;
}

/* The most that a source of these layouts takes: operands hold copies for warps that share them. */
enum { MAX_SOURCE_BYTES = 256 * 512 * 8 * 4 };

/* 0 when both devices give the same bytes. */
static int compare_case(llrt_device *gpu, llrt_device *emulator, const char *const pair[2],
                        llrt_dtype dtype) {
  llrt_storage storage[2];
  unsigned char *input = malloc(MAX_SOURCE_BYTES), *output[2];
  if (!input) must(LLRT_OUT_OF_MEMORY, "input");
  for (size_t i = 0; i < MAX_SOURCE_BYTES; i++) input[i] = (unsigned char)(i * 2654435761u >> 13);
  for (int t = 0; t < 2; t++) must(llrt_storage_parse(pair[t], 2, shape, &storage[t]), pair[t]);
  convert(gpu, storage, dtype, input, &output[0]);
  size_t bytes = convert(emulator, storage, dtype, input, &output[1]);
  int different = memcmp(output[0], output[1], bytes) != 0;
  for (int i = 0; i < 2; i++) free(output[i]);
  free(input);
  return different;
}

typedef void last_counters(emu_counters *counters);

static last_counters *find_counters(void) {
  void *library = dlopen("libllrt-emu-cuda.so", RTLD_NOW | RTLD_NOLOAD);
  void *symbol = library ? dlsym(library, EMU_CUDA_LAST_COUNTERS) : NULL;
  last_counters *function = NULL;
  memcpy(&function, &symbol, sizeof function);
  if (!function) {
    fprintf(stderr, "the emulator's counters are not to be found\n");
    exit(1);
  }
  return function;
}

static int run_target(llrt_context *context, const char *gpu_name, const char *target, FILE *csv) {
  char emulator_name[32];
  int different = 0;
  snprintf(emulator_name, sizeof emulator_name, "cuda-emu:%s", target);
  llrt_device *gpu = open_device(context, gpu_name, target);
  llrt_device *emulator = open_device(context, emulator_name, NULL);
  last_counters *read_counters = find_counters();
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    llrt_dtype dtype = dtypes[i % 4];
    emu_counters c;
    int wrong = compare_case(gpu, emulator, pairs[i], dtype);
    read_counters(&c);
    fprintf(csv, "%s pair %zu %s,%llu,%llu,%llu,%llu,%llu,%llu\n", target, i,
            llrt_dtype_name(dtype), (unsigned long long)c.global_load_sectors,
            (unsigned long long)c.global_store_sectors, (unsigned long long)c.global_loads,
            (unsigned long long)c.global_stores, (unsigned long long)c.shared_load_wavefronts,
            (unsigned long long)c.shared_store_wavefronts);
    if (wrong) fprintf(stderr, "%s, pair %zu: results differ\n", target, i);
    different += wrong;
  }
  llrt_device_close(&gpu);
  llrt_device_close(&emulator);
  return different;
}

int main(int argc, char *argv[]) {
  llrt_context *context = NULL;
  if (argc != 3) {
    fprintf(stderr, "usage: emu_crosscheck GPU COUNTERS.csv\n");
    return 2;
  }
  FILE *csv = fopen(argv[2], "w");
  if (!csv) {
    perror(argv[2]);
    return 1;
  }
  must(llrt_context_create(NULL, &context), "context");
  fprintf(csv,
          "kernel,load sectors,store sectors,load requests,store requests,shared load wavefronts,"
          "shared store wavefronts\n");
  int different = 0;
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
    different += run_target(context, argv[1], targets[t], csv);
  llrt_context_destroy(&context);
  fclose(csv);
  fprintf(stderr, "%zu kernels, %d with different results\n",
          sizeof targets / sizeof *targets * (sizeof pairs / sizeof *pairs), different);
  return different != 0;
}
