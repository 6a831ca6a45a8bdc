#include "dot_overlap.h"

#include "cuda_graph.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMS = 3, RUNS = 4, REPLAYS = 8 }; /* RUNS: of a graph */

typedef struct overlapped {
  cuda_graphs *graphs;
  cuda_graph graph;
  llrt_run_params params;
  llrt_tensor tensor[LLRT_MAX_TENSORS];
  void *d;
} overlapped;

static void begin(harness *h, llrt_op *op, const dot_case *c, overlapped *o) {
  const int n = c->call->desc.n_tensors;
  memcpy(o->tensor, c->call->desc.tensors, (size_t)n * sizeof *o->tensor);
  harness_must(llrt_memory_allocate(h->device, c->d->bytes, &o->d), "memory for a result");
  harness_must(llrt_memory_set(h->device, o->d, 0xee, c->d->bytes, NULL), "poison");
  for (int t = 0; t < n; t++)
    if (o->tensor[t].data == c->d->tensor.data) o->tensor[t].data = o->d;
  harness_must(harness_add_workspace(h, op, o->tensor, n, &o->params), "workspace");
  harness_must(llrt_stream_synchronize(h->device, NULL), "workspace");
  o->graphs = cuda_graphs_create(h->info.name);
  cuda_graph_begin(o->graphs);
  for (int i = 0; i < RUNS; i++)
    harness_must(llrt_op_run(op, cuda_graphs_stream(o->graphs), o->tensor, n, &o->params), "run");
  cuda_graph_end(o->graphs, &o->graph);
}

/* Behind all of its replays. */
static bool end(harness *h, const dot_case *c, overlapped *o) {
  unsigned char *made = malloc(c->d->bytes);
  if (!made) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  harness_must(llrt_stream_synchronize(h->device, cuda_graphs_stream(o->graphs)), "replays");
  harness_must(llrt_memory_copy(h->device, made, o->d, c->d->bytes, LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "copy from the device");
  bool same = memcmp(made, c->d->host, c->d->bytes) == 0;
  free(made);
  cuda_graph_destroy(o->graphs, &o->graph);
  cuda_graphs_destroy(o->graphs);
  harness_drop_workspace(h, &o->params);
  llrt_memory_free(h->device, o->d);
  return same;
}

bool dot_overlap_is_right(harness *h, llrt_op *op, const dot_case *c) {
  overlapped o[STREAMS] = {{.graphs = NULL}};
  bool right = true;
  if (strncmp(h->info.name, "cuda:", 5) != 0) return true;
  for (int s = 0; s < STREAMS; s++) begin(h, op, c, &o[s]);
  for (int i = 0; i < REPLAYS; i++)
    for (int s = 0; s < STREAMS; s++) cuda_graph_launch(o[s].graphs, &o[s].graph);
  for (int s = STREAMS - 1; s >= 0; s--) right &= end(h, c, &o[s]);
  if (!right) printf("%d runs at once leave something else than one alone\n", STREAMS);
  return right;
}
