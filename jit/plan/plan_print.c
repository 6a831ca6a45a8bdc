/* The text of `llrt explain`: what a plan does, for people. */
#include "jit/plan/combine.h"
#include "jit/plan/cycles.h"
#include "jit/plan/dot_tiling.h"
#include "jit/plan/access.h"

#include "base/text.h"
#include "jit/plan/combine.h"

#include <stdio.h>

static void print_quotient(const plan_arg *arg, const char *rounding, llrt_text *text) {
  const char *name = arg->padded ? "padded" : "n";
  if (arg->factor == 1) llrt_text_add(text, "%s%d", name, arg->index);
  else llrt_text_add(text, "%s(%s%d/%lld)", rounding, name, arg->index, (long long)arg->factor);
}

static void print_number(const plan_kernel *kernel, const plan_number *number, llrt_text *text) {
  if (number->arg < 0) {
    llrt_text_add(text, "%lld", (long long)number->value);
    return;
  }
  const plan_arg *arg = &kernel->launch.arg[number->arg];
  switch ((plan_arg_kind)arg->kind) {
    case PLAN_ARG_STRIDE:
      llrt_text_add(text, "stride(t%d.%d)", arg->tensor, arg->index);
      if (arg->factor != 1) llrt_text_add(text, "*%lld", (long long)arg->factor);
      break;
    case PLAN_ARG_CEIL: print_quotient(arg, "ceil", text); break;
    case PLAN_ARG_FLOOR: print_quotient(arg, "floor", text); break;
    case PLAN_ARG_ROUND_UP:
      print_quotient(arg, "ceil", text);
      llrt_text_add(text, "*%lld", (long long)arg->factor);
      break;
    default: llrt_text_add(text, "arg%d", number->arg); break;
  }
}

static void print_side(const plan_kernel *kernel, int i, int tensor, llrt_text *text) {
  const plan_digit *digit = &kernel->digit[i];
  const plan_digit_side *side = &digit->side[tensor];
  llrt_text_add(text, tensor == 0 ? "  source " : tensor == 1 ? "  destination " : "  scale ");
  if (side->kind == PLAN_INDEXED) {
    llrt_text_add(text, "by index");
    return;
  }
  if (side->kind == PLAN_COLUMNS) {
    int shift = llrt_layout_out_shift(&kernel->space, i);
    llrt_text_add(text, "bits [");
    for (int b = 0; b < digit->bits; b++)
      llrt_text_add(text, "%s%llu", b ? "," : "",
                    (unsigned long long)kernel->column[tensor][shift + b]);
    llrt_text_add(text, "]");
    if (!digit->rest) return;
    llrt_text_add(text, " above ");
  }
  llrt_text_add(text, "stride ");
  print_number(kernel, &side->stride, text);
}

static void print_index(const plan_kernel *kernel, int number, llrt_text *text) {
  static const char *const policies[] = {[LLRT_RANGE_SKIP] = "skip", [LLRT_RANGE_ZERO] = "zero",
                                         [LLRT_RANGE_CLAMP] = "clamp",
                                         [LLRT_RANGE_REPORT] = "report"};
  const plan_index *index = &kernel->index[number];
  llrt_text_add(text, "  i%d: %s, %d-bit %s", number,
                index->tensor == 0 ? "source" : "destination", index->wide ? 64 : 32,
                index->kind == LLRT_INDEX_POINTER ? "addresses by axes [" : "coordinates by axes [");
  for (int axis = 0, n = 0; axis < LLRT_MAX_RANK; axis++)
    if (index->axes >> axis & 1) llrt_text_add(text, "%s%d", n++ ? "," : "", axis);
  llrt_text_add(text, "], out of range: %s, one value a %s", policies[index->out_of_range],
                index->uniform ? "block" : "vector");
  if (index->tile_bits) llrt_text_add(text, "; %d bits in the tile", index->tile_bits);
  for (int i = 0; i < index->n_parts; i++) {
    if (i + 1 == index->n_parts) llrt_text_add(text, "; the rest, stride ");
    else llrt_text_add(text, "; %lld, stride ", (long long)index->part[i].extent);
    print_number(kernel, &index->part[i].stride, text);
  }
  llrt_text_add(text, "\n");
}

