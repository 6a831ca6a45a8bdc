/* The subcommands of llrt-bench. Each gets its own name as argv[0], ends the program for wrong
 * options (harness_parse) and returns the exit code: 1 when a result was wrong. A new one is a
 * bench_*.c file, a line here and a row in main.c. */
#ifndef LLRT_BENCHMARKS_SUBCOMMANDS_H
#define LLRT_BENCHMARKS_SUBCOMMANDS_H

int bench_broadcast(int argc, char *argv[]);
int bench_compile(int argc, char *argv[]);
int bench_compute(int argc, char *argv[]);
int bench_contiguity(int argc, char *argv[]);
int bench_convert(int argc, char *argv[]);
int bench_dense(int argc, char *argv[]);
int bench_dot(int argc, char *argv[]);
int bench_gather(int argc, char *argv[]);
int bench_gemm(int argc, char *argv[]);
int bench_graph(int argc, char *argv[]);
int bench_grouped(int argc, char *argv[]);
int bench_index(int argc, char *argv[]);
int bench_latency(int argc, char *argv[]);
int bench_layout(int argc, char *argv[]);
int bench_map(int argc, char *argv[]);
int bench_reduce(int argc, char *argv[]);
int bench_reshard(int argc, char *argv[]);
int bench_reshard_latency(int argc, char *argv[]);
int bench_reshard_processes(int argc, char *argv[]);
int bench_repack(int argc, char *argv[]);
int bench_scan(int argc, char *argv[]);
int bench_table4(int argc, char *argv[]);
int bench_tile(int argc, char *argv[]);
int bench_tiles(int argc, char *argv[]);

#endif
