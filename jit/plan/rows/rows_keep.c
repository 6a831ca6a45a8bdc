/* What several walks of a row want: the first one keeps what it has loaded in shared memory, a
 * place for each turn, and the others have it from there. Where all walks want of several tensors
 * is a value of 16 bits that is made of them, that stays in their place. Each thread reads what it
 * has stored itself, so nobody waits, and rows that are not aligned are shifted once. Only where a
 * row's length is known, and all of the row has room. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/buffer_use.h"
#include "jit/plan/facts/value.h"

#include <string.h>

/* Of a multiprocessor's shared memory what a block takes beside, and other buffers: of joins. */
#define BESIDE_BYTES 3072
#define MAX_SLOTS 255
/* Of a multiprocessor's shared memory what the device takes for each block (CUDA C++ Programming
 * Guide, "Compute Capabilities": 228 KB, of which a block may have 227). */
#define DEVICE_BYTES 1024

/* ---- who wants what ---- */

/* Of each node whether making its value in a turn takes node `of`; what stays in place of what it
 * is made of takes nothing. */
static void find_wanting(const rows *r, int of, bool *wants) {
  for (int i = 0; i < r->program->n_nodes; i++) {
    const program_node *node = &r->program->node[i];
    bool joined = node->reduced && !program_scans(node->op);
    wants[i] = i == of;
    if (joined || r->cut[i] || !rows_walks(r, i)) continue;
    for (int k = 0; k < node->n_args; k++) wants[i] |= wants[node->arg[k]];
  }
}

/* How many walks want the node's value. */
static int count_walks(const rows *r, int of) {
  const expr_program *program = r->program;
  bool wants[PROGRAM_MAX_NODES], walk[PROGRAM_MAX_NODES] = {false}, written = false;
  int n = 0;
  find_wanting(r, of, wants);
  for (int i = 0; i < program->n_nodes; i++) {
    const program_node *node = &program->node[i];
    if (!node->reduced || program_scans(node->op) || !wants[node->arg[0]]) continue;
    int leader = rows_leader(r, i);
    n += !walk[leader];
    walk[leader] = true;
  }
  for (int t = 0; t < program->n_tensors; t++)
    written |= program->tensor[t].output && (program->tensor[t].axes & program->reduced) &&
               wants[program->tensor[t].node];
  return n + written;
}

/* Whether a tensor differs from row to row: it has all axes but those that are joined. */
static bool is_of_rows(const rows *r, int node) {
  const expr_program *program = r->program;
  uint32_t all = 0;
  for (int t = 0; t < program->n_tensors; t++) all |= program->tensor[t].axes;
  return !(all & ~(uint32_t)(program->node[node].axes | program->reduced));
}

/* ---- what stays in place of what it is made of ---- */

/* Whether that takes less room: walks want of the tensors below nothing else, and the first one
 * alone has to read them. */
static bool pays(rows *r, int cut) {
  bool wants[PROGRAM_MAX_NODES];
  int bits = 0;
  if (count_walks(r, cut) < 2) return false;
  for (int i = 0; i < cut; i++) {
    if (r->program->node[i].op != EXPR_TENSOR || !rows_walks(r, i)) continue;
    r->cut[cut] = false;
    find_wanting(r, i, wants);
    r->cut[cut] = true;
    if (!wants[cut]) continue;
    if (count_walks(r, i) > 0) return false;
    if (is_of_rows(r, i)) bits += r->d.kernel->tensor_bits[r->program->node[i].slot];
  }
  return bits > llrt_dtype_bits((llrt_dtype)r->program->node[cut].through);
}

bool rows_has_cut(const rows *r) {
  rows trial = *r;
  bool any = false;
  trial.resident = trial.clusters = false;
  trial.may_keep = true;
  rows_find_cuts(&trial);
  for (int i = 0; i < r->program->n_nodes; i++) any |= trial.cut[i];
  return any;
}