static void print_digits(const plan_kernel *kernel, llrt_text *text) {
  for (int i = 0; i < kernel->n_digits; i++) {
    const plan_digit *digit = &kernel->digit[i];
    int shift = llrt_layout_out_shift(&kernel->space, i);
    if (kernel->halves && digit->axis < 0 && kernel->column[0][shift] == 1)
      llrt_text_add(text, "  d%d: halves of an element;", i);
    else if (digit->axis < 0) llrt_text_add(text, "  d%d: copies, %d bits;", i, digit->bits);
    else llrt_text_add(text, "  d%d: axis %d / %lld, %d bits", i, digit->axis,
                       (long long)digit->step, digit->bits);
    if (digit->rest) {
      llrt_text_add(text, " + rest ");
      print_number(kernel, &digit->upper, text);
    }
    for (int t = 0; t < kernel->n_tensors; t++) print_side(kernel, i, t, text);
    llrt_text_add(text, "\n");
  }
}

static void print_bounds(const plan_kernel *kernel, llrt_text *text) {
  for (int i = 0; i < kernel->n_bounds; i++) {
    const plan_bound *bound = &kernel->bound[i];
    if (bound->axis >= 0) llrt_text_add(text, "  bound: axis %d < ", bound->axis);
    else llrt_text_add(text, "  bound: d%d < ", bound->top);
    print_number(kernel, &bound->limit, text);
    if (bound->device) llrt_text_add(text, " or device extent, multiple of %lld", (long long)bound->round);
    llrt_text_add(text, " to %s%s%s\n", bound->tensors & 1 ? "load" : "",
                  bound->tensors == 3 ? " and " : "", bound->tensors & 2 ? "store" : "");
  }
  for (int i = 0; i < kernel->n_terms; i++) {
    const plan_term *term = &kernel->term[i];
    llrt_text_add(text, "  source: axis %d / %lld", term->axis, (long long)term->step);
    if (term->extent) llrt_text_add(text, " mod %lld", (long long)term->extent);
    llrt_text_add(text, term->bits ? " by columns\n" : " * ");
    if (term->bits) continue;
    print_number(kernel, &term->stride, text);
    llrt_text_add(text, "\n");
  }
  for (int t = 0; t < kernel->n_tensors; t++)
    if (kernel->swizzle[t].swizzle_len)
      llrt_text_add(text, "  swizzle of t%d: [%d,%d,%d]\n", t, kernel->swizzle[t].per_element,
                    kernel->swizzle[t].swizzle_len, kernel->swizzle[t].atom_len);
}

static void print_dim(const plan_value *value, plan_dim dim, llrt_text *text) {
  int n = plan_value_bits(value, dim);
  if (n == 0) return;
  llrt_text_add(text, " %s=[", value->layout.in[dim].name);
  for (int i = 0; i < n; i++)
    llrt_text_add(text, "%s%llu", i ? "," : "",
                  (unsigned long long)plan_value_columns(value, dim)[i]);
  llrt_text_add(text, "]");
}

static void print_value(const plan_kernel *kernel, int i, llrt_text *text) {
  const plan_value *value = &kernel->value[i];
  llrt_text_add(text, "v%d:", i);
  print_dim(value, PLAN_REGISTER, text);
  print_dim(value, PLAN_LANE, text);
  print_dim(value, PLAN_WARP, text);
  print_dim(value, PLAN_ITERATION, text);
  if (value->word) llrt_text_add(text, " (%d elements a word)", 1 << value->word);
}

static void print_map(const plan_map *map, llrt_text *text) {
  if (map->kind == PLAN_MAP_XOR) {
    llrt_text_add(text, "xor with %#llx", (unsigned long long)map->constant);
    return;
  }
  if (map->kind == PLAN_MAP_CAST) {
    llrt_text_add(text, "cast %s%s to %s", llrt_dtype_name((llrt_dtype)map->from),
                  map->words ? " in words of permuted bits" : "", llrt_dtype_name((llrt_dtype)map->to));
    return;
  }
  if (map->kind == PLAN_MAP_TRUTH) {
    llrt_text_add(text, "truth of %s", llrt_dtype_name((llrt_dtype)map->from));
    return;
  }
  if (map->kind >= PLAN_MAP_MULTIPLY && map->kind <= PLAN_MAP_SILU) {
    static const char *const names[] = {"times a constant", "relu", "gelu", "silu"};
    llrt_text_add(text, "%s", names[map->kind - PLAN_MAP_MULTIPLY]);
    return;
  }
  if (map->kind == PLAN_MAP_SCALE) {
    llrt_text_add(text, "%s%s %s %s to %s", llrt_dtype_name((llrt_dtype)map->from),
                  map->words ? " in words of permuted bits" : "", map->subtracts ? "minus" : "times",
                  llrt_dtype_name((llrt_dtype)map->scale), llrt_dtype_name((llrt_dtype)map->to));
    if (map->shift) llrt_text_add(text, ", by 2^%d less", map->shift);
    return;
  }
  llrt_text_add(text, "bits of 32-bit words from [");
  for (int i = 0; i < 32; i++) llrt_text_add(text, "%s%d", i ? "," : "", map->perm[i]);
  llrt_text_add(text, "]");
}

