/* The text of a plan's steps. */
#include "jit/plan/check/plan_print.h"

#include "jit/plan/facts/access.h"
#include "jit/plan/facts/dot_tiling.h"
#include "jit/plan/facts/matrix.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/step_table.h"
#include "jit/plan/types/combine.h"

static void print_map(const plan_map *map, llrt_text *text) {
  static const char *const edges[] = {"relu", "gelu", "silu"};
  const char *from = llrt_dtype_name((llrt_dtype)map->from),
             *to = llrt_dtype_name((llrt_dtype)map->to);
  const char *words = map->words ? " in words of permuted bits" : "";
  switch ((plan_map_kind)map->kind) {
  case PLAN_MAP_XOR:
    llrt_text_add(text, "xor with %#llx", (unsigned long long)map->constant);
    break;
  case PLAN_MAP_CAST: llrt_text_add(text, "cast %s%s to %s", from, words, to); break;
  case PLAN_MAP_TRUTH: llrt_text_add(text, "truth of %s", from); break;
  case PLAN_MAP_MULTIPLY:
    if (map->arg) {
      llrt_text_add(text, "times arg%d", map->arg - 1);
      break;
    }
    llrt_text_add(text, "times a constant");
    break;
  case PLAN_MAP_RELU:
  case PLAN_MAP_GELU:
  case PLAN_MAP_SILU: llrt_text_add(text, "%s", edges[map->kind - PLAN_MAP_RELU]); break;
  case PLAN_MAP_SCALE:
    llrt_text_add(text, "%s%s %s %s to %s", from, words, map->subtracts ? "minus" : "times",
                  llrt_dtype_name((llrt_dtype)map->scale), to);
    if (map->shift) llrt_text_add(text, ", by 2^%d less", map->shift);
    break;
  case PLAN_MAP_WORD_BITS:
    llrt_text_add(text, "bits of 32-bit words from [");
    for (int i = 0; i < 32; i++) llrt_text_add(text, "%s%d", i ? "," : "", map->perm[i]);
    llrt_text_add(text, "]");
    break;
  }
}

/* Bytes of a step's access, half a one for an element of 4 bits; number: the value that it moves.
 */
static double vector_bytes(const plan_kernel *kernel, const plan_step *step, int number) {
  return (double)(kernel->value[number].bits << step->vector) / 8;
}

/* What one access of a shared step moves; number: the value. */
static void print_shared_access(const plan_kernel *kernel, const plan_step *step, int number,
                                llrt_text *text) {
  if (!step->matrix) {
    llrt_text_add(text, ", %g bytes an access", vector_bytes(kernel, step, number));
    return;
  }
  plan_matrix matrix;
  plan_matrix_of(kernel, step, &kernel->value[number], &matrix);
  llrt_text_add(text, ", %d %smatri%s an access", 1 << matrix.count,
                step->matrix == PLAN_MATRIX_TRANSPOSED ? "transposed " : "",
                matrix.count ? "ces" : "x");
}

static void print_repetition(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  int bits = plan_buffer_parts(&kernel->buffer[step->buffer]);
  if (bits > 0) llrt_text_add(text, ", part %d of %d", step->repetition + 1, 1 << bits);
}

static void print_dot_operand(const plan_kernel *kernel, const plan_step *step, int o,
                              llrt_text *text) {
  int value = o ? step->second : step->in;
  dot_tiling tiling;
  llrt_text_add(text, "v%d", value);
  if (!(step->shared >> o & 1) || plan_dot_tiling(kernel, step, &tiling) != LLRT_OK) return;
  llrt_text_add(text, " (shared buffer %d, rows of %d bytes%s)", step->from[o],
                16 << tiling.matrix[o].swizzle, tiling.matrix[o].transposed ? ", transposed" : "");
}

