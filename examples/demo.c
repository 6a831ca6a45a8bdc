/* A real weight matrix to the order in which tensor cores want it, and back.
 *
 * The matrix comes out of a published model. Each lane of a warp holds certain elements of an
 * operand of mma.sync; written one lane after another, a kernel loads its fragments with wide,
 * contiguous reads. llrt makes the kernel for exactly this pair of layouts, and the program checks
 * it bit for bit and times it beside a copy of the same memory: the driver's, on the host memcpy by
 * all threads.
 *
 *     demo [--device NAME] [MODEL.safetensors:TENSOR] */
#include "tools/common/array_file.h"
#include "tools/common/best_device.h"

#include <llrt/llrt.h>

#include <inttypes.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHTS "examples/data/silero_vad_16k.safetensors:lstm_cell.weight_ih"
#define FRAGMENTS \
  "dot(operand=0, k_width=%d, parent=nvmma(version=[2,0], warps_per_cta=[4,1], " \
  "instr_shape=[16,8]))"

enum { PLAN_LINES = 24, TIMED_RUNS = 21 };

/* One matrix in its three places: as it comes, in fragment order, and brought back. */
typedef struct trip {
  llrt_storage row_major, fragment_order;
  llrt_tensor rows, fragments, back;
  size_t bytes; /* of each */
} trip;

/* An example may end at the first error; a library would pass it on. */
static void must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  fprintf(stderr, "demo: %s: %s\n", what, llrt_last_error());
  exit(1);
}

static void must_file(bool done, const array_error *error) {
  if (done) return;
  fprintf(stderr, "demo: %s\n", error->text);
  exit(1);
}

/* ---- what is converted ---- */

static llrt_tensor make_tensor(const array *a, const llrt_storage *storage, llrt_device *device) {
  llrt_tensor tensor = {.dtype = a->dtype, .rank = a->rank, .storage = storage, .device = device};
  memcpy(tensor.shape, a->shape, sizeof tensor.shape);
  must(llrt_memory_allocate(device, a->bytes, &tensor.data), "device memory");
  return tensor;
}

/* Fills *t, which must stay where it is: its tensors point to its storages. */
static void trip_init(trip *t, const array *weights, llrt_device *device) {
  char expression[160];
  snprintf(expression, sizeof expression, FRAGMENTS, 32 / llrt_dtype_bits(weights->dtype));
  must(llrt_storage_row_major(weights->rank, &t->row_major), "row_major");
  must(llrt_storage_parse(expression, weights->rank, weights->shape, &t->fragment_order),
       expression);
  t->bytes = weights->bytes;
  t->rows = make_tensor(weights, &t->row_major, device);
  t->fragments = make_tensor(weights, &t->fragment_order, device);
  t->back = make_tensor(weights, &t->row_major, device);
  must(llrt_memory_copy(device, t->rows.data, weights->data, t->bytes, LLRT_COPY_TO_DEVICE, NULL),
       "copy to the device");
}

static void trip_fini(trip *t, llrt_device *device) {
  llrt_memory_free(device, t->rows.data);
  llrt_memory_free(device, t->fragments.data);
  llrt_memory_free(device, t->back.data);
}

/* The same matrix `times` times, one below the other. */
static array repeat(const array *a, int64_t times) {
  array tall;
  array_error error;
  int64_t shape[2] = {a->shape[0] * times, a->shape[1]};
  must_file(array_create(a->dtype, 2, shape, &tall, &error), &error);
  for (int64_t i = 0; i < times; i++)
    memcpy((char *)tall.data + (size_t)i * a->bytes, a->data, a->bytes);
  return tall;
}

/* ---- showing and checking ---- */

