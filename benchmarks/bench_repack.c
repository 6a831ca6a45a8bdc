/* Checkpoints of models repacked by the recipes that come with llrt, in device memory: each once
 * into memory of its own and once in place where outputs fit. The inverse has to give the
 * checkpoint back, bit for bit (what computes has none: the host has to make the same of it, up to
 * a GiB); then whole runs, and those of the way back, are timed, beside copies of all its tensors.
 * --sizes: at most so much of a checkpoint. Of one of more than 32 GiB, of which nothing is
 * compared, the second half of the tensors has the first half's memory. */
#include "flushed.h"
#include "repack_cases.h"
#include "subcommands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES_BITS = 34 };           /* of a checkpoint: 16 GiB */
#define MOST_COMPARED ((int64_t)1 << 30) /* bytes of what the host computes, too */
#define MOST_OWN ((int64_t)1 << 35) /* bytes of a checkpoint whose tensors all have their own */
#define PATTERN_BYTES ((int64_t)1 << 20)

/* A plan with memory for its tensors. */
typedef struct repack_side {
  llrt_repack *plan;
  llrt_repack_info info;
  void **in, **out;
  void *workspace;
} repack_side;

typedef struct repack_run {
  harness *h;
  const repack_case *c;
  repack_checkpoint checkpoint;
  llrt_recipe *recipe;
  unsigned char *pattern;   /* 2 * PATTERN_BYTES; tensors repeat parts of it */
  unsigned char *on_device; /* the same, on the device: as it is, and as bf16 without NaN */
  repack_side forth, back;
  bool in_place;
} repack_run;

static void name_case(const repack_run *r, const char *way, char *name, size_t size) {
  snprintf(name, size, "%s: %s%s%s", r->c->model, r->c->recipe, r->in_place ? ", in place" : "",
           way);
}

static void *allocate(harness *h, int64_t bytes) {
  void *memory = NULL;
  if (bytes) harness_must(llrt_memory_allocate(h->device, (size_t)bytes, &memory), "device memory");
  return memory;
}

/* Where in the pattern a tensor's bytes begin: at an even one. */
static int64_t begin_of(int i) {
  return (int64_t)(harness_mix((uint64_t)i) % PATTERN_BYTES) & ~(int64_t)1;
}

/* Bytes of the checkpoint's tensor i, on the host. bf16 that is cast has no NaN: the payload of one
 * may change. Ownership: free. */
static unsigned char *make_bytes(const repack_run *r, int i) {
  const llrt_named_tensor *tensor = &r->checkpoint.tensors[i];
  int64_t bytes = repack_tensor_bytes(tensor);
  unsigned char *host = malloc((size_t)bytes + 1);
  if (!host) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  const unsigned char *from = r->pattern + begin_of(i);
#pragma omp parallel for schedule(static)
  for (int64_t at = 0; at < bytes; at += PATTERN_BYTES)
    memcpy(host + at, from, (size_t)(bytes - at < PATTERN_BYTES ? bytes - at : PATTERN_BYTES));
  for (int64_t at = 1; at < bytes && tensor->dtype == LLRT_BF16; at += 2) host[at] &= 0xbf;
  return host;
}

static void copy(const repack_run *r, void *to, const void *from, int64_t bytes,
                 llrt_copy_kind kind) {
  harness_must(llrt_memory_copy(r->h->device, to, from, (size_t)bytes, kind, NULL), "copy");
  harness_must(llrt_stream_synchronize(r->h->device, NULL), "copy");
}

/* Brings the pattern to the device, from where tensors are made of it. */
static void upload_pattern(repack_run *r) {
  unsigned char *numbers = malloc(2 * (size_t)PATTERN_BYTES);
  if (!numbers) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  r->on_device = allocate(r->h, 4 * PATTERN_BYTES);
  memcpy(numbers, r->pattern, 2 * (size_t)PATTERN_BYTES);
  for (int64_t at = 1; at < 2 * PATTERN_BYTES; at += 2) numbers[at] &= 0xbf;
  copy(r, r->on_device, r->pattern, 2 * PATTERN_BYTES, LLRT_COPY_TO_DEVICE);
  copy(r, r->on_device + 2 * PATTERN_BYTES, numbers, 2 * PATTERN_BYTES, LLRT_COPY_TO_DEVICE);
  free(numbers);
}

