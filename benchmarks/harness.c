#include "harness.h"

#include "tools/common/best_device.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "options:\n"
    "  --device NAME   host, cuda:0, hip:0 (default: the first GPU that works, else the host)\n"
    "  --filter TEXT   only cases whose name contains it\n"
    "  --size N[,N]    MiB of one tensor, powers of two (default 64,512)\n"
    "  --repeat N      samples of each measurement (default 15)\n"
    "  --seed N        of data and random layouts (default 1)\n"
    "  --json FILE     write the results there too\n"
    "  --quick         1 MiB, 3 samples: does it run and is it right?\n";

void harness_must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, llrt_status_name(status), llrt_last_error());
  exit(1);
}

static void wrong_options(const char *what) {
  fprintf(stderr, "wrong option: %s\n%s", what, usage);
  exit(2);
}

/* A list of MiB, each a power of two so that shapes are. */
static void parse_sizes(const char *text, harness_options *options) {
  options->n_sizes = 0;
  for (char *end; options->n_sizes < HARNESS_MAX_SIZES; text = end + 1) {
    long long mib = strtoll(text, &end, 10);
    if (mib < 1 || mib > 1 << 20 || (mib & (mib - 1)) != 0) wrong_options("--size");
    options->size[options->n_sizes++] = (int64_t)mib << 20;
    if (*end == '\0') return;
    if (*end != ',') wrong_options("--size");
  }
  wrong_options("--size");
}

static void set_defaults(harness_options *options) {
  int repeat = options->quick ? 3 : 15;
  if (options->repeat == 0) options->repeat = repeat;
  if (options->n_sizes == 0) parse_sizes(options->quick ? "1" : "64,512", options);
}

void harness_parse(int argc, char *argv[], harness_options *options) {
  *options = (harness_options){.seed = 1};
  for (int i = 1; i < argc; i++) {
    const char *name = argv[i];
    if (strcmp(name, "--help") == 0) {
      fputs(usage, stdout);
      exit(0);
    }
    if (strcmp(name, "--quick") == 0) {
      options->quick = true;
      continue;
    }
    const char *value = i + 1 < argc ? argv[++i] : NULL;
    if (!value) wrong_options(name);
    if (strcmp(name, "--device") == 0)
      options->device = value;
    else if (strcmp(name, "--filter") == 0)
      options->filter = value;
    else if (strcmp(name, "--json") == 0)
      options->json = value;
    else if (strcmp(name, "--size") == 0)
      parse_sizes(value, options);
    else if (strcmp(name, "--repeat") == 0)
      options->repeat = atoi(value);
    else if (strcmp(name, "--seed") == 0)
      options->seed = strtoull(value, NULL, 0);
    else
      wrong_options(name);
    if (options->repeat < 0 || options->repeat > 1000) wrong_options("--repeat");
  }
  set_defaults(options);
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

void harness_init(const harness_options *options, harness *h) {
  *h = (harness){.options = *options};
  harness_must(llrt_context_create(NULL, &h->context), "context");
  harness_must(best_device_open(h->context, options->device, &h->device), "device");
  harness_must(llrt_device_get_info(h->device, &h->info), "device");
  int driver = strncmp(h->info.name, "cuda", 4) == 0 ? cuda_driver_version() : 0;
  printf("llrt %s, %s: %s, target %s, %d units, L2 %.1f MiB, CUDA driver %d, seed %llu\n",
         llrt_version(), h->info.name, h->info.description, h->info.target, h->info.compute_units,
         (double)h->info.l2_bytes / (1 << 20), driver, (unsigned long long)options->seed);
  if (!options->json) return;
  h->json = fopen(options->json, "w");
  if (!h->json) {
    fprintf(stderr, "%s cannot be written\n", options->json);
    exit(1);
  }
  fprintf(h->json,
          "{\"llrt\":\"%s\",\"device\":\"%s\",\"description\":\"%s\",\"target\":\"%s\","
          "\"driver\":%d,\"seed\":%llu,\"results\":[",
          llrt_version(), h->info.name, h->info.description, h->info.target, driver,
          (unsigned long long)options->seed);
}

void harness_fini(harness *h) {
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
  return !h->options.filter || strstr(name, h->options.filter);
}

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

double harness_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

void harness_record(harness *h, const char *name, const char *fields_format, ...) {
  va_list arguments;
  if (!h->json) return;
  fprintf(h->json, "%s\n {\"name\":\"%s\",", h->n_records++ ? "," : "", name);
  va_start(arguments, fields_format);
  vfprintf(h->json, fields_format, arguments);
  va_end(arguments);
  fputc('}', h->json);
}

uint64_t harness_mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}