void rows_find_cuts(rows *r) {
  bool walks = !r->resident && r->may_keep && !r->d.kernel->target.simd_lanes;
  for (int i = r->program->n_nodes - 1; i >= 0 && walks; i--) {
    const program_node *node = &r->program->node[i];
    bool halves = node->through == LLRT_BF16 || node->through == LLRT_F16;
    if (node->op != EXPR_CAST || node->from != LLRT_F32 || node->type != LLRT_F32 || !halves ||
        !rows_walks(r, i) || !is_of_rows(r, i))
      continue;
    r->cut[i] = true;
    r->cut[i] = pays(r, i);
  }
}

/* ---- room ---- */

int64_t rows_turns(const rows *r) {
  const plan_kernel *kernel = r->d.kernel;
  int64_t turns = 1;
  for (int a = 0; a < r->program->rank; a++) {
    int digits = 0, bits = bits_count(r->of_axis[a]);
    if (!(r->program->reduced >> a & 1)) continue;
    for (int i = 0; i < kernel->n_digits; i++) digits += kernel->digit[i].axis == a;
    if (digits > 1 || r->d.shape[a].known < 0) return 0;
    turns *= (r->d.shape[a].known + (1ll << bits) - 1) >> bits;
  }
  return turns;
}

/* Elements as threads have them: those of an access, then those of the next lane, so that accesses
 * of a warp lie beside each other. */
llrt_status rows_ring_layout(const rows *r, const plan_value *value, llrt_layout *out) {
  static const plan_dim order[3] = {PLAN_LANE, PLAN_REGISTER, PLAN_WARP};
  const uint64_t *registers = plan_value_columns(value, PLAN_REGISTER);
  int cluster = r->d.kernel->cluster_bits, bits = r->d.tile_bits - cluster, n = 0;
  int vector = rows_kept_vector(r, value), own = plan_value_bits(value, PLAN_WARP) - cluster;
  *out = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(out, value->layout.out[0].name, r->d.tile_bits));
  LLRT_TRY(llrt_layout_add_in(out, "offset", bits));
  LLRT_TRY(llrt_layout_add_in(out, "repetition", 0));
  LLRT_TRY(llrt_layout_add_in(out, "block", cluster));
  for (int i = 0; i < vector; i++) out->column[n++] = registers[i];
  for (int d = 0; d < 3; d++) {
    const uint64_t *columns = plan_value_columns(value, order[d]);
    int from = order[d] == PLAN_REGISTER ? vector : 0;
    int to = order[d] == PLAN_WARP ? own : plan_value_bits(value, order[d]);
    for (int i = from; i < to; i++)
      if (columns[i]) out->column[n++] = columns[i];
  }
  for (int i = 0; i < cluster; i++)
    out->column[bits + i] = plan_value_columns(value, PLAN_WARP)[own + i];
  return n == bits ? LLRT_OK : llrt_error(LLRT_INTERNAL, "a turn has elements that no thread has");
}

int rows_kept_vector(const rows *r, const plan_value *value) {
  int most = bits_log2(r->d.kernel->target.access_bytes * 8 / value->bits);
  return bits_min(most, plan_value_bits(value, PLAN_REGISTER));
}

static bool has_copies(const plan_value *value) {
  bool any = false;
  for (int i = 0; i < llrt_layout_in_bits(&value->layout); i++) any |= value->layout.column[i] == 0;
  return any;
}

/* How a kept node's elements lie in threads. */
static llrt_status kept_value(rows *r, int node, plan_value *value) {
  const program_node *own = &r->program->node[node];
  if (!r->cut[node]) return rows_tensor_value(r, own->slot, value);
  LLRT_TRY(rows_layout(r, rows_bits_of(r, own->axes), 32, value));
  *value = draft_retyped(&r->d, value, llrt_dtype_bits((llrt_dtype)own->through));
  return LLRT_OK;
}

/* Whether a node is kept if there is room: several walks want it. */
static bool is_shared(const rows *r, int node) {
  bool whole = r->program->node[node].op == EXPR_TENSOR || r->cut[node];
  return whole && rows_walks(r, node) && count_walks(r, node) > 1;
}

/* Whether walks share the value of a node, and each thread reads of it what it has stored itself.
 * bytes: of a turn. */