/* Prints the kernel's plan for the device's target, its first lines. */
static void show_plan(llrt_context *context, const char *target, const trip *t) {
  const llrt_tensor tensors[] = {t->rows, t->fragments};
  llrt_tensor_promise promises[2];
  llrt_op_desc desc = {
      .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = tensors, .promises = promises};
  char *text;
  size_t size;
  must(llrt_op_promise_coarse(&desc), "promises");
  must(llrt_op_compile(context, target, &desc, LLRT_EMIT_PLAN, &text, &size), "plan");
  const char *line = text;
  for (int i = 0; i < PLAN_LINES && *line; i++) {
    size_t length = strcspn(line, "\n");
    printf("  %.*s\n", (int)length, line);
    line += length + (line[length] == '\n');
  }
  if (*line) puts("  ...");
  llrt_buffer_free(&text);
}

/* Every element must lie in the fragment order where the storage says, and come back the same. */
static void check(const trip *t, const array *weights, llrt_device *device) {
  size_t element = (size_t)llrt_dtype_bits(weights->dtype) / 8;
  const char *expected = weights->data;
  char *got = malloc(t->bytes);
  llrt_storage_binding binding;
  int64_t wrong = 0;
  if (!got) must(LLRT_OUT_OF_MEMORY, "host memory");
  must(llrt_storage_bind(&t->fragment_order, 2, weights->shape, NULL, &binding), "binding");
  must(llrt_memory_copy(device, got, t->fragments.data, t->bytes, LLRT_COPY_FROM_DEVICE, NULL),
       "copy from the device");
  for (int64_t row = 0; row < weights->shape[0]; row++) {
    for (int64_t column = 0; column < weights->shape[1]; column++) {
      int64_t coords[2] = {row, column};
      size_t offset = (size_t)llrt_storage_offset(&t->fragment_order, &binding, coords);
      size_t index = (size_t)(row * weights->shape[1] + column);
      wrong += memcmp(got + offset * element, expected + index * element, element) != 0;
    }
  }
  must(llrt_memory_copy(device, got, t->back.data, t->bytes, LLRT_COPY_FROM_DEVICE, NULL),
       "copy from the device");
  bool same = memcmp(got, expected, t->bytes) == 0;
  free(got);
  if (wrong == 0 && same) return;
  fprintf(stderr, "demo: %" PRId64 " elements are in the wrong place; the way back %s\n", wrong,
          same ? "is right" : "is wrong");
  exit(1);
}

static void go_there_and_back(const trip *t) {
  must(llrt_convert_into(&t->rows, &t->fragments, NULL, NULL), "to fragment order");
  must(llrt_convert_into(&t->fragments, &t->back, NULL, NULL), "back to row-major");
}

/* ---- timing ---- */

typedef void timed_work(const trip *t, llrt_device *device);

static void work_device_copy(const trip *t, llrt_device *device) {
  must(llrt_memory_copy(device, t->back.data, t->rows.data, t->bytes, LLRT_COPY_ON_DEVICE, NULL),
       "copy");
}

/* By as many threads as the conversions have, each by one call: llrt_memory_copy on the host is one
 * memcpy in all. */
static void work_host_copy(const trip *t, llrt_device *device) {
  (void)device;
#pragma omp parallel
  {
    size_t threads = (size_t)omp_get_num_threads(), thread = (size_t)omp_get_thread_num();
    size_t begin = t->bytes * thread / threads, end = t->bytes * (thread + 1) / threads;
    memcpy((char *)t->back.data + begin, (const char *)t->rows.data + begin, end - begin);
  }
}

static void work_there(const trip *t, llrt_device *device) {
  (void)device;
  must(llrt_convert_into(&t->rows, &t->fragments, NULL, NULL), "to fragment order");
}