/* Bytes of a step's access, half a one for an element of 4 bits; number: the value that it moves. */
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

static void print_scan(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  const plan_order *order = &kernel->order[step->order];
  llrt_text_add(text, "%s%s scan (%s, %s) of v%d along tile bits [", step->exclusive ? "exclusive" : "inclusive",
                step->reverse ? " reverse" : "", combine_name(step->combiner),
                llrt_dtype_name((llrt_dtype)step->type), step->in);
  for (int i = 0; i < order->n; i++) llrt_text_add(text, "%s%d", i ? "," : "", order->bit[i]);
  llrt_text_add(text, "] -> v%d, total ", step->out);
  print_value(kernel, step->total, text);
}

/* The step's value `key`, of a pair with its positions. */
static void print_pair(const plan_step *step, int key, int index, llrt_text *text) {
  if (step->pairs) llrt_text_add(text, "(v%d, v%d)", key, index);
  else llrt_text_add(text, "v%d", key);
}

static void print_walk(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  const plan_turns *walk = &kernel->walk;
  if (kernel->lookback.queued) {
    llrt_text_add(text, "for each ticket that the block draws:");
    return;
  }
  llrt_text_add(text, "walk");
  for (int i = 0; i < walk->n_places; i++) {
    if (walk->place[i].digit < 0) {
      llrt_text_add(text, " grid bits (%d)", walk->place[i].bits);
      continue;
    }
    llrt_text_add(text, " d%d (", walk->place[i].digit);
    print_number(kernel, &walk->place[i].count, text);
    llrt_text_add(text, ")");
  }
  llrt_text_add(text, "%s", walk->split < 0 ? "" : ", a share of it,");
  if (step->bare) {
    llrt_text_add(text, ":");
    return;
  }
  llrt_text_add(text, " with ");
  print_pair(step, step->out, step->index_out, text);
  llrt_text_add(text, ", at first ");
  print_pair(step, step->in, step->index_in, text);
  if (step->ahead) llrt_text_add(text, ", %d steps a turn ahead", step->ahead);
  llrt_text_add(text, ":");
}

/* The last axis counts single positions. */
static void print_positions(const plan_kernel *kernel, llrt_text *text) {
  bool one = (kernel->position_axes & (kernel->position_axes - 1)) == 0;
  llrt_text_add(text, one ? "positions along axis" : "positions along axes");
  for (int a = 0; a < LLRT_MAX_RANK; a++) {
    if (!(kernel->position_axes >> a & 1)) continue;
    llrt_text_add(text, " %d", a);
    if (kernel->position[a].arg < 0 && kernel->position[a].value == 1) continue;
    llrt_text_add(text, " * ");
    print_number(kernel, &kernel->position[a], text);
  }
}

