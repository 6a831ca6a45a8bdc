#include "harness.h"

#include "tuned.h"

#include "tools/common/best_device.h"
#include "tools/common/options.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  DEVICE,
  TARGET,
  ONLY,
  SIZES,
  SHAPES,
  ROWS,
  PRODUCTS,
  REPEAT,
  BUDGET,
  SEED,
  JSON,
  CHECK_ONLY,
  WHOLE,
  BATCH_INVARIANT,
  PROCESSOR_TIME,
  ONE_LINE,
  PATH,
  NCCL,
  PARTS,
  NUMBERS,
  SPOIL,
  CHOICES,
  PREDICT,
  TUNE,
  LIST
};

static const option_spec option_table[] = {
    {"device", 'd', "NAME",
     "host, cuda:0, hip:0 (default: the first GPU that works, else the host)"},
    {"target", 0, "NAME",
     "what kernels are compiled for, of those that the device runs (default: the best)"},
    {"only", 0, "REGEX", "only cases whose name it is found in"},
    {"sizes", 0, "N[,N]",
     "sizes of one tensor in MiB, with k in KiB, with b in bytes: 8,64 or 64k or 8b"},
    {"shapes", 0, "even|odd|models|random|MxNxK,...",
     "powers of two (default), or shapes that models have; dot: models' linear layers, odd ones, "
     "the seed's"},
    {"rows", 0, "M[,M]", "dot, tiles: rows of A that layers have (default: from 1 to 4096)"},
    {"products", 0, "LIST",
     "dense: these, \"bf16 nt 64x4096x4097,bf16 nt 16x64x64x128\", not the usual ones"},
    {"repeat", 0, "N", "samples of each measurement (default 15)"},
    {"budget", 0, "MS", "time of one measurement, after three samples (default 100)"},
    {"seed", 0, "N", "of data and random layouts (default 1)"},
    {"json", 0, "FILE", "write the results there too"},
    {"check-only", 0, NULL, "compare every result, time nothing"},
    {"whole", 0, NULL, "dot: compare every element with products of a few rows, and runs at once"},
    {"batch-invariant", 0, NULL,
     "dot: as products whose rows do not depend on each other as well: compared, and what it "
     "costs"},
    {"processor-time", 0, NULL,
     "convert, host: of all threads, by turns with copies, least of each"},
    {"one-line", 0, NULL, "convert: time the one-line call, nothing prepared"},
    {"path", 0, "peers|read|nccl|both|all",
     "reshard: peers' memory is written (default), or read; by NCCL; written and by NCCL; all"},
    {"nccl", 0, "FILE", "reshard: the library (default: libnccl.so.2, as the loader finds it)"},
    {"parts", 0, "N", "reshard: of each message by NCCL (default: by the bytes)"},
    {"numbers", 0, "NAME=N[,NAME=N]", "plan with other tuned numbers (docs/tuning.md)"},
    {"spoil", 0, "SEED", "halve or double every tuned number, at random"},
    {"choices", 0, "FOLDER",
     "with --tune: keep choices there, and take those that are; of the same numbers alone"},
    {"predict", 0, "FILE", "tiles: print the model's clocks of each line (fit_tiles.py --lines)"},
    {"tune", 0, "same|any_order",
     "time candidates of each operation, of the same sums or of any, and take the fastest"},
    {"list", 0, NULL, "name the cases and run none"},
    {NULL, 0, NULL, NULL},
};

void harness_must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, llrt_status_name(status), llrt_last_error());
  harness_end(1);
}

void harness_end(int status) {
  fflush(NULL);
  _exit(status);
}

static void compile(const char *only, regex_t *expression) {
  if (regcomp(expression, only, REG_EXTENDED | REG_NOSUB) == 0) return;
  fprintf(stderr, "--only %s is no regular expression\n", only);
  exit(2);
}

bool harness_takes(const harness_options *wanted, const char *name) {
  regex_t only;
  if (!wanted->only) return true;
  compile(wanted->only, &only);
  bool taken = regexec(&only, name, 0, NULL, 0) == 0;
  regfree(&only);
  return taken;
}

