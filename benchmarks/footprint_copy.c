#include "footprint.h"

#include "ptx_kernel.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 256, COPIES = 4 };

/* A thread copies four accesses, each a block's width behind the one before. Access i of a side
 * lies at
 *
 *   first + i / per_group * group + i % per_group / per_run * pitch + i % per_run * width
 *
 * with divisions by the high half of a product with 2^64 / divisor, rounded up: exact below 2^31.
 */
#define ADDRESS(side, width) \
  "  mul.hi.u64 %q, %i, %" side "0;\n" \
  "  mad.lo.s64 %a, %q, %" side "3, %" side "6;\n" \
  "  mul.lo.s64 %q, %q, %" side "1;\n" \
  "  sub.s64 %j, %i, %q;\n" \
  "  mul.hi.u64 %q, %j, %" side "2;\n" \
  "  mad.lo.s64 %a, %q, %" side "5, %a;\n" \
  "  mul.lo.s64 %q, %q, %" side "4;\n" \
  "  sub.s64 %j, %j, %q;\n" \
  "  mad.lo.s64 %a, %j, " width ", %a;\n"
#define LOAD(k, width, type, value) \
  "  setp.lt.u64 %p" k ", %i, %n;\n" ADDRESS("s", width) "  @%p" k " ld.global." type \
                                                         " " value(k) ", [%a];\n" \
                                                                      "  add.s64 %i, %i, 256;\n"
#define STORE(k, width, type, value) \
  ADDRESS("d", width) \
  "  @%p" k " st.global." type " [%a], " value(k) ";\n" \
                                                  "  add.s64 %i, %i, 256;\n"
#define ONE_VALUE(k) "%v" k
#define TWO_VALUES(k) "{%v" k ", %w" k "}"

/* By side: 2^64 / per_group, per_group, 2^64 / per_run, group, per_run, pitch, address of the first
 * run. */
enum { SIDE_PARAMETERS = 7 };
#define PARAMETERS_OF(side) \
  ".param .u64 " side "a, .param .u64 " side "b, .param .u64 " side "c, .param .u64 " side \
  "d, .param .u64 " side "e, .param .u64 " side "f, .param .u64 " side "g, "
#define READ(side, k, name) "  ld.param.u64 %" side k ", [" side name "];\n"
#define READ_ALL(side) \
  READ(side, "0", "a") \
  READ(side, "1", "b") \
  READ(side, "2", "c") \
  READ(side, "3", "d") READ(side, "4", "e") READ(side, "5", "f") READ(side, "6", "g")

#define KERNEL(width, type, registers, value) \
  ".version 7.4\n.target sm_80\n.address_size 64\n" \
  ".visible .entry copy(" PARAMETERS_OF("s") PARAMETERS_OF( \
      "d") ".param .u64 n)\n{\n" \
           "  .reg .pred %p<4>;\n  .reg .b32 %r<2>;\n  .reg .b64 %s<7>, %d<7>, %n, %i, %j, %a, " \
           "%q, %b;\n" \
           "  .reg ." registers " %v<4>, %w<4>;\n" READ_ALL("s") READ_ALL( \
               "d") "  ld.param.u64 %n, [n];\n  mov.u32 %r0, %ctaid.x;\n  mov.u32 %r1, %tid.x;\n" \
                    "  mul.wide.u32 %b, %r0, 1024;\n  cvt.u64.u32 %a, %r1;\n  add.s64 %b, %b, " \
                    "%a;\n" \
                    "  mov.u64 %i, %b;\n" LOAD("0", width, type, value) \
                        LOAD("1", width, type, value) LOAD("2", width, type, value) \
                            LOAD("3", width, type, value) "  mov.u64 %i, %b;\n" STORE("0", width, \
                                                                                      type, value) \
                                STORE("1", width, type, value) STORE("2", width, type, value) \
                                    STORE("3", width, type, value) "  ret;\n}\n"

