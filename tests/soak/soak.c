/* Mixed calls of several threads in one context, for as long as is asked, each result compared:
 *
 *   llrt-soak --device host --seconds 1200 --threads 4
 *
 * A line now and then says what the process takes. It fails where a result is wrong, and where what
 * it takes at the end is more than after the first quarter: of resident memory by more than 16 MiB,
 * of mappings by more than 64, of open files and threads by any. */
#include "tests/soak/soak.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 16, LINES = 12 };

static atomic_bool ends;
static _Atomic int64_t calls, wrong;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *call_on(void *thread) {
  while (!atomic_load(&ends) && atomic_load(&wrong) == 0) {
    if (!soak_call(thread)) atomic_fetch_add(&wrong, 1);
    atomic_fetch_add(&calls, 1);
  }
  return NULL;
}

typedef struct footprint {
  long kib, maps, files, threads;
} footprint;

static long count_entries(const char *path) {
  DIR *folder = opendir(path);
  long n = 0;
  if (!folder) return 0;
  for (struct dirent *entry; (entry = readdir(folder));) n += entry->d_name[0] != '.';
  closedir(folder);
  return n;
}

static footprint measure(void) {
  footprint taken = {0};
  char line[512];
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &taken.kib);
  if (file) fclose(file);
  file = fopen("/proc/self/maps", "r");
  while (file && fgets(line, sizeof line, file)) taken.maps++;
  if (file) fclose(file);
  taken.files = count_entries("/proc/self/fd");
  taken.threads = count_entries("/proc/self/task");
  return taken;
}

/* Calls that are under way hold memory, mappings and files for a moment: the least of some looks.
 */
static footprint measure_least(void) {
  footprint least = measure();
  const struct timespec pause = {0, 20000000};
  for (int i = 0; i < 10; i++) {
    nanosleep(&pause, NULL);
    footprint taken = measure();
    if (taken.kib < least.kib) least.kib = taken.kib;
    if (taken.maps < least.maps) least.maps = taken.maps;
    if (taken.files < least.files) least.files = taken.files;
    if (taken.threads < least.threads) least.threads = taken.threads;
  }
  return least;
}

static bool has_grown(const footprint *before, const footprint *after) {
  return after->kib > before->kib + (16 << 10) || after->maps > before->maps + 64 ||
         after->files > before->files || after->threads > before->threads;
}

static void report(double seconds, llrt_context *context, const footprint *taken) {
  llrt_context_stats stats = {.size = sizeof stats};
  llrt_context_get_stats(context, &stats);
  printf("%5.0f s: %lld calls, %lld wrong; %ld MiB, %ld mappings, %ld files, %ld threads; %llu "
         "kernels, "
         "%llu compiled, %llu unloaded\n",
         seconds, (long long)atomic_load(&calls), (long long)atomic_load(&wrong), taken->kib >> 10,
         taken->maps, taken->files, taken->threads, (unsigned long long)stats.kernels,
         (unsigned long long)stats.compiles, (unsigned long long)stats.unloaded);
  fflush(stdout);
}

/* Waits, telling what is taken; returns whether it has grown since a quarter of the time. */
static bool watch(double seconds, llrt_context *context) {
  double start = now();
  footprint first = {0}, taken = {0};
  for (int line = 1; line <= LINES && atomic_load(&wrong) == 0; line++) {
    const struct timespec pause = {0, 50000000};
    while (now() - start < seconds * line / LINES && atomic_load(&wrong) == 0)
      nanosleep(&pause, NULL);
    taken = measure_least();
    if (line == LINES / 4) first = taken;
    report(now() - start, context, &taken);
  }
  return has_grown(&first, &taken);
}

static double number(const char *name, const char *text, double most) {
  char *end;
  double value = strtod(text, &end);
  if (end != text && *end == 0 && value > 0 && value <= most) return value;
  fprintf(stderr, "llrt-soak: %s %s is no number up to %g\n", name, text, most);
  exit(2);
}

int main(int argc, char **argv) {
  static soak_thread threads[MOST_THREADS];
  pthread_t started[MOST_THREADS];
  const char *device_name = "host";
  double seconds = 60, n = 2;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--device") == 0) device_name = argv[i + 1];
    else if (strcmp(argv[i], "--seconds") == 0) seconds = number(argv[i], argv[i + 1], 1e6);
    else if (strcmp(argv[i], "--threads") == 0) n = number(argv[i], argv[i + 1], MOST_THREADS);
  }
  llrt_context *context = NULL;
  llrt_device *device = NULL;
  if (soak_open(device_name, &context, &device) != LLRT_OK) {
    fprintf(stderr, "llrt-soak: %s\n", llrt_last_error());
    return 1;
  }
  for (int i = 0; i < (int)n; i++) {
    threads[i] = (soak_thread){
        .device_name = device_name, .context = context, .device = device, .seed = (uint32_t)i + 1};
    if (pthread_create(&started[i], NULL, call_on, &threads[i]) != 0) return 1;
  }
  bool grown = watch(seconds, context);
  atomic_store(&ends, true);
  for (int i = 0; i < (int)n; i++) pthread_join(started[i], NULL);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  /* What a process takes in its first seconds grows still. */
  bool fails = atomic_load(&wrong) > 0 || (grown && seconds >= 60);
  printf("%s\n", fails ? (grown ? "it grows" : "failed") : "fine");
  return fails;
}
