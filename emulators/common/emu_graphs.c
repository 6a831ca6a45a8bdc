/* Graphs: nodes with their dependencies, as captures make them, and what is launched of them. A
 * launch is one piece of work of its stream, whose nodes run one after the other: in the order of
 * the capture, or in modes that delay, in the one of all orders that dependencies allow which takes
 * the last nodes first. */
#include "emulators/common/emu_state.h"

#include <stdlib.h>
#include <string.h>

struct emu_node {
  emu_graph *graph;
  size_t index;
  emu_work work;
  emu_tips before;
};

struct emu_graph {
  emu_graph *next;    /* of those that users have */
  atomic_int holders; /* the user, executables */
  bool has_memory, known;
  atomic_bool instantiated; /* has_memory: at most once at a time */
  emu_node **node;
  size_t n, capacity;
};

struct emu_exec {
  emu_exec *next;
  atomic_int holders; /* the user, work */
  emu_graph *graph;
  unsigned long long flags;
  emu_point last; /* launches wait for each other */
};

static pthread_mutex_t mutex =
    PTHREAD_MUTEX_INITIALIZER; /* over the lists; inside of both other locks */
static emu_graph *graphs;
static emu_exec *execs;

/* ---- graphs ---- */

emu_graph *emu_graph_make(void) {
  emu_graph *graph = calloc(1, sizeof *graph);
  if (!graph) return NULL;
  graph->holders = 1;
  graph->known = true;
  pthread_mutex_lock(&mutex);
  graph->next = graphs;
  graphs = graph;
  pthread_mutex_unlock(&mutex);
  return graph;
}

void emu_graph_drop(emu_graph *graph) {
  if (atomic_fetch_sub(&graph->holders, 1) != 1) return;
  pthread_mutex_lock(&mutex);
  emu_graph **link = &graphs;
  while (*link != graph) link = &(*link)->next;
  *link = graph->next;
  pthread_mutex_unlock(&mutex);
  for (size_t i = 0; i < graph->n; i++) {
    emu_work_drop(&graph->node[i]->work);
    free(graph->node[i]->before.node);
    free(graph->node[i]);
  }
  free(graph->node);
  free(graph);
}

static bool make_room(emu_graph *graph) {
  if (graph->n < graph->capacity) return true;
  size_t capacity = graph->capacity ? 2 * graph->capacity : 16;
  pthread_mutex_lock(&mutex);
  emu_node **grown = realloc(graph->node, capacity * sizeof(emu_node *));
  if (grown) {
    graph->node = grown;
    graph->capacity = capacity;
  }
  pthread_mutex_unlock(&mutex);
  return grown != NULL;
}

emu_node *emu_graph_add(emu_graph *graph, emu_work *work, emu_tips *tips) {
  emu_node *node = calloc(1, sizeof *node);
  emu_node **tip = malloc(sizeof *tip);
  if (!node || !tip || !make_room(graph)) {
    free(node);
    free(tip);
    return NULL;
  }
  *node = (emu_node){.graph = graph, .index = graph->n, .work = *work, .before = *tips};
  pthread_mutex_lock(&mutex);
  graph->node[graph->n++] = node;
  pthread_mutex_unlock(&mutex);
  graph->has_memory |= work->kind == EMU_WORK_ALLOCATE || work->kind == EMU_WORK_FREE;
  tip[0] = node;
  *tips = (emu_tips){tip, 1};
  return node;
}

bool emu_graph_is_joined(const emu_graph *graph, const emu_tips *tips) {
  bool *reached = calloc(graph->n + 1, sizeof *reached);
  if (!reached) return false;
  for (size_t i = 0; i < tips->n; i++) reached[tips->node[i]->index] = true;
  size_t count = 0;
  for (size_t i = graph->n; i-- > 0;) {
    const emu_tips *before = &graph->node[i]->before;
    for (size_t k = 0; reached[i] && k < before->n; k++) reached[before->node[k]->index] = true;
    count += reached[i];
  }
  free(reached);
  return count == graph->n;
}

/* ---- as users see them ---- */

