/* Dominators and postdominators of a kernel's instructions: Cooper, Harvey and Kennedy, "A Simple,
 * Fast Dominance Algorithm" (2001). A node is an instruction; one more stands for the end. */
#include "emulators/ptx/ptx_flow.h"

#include <stdlib.h>

/* Edges by node: those of node i are to[first[i]] .. to[first[i + 1] - 1]. */
typedef struct edges {
  int *first, *to;
} edges;

typedef struct search {
  const edges *next, *back;
  int *order, *number; /* postorder; number: of a node, -1: not reached */
  int n;
} search;

static void free_edges(edges *gone) {
  free(gone->first);
  free(gone->to);
}

static bool make_edges(edges *made, int nodes) {
  made->first = calloc((size_t)nodes + 2, sizeof(int));
  made->to = malloc(2 * (size_t)nodes * sizeof(int));
  return made->first && made->to;
}

static bool has_returns(const ptx_kernel *kernel) {
  bool has = false;
  for (int pc = 0; pc < kernel->n_ops; pc++) has |= ptx_is_return(&kernel->op[pc]);
  return has;
}

/* Where instruction pc leads; their number. returns: the kernel does. */
static int ways(const ptx_kernel *kernel, int pc, bool returns, int to[2]) {
  const ptx_op *op = &kernel->op[pc];
  int n = 0;
  if (ptx_is_branch(op)) to[n++] = op->target;
  if (ptx_is_exit(op)) {
    if (ptx_is_return(op) || !returns) to[n++] = kernel->n_ops;
    if (op->guard < 0) return n;
  }
  if (n == 0 || op->guard >= 0) to[n++] = pc + 1;
  return n;
}

static void fill_forward(const ptx_kernel *kernel, edges *made) {
  bool returns = has_returns(kernel);
  int n = 0;
  for (int pc = 0; pc < kernel->n_ops; pc++) {
    made->first[pc] = n;
    n += ways(kernel, pc, returns, made->to + n);
  }
  made->first[kernel->n_ops] = made->first[kernel->n_ops + 1] = n;
}

static void fill_backward(const edges *forward, int nodes, edges *made) {
  for (int i = 0; i < forward->first[nodes]; i++) made->first[forward->to[i] + 1]++;
  for (int i = 0; i < nodes; i++) made->first[i + 1] += made->first[i];
  for (int pc = 0; pc < nodes; pc++)
    for (int i = forward->first[pc]; i < forward->first[pc + 1]; i++)
      made->to[made->first[forward->to[i]]++] = pc;
  for (int i = nodes; i > 0; i--) made->first[i] = made->first[i - 1];
  made->first[0] = 0;
}

/* Postorder from `root`; stack: room for two numbers a node. */
static void walk(search *s, int root, int *stack) {
  int depth = 0;
  s->number[root] = 0;
  stack[depth++] = root;
  stack[depth++] = s->next->first[root];
  while (depth > 0) {
    int node = stack[depth - 2], at = stack[depth - 1]++;
    if (at == s->next->first[node + 1]) {
      s->number[node] = s->n;
      s->order[s->n++] = node;
      depth -= 2;
      continue;
    }
    int to = s->next->to[at];
    if (s->number[to] >= 0) continue;
    s->number[to] = 0;
    stack[depth++] = to;
    stack[depth++] = s->next->first[to];
  }
}

static int common(const search *s, const int *above, int a, int b) {
  while (a != b) {
    while (s->number[a] < s->number[b]) a = above[a];
    while (s->number[b] < s->number[a]) b = above[b];
  }
  return a;
}

static void climb(const search *s, int root, int *above) {
  above[root] = root;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = s->n - 2; i >= 0; i--) {
      int node = s->order[i], found = -1;
      for (int k = s->back->first[node]; k < s->back->first[node + 1]; k++) {
        int from = s->back->to[k];
        if (above[from] < 0) continue;
        found = found < 0 ? from : common(s, above, from, found);
      }
      changed |= above[node] != found;
      above[node] = found;
    }
  }
}

