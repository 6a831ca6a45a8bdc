#include "read_speed.h"

#include "ptx_kernel.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, LOADS = 8, LOAD_BYTES = 16 };
#define BLOCK_BYTES ((size_t)THREADS * LOADS * LOAD_BYTES)
#define SPEED_LASTS 5e6 /* microseconds */

/* A thread XORs the words of its eight loads, and stores its number where that is `want`: the loads
 * cannot be left out, and one thread's XOR given as `want` shows that they are right. */
static const char ptx[] =
    ".version 7.4\n.target sm_80\n.address_size 64\n"
    ".visible .entry read_all(.param .u64 data, .param .u64 result, .param .u32 want)\n"
    "{\n"
    "  .reg .pred %p;\n"
    "  .reg .b32 %r<12>, %v<32>;\n"
    "  .reg .b64 %d<6>;\n"
    "  ld.param.u64 %d0, [data];\n"
    "  ld.param.u64 %d1, [result];\n"
    "  ld.param.u32 %r0, [want];\n"
    "  mov.u32 %r1, %ctaid.x;\n"
    "  mov.u32 %r2, %tid.x;\n"
    "  mul.wide.u32 %d2, %r1, 32768;\n"
    "  mul.wide.u32 %d3, %r2, 16;\n"
    "  add.s64 %d4, %d0, %d2;\n"
    "  add.s64 %d4, %d4, %d3;\n"
#define READ_LOAD(a, b, c, d, at) \
  "  ld.global.nc.L1::no_allocate.v4.u32 {%v" #a ", %v" #b ", %v" #c ", %v" #d "}, [%d4+" #at "];" \
  "\n"
    READ_LOAD(0, 1, 2, 3, 0) READ_LOAD(4, 5, 6, 7, 4096) READ_LOAD(8, 9, 10, 11, 8192)
        READ_LOAD(12, 13, 14, 15, 12288) READ_LOAD(16, 17, 18, 19, 16384)
            READ_LOAD(20, 21, 22, 23, 20480) READ_LOAD(24, 25, 26, 27, 24576)
                READ_LOAD(28, 29, 30, 31, 28672)
#undef READ_LOAD
                    "  xor.b32 %r3, %v0, %v1;\n"
#define READ_XOR(a, b) "  xor.b32 %r4, %v" #a ", %v" #b ";\n  xor.b32 %r3, %r3, %r4;\n"
    READ_XOR(2, 3) READ_XOR(4, 5) READ_XOR(6, 7) READ_XOR(8, 9) READ_XOR(10, 11) READ_XOR(12, 13)
        READ_XOR(14, 15) READ_XOR(16, 17) READ_XOR(18, 19) READ_XOR(20, 21) READ_XOR(22, 23)
            READ_XOR(24, 25) READ_XOR(26, 27) READ_XOR(28, 29) READ_XOR(30, 31)
#undef READ_XOR
                "  setp.eq.u32 %p, %r3, %r0;\n"
                "  mad.lo.u32 %r5, %r1, 256, %r2;\n"
                "  @%p st.global.u32 [%d1], %r5;\n"
                "  ret;\n"
                "}\n";

typedef struct reader {
  ptx_kernel *kernel;
  unsigned want;
} reader;

static unsigned block_count(const arena *a) {
  return (unsigned)((a->nominal + BLOCK_BYTES - 1) / BLOCK_BYTES);
}

static void launch_read(harness *h, const timed *t, int slot) {
  const reader *r = t->data;
  char *data = t->a->source + (size_t)slot * t->s.source_step;
  unsigned want = r->want;
  void *result = t->a->destination, *parameters[] = {&data, &result, &want};
  (void)h;
  ptx_kernel_launch(r->kernel, block_count(t->a), THREADS, parameters, NULL);
}

/* The XOR that one thread finds in slot 0. */
static unsigned expected_xor(const arena *a, unsigned thread) {
  const unsigned char *at =
      a->host_source + thread / THREADS * BLOCK_BYTES + (size_t)(thread % THREADS) * LOAD_BYTES;
  unsigned all = 0, word;
  for (size_t load = 0; load < LOADS; load++)
    for (size_t i = 0; i < LOAD_BYTES; i += sizeof word) {
      memcpy(&word, at + load * THREADS * LOAD_BYTES + i, sizeof word);
      all ^= word;
    }
  return all;
}

/* A thread from the middle, all of whose loads the host has, must report itself. Others whose XOR
 * is the same by chance may come later: two tries. */
static void check_read(harness *h, const timed *t, reader *r) {
  unsigned whole = (unsigned)(t->a->nominal / BLOCK_BYTES), found = 0;
  if (whole == 0) return;
  for (unsigned try = 1; try <= 2; try++) {
    unsigned thread = whole / (1 + try) * THREADS + 77;
    r->want = expected_xor(t->a, thread);
    harness_must(llrt_memory_set(h->device, t->a->destination, ARENA_POISON, sizeof found, NULL),
                 "clear");
    launch_read(h, t, 0);
    harness_must(llrt_memory_copy(h->device, &found, t->a->destination, sizeof found,
                                  LLRT_COPY_FROM_DEVICE, NULL),
                 "copy from the device");
    harness_must(llrt_stream_synchronize(h->device, NULL), "read");
    if (found == thread) return;
  }
  fprintf(stderr, "the kernel that only reads did not read\n");
  exit(1);
}

static void launch_host_read(harness *h, const timed *t, int slot) {
  const uint64_t *words =
      (const uint64_t *)(const void *)(t->a->source + (size_t)slot * t->s.source_step);
  int64_t n = (int64_t)(t->a->nominal / sizeof *words);
  uint64_t all = 0;
  (void)h;
#pragma omp parallel for schedule(static) reduction(^ : all)
  for (int64_t i = 0; i < n; i++) all ^= words[i];
  *(volatile uint64_t *)(void *)t->a->destination = all;
}

static harness_statistic measure(harness *h, arena *a) {
  reader r = {0};
  timed t = {.a = a, .data = &r, .launch = harness_is_host(h) ? launch_host_read : launch_read};
  t.s = arena_slots(h, a, block_count(a) * BLOCK_BYTES, 1);
  if (harness_is_host(h)) return arena_measure(h, &t);
  r.kernel = ptx_kernel_create(h->info.name, ptx, "read_all");
  check_read(h, &t, &r);
  harness_statistic s = arena_measure(h, &t);
  ptx_kernel_destroy(r.kernel);
  return s;
}

double read_speed(harness *h, arena *a) {
  if (a->read_measured > 0 && harness_now() - a->read_measured < SPEED_LASTS)
    return a->read_gb_per_s;
  harness_statistic s = measure(h, a);
  a->read_gb_per_s =
      1e-3 * (double)(harness_is_host(h) ? a->nominal : block_count(a) * BLOCK_BYTES) / s.median;
  a->read_measured = harness_now();
  printf("%-52s %9.1f %9.1f %9.1f %4d %8.1f\n", "read", s.median, s.min, s.max, s.count,
         a->read_gb_per_s);
  harness_record(h, "read", "\"size\":%zu,\"median_us\":%.3f,\"n\":%d,\"gb_per_s\":%.2f",
                 a->nominal, s.median, s.count, a->read_gb_per_s);
  return a->read_gb_per_s;
}
