/* Graphs of captured one-line calls, replayed: a program outside of llrt that knows include/llrt
 * and the driver alone.
 *
 *   llrt-replay --device cuda:0 --replays 10000
 *
 * A sum whose blocks share it is captured on one stream and replayed on another while eager calls
 * of the same kind run on the first: all results are bit for bit one. And 64 graphs of a kernel
 * each are replayed by a context that keeps 8. */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void replay_must(int result, const char *what) {
  if (result == 0) return;
  fprintf(stderr, "llrt-replay: %s: the driver's error %d\n", what, result);
  exit(1);
}

void replay_llrt_must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  fprintf(stderr, "llrt-replay: %s: %s\n", what, llrt_last_error());
  exit(1);
}

void replay_open(replay_bench *bench, uint64_t most_kernels) {
  const llrt_context_params params = {.size = sizeof params, .most_kernels = most_kernels};
  LLRT_MUST(llrt_context_create(&params, &bench->context));
  LLRT_MUST(llrt_device_open(bench->context, bench->params.device, NULL, &bench->device));
  MUST(bench->driver.stream_create(&bench->captured, GRAPH_STREAM_NON_BLOCKING));
  MUST(bench->driver.stream_create(&bench->replayed, GRAPH_STREAM_NON_BLOCKING));
  bench->eager = bench->captured;
}

static void synchronize(const replay_bench *bench) {
  MUST(bench->driver.stream_synchronize(bench->captured));
  MUST(bench->driver.stream_synchronize(bench->replayed));
  LLRT_MUST(llrt_stream_synchronize(bench->device, NULL));
}

void replay_close(replay_bench *bench) {
  synchronize(bench);
  MUST(bench->driver.stream_destroy(bench->captured));
  MUST(bench->driver.stream_destroy(bench->replayed));
  llrt_device_close(&bench->device);
  llrt_context_destroy(&bench->context);
}

void *replay_memory(const replay_bench *bench, const void *data, size_t bytes) {
  void *memory;
  LLRT_MUST(llrt_memory_allocate(bench->device, bytes, &memory));
  if (data)
    LLRT_MUST(llrt_memory_copy(bench->device, memory, data, bytes, LLRT_COPY_TO_DEVICE, NULL));
  LLRT_MUST(llrt_stream_synchronize(bench->device, NULL));
  return memory;
}

void replay_fetch(const replay_bench *bench, void *to, const void *from, size_t bytes) {
  synchronize(bench);
  LLRT_MUST(llrt_memory_copy(bench->device, to, from, bytes, LLRT_COPY_FROM_DEVICE, NULL));
  LLRT_MUST(llrt_stream_synchronize(bench->device, NULL));
}

/* ---- the command line ---- */

static const char usage[] =
    "llrt-replay [--device NAME] [--replays N] [--elements N] [--graphs N] [--limit N]\n"
    "  --device    cuda:N, hip:N, cuda-emu:TARGET or hip-emu:TARGET (cuda:0)\n"
    "  --replays   of a split sum beside as many eager ones (10000); 0: none\n"
    "  --elements  that it sums (4194304)\n"
    "  --graphs    of a kernel each (64); 0: none\n"
    "  --limit     kernels that the context of these may keep (8)\n";

static long long read_number(const char *text) {
  char *end;
  long long number = strtoll(text, &end, 10);
  if (*end == 0 && end != text && number >= 0) return number;
  fprintf(stderr, "llrt-replay: '%s' is no count\n%s", text, usage);
  exit(2);
}

static bool read_option(const char *name, const char *value, replay_params *params) {
  if (strcmp(name, "--device") == 0) params->device = value;
  else if (strcmp(name, "--replays") == 0) params->replays = (int)read_number(value);
  else if (strcmp(name, "--elements") == 0) params->elements = read_number(value);
  else if (strcmp(name, "--graphs") == 0) params->graphs = (int)read_number(value);
  else if (strcmp(name, "--limit") == 0) params->limit = (int)read_number(value);
  else return false;
  return true;
}

int main(int argc, char **argv) {
  replay_bench bench = {.params = {"cuda:0", 10000, 1 << 22, 64, 8}};
  const char *why;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 < argc && read_option(argv[i], argv[i + 1], &bench.params)) continue;
    fputs(usage, stderr);
    return 2;
  }
  if (!graph_driver_open(bench.params.device, &bench.driver, &why)) {
    fprintf(stderr, "llrt-replay: %s: %s\n", bench.params.device, why);
    return 1;
  }
  long wrong = 0;
  if (bench.params.replays > 0) wrong += replay_beside_eager(&bench);
  if (bench.params.graphs > 0) wrong += replay_under_limit(&bench);
  graph_driver_close(&bench.driver);
  return wrong != 0;
}
