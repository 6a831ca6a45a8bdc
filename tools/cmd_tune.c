/* llrt tune: candidates of an operation, timed on a device, the fastest kept on disk. */
#include "tools/common/best_device.h"
#include "tools/request_described.h"

#include <llrt/llrt.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const option_spec table[] = {
    REQUEST_DESCRIBED_OPTIONS,
    {"device", 0, "NAME",
     "host, cuda:0, hip:0 (default: the first GPU that\nworks, else the host)"},
    {"any-order", 0, NULL, "also what joins numbers in another order: an operation of its own"},
    {"again", 0, NULL, "although a choice is kept"},
    {"most", 0, "N", "candidates that are compiled, at most (default 48)"},
    {"seconds", 0, "S", "that it may take, about (default 60)"},
    {0}};
enum {
  TUNE_DEVICE = REQUEST_N_DESCRIBED_OPTIONS,
  TUNE_ANY_ORDER,
  TUNE_AGAIN,
  TUNE_MOST,
  TUNE_SECONDS
};

/* What is tuned, while it is. */
typedef struct tuning {
  llrt_device *device;
  llrt_prepare_params params;
  int failed;  /* tuning itself: its line was written */
  int tried;   /* candidates beside the planned one */
  bool chosen; /* something was measured, and the fastest kept */
} tuning;

/* ---- the table ---- */

static void print_number(double us) {
  if (us > 0) printf(" %11.2f", us);
  else printf(" %11s", "-");
}

static void print_candidate(void *user, const llrt_tune_candidate *c) {
  static const char *const states[] = {
      [LLRT_TUNE_PLANNED] = "planned",       [LLRT_TUNE_TIMED] = "timed",
      [LLRT_TUNE_OTHER_BITS] = "other bits", [LLRT_TUNE_FAILED] = "failed",
      [LLRT_TUNE_CHOSEN] = "chosen",         [LLRT_TUNE_KEPT] = "kept"};
  tuning *t = user;
  printf("%-10s", states[c->state]);
  print_number(c->predicted_us);
  print_number(c->measured_us);
  print_number(c->planned_us);
  printf("  %s%s%s\n", c->choice, c->why[0] ? ": " : "", c->why);
  fflush(stdout);
  t->tried += c->state == LLRT_TUNE_TIMED || c->state == LLRT_TUNE_OTHER_BITS;
  t->chosen |= c->state == LLRT_TUNE_CHOSEN;
  if (c->state == LLRT_TUNE_FAILED && strcmp(c->choice, "planned") == 0) t->failed = 1;
}

/* ---- values of indices ---- */

/* A list of positions that jumps about, of every value of an index in the order of its strides. */
static llrt_status make_values(const llrt_tensor *tensor, llrt_device *device, llrt_index *index,
                               void **memory) {
  size_t width = index->dtype == LLRT_I32 ? 4 : 8, n = 1;
  for (int a = 0; a < tensor->rank; a++)
    if (index->axes >> a & 1) n += (size_t)index->strides[a] * (size_t)(tensor->shape[a] - 1);
  char *values = malloc(n * width);
  if (!values) return LLRT_OUT_OF_MEMORY;
  for (size_t i = 0; i < n; i++) {
    int64_t value = index->extent > 0 ? (int64_t)(i * 2654435761u % (uint64_t)index->extent) : 0;
    if (width == 4) memcpy(values + 4 * i, &(int32_t){(int32_t)value}, 4);
    else memcpy(values + 8 * i, &value, 8);
  }
  llrt_status status = llrt_memory_allocate(device, n * width, memory);
  if (status == LLRT_OK)
    status = llrt_memory_copy(device, *memory, values, n * width, LLRT_COPY_TO_DEVICE, NULL);
  if (status == LLRT_OK) status = llrt_stream_synchronize(device, NULL);
  index->data = *memory;
  free(values);
  return status;
}

/* The tensor that has indices with values in them; *n: of what is to be freed. */
static llrt_status place_values(const llrt_op_desc *desc, llrt_tensor *tensors, llrt_device *device,
                                llrt_index placed[LLRT_MAX_INDICES],
                                void *memory[LLRT_MAX_INDICES]) {
  for (int t = 0; t < desc->n_tensors; t++) {
    tensors[t] = desc->tensors[t];
    if (tensors[t].n_indices == 0) continue;
    for (int i = 0; i < tensors[t].n_indices; i++) {
      placed[i] = tensors[t].indices[i];
      llrt_status status = make_values(&tensors[t], device, &placed[i], &memory[i]);
      if (status != LLRT_OK) return status;
    }
    tensors[t].indices = placed;
  }
  return LLRT_OK;
}

