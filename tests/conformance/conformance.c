/* Environment:
 *   LLRT_TEST_DEVICES   devices, by commas; default host,cuda:0,hip:0
 *   LLRT_TEST_TARGET    compile for this target, not the device's own, on the devices it suits
 *   LLRT_TEST_SEED      seed of the random cases; 1 unless said; printed at the start
 *   LLRT_TEST_CASE      only the case of this number
 *   LLRT_TEST_PART      I/N: only part I (from 0) of the cases, dealt at random into N
 *   LLRT_TEST_TURNS     I/N: of those, where LLRT_TEST_TURN has a number K, only the cases that are
 *                       dealt to (I + K) mod N: N runs at one K share the cases, each run at N
 *                       following K has all of them
 *   LLRT_TEST_SLOW      name the cases that take more than so many milliseconds of the processors
 *   LLRT_TEST_DIGEST    append a line of every case's digests to this file (digest_log.h)
 *   LLRT_TEST_DOTS, LLRT_TEST_REDUCES, LLRT_TEST_SCANS
 *                       only so many random products, reduces and scans
 *
 * A device that is UNAVAILABLE, or that cannot run LLRT_TEST_TARGET, skips its cases;
 * anything else that goes wrong fails, and so, with 77, does a run of which nothing is left. */
#include "conformance.h"
#include "digest_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOTHING_RAN 77

typedef struct tally {
  int passed, failed, skipped;
} tally;

typedef struct suite {
  llrt_context *context;
  digest_log digests; /* open: every case has a context of its own, so that what it compiles depends
                         on no other */
  const char *target;
  uint64_t seed;
  int only; /* -1: all */
  int part, parts;
  int turn, turns; /* of the part's cases, likewise */
  int64_t slow;    /* milliseconds of a case that is named; 0: none is */
} suite;

/* "sm_80" suits cuda devices, "gfx90a" hip devices, anything else the host. */
static bool target_suits(const char *target, const char *device) {
  if (!target) return false;
  if (strncmp(target, "sm_", 3) == 0) return strncmp(device, "cuda", 4) == 0;
  if (strncmp(target, "gfx", 3) == 0) return strncmp(device, "hip", 3) == 0;
  return strncmp(device, "host", 4) == 0;
}

/* Cases that make and compare their tensors themselves. */
typedef bool own_case(int number, uint64_t seed, llrt_device *device, char *title,
                      size_t title_size, char *why, size_t size);

static const struct {
  int (*count)(void);
  own_case *passes;
} own_cases[] = {{index_cases, index_case_passes},
                 {gather_cases, gather_case_passes},
                 {reduce_cases, reduce_case_passes},
                 {scan_cases, scan_case_passes},
                 {dot_cases, dot_case_passes}};
#define N_OWN_CASES (sizeof own_cases / sizeof *own_cases)

static int first_own_case(void) { return randoms_alone() ? 0 : cases_count(); }

static int all_cases(void) {
  int n = first_own_case();
  for (size_t i = 0; i < N_OWN_CASES; i++) n += own_cases[i].count();
  return n;
}

/* Dealt, not counted off: tables have their types and widths in turn. */
static bool is_asked(const suite *run, int index) {
  uint64_t state = (uint64_t)index;
  if (run->only >= 0) return index == run->only;
  return random_below(&state, run->parts) == run->part &&
         random_below(&state, run->turns) == run->turn;
}

static int asked_cases(const suite *run) {
  int n = 0;
  for (int i = 0; i < all_cases(); i++) n += is_asked(run, i);
  return n;
}

static int64_t processor_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool run_own_case(const suite *run, llrt_device *device, int index, char *title,
                         size_t title_size) {
  char why[2048];
  int number = index - first_own_case();
  size_t kind = 0;
  while (number >= own_cases[kind].count()) number -= own_cases[kind++].count();
  bool passed =
      own_cases[kind].passes(number, run->seed, device, title, title_size, why, sizeof why);
  if (!passed) printf("  case %d (%s) failed: %s\n", index, title, why);
  return passed;
}

static bool run_case(const suite *run, llrt_device *device, int index, char *title,
                     size_t title_size) {
  static conformance_case tested;
  char why[2048];
  if (index >= first_own_case()) return run_own_case(run, device, index, title, title_size);
  if (!cases_make(index, run->seed, &tested)) {
    printf("  case %d cannot be made: %s\n", index, llrt_last_error());
    return false;
  }
  snprintf(title, title_size, "%s", tested.title);
  if (case_passes(&tested, device, why, sizeof why)) return true;
  printf("  case %d (%s) failed: %s\n", index, tested.title, why);
  return false;
}

static bool run_timed(const suite *run, llrt_device *device, int index, char *title,
                      size_t title_size) {
  int64_t began = processor_milliseconds();
  bool passed = run_case(run, device, index, title, title_size);
  int64_t took = processor_milliseconds() - began;
  if (run->slow > 0 && took > run->slow)
    printf("  case %d (%s): %lld ms\n", index, title, (long long)took);
  return passed;
}

static llrt_status open_device(const suite *run, llrt_context *context, const char *name,
                               llrt_device **device) {
  llrt_device_params params = {.target = target_suits(run->target, name) ? run->target : NULL};
  return llrt_device_open(context, name, &params, device);
}

