#include "expression/program_parts.h"

#include "expression/operators.h"

#include <string.h>

static uint8_t axes_of(const expr_program *program, uint16_t tensors) {
  uint8_t axes = 0;
  for (int t = 0; t < program->n_tensors; t++)
    if (tensors >> t & 1) axes |= program->tensor[t].axes;
  return axes;
}

/* Adds to what an output's value takes the inputs, or else outputs with what they take, that tell
 * how long axes are which it mentions and none of its own tensors has. */
static void add_tellers(const expr_program *program, int t, uint8_t mentioned, bool outputs,
                        uint16_t reads[PROGRAM_MAX_NODES]) {
  const program_tensor *own = &program->tensor[t];
  uint16_t *all = &reads[own->node];
  for (int u = 0; u < program->n_tensors; u++) {
    const program_tensor *other = &program->tensor[u];
    uint8_t unknown = mentioned & (uint8_t)~(axes_of(program, *all) | own->axes);
    if (other->output != outputs || !(other->axes & unknown)) continue;
    *all |= (uint16_t)(1u << u | (outputs ? reads[other->node] : 0));
  }
}

/* By node: the tensors that its value takes; of outputs' values also those that tell how long axes
 * are. */
static void find_reads(const expr_program *program, uint16_t reads[PROGRAM_MAX_NODES]) {
  uint8_t axes[PROGRAM_MAX_NODES]; /* which the value mentions */
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *node = &program->node[i];
    reads[i] = node->op == EXPR_TENSOR ? (uint16_t)(1u << node->slot) : 0;
    axes[i] = node->axes | node->reduced;
    for (int k = 0; k < node->n_args; k++) {
      reads[i] |= reads[node->arg[k]];
      axes[i] |= axes[node->arg[k]];
    }
  }
  for (int outputs = 0; outputs < 2; outputs++)
    for (int t = 0; t < program->n_tensors; t++)
      if (program->tensor[t].output)
        add_tellers(program, t, axes[program->tensor[t].node], outputs, reads);
}

/* Whether two parts write one output. */
static bool write_twice(const program_parts *parts, const expr_program *program) {
  uint16_t seen = 0, twice = 0;
  for (int p = 0; p < parts->n; p++) {
    twice |= seen & parts->tensors[p];
    seen |= parts->tensors[p];
  }
  for (int t = 0; t < program->n_tensors; t++)
    if (twice >> t & 1 && program->tensor[t].output) return true;
  return false;
}

/* Whether each output of these tensors has all axes but those that are joined. */
static bool fit_together(const expr_program *program, uint16_t tensors) {
  uint8_t all = axes_of(program, tensors);
  bool fit = true;
  for (int t = 0; t < program->n_tensors; t++)
    if (tensors >> t & 1 && program->tensor[t].output)
      fit &= (all & (uint8_t)~program->reduced & (uint8_t)~program->tensor[t].axes) == 0;
  return fit;
}

static bool reads_any(const expr_program *program, uint16_t tensors) {
  bool any = false;
  for (int t = 0; t < program->n_tensors; t++)
    any |= tensors >> t & 1 && !program->tensor[t].output;
  return any;
}

void program_find_parts(const expr_program *program, program_parts *parts) {
  uint16_t reads[PROGRAM_MAX_NODES], all = (uint16_t)((1u << program->n_tensors) - 1);
  *parts = (program_parts){.n = 1, .tensors = {all}, .axes = {axes_of(program, all)}};
  if (fit_together(program, all)) return;
  find_reads(program, reads);
  parts->n = 0;
  for (int t = 0; t < program->n_tensors; t++) {
    const program_tensor *own = &program->tensor[t];
    if (!own->output) continue;
    uint16_t tensors = (uint16_t)(reads[own->node] | 1u << t);
    uint8_t axes = axes_of(program, tensors);
    int p = 0;
    while (p < parts->n && parts->axes[p] != axes) p++;
    if (p == PROGRAM_MAX_PARTS || !reads_any(program, tensors)) {
      parts->n = PROGRAM_NO_PARTS;
      parts->many = p == PROGRAM_MAX_PARTS;
      return;
    }
    parts->tensors[p] = p < parts->n ? (uint16_t)(parts->tensors[p] | tensors) : tensors;
    parts->axes[p] = axes;
    if (p == parts->n) parts->n++;
  }
  if (write_twice(parts, program)) parts->n = PROGRAM_NO_PARTS;
  for (int p = 0; p < parts->n; p++)
    if (!fit_together(program, parts->tensors[p])) parts->n = PROGRAM_NO_PARTS;
}

/* ---- a part ---- */

/* Its tensors: an input, an output, then the others. */
static void take_tensors(const expr_program *program, uint16_t tensors, expr_program *out,
                         int8_t tensor[PROGRAM_MAX_TENSORS], uint8_t *number) {
  int first[2] = {-1, -1};
  for (int t = program->n_tensors - 1; t >= 0; t--)
    if (tensors >> t & 1) first[program->tensor[t].output] = t;
  out->n_tensors = 0;
  for (int pass = 0; pass < 3; pass++)
    for (int t = 0; t < program->n_tensors; t++) {
      bool begins = t == first[0] || t == first[1];
      if (!(tensors >> t & 1) || (pass < 2 ? t != first[pass] : begins)) continue;
      number[t] = (uint8_t)out->n_tensors;
      tensor[out->n_tensors] = (int8_t)t;
      out->tensor[out->n_tensors++] = program->tensor[t];
    }
}

/* The nodes that the outputs want. */
static void find_wanted(const expr_program *part, const expr_program *program, bool *wanted) {
  memset(wanted, 0, PROGRAM_MAX_NODES * sizeof *wanted);
  for (int t = 0; t < part->n_tensors; t++)
    if (part->tensor[t].output) wanted[part->tensor[t].node] = true;
  for (int i = program->n_nodes - 1; i >= 0; i--)
    for (int k = 0; wanted[i] && k < program->node[i].n_args; k++)
      wanted[program->node[i].arg[k]] = true;
}

void program_take_part(const expr_program *program, const program_parts *parts, int part,
                       expr_program *out, int8_t tensor[PROGRAM_MAX_TENSORS]) {
  uint8_t number[PROGRAM_MAX_TENSORS] = {0}, moved[PROGRAM_MAX_NODES] = {0};
  bool wanted[PROGRAM_MAX_NODES];
  *out = *program;
  take_tensors(program, parts->tensors[part], out, tensor, number);
  find_wanted(out, program, wanted);
  out->n_nodes = 0;
  out->reduced = 0;
  for (int i = 0; i < program->n_nodes; i++) {
    program_node node = program->node[i];
    if (!wanted[i]) continue;
    for (int k = 0; k < node.n_args; k++) node.arg[k] = moved[node.arg[k]];
    if (node.op == EXPR_TENSOR) node.slot = number[node.slot];
    out->reduced |= node.reduced;
    moved[i] = (uint8_t)out->n_nodes;
    out->node[out->n_nodes++] = node;
  }
  for (int t = 0; t < out->n_tensors; t++)
    if (out->tensor[t].output) out->tensor[t].node = moved[out->tensor[t].node];
}