static void print_combining(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  const char *op = combine_name(step->combiner), *type = llrt_dtype_name((llrt_dtype)step->type);
  if (step->kind == PLAN_WALK) {
    print_walk(kernel, step, text);
    return;
  }
  if (step->kind == PLAN_POSITION || step->kind == PLAN_POSITION_ADD) {
    print_positions(kernel, text);
    if (step->kind == PLAN_POSITION_ADD) llrt_text_add(text, " from v%d", step->in);
    else if (step->relative) llrt_text_add(text, " from the thread's first on");
    llrt_text_add(text, " -> v%d", step->out);
    return;
  }
  if (step->kind == PLAN_SPREAD) {
    llrt_text_add(text, "lanes keep parts of v%d -> ", step->in);
  } else if (step->kind == PLAN_FILL) {
    llrt_text_add(text, "neutral element of %s in %s -> ", op, type);
  } else {
    llrt_text_add(text, "%s in %s: ", op, type);
    print_pair(step, step->in, step->index_in, text);
    if (step->kind == PLAN_JOIN) llrt_text_add(text, " with ");
    if (step->kind == PLAN_JOIN) print_pair(step, step->with, step->index_with, text);
    if (step->kind == PLAN_FOLD) llrt_text_add(text, " inside a thread");
    if (step->kind == PLAN_FOLD_LANES) llrt_text_add(text, " across lanes");
    llrt_text_add(text, " -> ");
  }
  print_value(kernel, step->out, text);
  if (step->pairs) llrt_text_add(text, ", v%d", step->index_out);
}

static void print_dot_operand(const plan_kernel *kernel, const plan_step *step, int o, llrt_text *text) {
  int value = o ? step->second : step->in;
  dot_tiling tiling;
  llrt_text_add(text, "v%d", value);
  if (!(step->shared >> o & 1) || plan_dot_tiling(kernel, step, &tiling) != LLRT_OK) return;
  llrt_text_add(text, " (shared buffer %d, rows of %d bytes%s)", step->from[o], 16 << tiling.matrix[o].swizzle,
                tiling.matrix[o].transposed ? ", transposed" : "");
}

static void print_dot(const plan_kernel *kernel, const plan_step *step, llrt_text *text) {
  llrt_text_add(text, "v%d + ", step->with);
  print_dot_operand(kernel, step, 0, text);
  llrt_text_add(text, " x ");
  print_dot_operand(kernel, step, 1, text);
  const char *how = step->parts ? ", part by part" : step->beside ? ", sums of the turn beside" : "";
  llrt_text_add(text, " by %s%s", dot_instruction_at(step->instruction)->name, how);
  dot_tiling tiling;
  if (plan_dot_tiling(kernel, step, &tiling) == LLRT_OK && tiling.left) {
    if (tiling.skipped) llrt_text_add(text, ", but for the tile's last quarter");
    else llrt_text_add(text, ", of which %d columns", tiling.columns);
  }
  llrt_text_add(text, " -> ");
  print_value(kernel, step->out, text);
}

