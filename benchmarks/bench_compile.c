/* What a compile costs the host: planning and code generation of the tiled kernel of one class,
 * for every target, without a device. Each result is checked to be there; what it computes is the
 * convert benchmark's. */
#include "harness.h"
#include "subcommands.h"

#include "runtime/described.h"

#include <stdlib.h>

static const char *const targets[] = {"sm_80",     "sm_89",         "sm_90",     "sm_90a",
                                      "gfx90a",    "gfx942",        "x86-64-v2", "x86-64-v3",
                                      "x86-64-v4", "x86-64-v4-vbmi"};

typedef struct bench_case {
  const char *name, *source, *destination;
} bench_case;

static const bench_case cases[] = {
    {"transpose", "row_major", "col_major"},
    {"to-accumulators", "row_major",
     "nvmma(version=[2,0], warps_per_cta=[2,2], instr_shape=[16,8])"},
};

static const llrt_dtype dtypes[] = {LLRT_B8, LLRT_B16, LLRT_B32, LLRT_B64};

/* Milliseconds of one compile, or of planning alone. */
static double compile_once(const harness *h, const char *target, const op_description *desc,
                           llrt_emit emit) {
  char *bytes = NULL;
  size_t size = 0;
  double start = harness_now();
  harness_must(described_compile(h->context, target, desc, emit, &bytes, &size), target);
  double end = harness_now();
  if (size == 0) harness_must(LLRT_INTERNAL, "an empty kernel");
  llrt_buffer_free(&bytes);
  return (end - start) / 1000;
}

static harness_statistic measure(const harness *h, const char *target, const op_description *desc,
                                 llrt_emit emit) {
  double *samples = calloc((size_t)h->options.repeat, sizeof *samples);
  if (!samples) harness_must(LLRT_OUT_OF_MEMORY, "samples");
  compile_once(h, target, desc, emit);
  for (int i = 0; i < h->options.repeat; i++) samples[i] = compile_once(h, target, desc, emit);
  harness_statistic statistic = harness_summarise(samples, h->options.repeat);
  free(samples);
  return statistic;
}

static void run_case(harness *h, const bench_case *c, const char *target, llrt_dtype dtype) {
  llrt_storage storage[2];
  const int64_t shape[] = {4096, 4096};
  op_description desc = {.kind = LLRT_OP_CONVERT, .n_tensors = 2};
  harness_must(llrt_storage_parse(c->source, 2, shape, &storage[0]), c->source);
  harness_must(llrt_storage_parse(c->destination, 2, shape, &storage[1]), c->destination);
  for (int t = 0; t < 2; t++) {
    desc.tensors[t] = (llrt_tensor){.dtype = dtype, .rank = 2, .storage = &storage[t]};
    desc.promises[t].address.multiple = 16;
    for (int a = 0; a < 2; a++) desc.promises[t].stride[a].multiple = 16;
  }
  harness_statistic plan = measure(h, target, &desc, LLRT_EMIT_PLAN);
  harness_statistic object = measure(h, target, &desc, LLRT_EMIT_OBJECT);
  printf("%-16s %-10s %4s %12.2f %12.2f %12.2f %12.2f\n", c->name, target, llrt_dtype_name(dtype),
         plan.median, object.median, object.min, object.max);
  harness_record(h, c->name,
                 "\"target\":\"%s\",\"dtype\":\"%s\",\"plan_ms\":%.3f,\"object_ms\":%.3f", target,
                 llrt_dtype_name(dtype), plan.median, object.median);
}

int bench_compile(int argc, char *argv[]) {
  harness_options options;
  harness h;
  harness_parse(argc, argv, &options);
  if (!options.device) options.device = "host";
  harness_init(&options, &h);
  printf("%-16s %-10s %4s %12s %12s %12s %12s\n", "class", "target", "type", "plan ms", "object ms",
         "min", "max");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (!harness_wants(&h, cases[i].name)) continue;
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
      for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        run_case(&h, &cases[i], targets[t], dtypes[d]);
  }
  harness_fini(&h);
  return 0;
}