/* With the mutex. */
static emu_graph *find_graph(const void *handle) {
  emu_graph *graph = graphs;
  while (graph && graph != handle) graph = graph->next;
  return graph && graph->known ? graph : NULL;
}

static emu_node *find_node(const void *handle) {
  for (emu_graph *graph = graphs; graph; graph = graph->next) {
    for (size_t i = 0; i < graph->n; i++) {
      if (graph->node[i] == handle) return graph->node[i];
    }
  }
  return NULL;
}

int emu_graph_destroy(void *handle) {
  pthread_mutex_lock(&mutex);
  emu_graph *graph = find_graph(handle);
  if (graph) graph->known = false;
  pthread_mutex_unlock(&mutex);
  if (graph) emu_graph_drop(graph);
  return graph ? 0 : EMU_INVALID_VALUE;
}

/* As drivers have it: nodes NULL asks for the number; where there is more room, the rest is NULL.
 */
int emu_graph_nodes(void *handle, void **nodes, size_t *n) {
  pthread_mutex_lock(&mutex);
  const emu_graph *graph = find_graph(handle);
  for (size_t i = 0; graph && nodes && i < *n; i++) nodes[i] = i < graph->n ? graph->node[i] : NULL;
  if (graph && (!nodes || *n > graph->n)) *n = graph->n;
  pthread_mutex_unlock(&mutex);
  return graph ? 0 : EMU_INVALID_VALUE;
}

int emu_graph_edges(void *handle, void **from, void **to, size_t *n) {
  size_t count = 0;
  pthread_mutex_lock(&mutex);
  const emu_graph *graph = find_graph(handle);
  for (size_t i = 0; graph && i < graph->n; i++) {
    for (size_t k = 0; k < graph->node[i]->before.n; k++, count++) {
      if (!from || !to || count >= *n) continue;
      from[count] = graph->node[i]->before.node[k];
      to[count] = graph->node[i];
    }
  }
  if (graph && (!from || !to || count < *n)) *n = count;
  pthread_mutex_unlock(&mutex);
  return graph ? 0 : EMU_INVALID_VALUE;
}

int emu_node_type(void *handle, int *type) {
  pthread_mutex_lock(&mutex);
  const emu_node *node = find_node(handle);
  if (node) *type = (int)node->work.kind;
  pthread_mutex_unlock(&mutex);
  return node ? 0 : EMU_INVALID_VALUE;
}

const emu_launch *emu_node_launch(void *handle) {
  pthread_mutex_lock(&mutex);
  const emu_node *node = find_node(handle);
  pthread_mutex_unlock(&mutex);
  return node ? node->work.launch : NULL;
}

/* ---- executables ---- */

/* With the mutex. */
static emu_exec *find_exec(const void *handle) {
  emu_exec *exec = execs;
  while (exec && exec != handle) exec = exec->next;
  return exec;
}

bool emu_exec_is_one(const void *handle) {
  pthread_mutex_lock(&mutex);
  bool known = find_exec(handle) != NULL;
  pthread_mutex_unlock(&mutex);
  return known;
}

bool emu_exec_has_memory(const emu_exec *exec) { return exec->graph->has_memory; }

void emu_exec_drop(emu_exec *exec) {
  if (atomic_fetch_sub(&exec->holders, 1) != 1) return;
  atomic_store(&exec->graph->instantiated, false);
  emu_graph_drop(exec->graph);
  free(exec);
}

int emu_exec_create(void *handle, unsigned long long flags, void **out) {
  emu_exec *exec = calloc(1, sizeof *exec);
  *out = NULL;
  if (!exec) return EMU_OUT_OF_MEMORY;
  pthread_mutex_lock(&mutex);
  emu_graph *graph = find_graph(handle);
  int result = graph ? 0 : EMU_INVALID_VALUE;
  if (graph && graph->has_memory && atomic_exchange(&graph->instantiated, true))
    result = EMU_NOT_SUPPORTED;
  if (!result) {
    atomic_fetch_add(&graph->holders, 1);
    *exec = (emu_exec){.next = execs, .holders = 1, .graph = graph, .flags = flags};
    execs = exec;
    *out = exec;
  }
  pthread_mutex_unlock(&mutex);
  if (result) free(exec);
  return result;
}