static void print_dot(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  llrt_text_add(text, "v%d + ", step->with);
  print_dot_operand(kernel, step, 0, text);
  llrt_text_add(text, " x ");
  print_dot_operand(kernel, step, 1, text);
  const char *how = step->parts        ? ", part by part"
                    : step->late_sums  ? ", sums of the turn beside, its last in the next one"
                    : step->fresh_sums ? ", sums of the turn beside"
                                       : "";
  llrt_text_add(text, " by %s%s", dot_instruction_at(step->instruction)->name, how);
  dot_tiling tiling;
  if (plan_dot_tiling(kernel, step, &tiling) == LLRT_OK && tiling.leaves) {
    if (tiling.skipped) llrt_text_add(text, ", but for the tile's last quarter");
    else llrt_text_add(text, ", of which %d columns", tiling.columns);
  }
  llrt_text_add(text, " -> ");
  plan_print_value(kernel, step->out, text);
}

static void print_load(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  llrt_text_add(text, "load %s", step->front ? "what lies in front of each group from " : "");
  if (step->staged) llrt_text_add(text, "the staged panel");
  else plan_print_tensor(step->tensor, text);
  llrt_text_add(text, ", %g bytes an access%s%s%s -> ", vector_bytes(kernel, step, step->out),
                step->overhang && !step->loose ? " that overhangs rows" : "",
                step->exact      ? " by words of its own"
                : step->by_words ? " by words"
                                 : "",
                step->loose    ? ", loosely masked"
                : step->parted ? ", lanes masked"
                : step->masked ? ", masked"
                               : "");
  plan_print_value(kernel, step->out, text);
}

static void print_store(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  llrt_text_add(text, "store v%d to ", step->in);
  if (step->staged) llrt_text_add(text, "the panel");
  else plan_print_tensor(step->tensor, text);
  llrt_text_add(text, ", %g bytes an access%s%s%s", vector_bytes(kernel, step, step->in),
                step->overhang ? " that overhangs rows" : "",
                step->parted   ? kernel->value[step->in].bits < 8 ? ", of which halves may be kept"
                                 : kernel->target.simd_lanes      ? ", lanes masked"
                                                                  : ", masked by elements"
                : step->masked ? ", masked"
                               : "",
                step->streaming ? ", streaming" : "");
  if (step->overhang && kernel->value[step->in].bits < 8)
    llrt_text_add(text, ", v%d in front", step->second);
}

static void print_stage(const plan_kernel *kernel, llrt_text *text) {
  const plan_panel *panel = &kernel->panel;
  if (panel->gathered)
    llrt_text_add(text, "stage what i0 chooses from: at most %lld values, %d elements of each",
                  (long long)panel->most, 1 << panel->width);
  else
    llrt_text_add(text, "%s a panel of %lld elements, %d bytes an access",
                  panel->tensor == 0 ? "stage" : "copy out", (long long)panel->elements,
                  1 << panel->unit);
}

static void print_copy(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  const plan_buffer *buffer = &kernel->buffer[step->buffer];
  llrt_text_add(text, "copy tensor %d to shared buffer %d (%d slots of %d bytes), ", step->tensor,
                step->buffer, buffer->slots, buffer->bytes);
  if (step->box) {
    const plan_box *box = &kernel->launch.box[step->box - 1];
    if (box->runs)
      llrt_text_add(text, "by boxes of %d runs of %d bytes", box->size[1],
                    box->size[0] << box->bytes);
    else llrt_text_add(text, "by boxes of %d x %d elements", box->size[1], box->size[0]);
    if (box->single) llrt_text_add(text, ", line by line");
    if (box->rest) llrt_text_add(text, ", at the end of what is left");
    if (box->parts) llrt_text_add(text, ", each to %d blocks", 1 << box->parts);
    return;
  }
  llrt_text_add(text, "%g bytes an access%s%s, laid out as ", vector_bytes(kernel, step, step->in),
                step->masked ? ", masked" : "", step->lines ? ", by lines of memory" : "");
  plan_print_value(kernel, step->in, text);
}

static void print_collect(const plan_step *step, llrt_text *text) {
  llrt_text_add(text, "collect %d elements", step->elements);
  if (step->rows > 1) llrt_text_add(text, " %d times, %d apart", step->rows, step->pitch);
  llrt_text_add(text, ", stored behind these steps, lines past the caches:");
}