static llrt_status may_keep(rows *r, int node, bool *may, int64_t *bytes) {
  plan_value value;
  *may = is_shared(r, node);
  if (!*may) return LLRT_OK;
  LLRT_TRY(kept_value(r, node, &value));
  *may = !has_copies(&value) && value.bits >= 8 &&
         plan_tile_bits_in(r->d.kernel, &value) == bits_mask(r->d.tile_bits);
  *bytes = ((int64_t)value.bits << (r->d.tile_bits - r->d.kernel->cluster_bits)) / 8;
  return LLRT_OK;
}

/* Gives the node a ring of so many turns, if there is room for it. */
static llrt_status add_ring(rows *r, int node, int64_t turns, int64_t room) {
  plan_kernel *kernel = r->d.kernel;
  plan_value value;
  LLRT_TRY(kept_value(r, node, &value));
  int64_t bytes = ((int64_t)value.bits << (r->d.tile_bits - kernel->cluster_bits)) / 8,
          begin = plan_ring_bytes(kernel);
  if (begin + bytes * turns > room || kernel->n_buffers == PLAN_MAX_BUFFERS) return LLRT_OK;
  plan_buffer *ring = &kernel->buffer[kernel->n_buffers];
  *ring = (plan_buffer){.bytes = (int32_t)bytes,
                        .offset = (int32_t)begin,
                        .slots = (uint8_t)turns,
                        .bits = value.bits};
  LLRT_TRY(rows_ring_layout(r, &value, &ring->layout));
  r->kept[node] = kernel->n_buffers++;
  return LLRT_OK;
}

int rows_shared_bits(const rows *r, int *tensors) {
  const program_node *node = r->program->node;
  int bits = 0;
  *tensors = 0;
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (!is_of_rows(r, i) || !is_shared(r, i)) continue;
    bits += r->cut[i] ? llrt_dtype_bits((llrt_dtype)node[i].through)
                      : r->d.kernel->tensor_bits[node[i].slot];
    ++*tensors;
  }
  return bits;
}

/* Of a multiprocessor's shared memory a part for each block, but for what the device takes of it.
 */
int64_t rows_room(const rows *r, int blocks) {
  const plan_kernel *kernel = r->d.kernel;
  int64_t room = (kernel->target.facts.shared_bytes + DEVICE_BYTES) / blocks - DEVICE_BYTES;
  if (room > kernel->target.tuning->rows_kept_bytes) room = kernel->target.tuning->rows_kept_bytes;
  return room - BESIDE_BYTES;
}

/* Rings of rows, or what is left for what all rows share, which is near as it is. */
static llrt_status add_rings(rows *r, bool of_rows, int64_t turns, int64_t room) {
  int64_t bytes;
  bool may;
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (is_of_rows(r, i) != of_rows) continue;
    LLRT_TRY(may_keep(r, i, &may, &bytes));
    if (may) LLRT_TRY(add_ring(r, i, turns, room));
  }
  return LLRT_OK;
}

llrt_status rows_begin_keeping(rows *r) {
  plan_kernel *kernel = r->d.kernel;
  int64_t turns = rows_turns(r), room = rows_room(r, bits_max(r->walk_blocks, 1)), bytes, all = 0;
  bool keeps = r->may_keep && !kernel->target.simd_lanes && kernel->walk.split < 0, may;
  if (!keeps || turns < 1) return LLRT_OK;
  for (int i = 0; i < r->program->n_nodes; i++) {
    if (!is_of_rows(r, i)) continue;
    LLRT_TRY(may_keep(r, i, &may, &bytes));
    if (may) all += bytes;
  }
  if (r->walk_blocks > 0 && all > 0 && all * turns > room) turns = room / all;
  if (turns < 1 || turns > MAX_SLOTS) return LLRT_OK;
  LLRT_TRY(add_rings(r, true, turns, room));
  LLRT_TRY(add_rings(r, false, turns, room));
  r->d.keeps = plan_ring_bytes(kernel) > 0;
  return LLRT_OK;
}

/* ---- steps ---- */

bool rows_keeps_part(const rows *r, int node) {
  return r->d.kernel->buffer[r->kept[node]].slots < rows_turns(r);
}