int emu_exec_destroy(void *handle) {
  pthread_mutex_lock(&mutex);
  emu_exec *exec = find_exec(handle), **link = &execs;
  while (exec && *link != exec) link = &(*link)->next;
  if (exec) *link = exec->next;
  pthread_mutex_unlock(&mutex);
  if (!exec) return EMU_INVALID_VALUE;
  emu_lock();
  emu_point_set(&exec->last, NULL, 0);
  emu_unlock();
  emu_exec_drop(exec);
  return 0;
}

/* ---- launches ---- */

/* With the run lock: that what earlier launches left allocated fits. */
static int check_memory(const emu_exec *exec) {
  for (size_t i = 0; i < exec->graph->n; i++) {
    const emu_work *work = &exec->graph->node[i]->work;
    bool foreign = work->block && work->block->graph != exec->graph;
    if (work->kind == EMU_WORK_ALLOCATE && work->block->outstanding &&
        !(exec->flags & EMU_GRAPH_FREES_ON_LAUNCH))
      return EMU_INVALID_VALUE;
    if (work->kind == EMU_WORK_FREE && foreign && !work->block->outstanding)
      return EMU_INVALID_VALUE;
  }
  return 0;
}

/* What is left allocated is held like any memory of the user's. */
static void set_outstanding(emu_block *block, bool outstanding) {
  if (block->outstanding == outstanding) return;
  block->outstanding = outstanding;
  atomic_fetch_add(&block->holders, outstanding ? 1 : -1);
}

static void count_memory(const emu_exec *exec) {
  for (size_t i = 0; i < exec->graph->n; i++) {
    const emu_work *work = &exec->graph->node[i]->work;
    if (work->kind == EMU_WORK_ALLOCATE) set_outstanding(work->block, !work->block->returned);
    if (work->kind == EMU_WORK_FREE) set_outstanding(work->block, false);
  }
}

int emu_exec_launch(void *handle, emu_stream *stream) {
  emu_exec *exec = handle;
  if (!emu_exec_is_one(handle)) return EMU_INVALID_VALUE;
  bool captured = emu_capture_graph(stream) != NULL;
  emu_run_lock();
  int result = captured ? 0 : check_memory(exec);
  if (!result && !captured) count_memory(exec);
  emu_run_unlock();
  if (result) return result;
  atomic_fetch_add(&exec->holders, 1);
  emu_work work = {.kind = EMU_WORK_GRAPH, .exec = exec};
  emu_point last = {NULL, 0}, at = {NULL, 0};
  emu_lock();
  emu_point_set(&last, exec->last.stream, exec->last.number);
  emu_unlock();
  result = emu_submit(stream, &work, last.stream ? &last : NULL, &at);
  emu_lock();
  if (!captured && at.stream) emu_point_set(&exec->last, at.stream, at.number);
  emu_point_set(&last, NULL, 0);
  emu_point_set(&at, NULL, 0);
  emu_unlock();
  return result;
}

/* ---- running ---- */

static bool is_ready(const emu_node *node, const bool *done) {
  for (size_t i = 0; i < node->before.n; i++) {
    if (!done[node->before.node[i]->index]) return false;
  }
  return true;
}

static const emu_node *find_next(const emu_graph *graph, const bool *done, bool last_first) {
  for (size_t i = 0; i < graph->n; i++) {
    size_t at = last_first ? graph->n - 1 - i : i;
    if (!done[at] && is_ready(graph->node[at], done)) return graph->node[at];
  }
  return NULL;
}

int emu_exec_run(emu_exec *exec, emu_context *context, char *trouble, size_t size) {
  const emu_graph *graph = exec->graph;
  bool last_first = emu_current_mode() >= EMU_LATE;
  bool *done = calloc(graph->n + 1, sizeof *done);
  if (!done) return EMU_OUT_OF_MEMORY;
  int result = 0;
  for (const emu_node *node; !result && (node = find_next(graph, done, last_first));) {
    result = emu_work_run(context, &node->work, trouble, size);
    done[node->index] = true;
  }
  free(done);
  return result;
}