/* Small extents are compiled in; llrt_draws leaves them open. */
static const llrt_context_params fixing = {.size = sizeof fixing, .fix_extents = 1};

/* One kernel of a case is compiled after the other: digests are of all in this order. */
static void in_order(void *user, int64_t count,
                     void (*body)(void *data, int64_t begin, int64_t end), void *data) {
  (void)user;
  body(data, 0, count);
}

/* In a context of its own; notes its digests. */
static bool run_alone(const suite *run, const char *name, int index) {
  char title[1024] = "";
  llrt_context_params params = fixing;
  params.jit_library = run->digests.library;
  params.parallel_for = in_order;
  llrt_context *context;
  llrt_device *device;
  bool passed = false;
  if (llrt_context_create(&params, &context) != LLRT_OK) return false;
  if (open_device(run, context, name, &device) == LLRT_OK) {
    llrt_device_info info = {.size = sizeof info};
    llrt_device_get_info(device, &info);
    passed = run_timed(run, device, index, title, sizeof title);
    digest_log_add(&run->digests, "conformance", info.target, title);
  }
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return passed;
}

static bool run_one(const suite *run, const char *name, llrt_device *device, int index) {
  char title[1024] = "";
  if (run->digests.records) return run_alone(run, name, index);
  return run_timed(run, device, index, title, sizeof title);
}

static tally run_device(const suite *run, const char *name) {
  tally count = {0, 0, 0};
  int cases = asked_cases(run);
  llrt_device *device;
  llrt_status status = open_device(run, run->context, name, &device);
  bool lesser = status == LLRT_UNSUPPORTED &&
                target_suits(run->target, name); /* a processor without that level */
  if (status == LLRT_UNAVAILABLE || lesser) {
    count.skipped = cases;
    printf("%s: %d skipped: %s\n", name, cases, llrt_last_error());
    return count;
  }
  if (status != LLRT_OK) {
    count.failed = cases;
    printf("%s: %s: %s\n", name, llrt_status_name(status), llrt_last_error());
    return count;
  }
  llrt_device_info info = {0};
  llrt_device_get_info(device, &info);
  printf("%s: %s, target %s\n", name, info.description, info.target);
  for (int i = 0; i < all_cases(); i++) {
    if (!is_asked(run, i)) continue;
    bool passed = run_one(run, name, device, i);
    count.passed += passed;
    count.failed += !passed;
  }
  llrt_device_close(&device);
  printf("%s: %d passed, %d failed, %d skipped\n", name, count.passed, count.failed, count.skipped);
  return count;
}

static uint64_t number_from(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* I/N as the environment has it; false: what stands there is no part. */
static bool read_part(const char *variable, int *part, int *parts) {
  const char *text = getenv(variable);
  char behind;
  if (!text || !*text) return true;
  return sscanf(text, "%d/%d%c", part, parts, &behind) == 2 && *part >= 0 && *part < *parts;
}

static bool read_parts(suite *run) {
  const char *turn = getenv("LLRT_TEST_TURN");
  if (!read_part("LLRT_TEST_PART", &run->part, &run->parts) ||
      !read_part("LLRT_TEST_TURNS", &run->turn, &run->turns))
    return false;
  if (turn && *turn)
    run->turn = (int)(((uint64_t)run->turn + strtoull(turn, NULL, 10)) % (uint64_t)run->turns);
  else run->turn = 0, run->turns = 1;
  return true;
}

int main(int argc, char *argv[]) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 1) {
    printf("%s takes no arguments; LLRT_TEST_DEVICES, _TARGET, _SEED, _CASE, _PART, _TURNS, _SLOW, "
           "_DOTS, "
           "_REDUCES and "
           "_SCANS in the environment say what it runs (docs/testing.md)\n",
           argv[0]);
    return strcmp(argv[1], "--help") != 0;
  }
  suite run = {.target = getenv("LLRT_TEST_TARGET"),
               .seed = number_from("LLRT_TEST_SEED", 1),
               .only = (int)number_from("LLRT_TEST_CASE", (uint64_t)-1),
               .parts = 1,
               .turns = 1,
               .slow = (int64_t)number_from("LLRT_TEST_SLOW", 0)};
  if (!read_parts(&run)) {
    printf("LLRT_TEST_PART and LLRT_TEST_TURNS are I/N, with I from 0 to N - 1\n");
    return 1;
  }
  if (!digest_log_open(&run.digests)) return 1;
  if (llrt_context_create(&fixing, &run.context) != LLRT_OK) {
    printf("no context: %s\n", llrt_last_error());
    return 1;
  }
  printf("llrt %s, %d of %d cases, LLRT_TEST_SEED=%llu\n", llrt_version(), asked_cases(&run),
         all_cases(), (unsigned long long)run.seed);
  const char *names = getenv("LLRT_TEST_DEVICES");
  char *list = strdup(names && *names ? names : "host,cuda:0,hip:0"), *rest = list;
  tally total = {0, 0, 0};
  for (char *name; (name = strsep(&rest, ",")) != NULL;) {
    tally count = run_device(&run, name);
    total.passed += count.passed;
    total.failed += count.failed;
    total.skipped += count.skipped;
  }
  free(list);
  llrt_context_destroy(&run.context);
  if (!digest_log_close(&run.digests)) total.failed++;
  printf("%d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped);
  if (total.failed != 0) return 1;
  return total.passed ? 0 : NOTHING_RAN;
}