static const struct {
  int64_t width;
  const char *ptx;
} kernels[] = {
    {16, KERNEL("16", "v2.u64", "b64", TWO_VALUES)}, {8, KERNEL("8", "u64", "b64", ONE_VALUE)},
    {4, KERNEL("4", "u32", "b32", ONE_VALUE)},       {2, KERNEL("2", "u16", "b16", ONE_VALUE)},
    {1, KERNEL("1", "u8", "b16", ONE_VALUE)},
};

typedef struct copier {
  ptx_kernel *kernel;
  const footprint *side;
  int64_t width;
} copier;

/* Runs of one access are left to narrower ones: 2^64 / 1 is no number of 64 bits. */
static bool divides(int64_t width, const footprint *f) {
  return f->first % width == 0 && f->run % width == 0 && f->run > width &&
         (f->bytes == f->run || f->pitch % width == 0) &&
         (f->runs == INT64_MAX || f->group % width == 0);
}

static void fill_side(const copier *k, int side, const char *data, uint64_t *out) {
  const footprint *f = &k->side[side];
  int64_t count = f->bytes / f->run, runs = f->runs < count ? f->runs : count;
  uint64_t per_run = (uint64_t)(f->run / k->width), per_group = per_run * (uint64_t)runs;
  out[0] = UINT64_MAX / per_group + 1;
  out[1] = per_group;
  out[2] = UINT64_MAX / per_run + 1;
  out[3] = (uint64_t)f->group;
  out[4] = per_run;
  out[5] = (uint64_t)f->pitch;
  out[6] = (uint64_t)(uintptr_t)(data + f->first);
}

static void launch_copy(harness *h, const timed *t, int slot) {
  const copier *k = t->data;
  uint64_t values[2 * SIDE_PARAMETERS + 1];
  void *parameters[2 * SIDE_PARAMETERS + 1];
  (void)h;
  fill_side(k, 0, t->a->source + (size_t)slot * t->s.source_step, values);
  fill_side(k, 1, t->a->destination + (size_t)slot * t->s.destination_step,
            values + SIDE_PARAMETERS);
  uint64_t n = values[2 * SIDE_PARAMETERS] = (uint64_t)(k->side[0].bytes / k->width);
  for (int i = 0; i <= 2 * SIDE_PARAMETERS; i++) parameters[i] = &values[i];
  ptx_kernel_launch(k->kernel, (unsigned)((n + THREADS * COPIES - 1) / (THREADS * COPIES)), THREADS,
                    parameters, NULL);
}

static void check_copy(harness *h, const timed *t) {
  const copier *k = t->data;
  launch_copy(h, t, 0);
  int64_t last = footprint_byte(&k->side[1], k->side[1].bytes - 1);
  harness_must(llrt_memory_copy(h->device, t->a->host_result, t->a->destination, (size_t)last + 1,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "footprint");
  for (int64_t i = 0; i < k->side[0].bytes; i++)
    if (t->a->host_result[footprint_byte(&k->side[1], i)] !=
        t->a->host_source[footprint_byte(&k->side[0], i)]) {
      fprintf(stderr, "the kernel that copies a footprint is wrong at byte %lld\n", (long long)i);
      exit(1);
    }
}

bool footprint_measure(harness *h, const arena *a, const timed *of, const footprint side[2],
                       harness_statistic *s) {
  size_t i = 0, n = sizeof kernels / sizeof *kernels;
  if (harness_is_host(h)) return footprint_measure_host(h, a, of, side, s);
  if (strncmp(h->info.name, "cuda:", 5) != 0 || side[0].bytes != side[1].bytes) return false;
  while (i < n && !(divides(kernels[i].width, &side[0]) && divides(kernels[i].width, &side[1])))
    i++;
  if (i == n || side[0].bytes / kernels[i].width > INT32_MAX) return false;
  copier k = {.side = side, .width = kernels[i].width};
  timed t = {.launch = launch_copy, .a = a, .s = of->s, .data = &k};
  k.kernel = ptx_kernel_create(h->info.name, kernels[i].ptx, "copy");
  check_copy(h, &t);
  *s = arena_measure(h, &t);
  ptx_kernel_destroy(k.kernel);
  return true;
}