static void work_back(const trip *t, llrt_device *device) {
  (void)device;
  must(llrt_convert_into(&t->fragments, &t->back, NULL, NULL), "back to row-major");
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median of TIMED_RUNS runs in microseconds, by the device's own clock. */
static double time_work(timed_work *work, const trip *t, llrt_device *device) {
  double microseconds[TIMED_RUNS];
  llrt_event *start, *stop;
  must(llrt_event_create(device, &start), "event");
  must(llrt_event_create(device, &stop), "event");
  for (int i = -3; i < TIMED_RUNS; i++) { /* the first three warm up */
    must(llrt_event_record(start, NULL), "event");
    work(t, device);
    must(llrt_event_record(stop, NULL), "event");
    must(llrt_event_elapsed(start, stop, &microseconds[i < 0 ? 0 : i]), "event");
  }
  llrt_event_destroy(&start);
  llrt_event_destroy(&stop);
  qsort(microseconds, TIMED_RUNS, sizeof *microseconds, compare_doubles);
  return microseconds[TIMED_RUNS / 2];
}

static bool is_host(const llrt_device_info *info) { return strcmp(info->name, "host") == 0; }

static void report(const array *weights, const trip *t, llrt_device *device,
                   const llrt_device_info *info) {
  const struct {
    const char *name;
    timed_work *work;
  } rows[] = {{is_host(info) ? "memcpy, all threads" : "the driver's copy",
               is_host(info) ? work_host_copy : work_device_copy},
              {"row-major -> fragments", work_there},
              {"fragments -> row-major", work_back}};
  double copy = 0;
  char title[80];
  snprintf(title, sizeof title, "%" PRId64 " x %" PRId64 " %s, %.2f MiB", weights->shape[0],
           weights->shape[1], llrt_dtype_name(weights->dtype), (double)t->bytes / (1 << 20));
  printf("\n%-26s %13s %10s %9s\n", title, "time", "GB/s", "of copy");
  for (int i = 0; i < 3; i++) {
    double time = time_work(rows[i].work, t, device);
    if (i == 0) copy = time;
    printf("  %-24s %10.1f us %10.1f %9.2f\n", rows[i].name, time, 2e-3 * (double)t->bytes / time,
           copy / time);
  }
}

/* Converts one matrix there and back, checks it, times it. */
static void run_matrix(llrt_context *context, llrt_device *device, const llrt_device_info *info,
                       const array *weights, bool with_plan) {
  trip t;
  trip_init(&t, weights, device);
  if (with_plan) show_plan(context, info->target, &t);
  go_there_and_back(&t);
  check(&t, weights, device);
  printf("\nchecked: all %zu bytes there and back are right\n", t.bytes);
  report(weights, &t, device, info);
  trip_fini(&t, device);
}

/* Ends the program with the usage unless the arguments are right. */
static void read_arguments(int argc, char *argv[], const char **device, const char **weights) {
  *device = NULL;
  *weights = WEIGHTS;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) {
      *device = argv[++i];
    } else if (argv[i][0] != '-') {
      *weights = argv[i];
    } else {
      bool help = strcmp(argv[i], "--help") == 0;
      fprintf(help ? stdout : stderr,
              "usage: demo [--device host|cuda:0|hip:0] [MODEL.safetensors:TENSOR]\n"
              "The tensor is a matrix of power-of-two shape; the default is %s.\n",
              WEIGHTS);
      exit(help ? 0 : 2);
    }
  }
}

int main(int argc, char *argv[]) {
  const char *device_name, *source;
  array weights;
  array_error error;
  llrt_context *context;
  llrt_device *device;
  llrt_device_info info = {0};
  read_arguments(argc, argv, &device_name, &source);
  must_file(array_read(source, &weights, &error), &error);
  must_file(weights.rank == 2 || array_fail(&error, "%s is no matrix", source), &error);
  must(llrt_context_create(NULL, &context), "context");
  must(best_device_open(context, device_name, NULL, &device), "device");
  must(llrt_device_get_info(device, &info), "device");

  printf("device:  %s, %s (%s)\nweights: %s\nlayout:  " FRAGMENTS "\nplan:\n", info.name,
         info.description, info.target, source, 32 / llrt_dtype_bits(weights.dtype));
  run_matrix(context, device, &info, &weights, true);

  /* The matrix of the model fits in caches; repeated, it shows what memory allows. */
  size_t target_bytes = (size_t)(is_host(&info) ? 64 : 256) << 20;
  array tall =
      repeat(&weights, weights.bytes < target_bytes ? (int64_t)(target_bytes / weights.bytes) : 1);
  run_matrix(context, device, &info, &tall, false);

  array_destroy(&tall);
  array_destroy(&weights);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return 0;
}
