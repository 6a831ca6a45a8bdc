/* What the algebra costs: nanoseconds a call for layouts of 20 and 40 bits. Needs no device.
 *
 * Each sample is a batch of calls over a rotating set of pairs, so that branches and caches see
 * what a planner shows them; each result is checked once at random points before anything is
 * timed. */
#include "harness.h"
#include "subcommands.h"

#include <stdlib.h>
#include <string.h>

/* A batch is well below a time slice, so that the best of many is free of other programs. */
enum { PAIRS = 64, BATCH = 256, SAMPLES = 801, CHECKS = 200 };

typedef llrt_status operation(const llrt_layout *a, const llrt_layout *b, llrt_layout *out);

/* Distributed layouts (permutations of bits) and any invertible ones. */
typedef enum pair_kind { PERMUTATIONS, INVERTIBLE } pair_kind;

static uint64_t seed = 20250523;

static uint64_t next_random(void) {
  uint64_t z = seed += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/* All columns zero; the first in-dim takes the bits that 5 and 3 leave. */
static llrt_layout start_layout(int bits, const char *const ins[3], const char *const outs[2]) {
  llrt_layout layout = llrt_layout_empty();
  int in_bits[] = {bits - 8, 5, 3};
  for (int i = 0; i < 3; i++) harness_must(llrt_layout_add_in(&layout, ins[i], in_bits[i]), "in");
  harness_must(llrt_layout_add_out(&layout, outs[0], bits / 2), "out");
  harness_must(llrt_layout_add_out(&layout, outs[1], bits - bits / 2), "out");
  return layout;
}

static void fill(llrt_layout *layout, int bits, pair_kind kind) {
  for (int i = 0; i < bits; i++) layout->column[i] = 1ull << i;
  for (int i = bits - 1; i > 0; i--) {
    int k = (int)(next_random() % (uint64_t)(i + 1));
    uint64_t column = layout->column[i];
    layout->column[i] = layout->column[k];
    layout->column[k] = column;
  }
  for (int i = 0; kind == INVERTIBLE && i < 4 * bits; i++) { /* add one column to another */
    int from = (int)(next_random() % (uint64_t)bits), to = (int)(next_random() % (uint64_t)bits);
    if (from != to) layout->column[to] ^= layout->column[from];
  }
}

typedef struct benchmark {
  const char *name;
  operation *run;
  bool composes; /* b's in-dims are a's out-dims; else both have the same out-dims */
} benchmark;

static void make_pairs(const benchmark *bench, int bits, pair_kind kind, llrt_layout *a,
                       llrt_layout *b) {
  static const char *const places[] = {"register", "lane", "warp"};
  static const char *const axes[] = {"dim0", "dim1"}, *const others[] = {"x", "y"};
  for (int i = 0; i < PAIRS; i++) {
    a[i] = start_layout(bits, places, axes);
    fill(&a[i], bits, kind);
    b[i] = start_layout(bits, places, axes);
    fill(&b[i], bits, kind);
    if (!bench->composes) continue;
    llrt_dim ins[2];
    memcpy(ins, a[i].out, sizeof ins);
    harness_must(llrt_layout_reshape_ins(&b[i], ins, 2, &b[i]), "reshape");
    harness_must(llrt_layout_rename_outs(&b[i], axes, others, 2, &b[i]), "rename");
  }
}

/* b(a(x)) = out(x), or b(out(x)) = a(x), at random points. */
static void check_pair(const benchmark *bench, const llrt_layout *a, const llrt_layout *b) {
  llrt_layout out;
  harness_must(bench->run(a, b, &out), bench->name);
  for (int i = 0; i < CHECKS; i++) {
    uint64_t x = next_random(), of_a = llrt_layout_apply_flat(a, x);
    uint64_t of_out = llrt_layout_apply_flat(&out, x);
    bool right = bench->composes ? llrt_layout_apply_flat(b, of_a) == of_out
                                 : llrt_layout_apply_flat(b, of_out) == of_a;
    if (right) continue;
    fprintf(stderr, "bench_layout: %s is wrong\n", bench->name);
    exit(1);
  }
}

static harness_statistic time_pairs(const benchmark *bench, const llrt_layout *a,
                                    const llrt_layout *b) {
  static double samples[SAMPLES];
  llrt_layout out;
  for (int s = -2; s < SAMPLES; s++) { /* two to warm up */
    double begin = harness_now();
    for (int i = 0; i < BATCH; i++) (void)bench->run(&a[i % PAIRS], &b[i % PAIRS], &out);
    if (s >= 0) samples[s] = (harness_now() - begin) * 1000.0 / BATCH;
  }
  return harness_summarise(samples, SAMPLES);
}

static llrt_status solve(const llrt_layout *a, const llrt_layout *b, llrt_layout *out) {
  return llrt_layout_solve(b, a, out);
}

static const benchmark benchmarks[] = {
    {"compose", llrt_layout_compose, true},
    {"invert_and_compose", llrt_layout_invert_and_compose, false},
    {"solve", solve, false},
};

int bench_layout(int argc, char *argv[]) {
  static const char *const kinds[] = {"permutations", "any invertible"};
  static llrt_layout a[PAIRS], b[PAIRS];
  harness_options options;
  harness h;
  harness_parse(argc, argv, &options);
  options.device = "host";
  harness_init(&options, &h);
  seed += options.seed;
  printf("median of %d batches of %d calls, ns a call (min..max)\n", SAMPLES, BATCH);
  for (size_t i = 0; i < sizeof benchmarks / sizeof benchmarks[0]; i++)
    for (int bits = 20; bits <= 40; bits += 20)
      for (int kind = PERMUTATIONS; kind <= INVERTIBLE; kind++) {
        const benchmark *bench = &benchmarks[i];
        if (!harness_wants(&h, bench->name)) continue;
        make_pairs(bench, bits, (pair_kind)kind, a, b);
        for (int k = 0; k < PAIRS; k++) check_pair(bench, &a[k], &b[k]);
        if (options.check_only) continue;
        harness_statistic ns = time_pairs(bench, a, b);
        printf("%-20s %d bits  %-15s %7.0f  (%.0f..%.0f)\n", bench->name, bits, kinds[kind],
               ns.median, ns.min, ns.max);
        harness_record(&h, bench->name, "\"bits\":%d,\"kind\":\"%s\",\"median_ns\":%.1f,\"n\":%d",
                       bits, kinds[kind], ns.median, ns.count);
      }
  harness_fini(&h);
  return 0;
}
