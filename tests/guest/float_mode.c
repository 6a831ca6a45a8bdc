/* A caller that flushes subnormal numbers to zero, rounds up and lets exceptions trap: kernels
 * compute what they compute elsewhere, whether they were compiled in that mode or not and whoever's
 * threads run them; and the mode, flags included, is the same after the call. */
#include "guest.h"

#include <fenv.h>
#include <pthread.h>
#include <stdint.h>

#if defined(__x86_64__)

enum { ROWS = 512, COLUMNS = 384, ELEMENTS = ROWS * COLUMNS };
/* Round up, flush results and operands, every exception traps but inexact results, none raised. */
#define ODD_MODE ((unsigned)(2 << 13 | 1 << 15 | 1 << 6 | 1 << 12))
#define INEXACT 0x20u /* what any sum of the library's own may raise */

static unsigned get_mode(void) { return __builtin_ia32_stmxcsr() & ~INEXACT; }
static void set_mode(unsigned mode) { __builtin_ia32_ldmxcsr(mode); }

typedef struct results {
  uint16_t bf16[ELEMENTS], f16[ELEMENTS];
  float scaled[ELEMENTS], sums[ROWS];
} results;

static float *numbers; /* of every exponent: most casts round, many are subnormal on either side */

static void make_numbers(void) {
  numbers = aligned_alloc(64, ELEMENTS * sizeof *numbers);
  GUEST_REQUIRE(numbers, "no memory");
  uint64_t state = 1;
  for (int i = 0; i < ELEMENTS; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint32_t bits = (uint32_t)(state >> 32);
    if ((bits & 0x7f800000) == 0x7f800000) bits &= ~0x40000000u; /* no infinities and NaN */
    if (i % 4 == 0) bits &= ~0x7f800000u;                        /* subnormal */
    if (i % 4 == 1) bits = (bits & 0x80ffffff) | 0x38000000; /* near the subnormal ones of f16 */
    memcpy(&numbers[i], &bits, sizeof bits);
  }
}

static void run(const guest_session *s, results *out) {
  const guest_library *lib = s->lib;
  llrt_tensor from = {.data = numbers,
                      .dtype = LLRT_F32,
                      .rank = 2,
                      .shape = {ROWS, COLUMNS},
                      .device = s->host},
              to = from;
  llrt_storage col_major;
  GUEST_REQUIRE(lib->llrt_storage_strided(2, (int64_t[]){1, ROWS}, &col_major) == LLRT_OK, "%s",
                lib->llrt_last_error());
  to.storage = &col_major;
  to.dtype = LLRT_BF16, to.data = out->bf16;
  GUEST_REQUIRE(lib->llrt_convert_into(&from, &to, NULL, NULL) == LLRT_OK, "%s",
                lib->llrt_last_error());
  to.dtype = LLRT_F16, to.data = out->f16;
  GUEST_REQUIRE(lib->llrt_convert_into(&from, &to, NULL, NULL) == LLRT_OK, "%s",
                lib->llrt_last_error());
  llrt_tensor half = to, back = from;
  back.data = out->scaled;
  GUEST_REQUIRE(lib->llrt_convert_into(&half, &back, NULL, NULL) == LLRT_OK, "%s",
                lib->llrt_last_error());
  llrt_tensor sums = from;
  sums.data = out->sums;
  sums.shape[1] = 1;
  GUEST_REQUIRE(lib->llrt_reduce_into(&from, &sums,
                                      &(llrt_reduce_params){.op = LLRT_COMBINE_SUM, .axes = 2},
                                      NULL) == LLRT_OK,
                "%s", lib->llrt_last_error());
}

static void compare(const results *a, const results *b, const char *when) {
  GUEST_REQUIRE(memcmp(a->bf16, b->bf16, sizeof a->bf16) == 0, "%s: other bf16", when);
  GUEST_REQUIRE(memcmp(a->f16, b->f16, sizeof a->f16) == 0, "%s: other f16", when);
  GUEST_REQUIRE(memcmp(a->scaled, b->scaled, sizeof a->scaled) == 0, "%s: other f32", when);
  GUEST_REQUIRE(memcmp(a->sums, b->sums, sizeof a->sums) == 0, "%s: other sums", when);
}

/* A caller's loop, each range of which runs on a new thread, which begins in its starter's mode. */
typedef struct range {
  void (*body)(void *data, int64_t begin, int64_t end);
  void *data;
  int64_t begin, end;
} range;

static void *run_range(void *data) {
  const range *r = data;
  set_mode(ODD_MODE);
  r->body(r->data, r->begin, r->end);
  GUEST_REQUIRE(get_mode() == ODD_MODE, "the mode of a caller's thread is %#x", get_mode());
  return NULL;
}

static void own_loop(void *user, int64_t count, void (*body)(void *, int64_t, int64_t),
                     void *data) {
  (void)user;
  range half[2] = {{body, data, 0, count / 2}, {body, data, count / 2, count}};
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    if (half[i].begin == half[i].end) continue;
    GUEST_REQUIRE(pthread_create(&thread, NULL, run_range, &half[i]) == 0, "no thread");
    pthread_join(thread, NULL);
  }
}

static results usual, odd;

int main(int argc, char *argv[]) {
  GUEST_REQUIRE(argc == 3, "usage: float_mode LIBRARY JIT");
  make_numbers();
  guest_library lib = guest_open(argv[1]);
  guest_session s = guest_begin(&lib, argv[2], 0);
  set_mode(0x1f80);
  run(&s, &usual);
  GUEST_REQUIRE(get_mode() == 0x1f80, "the mode is %#x", get_mode());
  set_mode(ODD_MODE);
  run(&s, &odd);
  GUEST_REQUIRE(get_mode() == ODD_MODE, "the mode is %#x", get_mode());
  compare(&usual, &odd, "run in the odd mode");
  guest_session second = guest_begin(&lib, argv[2], 0);
  memset(&odd, 0, sizeof odd);
  run(&second, &odd);
  GUEST_REQUIRE(get_mode() == ODD_MODE, "the mode is %#x", get_mode());
  compare(&usual, &odd, "compiled in the odd mode");
  guest_end(&second);
  llrt_context_params params = {.jit_library = argv[2], .parallel_for = own_loop};
  guest_session third = {.lib = &lib};
  GUEST_REQUIRE(lib.llrt_context_create(&params, &third.context) == LLRT_OK, "%s",
                lib.llrt_last_error());
  GUEST_REQUIRE(lib.llrt_device_open(third.context, "host", NULL, &third.host) == LLRT_OK, "%s",
                lib.llrt_last_error());
  memset(&odd, 0, sizeof odd);
  run(&third, &odd);
  compare(&usual, &odd, "by the caller's loop");
  guest_end(&third);
  guest_end(&s);
  guest_close(&lib, argv[1]);
  return 0;
}

#else

int main(void) { return GUEST_SKIPPED; }

#endif