/* above[node]: the nearest node on all ways from `root` to it; -1: there is no way. */
static bool make_tree(const edges *next, const edges *back, int nodes, int root, int *above) {
  size_t bytes = (size_t)nodes * sizeof(int);
  search s = {next, back, malloc(bytes), malloc(bytes), 0};
  int *stack = malloc(2 * bytes);
  bool made = s.order && s.number && stack;
  for (int i = 0; made && i < nodes; i++) s.number[i] = above[i] = -1;
  if (made) walk(&s, root, stack);
  if (made) climb(&s, root, above);
  free(s.order);
  free(s.number);
  free(stack);
  return made;
}

/* Where an instruction leads that is nothing but a jump; compilers leave those out. */
static int past_jumps(const ptx_kernel *kernel, int pc) {
  for (int n = 0; pc >= 0 && pc < kernel->n_ops && n < kernel->n_ops; n++) {
    const ptx_op *op = &kernel->op[pc];
    if (!ptx_is_branch(op) || op->guard >= 0) break;
    pc = op->target;
  }
  return pc;
}

static bool parts_lanes(const ptx_op *op, const bool *varies) {
  return ptx_is_branch(op) && op->guard >= 0 && varies[op->guard];
}

/* Where the ways of a branch meet. */
static int join_of(const ptx_kernel *kernel, const ptx_flow *flow, int branch) {
  return past_jumps(kernel, flow->behind[branch]);
}

/* Whether a way from pc to `join` is straight and ends with an atomic. */
static bool ends_in_atomic(const ptx_kernel *kernel, int pc, int join) {
  const ptx_op *last = NULL;
  for (int n = 0; pc != join && pc < kernel->n_ops && n < kernel->n_ops; n++) {
    last = &kernel->op[pc];
    if (ptx_is_branch(last) || ptx_is_exit(last)) return false;
    pc = past_jumps(kernel, pc + 1);
  }
  return pc == join && last && last->form->class == PTX_ATOMIC;
}

/* Whether lanes take an atomic's way, or none. */
static bool goes_round_atomic(const ptx_kernel *kernel, int branch, int join) {
  int taken = past_jumps(kernel, kernel->op[branch].target);
  int passed = past_jumps(kernel, branch + 1);
  return (taken == join && ends_in_atomic(kernel, passed, join)) ||
         (passed == join && ends_in_atomic(kernel, taken, join));
}

static bool is_closed(const ptx_kernel *kernel, const ptx_flow *flow, const bool *varies,
                      int branch) {
  int join = join_of(kernel, flow, branch);
  if (join < 0) return false;
  if (goes_round_atomic(kernel, branch, join)) return true;
  for (int at = branch;; at = flow->before[at]) {
    if (at == branch || parts_lanes(&kernel->op[at], varies))
      if (join_of(kernel, flow, at) == join && ptx_flow_dominates(flow, at, join)) return true;
    if (flow->before[at] < 0 || flow->before[at] == at) return false;
  }
}

static bool find_closed(const ptx_kernel *kernel, ptx_flow *made) {
  bool *varies = ptx_varying(kernel);
  for (int pc = 0; varies && pc < kernel->n_ops; pc++)
    made->closed[pc] = !parts_lanes(&kernel->op[pc], varies) || is_closed(kernel, made, varies, pc);
  bool done = varies != NULL;
  free(varies);
  return done;
}

bool ptx_flow_make(const ptx_kernel *kernel, ptx_flow *made) {
  int end = kernel->n_ops, nodes = end + 1;
  edges forward = {NULL, NULL}, backward = {NULL, NULL};
  made->before = malloc((size_t)nodes * sizeof(int));
  made->behind = malloc((size_t)nodes * sizeof(int));
  made->closed = calloc((size_t)nodes, sizeof(bool));
  bool done = made->before && made->behind && made->closed && make_edges(&forward, nodes) &&
              make_edges(&backward, nodes);
  if (done) {
    fill_forward(kernel, &forward);
    fill_backward(&forward, nodes, &backward);
    done = make_tree(&forward, &backward, nodes, 0, made->before) &&
           make_tree(&backward, &forward, nodes, end, made->behind) && find_closed(kernel, made);
  }
  free_edges(&forward);
  free_edges(&backward);
  return done;
}

void ptx_flow_free(ptx_flow *gone) {
  free(gone->before);
  free(gone->behind);
  free(gone->closed);
}

bool ptx_flow_dominates(const ptx_flow *flow, int a, int b) {
  while (b != a && flow->before[b] >= 0 && flow->before[b] != b) b = flow->before[b];
  return a == b;
}