llrt_status harness_add_workspace(harness *h, llrt_op *op, const llrt_tensor *tensors, int n,
                                  llrt_run_params *params) {
  llrt_status status = llrt_op_workspace(op, tensors, n, &params->workspace_bytes);
  if (status || params->workspace_bytes == 0) return status;
  status = llrt_memory_allocate(h->device, params->workspace_bytes, &params->workspace);
  return status ? status
                : llrt_memory_set(h->device, params->workspace, 0, params->workspace_bytes, NULL);
}

void harness_drop_workspace(harness *h, llrt_run_params *params) {
  if (params->workspace) llrt_memory_free(h->device, params->workspace);
  params->workspace = NULL;
}

static command describe(const char *name) {
  return (command){.program = "llrt-bench",
                   .name = name,
                   .synopsis = "[options]",
                   .text = "Checks, then measures. Options that make no sense here are ignored.",
                   .example = "  llrt-bench convert --only 'marlin|kv_' --sizes 64 --json out.json",
                   .option = option_table};
}

static void wrong_value(const char *name, int option, const char *value) {
  fprintf(stderr, "llrt-bench %s: --%s %s: expected %s\n", name, option_table[option].name, value,
          option_table[option].argument);
  exit(2);
}

/* A list of numbers of MiB, of KiB where a k follows, of bytes where a b does. */
static void choose_paths(const char *name, const char *path, harness_options *out) {
  bool both = path && strcmp(path, "both") == 0, all = path && strcmp(path, "all") == 0;
  out->by_peers = !path || both || all || strcmp(path, "peers") == 0;
  out->by_reading = all || (path && strcmp(path, "read") == 0);
  out->by_nccl = both || all || (path && strcmp(path, "nccl") == 0);
  if (!out->by_peers && !out->by_reading && !out->by_nccl) wrong_value(name, PATH, path);
}

static bool parse_sizes(const char *text, harness_options *out) {
  for (char *end; out->n_sizes < HARNESS_MAX_SIZES; text = end + 1) {
    long long number = strtoll(text, &end, 10);
    if (end == text || number < 1 || number > 1 << 20) return false;
    int shift = *end == 'b' ? 0 : *end == 'k' ? 10 : 20;
    if (*end == 'k' || *end == 'b') end++;
    out->size[out->n_sizes++] = (int64_t)number << shift;
    if (*end == '\0') return true;
    if (*end != ',') return false;
  }
  return false;
}

/* A list of numbers of rows. */
static bool parse_rows(const char *text, harness_options *out) {
  for (char *end; out->n_rows < HARNESS_MAX_SIZES; text = end + 1) {
    long long rows = strtoll(text, &end, 10);
    if (end == text || rows < 1 || rows > 1 << 20) return false;
    out->rows[out->n_rows++] = rows;
    if (*end == '\0') return true;
    if (*end != ',') return false;
  }
  return false;
}

/* The number in `text`, `preset` where there is none; ends the program outside [min, max]. */
static long long number_of(const char *name, const options *given, int option, long long min,
                           long long max, long long preset) {
  const char *text = given->value[option];
  char *end;
  if (!text) return preset;
  long long number = strtoll(text, &end, 0);
  if (end == text || *end || number < min || number > max) wrong_value(name, option, text);
  return number;
}