static void print_step(const plan_kernel *kernel, int at, int depth, llrt_text *text) {
  const plan_step *step = &kernel->step[at];
  llrt_text_add(text, "%*s", 2 + 2 * depth, "");
  switch ((plan_step_kind)step->kind) {
    case PLAN_LOAD:
      llrt_text_add(text, "load %s, %g bytes an access%s%s%s -> ",
                    step->staged ? "the staged panel" : "source", vector_bytes(kernel, step, step->out),
                    step->overhang && !step->loose ? " that overhangs rows" : "",
                    step->by_words ? " by words" : "",
                    step->loose    ? ", loosely masked"
                    : step->parted ? ", lanes masked"
                    : step->masked ? ", masked"
                                   : "");
      print_value(kernel, step->out, text);
      break;
    case PLAN_STORE:
      llrt_text_add(text, "store v%d to %s, %g bytes an access%s%s%s", step->in, step->staged ? "the panel" : "destination",
                    vector_bytes(kernel, step, step->in),
                    step->overhang ? " that overhangs rows" : "",
                    step->parted   ? kernel->target.lanes_first ? ", lanes masked" : ", masked by elements"
                    : step->masked ? ", masked"
                                   : "",
                    step->streaming ? ", streaming" : "");
      break;
    case PLAN_REGISTERS:
      llrt_text_add(text, "rename registers of v%d -> ", step->in);
      print_value(kernel, step->out, text);
      break;
    case PLAN_SHUFFLE:
      llrt_text_add(text, "shuffle lanes of v%d -> ", step->in);
      print_value(kernel, step->out, text);
      break;
    case PLAN_SHARED_STORE:
      llrt_text_add(text, "store v%d to shared buffer %d (%d bytes)", step->in, step->buffer,
                    kernel->buffer[step->buffer].bytes);
      print_shared_access(kernel, step, step->in, text);
      print_repetition(kernel, step, text);
      break;
    case PLAN_BARRIER:
      llrt_text_add(text, "barrier%s", kernel->cluster_bits > 0 && !step->own ? " of the cluster" : "");
      break;
    case PLAN_SHARED_LOAD:
      llrt_text_add(text, "load shared buffer %d%s", step->buffer,
                    plan_is_local(kernel, step->buffer, &kernel->value[step->out])
                        ? "" : " of the cluster's blocks");
      print_shared_access(kernel, step, step->out, text);
      print_repetition(kernel, step, text);
      llrt_text_add(text, " -> ");
      print_value(kernel, step->out, text);
      break;
    case PLAN_MAP:
      llrt_text_add(text, "map v%d, ", step->in);
      print_map(&kernel->map[step->map], text);
      if (step->by_value) llrt_text_add(text, " of v%d", step->second);
      llrt_text_add(text, " -> v%d", step->out);
      break;
    case PLAN_IF_PRESENT:
      if (step->looped) llrt_text_add(text, "if v%d is not beyond all:", step->in);
      else llrt_text_add(text, "if the block has something to do:");
      break;
    case PLAN_REPORT: llrt_text_add(text, "count values of i%d that are out of range", step->index); break;
    case PLAN_IF_INTERIOR:
      if (step->looped) llrt_text_add(text, "if v%d is inside every bound:", step->in);
      else llrt_text_add(text, "if the block is inside every bound:");
      break;
    case PLAN_PREFETCH:
      llrt_text_add(text, "ask for t%d in the next block, %d elements an access, as ", step->tensor,
                    1 << step->vector);
      print_value(kernel, step->in, text);
      break;
    case PLAN_REPEAT:
      llrt_text_add(text, "repeat %d times with v%d, at first v%d:", step->turns, step->out, step->in);
      break;
    case PLAN_STAGE:
      if (kernel->panel.gathered) {
        llrt_text_add(text, "stage what i0 chooses from: at most %lld values, %d elements of each",
                      (long long)kernel->panel.most, 1 << kernel->panel.width);
        break;
      }
      llrt_text_add(text, "%s a panel of %lld elements, %d bytes an access", kernel->panel.tensor == 0 ? "stage" : "copy out",
                    (long long)kernel->panel.elements, 1 << kernel->panel.unit);
      break;
    case PLAN_PUBLISH:
      llrt_text_add(text, "publish v%d as the block's total of level %d", step->in, step->level);
      break;
    case PLAN_PEEK:
      llrt_text_add(text, "look for totals of level %d of blocks before -> v%d", step->level, step->out);
      break;
    case PLAN_AWAIT:
      llrt_text_add(text, "totals of level %d of blocks before, from v%d on -> ", step->level, step->in);
      print_value(kernel, step->out, text);
      break;
    case PLAN_SCAN: print_scan(kernel, step, text); break;
    case PLAN_PREFIX:
      llrt_text_add(text, "%s of v%d and v%d -> v%d", combine_name(step->combiner), step->in,
                    step->second, step->out);
      break;
    case PLAN_PICK:
      llrt_text_add(text, "each warp keeps its part of v%d -> ", step->in);
      print_value(kernel, step->out, text);
      break;
    case PLAN_AHEAD:
      if (!kernel->lookback.queued) llrt_text_add(text, "ahead by %d turns:", step->turns);
      else llrt_text_add(text, step->turns ? "of the next ticket:" : "of the first ticket:");
      break;
    case PLAN_COPY:
      if (step->box) {
        const plan_box *box = &kernel->launch.box[step->box - 1];
        llrt_text_add(text, "copy tensor %d to shared buffer %d (%d slots of %d bytes), by boxes of %d x %d elements",
                      step->tensor, step->buffer, kernel->buffer[step->buffer].slots,
                      kernel->buffer[step->buffer].bytes, box->size[1], box->size[0]);
        break;
      }
      llrt_text_add(text, "copy tensor %d to shared buffer %d (%d slots of %d bytes), %g bytes an access%s, laid out as ",
                    step->tensor, step->buffer, kernel->buffer[step->buffer].slots,
                    kernel->buffer[step->buffer].bytes, vector_bytes(kernel, step, step->in),
                    step->masked ? ", masked" : "");
      print_value(kernel, step->in, text);
      break;
    case PLAN_COPIED: llrt_text_add(text, "await all copies but those of %d groups", step->turns); break;
    case PLAN_DOT:
      print_dot(kernel, step, text);
      break;
    case PLAN_ROLES:
      llrt_text_add(text, "roles: %d more warps produce, into %d slots", kernel->producers, kernel->slots);
      break;
    case PLAN_PRODUCE: llrt_text_add(text, "producers, ahead as far as slots are free:"); break;
    case PLAN_LANDED:
      llrt_text_add(text, "await the turn's boxes, which begin %d turns early", step->turns);
      break;
    case PLAN_FILLED: llrt_text_add(text, "await the turn's slots to be filled"); break;
    case PLAN_SETTLE:
      llrt_text_add(text, "v%d -> v%d with the sums of blocks that were dealt turns before; where others are dealt turns behind,"
                          " it goes to them, else:", step->in, step->out);
      break;
    case PLAN_RELEASE: llrt_text_add(text, "free the slots of %d turns before", step->turns); break;
    case PLAN_MULTIPLIED:
      llrt_text_add(text, "await all products but those of %d groups", step->turns);
      if (step->turns == 0) llrt_text_add(text, ": v%d -> v%d", step->in, step->out);
      break;
    case PLAN_OPAQUE:
      llrt_text_add(text, "hide v%d from compilers -> v%d", step->in, step->out);
      break;
    case PLAN_GATHER:
      llrt_text_add(text, "gather v%d by v%d along tile bits %d to %d", step->in, step->second, step->axis,
                    step->axis + step->axis_bits - 1);
      if (step->staged) llrt_text_add(text, " from shared buffer %d", step->buffer);
      else llrt_text_add(text, " inside warps");
      llrt_text_add(text, " -> ");
      print_value(kernel, step->out, text);
      break;
    case PLAN_FILL:
    case PLAN_JOIN:
    case PLAN_FOLD:
    case PLAN_FOLD_LANES:
    case PLAN_SPREAD:
    case PLAN_POSITION:
    case PLAN_POSITION_ADD:
    case PLAN_WALK: print_combining(kernel, step, text); break;
    case PLAN_COLLECT:
      llrt_text_add(text, "collect %d elements", step->elements);
      if (step->rows > 1) llrt_text_add(text, " %d times, %d apart", step->rows, step->pitch);
      llrt_text_add(text, ", stored behind these steps, lines past the caches:");
      break;
    case PLAN_LOOP:
      llrt_text_add(text, "loop %d times", 1 << step->iterations);
      if (step->joins) llrt_text_add(text, " with v%d, at first v%d", step->out, step->in);
      if (step->nested) llrt_text_add(text, ", then v%d", step->with);
      llrt_text_add(text, ":");
      break;
  }
  llrt_text_add(text, "\n");
}