/* Steps that move elements between memory and threads, or to shared memory. */
static void print_memory(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_LOAD: print_load(kernel, step, text); break;
  case PLAN_STORE: print_store(kernel, step, text); break;
  case PLAN_STAGE: print_stage(kernel, text); break;
  case PLAN_COPY: print_copy(kernel, step, text); break;
  case PLAN_COLLECT: print_collect(step, text); break;
  case PLAN_PREFETCH:
    if (!kernel->target.simd_lanes) {
      llrt_text_add(text, "ask for %d elements of t%d, %d blocks of each multiprocessor later",
                    step->reach, step->tensor, step->turns);
      break;
    }
    llrt_text_add(text, "ask for t%d in the next block, %d elements an access, as ", step->tensor,
                  1 << step->vector);
    plan_print_value(kernel, step->in, text);
    break;
  case PLAN_COPIED:
    llrt_text_add(text, "await all copies but those of %d groups", step->turns);
    break;
  case PLAN_REPORT:
    llrt_text_add(text, "count values of i%d that are out of range", step->index);
    break;
  default: plan_print_kind(step, text);
  }
}

static void print_gather(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  llrt_text_add(text, "gather v%d by v%d along tile bits %d to %d", step->in, step->second,
                step->axis, step->axis + step->axis_bits - 1);
  if (step->staged) llrt_text_add(text, " from shared buffer %d", step->buffer);
  else llrt_text_add(text, " inside warps");
  llrt_text_add(text, " -> ");
  plan_print_value(kernel, step->out, text);
}

/* Steps inside a block, that move what it holds or map it. */
static void print_exchange(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_REGISTERS:
    llrt_text_add(text, "rename registers of v%d -> ", step->in);
    plan_print_value(kernel, step->out, text);
    break;
  case PLAN_SHUFFLE:
    llrt_text_add(text, "shuffle lanes of v%d -> ", step->in);
    plan_print_value(kernel, step->out, text);
    break;
  case PLAN_SHARED_STORE:
    llrt_text_add(text, "store v%d to shared buffer %d (%d bytes)%s", step->in, step->buffer,
                  kernel->buffer[step->buffer].bytes,
                  kernel->buffer[step->buffer].pushed ? " of the blocks that load it" : "");
    print_shared_access(kernel, step, step->in, text);
    print_repetition(kernel, step, text);
    break;
  case PLAN_BARRIER:
    llrt_text_add(text, "%s",
                  step->pushed                             ? "await all of the pushed buffer"
                  : kernel->cluster_bits > 0 && !step->own ? "barrier of the cluster"
                                                           : "barrier");
    break;
  case PLAN_SHARED_LOAD:
    llrt_text_add(text, "load shared buffer %d%s", step->buffer,
                  plan_is_local(kernel, step->buffer, &kernel->value[step->out])
                      ? ""
                      : " of the cluster's blocks");
    print_shared_access(kernel, step, step->out, text);
    print_repetition(kernel, step, text);
    llrt_text_add(text, " -> ");
    plan_print_value(kernel, step->out, text);
    break;
  case PLAN_MAP:
    llrt_text_add(text, "map v%d, ", step->in);
    print_map(&kernel->map[step->map], text);
    if (step->by_value) llrt_text_add(text, " of v%d", step->second);
    else if (kernel->map[step->map].kind == PLAN_MAP_SCALE)
      llrt_text_add(text, ", scales from tensor %d", step->tensor);
    llrt_text_add(text, " -> v%d", step->out);
    break;
  case PLAN_PICK:
    llrt_text_add(text, "each warp keeps its part of v%d -> ", step->in);
    plan_print_value(kernel, step->out, text);
    break;
  case PLAN_GATHER: print_gather(kernel, step, text); break;
  case PLAN_OPAQUE:
    llrt_text_add(text, "hide v%d from compilers -> v%d", step->in, step->out);
    break;
  default: plan_print_kind(step, text);
  }
}

static void print_loop(const plan_step *step, llrt_text *text) {
  llrt_text_add(text, "loop %d times", 1 << step->iterations);
  if (step->joins) llrt_text_add(text, " with v%d, at first v%d", step->out, step->in);
  if (step->nested) llrt_text_add(text, ", then v%d", step->with);
  if (step->turned) llrt_text_add(text, ", in every turn of its walk");
  llrt_text_add(text, ":");
}