/* Stores the value of a kept node, loaded[node], in its ring. */
static llrt_status keep(rows *r, int node) {
  plan_kernel *kernel = r->d.kernel;
  int value = r->loaded[node];
  r->is_kept[node] = true;
  if (rows_keeps_part(r, node))
    LLRT_TRY(draft_step(
        kernel,
        (plan_step){.kind = PLAN_IF_INTERIOR, .in_ring = (uint8_t)(r->kept[node] + 1), .body = 1}));
  return draft_step(kernel,
                    (plan_step){.kind = PLAN_SHARED_STORE,
                                .in = (uint8_t)value,
                                .buffer = (uint8_t)r->kept[node],
                                .vector = (uint8_t)rows_kept_vector(r, &kernel->value[value])});
}

llrt_status rows_keep_loaded(rows *r) {
  for (int i = 0; i < r->program->n_nodes; i++)
    if (r->kept[i] != ROWS_NONE && !r->is_kept[i] && r->loaded[i] != ROWS_NONE)
      LLRT_TRY(keep(r, i));
  return LLRT_OK;
}

/* The cast that stays, of what it is made of: *value, its 16-bit elements. */
static llrt_status make_cut(rows *r, int number, int *value) {
  const program_node *node = &r->program->node[number];
  LLRT_TRY(rows_make_node(r, node->arg[0]));
  *value = r->value[node->arg[0]];
  return draft_cast(&r->d, (llrt_dtype)node->from, (llrt_dtype)node->through, value);
}

/* The same in a turn that has no room, as value loaded[number]. What it is made of is of this
 * branch alone. */
static llrt_status make_again(rows *r, int number) {
  int before[2][PROGRAM_MAX_NODES], made;
  memcpy(before[0], r->value, sizeof before[0]);
  memcpy(before[1], r->loaded, sizeof before[1]);
  LLRT_TRY(rows_fetch_for(r, r->program->node[number].arg[0]));
  LLRT_TRY(make_cut(r, number, &made));
  memcpy(r->value, before[0], sizeof before[0]);
  memcpy(r->loaded, before[1], sizeof before[1]);
  r->d.kernel->step[r->d.kernel->n_steps - 1].out = (uint8_t)r->loaded[number];
  return LLRT_OK;
}

llrt_status rows_load_kept(rows *r, int node, const plan_value *laid_out) {
  plan_kernel *kernel = r->d.kernel;
  int branch = kernel->n_steps;
  bool part = rows_keeps_part(r, node);
  LLRT_TRY(draft_value(kernel, laid_out, &r->loaded[node]));
  if (part)
    LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_IF_INTERIOR,
                                            .in_ring = (uint8_t)(r->kept[node] + 1),
                                            .joins = true,
                                            .body = 1,
                                            .out = (uint8_t)r->loaded[node]}));
  LLRT_TRY(draft_step(kernel, (plan_step){.kind = PLAN_SHARED_LOAD,
                                          .out = (uint8_t)r->loaded[node],
                                          .buffer = (uint8_t)r->kept[node],
                                          .vector = (uint8_t)rows_kept_vector(r, laid_out)}));
  if (!part) return LLRT_OK;
  if (r->cut[node]) LLRT_TRY(make_again(r, node));
  else LLRT_TRY(rows_load_elements(r, node, laid_out));
  kernel->step[branch].otherwise = (uint8_t)(kernel->n_steps - branch - 2);
  return LLRT_OK;
}

bool rows_is_cut(const rows *r, int node) { return r->cut[node] && r->kept[node] != ROWS_NONE; }

llrt_status rows_make_cut(rows *r, int number, int *value) {
  const program_node *node = &r->program->node[number];
  plan_value laid_out;
  if (r->is_kept[number]) {
    LLRT_TRY(kept_value(r, number, &laid_out));
    LLRT_TRY(rows_load_kept(r, number, &laid_out));
  } else {
    LLRT_TRY(make_cut(r, number, &r->loaded[number]));
    LLRT_TRY(keep(r, number));
  }
  *value = r->loaded[number];
  return rows_cast(r, (llrt_dtype)node->through, (llrt_dtype)node->type, value);
}