static void print_steps(const plan_kernel *kernel, int first, int n, int depth, llrt_text *text) {
  for (int i = first; i < first + n; i++) {
    const plan_step *step = &kernel->step[i];
    print_step(kernel, i, depth, text);
    print_steps(kernel, i + 1, step->body, depth + 1, text);
    if (step->otherwise) {
      llrt_text_add(text, "%*selse:\n", 2 + 2 * depth, "");
      print_steps(kernel, i + 1 + step->body, step->otherwise, depth + 1, text);
    }
    i += step->body + step->otherwise;
  }
}

static void print_cost(const plan_kernel *kernel, llrt_text *text) {
  const plan_cost *cost = &kernel->cost;
  llrt_text_add(text, "  cost: %g bytes an element; a tile of %d bytes", cost->bytes_per_element,
                cost->tile_bytes);
  if (kernel->flat) {
    llrt_text_add(text, ", one element an access\n");
    return;
  }
  llrt_text_add(text, ": %d sectors loaded, %d stored (at least %d)", cost->load_sectors,
                cost->store_sectors, cost->min_sectors);
  if (cost->index_sectors) llrt_text_add(text, "; %d of indices", cost->index_sectors);
  if (cost->shared_store_wavefronts)
    llrt_text_add(text, "; %d + %d shared wavefronts (at least %d + %d)",
                  cost->shared_store_wavefronts, cost->shared_load_wavefronts,
                  cost->min_wavefronts, cost->min_wavefronts);
  llrt_text_add(text, "; a warp: %d shuffles, %d selects, %d permutes", cost->shuffles,
                cost->selects, cost->permutes);
  if (cost->logic) llrt_text_add(text, ", %d shifts and merges", cost->logic);
  if (cost->combined) llrt_text_add(text, ", %d joins", cost->combined);
  if (cost->products) llrt_text_add(text, ", %d products", cost->products);
  if (cost->mapped) llrt_text_add(text, "; a lane: %d mapped words", cost->mapped);
  llrt_text_add(text, "; %d registers\n", cost->registers);
}