/* Steps that say whether and how often others are done. */
static void print_control(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_IF_PRESENT:
    if (step->looped) llrt_text_add(text, "if v%d is not beyond all:", step->in);
    else llrt_text_add(text, "if the block has something to do:");
    break;
  case PLAN_IF_INTERIOR:
    if (step->in_ring)
      llrt_text_add(text,
                    "if the turn is one of the first %d:", kernel->buffer[step->in_ring - 1].slots);
    else if (step->holds)
      llrt_text_add(text, "if position v%d may be v%d or differ in bits 0x%llx:", step->second,
                    step->in, (unsigned long long)step->number.value);
    else if (step->by_values && step->vector == 0)
      llrt_text_add(text, "if the first two values of i%d follow each other:", step->by_values - 1);
    else if (step->by_values)
      llrt_text_add(text, "if values of i%d follow each other, %d from a multiple of %d on:",
                    step->by_values - 1, 1 << step->vector, 1 << step->vector);
    else if (step->looped)
      llrt_text_add(text, "if v%d is inside every bound%s:", step->in,
                    step->ignored_bounds ? " of kept axes" : "");
    else llrt_text_add(text, "if the block is inside every bound:");
    break;
  case PLAN_LOOP: print_loop(step, text); break;
  case PLAN_REPEAT:
    llrt_text_add(text, "repeat %d times with v%d, at first v%d:", step->turns, step->out,
                  step->in);
    break;
  case PLAN_AHEAD:
    if (!kernel->lookback.queued) llrt_text_add(text, "ahead by %d turns:", step->turns);
    else llrt_text_add(text, step->turns ? "of the next ticket:" : "of the first ticket:");
    break;
  default: plan_print_kind(step, text);
  }
}

/* Steps of a product, and of the warps that copy for it. */
static void print_product(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  switch ((plan_step_kind)step->kind) {
  case PLAN_DOT: print_dot(kernel, step, text); break;
  case PLAN_MULTIPLIED:
    llrt_text_add(text, "await all products but those of %d groups", step->turns);
    if (step->turns == 0) llrt_text_add(text, ": v%d -> v%d", step->in, step->out);
    break;
  case PLAN_ROLES:
    llrt_text_add(text, "roles: %s%d more warps produce, into %d slots",
                  kernel->team_bits > 0 ? "two teams take positions by turns, " : "",
                  kernel->producers, kernel->slots);
    break;
  case PLAN_PRODUCE: llrt_text_add(text, "producers, ahead as far as slots are free:"); break;
  case PLAN_LANDED:
    llrt_text_add(text, "await the turn's boxes, which begin %d turns early", step->turns);
    break;
  case PLAN_FILLED: llrt_text_add(text, "await the turn's slots to be filled"); break;
  case PLAN_SEND:
    llrt_text_add(text, "send shared buffer %d to %s by boxes of %d x %d elements", step->buffer,
                  step->tensor == PLAN_DESTINATION ? "destination" : "a tensor",
                  kernel->launch.box[step->box - 1].size[1],
                  kernel->launch.box[step->box - 1].size[0]);
    break;
  case PLAN_SENT: llrt_text_add(text, "await that what was sent has been read"); break;
  case PLAN_RELEASE: llrt_text_add(text, "free the slots of %d turns before", step->turns); break;
  case PLAN_SETTLE:
    llrt_text_add(text,
                  "v%d -> v%d with the sums of blocks that were dealt turns before; where others "
                  "are dealt turns behind,"
                  " it goes to them, else:",
                  step->in, step->out);
    break;
  default: plan_print_kind(step, text);
  }
}

void plan_print_step(const plan_kernel *kernel, int at, int depth, llrt_text *text) {
  static void (*const families[])(const plan_kernel *, const plan_step *, llrt_text *) = {
      [PLAN_OF_MEMORY] = print_memory,
      [PLAN_OF_EXCHANGE] = print_exchange,
      [PLAN_OF_CONTROL] = print_control,
      [PLAN_OF_PRODUCTS] = print_product,
      [PLAN_OF_COMBINING] = plan_print_combining,
  };
  const plan_step *step = &kernel->step[at];
  llrt_text_add(text, "%*s", 2 + 2 * depth, "");
  families[plan_step_row_of(step->kind)->family](kernel, step, text);
  llrt_text_add(text, "\n");
}
