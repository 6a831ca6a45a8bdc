/* CUDA graphs: work on one stream, captured once and replayed there. Every failure ends the
 * program. */
#ifndef LLRT_BENCHMARKS_CUDA_GRAPH_H
#define LLRT_BENCHMARKS_CUDA_GRAPH_H

#include <stdint.h>

typedef struct cuda_graphs cuda_graphs; /* a stream and the driver's functions */
typedef struct cuda_graph {
  void *graph, *executable;
} cuda_graph;

/* On device "cuda:N"; its primary context is current on this thread until cuda_graphs_destroy. */
cuda_graphs *cuda_graphs_create(const char *device_name);
void cuda_graphs_destroy(cuda_graphs *graphs);

/* The stream that is captured and that replays are queued on; not the default one. */
void *cuda_graphs_stream(const cuda_graphs *graphs);

/* Between the two everything queued on the stream goes into *graph, in the strictest mode: a call
 * that could interfere with any capture, on any thread, is an error. */
void cuda_graph_begin(const cuda_graphs *graphs);
/* Instead: in the mode that leaves other threads alone, which capture on devices of their own. */
void cuda_graph_begin_beside(const cuda_graphs *graphs);
void cuda_graph_end(const cuda_graphs *graphs, cuda_graph *graph);
void cuda_graph_destroy(const cuda_graphs *graphs, cuda_graph *graph);

void cuda_graph_launch(const cuda_graphs *graphs, const cuda_graph *graph);

/* Thread blocks that one launch starts. Precondition: all that was captured are kernels. */
int64_t cuda_graph_blocks(const cuda_graphs *graphs, const cuda_graph *graph);

#endif