/* ---- doing it ---- */

static double seconds_since(const struct timespec *begin) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - begin->tv_sec) + 1e-9 * (double)(now.tv_nsec - begin->tv_nsec);
}

static int tune(void *user, const llrt_op_desc *given) {
  tuning *t = user;
  llrt_op_desc desc = *given;
  llrt_tensor tensors[LLRT_DOT_ROLES];
  llrt_index placed[LLRT_MAX_INDICES];
  void *memory[LLRT_MAX_INDICES] = {0};
  llrt_op *op = NULL;
  char line[512];
  llrt_status status = place_values(&desc, tensors, t->device, placed, memory);
  desc.tensors = tensors;
  struct timespec begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  printf("%-10s %11s %11s %11s  choice\n", "", "predicted", "measured us", "planned us");
  if (status == LLRT_OK) status = llrt_op_prepare_with(t->device, &desc, &t->params, &op);
  if (status == LLRT_OK)
    status = llrt_op_choice_print(op, tensors, desc.n_tensors, line, sizeof line, NULL);
  if (t->chosen) printf("%d candidates in %.1f s\n", t->tried, seconds_since(&begin));
  if (status == LLRT_OK) printf("%s\n", line);
  int code = status == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
  llrt_op_destroy(&op);
  for (int i = 0; i < LLRT_MAX_INDICES; i++)
    if (memory[i]) llrt_memory_free(t->device, memory[i]);
  if (code == TOOL_DONE && t->failed) return tool_refuse("the operation is as it was planned");
  return code;
}

/* A number of at least `least`; false where the text is none. */
static bool parse_number(const char *text, double least, double *number) {
  char *end;
  if (!text) return true;
  *number = strtod(text, &end);
  return end != text && *end == 0 && *number >= least && *number <= 1e6;
}

static int run(const options *given) {
  llrt_context *context;
  double most = 0;
  tuning t = {
      .params = {.tune = given->value[TUNE_ANY_ORDER] ? LLRT_TUNE_ANY_ORDER : LLRT_TUNE_SAME,
                 .retune = given->value[TUNE_AGAIN] != NULL,
                 .on_candidate = print_candidate}};
  t.params.user = &t;
  if (!parse_number(given->value[TUNE_MOST], 1, &most))
    return tool_wrong("tune", "--most %s: not a number of at least 1", given->value[TUNE_MOST]);
  if (!parse_number(given->value[TUNE_SECONDS], 0.001, &t.params.seconds))
    return tool_wrong("tune", "--seconds %s: not a number of at least 0.001",
                      given->value[TUNE_SECONDS]);
  t.params.most = (int32_t)most;
  if (tool_context_create(&context) != LLRT_OK) return tool_refuse_library(NULL);
  int code = TOOL_DONE;
  if (best_device_open(context, given->value[TUNE_DEVICE], given->value[DESCRIBED_TARGET],
                       &t.device) != LLRT_OK)
    code = tool_refuse_library(NULL);
  if (code == TOOL_DONE) code = request_described_use("tune", given, t.device, tune, &t);
  llrt_device_close(&t.device);
  llrt_context_destroy(&context);
  return code;
}

const command cmd_tune = {
    .name = "tune",
    .summary = "time candidates of an operation on a device, keep the fastest",
    .synopsis = REQUEST_DESCRIBED_SYNOPSIS " --to EXPR [options]",
    .text =
        "Plans the operation as explain does, compiles what the planner would make of it with\n"
        "other tuned numbers, tiles and variants, checks that results are the same bits, times\n"
        "each out of cold caches and keeps the fastest in the kernel cache, for this shape on\n"
        "this device. Whoever prepares the operation with the same promises, or calls it, then\n"
        "has that. Predicted times are on the scale of the planned kernels' measured one.",
    .example =
        "  llrt tune convert --from row_major --to col_major --shape 4096x4096 --dtype bf16\n"
        "  llrt tune dot 'bf16[64x4096]' 'bf16[4096x4096]' --any-order --device cuda:0",
    .option = table,
    .repeated = REQUEST_INDEX,
    .min_words = 1,
    .max_words = REQUEST_DESCRIBED_WORDS,
    .run = run,
};
