#include "cuda_graph.h"

#include "cuda_driver.h"

#include <stdlib.h>

enum { STREAM_NON_BLOCKING = 1, CAPTURE_GLOBAL = 0, CAPTURE_THREAD_LOCAL = 1, MAX_NODES = 64 };

/* CUDA_KERNEL_NODE_PARAMS as every driver since 10.0 fills it, and room for what later versions
 * add. */
typedef struct kernel_node {
  void *function;
  unsigned grid[3], block[3], shared_bytes;
  void **parameters, **extra, *room[4];
} kernel_node;

/* X(field, symbol, parameters): the functions used. */
#define GRAPH_LIST(X) \
  X(stream_create, "cuStreamCreate", (void **, unsigned)) \
  X(stream_destroy, "cuStreamDestroy_v2", (void *)) \
  X(begin, "cuStreamBeginCapture_v2", (void *, int)) \
  X(end, "cuStreamEndCapture", (void *, void **)) \
  X(instantiate, "cuGraphInstantiateWithFlags", (void **, void *, uint64_t)) \
  X(launch, "cuGraphLaunch", (void *, void *)) \
  X(nodes, "cuGraphGetNodes", (void *, void **, size_t *)) \
  X(node_params, "cuGraphKernelNodeGetParams", (void *, kernel_node *)) \
  X(exec_destroy, "cuGraphExecDestroy", (void *)) \
  X(destroy, "cuGraphDestroy", (void *))

struct cuda_graphs {
  cuda_driver driver;
  void *stream;
#define GRAPH_FIELD(field, symbol, parameters) int(*field) parameters;
  GRAPH_LIST(GRAPH_FIELD)
#undef GRAPH_FIELD
};

cuda_graphs *cuda_graphs_create(const char *device_name) {
  cuda_graphs *graphs = calloc(1, sizeof *graphs);
  if (!graphs) cuda_driver_must(-1, "memory");
  cuda_driver_open(device_name, &graphs->driver);
#define GRAPH_LOAD(field, symbol, parameters) \
  *(void **)&graphs->field = cuda_driver_symbol(&graphs->driver, symbol);
  GRAPH_LIST(GRAPH_LOAD)
#undef GRAPH_LOAD
  cuda_driver_must(graphs->stream_create(&graphs->stream, STREAM_NON_BLOCKING), "cuStreamCreate");
  return graphs;
}

void cuda_graphs_destroy(cuda_graphs *graphs) {
  cuda_driver_must(graphs->stream_destroy(graphs->stream), "cuStreamDestroy");
  cuda_driver_close(&graphs->driver);
  free(graphs);
}

void *cuda_graphs_stream(const cuda_graphs *graphs) { return graphs->stream; }

void cuda_graph_begin(const cuda_graphs *graphs) {
  cuda_driver_must(graphs->begin(graphs->stream, CAPTURE_GLOBAL), "cuStreamBeginCapture");
}

void cuda_graph_begin_beside(const cuda_graphs *graphs) {
  cuda_driver_must(graphs->begin(graphs->stream, CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture");
}

void cuda_graph_end(const cuda_graphs *graphs, cuda_graph *graph) {
  cuda_driver_must(graphs->end(graphs->stream, &graph->graph), "cuStreamEndCapture");
  cuda_driver_must(graphs->instantiate(&graph->executable, graph->graph, 0),
                   "cuGraphInstantiateWithFlags");
}

void cuda_graph_destroy(const cuda_graphs *graphs, cuda_graph *graph) {
  cuda_driver_must(graphs->exec_destroy(graph->executable), "cuGraphExecDestroy");
  cuda_driver_must(graphs->destroy(graph->graph), "cuGraphDestroy");
}

void cuda_graph_launch(const cuda_graphs *graphs, const cuda_graph *graph) {
  cuda_driver_must(graphs->launch(graph->executable, graphs->stream), "cuGraphLaunch");
}

int64_t cuda_graph_blocks(const cuda_graphs *graphs, const cuda_graph *graph) {
  void *nodes[MAX_NODES];
  size_t count = MAX_NODES;
  int64_t blocks = 0;
  cuda_driver_must(graphs->nodes(graph->graph, nodes, &count), "cuGraphGetNodes");
  for (size_t i = 0; i < count && i < MAX_NODES; i++) {
    kernel_node node;
    cuda_driver_must(graphs->node_params(nodes[i], &node), "cuGraphKernelNodeGetParams");
    blocks += (int64_t)node.grid[0] * node.grid[1] * node.grid[2];
  }
  return blocks;
}
