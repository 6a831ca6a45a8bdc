/* llrt-bench: measurements, each of which checks its results before it times them. */
#include "subcommands.h"

#include <stdio.h>
#include <string.h>

typedef struct subcommand {
  const char *name, *summary;
  int (*run)(int argc, char *argv[]);
} subcommand;

static const subcommand subcommands[] = {
    {"convert", "whole tensors between storages, beside a plain copy", bench_convert},
    {"map", "whole tensors converted with casts, scales and bit maps, beside a plain copy",
     bench_map},
    {"contiguity", "how wide accesses to narrow tensors are; needs no device", bench_contiguity},
    {"tile", "conversions inside a block, beside shared memory alone", bench_tile},
    {"broadcast", "tiles reduced inside a block, where places hold copies", bench_broadcast},
    {"gather", "gathers inside a block, by shuffles and through shared memory", bench_gather},
    {"index", "whole tensors gathered along an axis, beside a plain copy", bench_index},
    {"reduce", "matrices reduced along an axis, beside reading alone", bench_reduce},
    {"scan", "whole tensors scanned along an axis, beside a plain copy", bench_scan},
    {"compute", "rows by expressions: softmax, norms, rope, quantisers, from cold caches",
     bench_compute},
    {"dot", "matrices of two types multiplied, from cold caches", bench_dot},
    {"tiles", "every kernel that may run a product, timed: for fit_tiles.py", bench_tiles},
    {"dense", "dense products of batches, odd extents, every order of operands", bench_dense},
    {"gemm", "the host's products, beside oneDNN's sgemm", bench_gemm},
    {"reshard", "whole tensors from one sharding to another, over several devices", bench_reshard},
    {"reshard-latency", "small tensors from rows to columns, over several devices; graphs",
     bench_reshard_latency},
    {"reshard-processes", "the same between processes, on one device or several; short ones",
     bench_reshard_processes},
    {"table4", "integers with floats inside a block, every pair and shape: which are right",
     bench_table4},
    {"repack", "checkpoints by recipes, and back, beside copies", bench_repack},
    {"grouped", "rows sorted by expert multiplied, from cold caches", bench_grouped},
    {"graph", "counts in device memory: one CUDA graph for all, and its cost", bench_graph},
    {"latency", "what a call costs the host: cold, cached, prepared, bare", bench_latency},
    {"compile", "what a compile costs, by target; needs no device", bench_compile},
    {"layout", "what the algebra of layouts costs; needs no device", bench_layout},
};
enum { SUBCOMMAND_COUNT = sizeof subcommands / sizeof subcommands[0] };

static void print_overview(FILE *stream) {
  fprintf(stream, "usage: llrt-bench COMMAND [options]\n\ncommands:\n");
  for (int i = 0; i < SUBCOMMAND_COUNT; i++)
    fprintf(stream, "  %-12s%s\n", subcommands[i].name, subcommands[i].summary);
  fprintf(stream,
          "\n  llrt-bench COMMAND --help   its options\n\n"
          "exit codes: 0 done; 1 something was wrong or could not be done; 2 wrong options\n");
}

int main(int argc, char *argv[]) {
  if (argc < 2) {
    print_overview(stderr);
    return 2;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_overview(stdout);
    return 0;
  }
  for (int i = 0; i < SUBCOMMAND_COUNT; i++)
    if (strcmp(argv[1], subcommands[i].name) == 0) return subcommands[i].run(argc - 1, argv + 1);
  fprintf(stderr, "llrt-bench: there is no command '%s' (see llrt-bench --help)\n", argv[1]);
  return 2;
}