static void print_cycles(const plan_kernel *kernel, llrt_text *text) {
  plan_cycles cycles;
  plan_cycles_of(&kernel->target, &kernel->cost, 1 << kernel->warp_bits, &cycles);
  if (cycles.total == 0) return;
  llrt_text_add(text,
                "  exchange: about %.0f clocks of a multiprocessor a block: shuffles and shared memory %.0f, "
                "arithmetic %.0f, issue %.0f; barriers %.0f\n",
                cycles.total, cycles.memory, cycles.arithmetic, cycles.issue, cycles.barriers);
}

static void print_range(const plan_range *range, llrt_text *text) {
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    if (range->min_extent[a])
      llrt_text_add(text, ", n%d >= %lld", a, (long long)range->min_extent[a]);
  if (range->min_elements)
    llrt_text_add(text, ", elements >= %lld", (long long)range->min_elements);
  if (range->min_along)
    llrt_text_add(text, ", walked positions >= %lld", (long long)range->min_along);
  if (range->max_across)
    llrt_text_add(text, ", others <= %lld", (long long)range->max_across);
}

static void print_kernel(const plan_kernel *kernel, int number, llrt_text *text) {
  llrt_text_add(text, "variant %d", number);
  if (kernel->launch.stage + kernel->launch.later > 0)
    llrt_text_add(text, ", stage %d of %d", kernel->launch.stage + 1,
                  kernel->launch.stage + kernel->launch.later + 1);
  llrt_text_add(text, ": %s, %s, %d-bit elements", kernel->target.name,
                kernel->flat ? "flat" : "tiled", kernel->tensor_bits[0] << kernel->halves);
  print_range(&kernel->launch.range, text);
  llrt_text_add(text, "\n  block: %d warps of %d lanes, %d bytes of shared memory\n",
                1 << (kernel->warp_bits - kernel->cluster_bits), 1 << kernel->lane_bits,
                kernel->launch.shared_bytes);
  if (kernel->cluster_bits > 0)
    llrt_text_add(text, "  cluster: %d blocks, the highest warps number them\n", 1 << kernel->cluster_bits);
  print_digits(kernel, text);
  print_bounds(kernel, text);
  for (int i = 0; i < kernel->n_indices; i++) print_index(kernel, i, text);
  llrt_text_add(text, kernel->flat ? "  element index, fastest first:" : "  block index, fastest first:");
  for (int i = 0; i < kernel->n_places; i++) {
    const plan_place *place = &kernel->place[i];
    if (place->digit < 0) {
      llrt_text_add(text, " grid bits (%d)", place->bits);
    } else {
      llrt_text_add(text, " d%d (", place->digit);
      print_number(kernel, &place->count, text);
      llrt_text_add(text, ")");
    }
  }
  if (kernel->launch.rounds > 0) llrt_text_add(text, ", by rounds of %d for each multiprocessor", kernel->launch.rounds);
  if (kernel->deal.used) llrt_text_add(text, ", the last turns dealt to all of %d blocks", kernel->launch.dealt);
  if (kernel->band > 0) llrt_text_add(text, ", in bands of %d of d%d", kernel->band, kernel->place[1].digit);
  if (kernel->band_from > 0) {
    llrt_text_add(text, " where ");
    print_number(kernel, &kernel->band_pitch, text);
    llrt_text_add(text, " is a multiple of %lld", (long long)kernel->band_from);
  }
  llrt_text_add(text, "\n");
  if (kernel->streams_from > 0)
    llrt_text_add(text, "  stores bypass the caches from %lld elements on\n", (long long)kernel->streams_from);
  print_steps(kernel, 0, kernel->n_steps, 0, text);
  print_cost(kernel, text);
  print_cycles(kernel, text);
}

void plan_print(const plan *made, llrt_text *text) {
  for (int i = 0, variant = -1; i < made->n_variants; i++) {
    if (made->variant[i].launch.stage == 0) variant++;
    print_kernel(&made->variant[i], variant, text);
  }
}