void harness_parse(int argc, char *argv[], harness_options *out) {
  command c = describe(argv[0]);
  options given;
  bool help;
  if (!options_parse(&c, argc - 1, argv + 1, &given, &help)) exit(2);
  if (help) {
    options_print_help(&c);
    exit(0);
  }
  const char *shapes = given.value[SHAPES], *path = given.value[PATH];
  *out = (harness_options){.argc = argc,
                           .argv = argv,
                           .device = given.value[DEVICE],
                           .target = given.value[TARGET],
                           .only = given.value[ONLY],
                           .json = given.value[JSON],
                           .products = given.value[PRODUCTS],
                           .odd = shapes && strcmp(shapes, "odd") == 0,
                           .models = shapes && strcmp(shapes, "models") == 0,
                           .random = shapes && strcmp(shapes, "random") == 0,
                           .extents = shapes && *shapes >= '0' && *shapes <= '9' ? shapes : NULL,
                           .check_only = given.value[CHECK_ONLY],
                           .whole = given.value[WHOLE],
                           .batch_invariant = given.value[BATCH_INVARIANT],
                           .processor_time = given.value[PROCESSOR_TIME],
                           .one_line = given.value[ONE_LINE],
                           .nccl = given.value[NCCL],
                           .numbers = given.value[NUMBERS],
                           .spoil = given.value[SPOIL],
                           .choices = given.value[CHOICES],
                           .predict = given.value[PREDICT],
                           .list = given.value[LIST]};
  out->random |= out->extents != NULL;
  if (shapes && !out->odd && !out->models && !out->random && strcmp(shapes, "even") != 0)
    wrong_value(c.name, SHAPES, shapes);
  const char *tune = given.value[TUNE];
  if (tune && strcmp(tune, "same") != 0 && strcmp(tune, "any_order") != 0)
    wrong_value(c.name, TUNE, tune);
  if (tune) out->tune = strcmp(tune, "same") == 0 ? LLRT_TUNE_SAME : LLRT_TUNE_ANY_ORDER;
  number_of(c.name, &given, SPOIL, 0, INT64_MAX, 0);
  choose_paths(c.name, path, out);
  if (given.value[SIZES] && !parse_sizes(given.value[SIZES], out))
    wrong_value(c.name, SIZES, given.value[SIZES]);
  if (given.value[ROWS] && !parse_rows(given.value[ROWS], out))
    wrong_value(c.name, ROWS, given.value[ROWS]);
  out->parts = (int)number_of(c.name, &given, PARTS, 0, 8, 0);
  out->repeat = (int)number_of(c.name, &given, REPEAT, 1, HARNESS_MAX_SAMPLES, 15);
  out->budget = 1e3 * (double)number_of(c.name, &given, BUDGET, 1, 1000000, 100);
  out->seed = (uint64_t)number_of(c.name, &given, SEED, 0, INT64_MAX, 1);
}

int harness_device_names(const harness_options *given, const char *preset, int most,
                         char (*name)[32]) {
  char names[512], *rest = names;
  int n = 0;
  snprintf(names, sizeof names, "%s", given->device ? given->device : preset);
  for (char *one; n < most && (one = strsep(&rest, ",")); n++)
    snprintf(name[n], sizeof name[n], "%s", one);
  return n;
}

/* The CUDA driver's version (12080 is 12.8); 0 without one. */
static int cuda_driver_version(void) {
  int version = 0;
  int (*get)(int *) = NULL;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return 0;
  *(void **)&get = dlsym(library, "cuDriverGetVersion");
  if (!get || get(&version) != 0) version = 0;
  dlclose(library);
  return version;
}

/* Text inside a JSON string. Control characters are spaces. */
static void write_escaped(const char *text, FILE *file) {
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', file);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
  }
}

/* The subcommand, the command line and the day (UTC): the beginning of the JSON object. An argument
 * that a shell would take apart stands in single quotes. */
static void write_command(const harness_options *wanted, FILE *file) {
  char day[16];
  time_t now = time(NULL);
  struct tm utc;
  strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &utc));
  fprintf(file, "{\"bench\":\"%s\",\"date\":\"%s\",\"command\":\"benchmarks/llrt-bench",
          wanted->argv[0], day);
  for (int i = 0; i < wanted->argc; i++) {
    bool quoted = strpbrk(wanted->argv[i], " |*?^$()[]<>&;\"\\#") != NULL;
    fputs(quoted ? " '" : " ", file);
    write_escaped(wanted->argv[i], file);
    if (quoted) fputc('\'', file);
  }
  fputc('"', file);
}