/* The bytes of make_bytes, on the device. */
static void upload(const repack_run *r, int i, unsigned char *device) {
  const llrt_named_tensor *tensor = &r->checkpoint.tensors[i];
  int64_t bytes = repack_tensor_bytes(tensor), part;
  const unsigned char *from =
      r->on_device + (tensor->dtype == LLRT_BF16 ? 2 * PATTERN_BYTES : 0) + begin_of(i);
  for (int64_t at = 0; at < bytes; at += part) {
    part = bytes - at < PATTERN_BYTES ? bytes - at : PATTERN_BYTES;
    harness_must(
        llrt_memory_copy(r->h->device, device + at, from, (size_t)part, LLRT_COPY_ON_DEVICE, NULL),
        "copy");
  }
}

/* Memory and bytes of all inputs; of a large checkpoint's the second half lies where the first
 * does. */
static void make_inputs(repack_run *r) {
  int n = r->checkpoint.n, own = r->checkpoint.bytes > MOST_OWN ? n / 2 : n;
  upload_pattern(r);
  for (int i = 0; i < n; i++) {
    int64_t bytes = repack_tensor_bytes(&r->checkpoint.tensors[i]);
    bool shares = i >= own && bytes == repack_tensor_bytes(&r->checkpoint.tensors[i - own]);
    r->forth.in[i] = shares ? r->forth.in[i - own] : allocate(r->h, bytes);
    if (!shares) upload(r, i, r->forth.in[i]);
  }
  harness_must(llrt_stream_synchronize(r->h->device, NULL), "copy");
}

static void free_inputs(repack_run *r) {
  int n = r->checkpoint.n, half = n / 2;
  for (int i = n - 1; i >= 0; i--)
    if (i < half || r->forth.in[i] != r->forth.in[i - half])
      llrt_memory_free(r->h->device, r->forth.in[i]);
  llrt_memory_free(r->h->device, r->on_device);
}

/* Whether device memory holds tensor i's bytes. */
static bool is_back(const repack_run *r, int i, const void *device) {
  int64_t bytes = repack_tensor_bytes(&r->checkpoint.tensors[i]);
  unsigned char *wanted = make_bytes(r, i), *host = malloc((size_t)bytes + 1);
  if (!host) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  copy(r, host, device, bytes, LLRT_COPY_FROM_DEVICE);
  bool same = memcmp(host, wanted, (size_t)bytes) == 0;
  if (!same) printf("%s: the inverse does not give it back\n", r->checkpoint.tensors[i].name);
  free(host);
  free(wanted);
  return same;
}

/* False: there is no inverse. */
static bool bind_on(repack_run *r, llrt_device *device, bool inverse, repack_side *side) {
  const llrt_recipe_params params = {.config = r->checkpoint.config,
                                     .config_bytes = strlen(r->checkpoint.config),
                                     .inverse = inverse,
                                     .in_place = r->in_place};
  llrt_status status = llrt_recipe_bind(device, r->recipe, r->checkpoint.tensors, r->checkpoint.n,
                                        &params, &side->plan);
  if (inverse && status == LLRT_UNSUPPORTED) return false;
  harness_must(status, r->c->recipe);
  harness_must(llrt_repack_get_info(side->plan, &side->info), r->c->recipe);
  side->in = calloc((size_t)side->info.n_inputs + 1, sizeof *side->in);
  side->out = calloc((size_t)side->info.n_outputs + 1, sizeof *side->out);
  if (!side->in || !side->out) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  return true;
}

static bool bind(repack_run *r, bool inverse, repack_side *side) {
  bool bound = bind_on(r, r->h->device, inverse, side);
  if (bound) side->workspace = allocate(r->h, (int64_t)side->info.workspace);
  return bound;
}

/* Memory for outputs that have no input's; *extra: bytes of it. */
static void allocate_outputs(repack_run *r, repack_side *side, int64_t *extra) {
  for (int i = 0; i < side->info.n_outputs; i++) {
    const llrt_repack_tensor *output = llrt_repack_output(side->plan, i);
    *extra += output->place < 0 ? (int64_t)output->bytes : 0;
    side->out[i] =
        output->place < 0 ? allocate(r->h, (int64_t)output->bytes) : side->in[output->place];
  }
}

static void free_side(repack_run *r, repack_side *side) {
  for (int i = 0; i < side->info.n_outputs; i++)
    if (llrt_repack_output(side->plan, i)->place < 0 && side->out[i])
      llrt_memory_free(r->h->device, side->out[i]);
  if (side->workspace) llrt_memory_free(r->h->device, side->workspace);
  llrt_repack_destroy(&side->plan);
  free(side->in);
  free(side->out);
}

/* The inverse reads the forward plan's outputs, by name. */
static void connect(repack_run *r) {
  for (int i = 0; i < r->back.info.n_inputs; i++)
    for (int k = 0; k < r->forth.info.n_outputs; k++)
      if (strcmp(llrt_repack_input(r->back.plan, i)->name,
                 llrt_repack_output(r->forth.plan, k)->name) == 0)
        r->back.in[i] = r->forth.out[k];
}

static void run_side(const repack_side *side) {
  harness_must(
      llrt_repack_run(side->plan, (const void *const *)side->in, side->out, side->workspace, NULL),
      "repacking");
}

/* Whether output i is what the host has made in `wanted`. */
static bool is_same(const repack_run *r, int i, const void *wanted) {
  const llrt_repack_tensor *output = llrt_repack_output(r->forth.plan, i);
  unsigned char *made = malloc(output->bytes + 1);
  if (!made) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  copy(r, made, r->forth.out[i], (int64_t)output->bytes, LLRT_COPY_FROM_DEVICE);
  bool same = memcmp(made, wanted, output->bytes) == 0;
  if (!same) printf("%s: the host makes another\n", output->name);
  free(made);
  return same;
}

/* Whether the host makes the same of the checkpoint. */
static bool host_agrees(repack_run *r) {
  llrt_device *host;
  repack_side side = {0};
  bool right = true;
  harness_must(llrt_device_open(r->h->context, "host", NULL, &host), "host");
  bind_on(r, host, false, &side);
  void *workspace = malloc(side.info.workspace + 1);
  for (int i = 0; i < side.info.n_inputs; i++) side.in[i] = make_bytes(r, i);
  for (int i = 0; i < side.info.n_outputs; i++) {
    const llrt_repack_tensor *output = llrt_repack_output(side.plan, i);
    side.out[i] = output->place < 0 ? malloc(output->bytes + 1) : side.in[output->place];
  }
  harness_must(llrt_repack_run(side.plan, (const void *const *)side.in, side.out, workspace, NULL),
               "the host");
  for (int i = 0; i < side.info.n_outputs && right; i++) right = is_same(r, i, side.out[i]);
  for (int i = 0; i < side.info.n_outputs; i++)
    if (llrt_repack_output(side.plan, i)->place < 0) free(side.out[i]);
  for (int i = 0; i < side.info.n_inputs; i++) free(side.in[i]);
  free(workspace);
  llrt_repack_destroy(&side.plan);
  free(side.in);
  free(side.out);
  llrt_device_close(&host);
  return right;
}

static void launch_run(const void *data) { run_side(data); }

/* Copies of all inputs, which move as many bytes as the checkpoint has. */
typedef struct copies {
  harness *h;
  const repack_side *side;
  void *to;
} copies;

static void launch_copies(const void *data) {
  const copies *c = data;
  for (int i = 0; i < c->side->info.n_inputs; i++)
    harness_must(llrt_memory_copy(c->h->device, c->to, c->side->in[i],
                                  llrt_repack_input(c->side->plan, i)->bytes, LLRT_COPY_ON_DEVICE,
                                  NULL),
                 "copy");
}

/* The time of a side's runs, beside copies of the checkpoint. */
static void report(repack_run *r, const flushed *f, const repack_side *side, const char *way,
                   int64_t extra) {
  const llrt_repack_info *info = &side->info;
  char name[160];
  int64_t largest = 0;
  name_case(r, way, name, sizeof name);
  for (int i = 0; i < r->checkpoint.n; i++) {
    int64_t bytes = repack_tensor_bytes(&r->checkpoint.tensors[i]);
    largest = bytes > largest ? bytes : largest;
  }
  copies c = {r->h, &r->forth, allocate(r->h, largest)};
  harness_statistic took = flushed_measure(f, launch_run, side);
  harness_statistic copied = flushed_measure(f, launch_copies, &c);
  llrt_memory_free(r->h->device, c.to);
  double moved = (double)(info->bytes_read + info->bytes_written);
  double of_copy = copied.median * moved / (2.0 * (double)r->checkpoint.bytes) / took.median;
  printf("%-62s %9.1f %9.1f %7.0f %7.3f %6d %8.1f %8.1f\n", name, took.median, copied.median,
         moved / took.median / 1e3, of_copy, info->launches, (double)extra / (1 << 20),
         (double)info->workspace / (1 << 20));
  harness_record(r->h, name,
                 "\"recipe\":\"%s\",\"in_place\":%s,\"bytes\":%" PRId64 ",\"bytes_moved\":%.0f,"
                 "\"median_us\":%.3f,\"copy_us\":%.3f,\"n\":%d,\"of_copy\":%.4f,\"launches\":%d,"
                 "\"extra_bytes\":%" PRId64 ",\"workspace\":%zu",
                 r->c->recipe, r->in_place ? "true" : "false", r->checkpoint.bytes, moved,
                 took.median, copied.median, took.count, of_copy, info->launches, extra,
                 info->workspace);
}