void harness_init(const harness_options *wanted, harness *h) {
  *h = (harness){.options = *wanted};
  llrt_text_init(&h->tuned);
  llrt_context_params params = {
      .threads = omp_get_max_threads()}; /* OMP_NUM_THREADS, as for the checks and copies */
  if (wanted->numbers || wanted->spoil || wanted->tune) /* kernels there have other numbers */
    setenv("LLRT_CACHE_DIR", wanted->choices ? wanted->choices : "", 1);
  harness_must(llrt_context_create(&params, &h->context), "context");
  harness_must(best_device_open(h->context, wanted->device, wanted->target, &h->device), "device");
  harness_must(llrt_device_get_info(h->device, &h->info), "device");
  if (wanted->numbers) tuned_apply(h->device, wanted->numbers);
  if (wanted->spoil) tuned_spoil(h->device, strtoull(wanted->spoil, NULL, 0));
  int driver = strncmp(h->info.name, "cuda:", 5) == 0 ? cuda_driver_version() : 0;
  if (wanted->only) compile(wanted->only, &h->only);
  printf("llrt %s, %s: %s, target %s, %d units, L2 %.1f MiB, CUDA driver %d, seed %llu\n",
         llrt_version(), h->info.name, h->info.description, h->info.target, h->info.compute_units,
         (double)h->info.l2_bytes / (1 << 20), driver, (unsigned long long)wanted->seed);
  if (!wanted->json) return;
  h->json = fopen(wanted->json, "w");
  if (!h->json) {
    fprintf(stderr, "%s cannot be written\n", wanted->json);
    exit(1);
  }
  write_command(wanted, h->json);
  fprintf(h->json,
          ",\"llrt\":\"%s\",\"device\":\"%s\",\"description\":\"%s\",\"target\":\"%s\","
          "\"driver\":%d,\"seed\":%llu,\"results\":[",
          llrt_version(), h->info.name, h->info.description, h->info.target, driver,
          (unsigned long long)wanted->seed);
}

void harness_fini(harness *h) {
  if (h->options.only) regfree(&h->only);
  llrt_device_close(&h->device);
  llrt_context_destroy(&h->context);
  if (!h->json) return;
  fputs("\n]}\n", h->json);
  if (ferror(h->json) || fclose(h->json) != 0) {
    fprintf(stderr, "%s cannot be written\n", h->options.json);
    exit(1);
  }
}

bool harness_wants(const harness *h, const char *name) {
  return !h->options.only || regexec(&h->only, name, 0, NULL, 0) == 0;
}

bool harness_is_host(const harness *h) { return strcmp(h->info.name, "host") == 0; }

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

harness_statistic harness_summarise(double *samples, int count) {
  qsort(samples, (size_t)count, sizeof *samples, compare_doubles);
  return (harness_statistic){.median = (samples[(count - 1) / 2] + samples[count / 2]) / 2,
                             .min = samples[0],
                             .max = samples[count - 1],
                             .count = count};
}

static double read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

double harness_now(void) { return read_clock(CLOCK_MONOTONIC); }

double harness_processor_now(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

void harness_record(harness *h, const char *name, const char *fields_format, ...) {
  va_list arguments;
  if (!h->json) return;
  fprintf(h->json, "%s\n {\"name\":\"%s\",", h->n_records++ ? "," : "", name);
  va_start(arguments, fields_format);
  vfprintf(h->json, fields_format, arguments);
  va_end(arguments);
  bool beside = strcmp(name, "copy") == 0 || strcmp(name, "read") == 0; /* no operation's */
  if (h->tuned.data && !beside) fprintf(h->json, ",\"tune\":%s", h->tuned.data);
  if (!beside) llrt_text_fini(&h->tuned);
  if (!beside) llrt_text_init(&h->tuned);
  fputc('}', h->json);
  fflush(h->json); /* what a stopped run has measured is kept */
}

uint64_t harness_mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}