static void tell_right(repack_run *r, bool right) {
  char name[160];
  name_case(r, "", name, sizeof name);
  printf("%-62s %s\n", name, right ? "right" : "WRONG");
  harness_record(r->h, name, "\"right\":%s", right ? "true" : "false");
}

static bool comes_back(repack_run *r, const flushed *f) {
  int64_t extra = 0;
  bool right = true;
  if (!bind(r, true, &r->back)) {
    if (r->checkpoint.bytes > MOST_COMPARED) return true;
    harness_must(llrt_stream_synchronize(r->h->device, NULL), "repacking");
    return host_agrees(r);
  }
  connect(r);
  allocate_outputs(r, &r->back, &extra);
  run_side(&r->back);
  harness_must(llrt_stream_synchronize(r->h->device, NULL), "repacking");
  for (int i = 0; i < r->checkpoint.n && right; i++) right = is_back(r, i, r->back.out[i]);
  if (right && !r->h->options.check_only) report(r, f, &r->back, ", back", extra);
  free_side(r, &r->back);
  return right;
}

/* In place a second run would repack what is repacked: it is timed all the same, and compared
 * before. */
static bool run_case(repack_run *r, const flushed *f) {
  int64_t extra = 0;
  bind(r, false, &r->forth);
  make_inputs(r);
  allocate_outputs(r, &r->forth, &extra);
  run_side(&r->forth);
  bool right = comes_back(r, f);
  if (r->h->options.check_only || !right) tell_right(r, right);
  else report(r, f, &r->forth, "", extra);
  free_inputs(r);
  free_side(r, &r->forth);
  return right;
}

static bool run_cases(harness *h, const flushed *f, unsigned char *pattern, int64_t most) {
  bool right = true;
  for (int i = 0; i < 2 * repack_cases_count; i++) {
    repack_run run = {.h = h, .c = &repack_cases[i / 2], .pattern = pattern, .in_place = i % 2};
    char name[160];
    name_case(&run, "", name, sizeof name);
    if (!harness_wants(h, name)) continue;
    if (h->options.list) {
      printf("%s\n", name);
      continue;
    }
    harness_must(llrt_recipe_load_named(run.c->recipe, &run.recipe), run.c->recipe);
    repack_checkpoint_make(run.c, most, &run.checkpoint);
    right &= run_case(&run, f);
    repack_checkpoint_free(&run.checkpoint);
    llrt_recipe_destroy(&run.recipe);
  }
  return right;
}

int bench_repack(int argc, char *argv[]) {
  harness_options options;
  harness h;
  flushed f;
  harness_parse(argc, argv, &options);
  harness_init(&options, &h);
  flushed_init(&h, &f);
  int64_t most = options.n_sizes ? options.size[0] : (int64_t)1 << MOST_BYTES_BITS;
  unsigned char *pattern = malloc(2 * (size_t)PATTERN_BYTES);
  if (!pattern) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int64_t i = 0; i < 2 * PATTERN_BYTES; i++)
    pattern[i] = (unsigned char)harness_mix(options.seed + (uint64_t)i);
  if (!options.list && !options.check_only)
    printf("%-62s %9s %9s %7s %7s %6s %8s %8s\n", "repack", "us", "copy us", "GB/s", "of copy",
           "launch", "more MiB", "work MiB");
  bool right = run_cases(&h, &f, pattern, most);
  free(pattern);
  flushed_fini(&f);
  harness_fini(&h);
  return right ? 0 : 1;
}
