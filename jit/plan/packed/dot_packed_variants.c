/* Variants of a dot with packed weights: which shape of a block for how many rows and columns, and
 * stages. */
#include "jit/plan/packed/dot_packed_kernel.h"
#include "jit/plan/packed/dot_packed_shapes.h"

#include "base/bits.h"
#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/cost/trace.h"
#include "jit/plan/dot/dot.h"
#include "jit/plan/dot/tile_pace.h"
#include "jit/plan/packed/packed.h"
#include "jit/plan/stages/stages.h"
#include "jit/plan/types/dot_packed.h"

#include <stdio.h>
#include <stdlib.h>

static const packed_shape *shape_for(const packed *p, const packed_shape *shape) {
  const packed_shape_list *narrow = &packed_narrow_shapes;
  for (int i = 0; i < narrow->n; i++)
    if (packed_casts_rows(p) && (shape->warpgroups || shape->columns) &&
        narrow->shape[i].rows == shape->rows)
      return &narrow->shape[i];
  return shape;
}

/* Rows of 8 bits that fill a block of 2^8 are cast once, by a stage before: in the block, casts and
 * products would want more of shared memory than it gives. */
#define CAST_BEFORE 8

/* Rows that an index gathers are copied once for blocks of 2^5 and more, which boxes then copy. */
#define GATHER_BEFORE 5

static bool gathers(const packed *p, const packed_shape *shape) {
  return p->job.desc.tensors[p->operand[PACKED_ROWS].tensor].n_indices > 0 &&
         shape->producers > 0 && shape->m >= GATHER_BEFORE;
}

/* Plans the stage that copies the rows (A) into workspace region 0, as elements of a type, and has
 * the job read them from there. */
static llrt_status copy_rows(packed *p, llrt_dtype type, const plan_target *target,
                             const plan_options *options, plan_kernel *kernel) {
  int rows = p->operand[PACKED_ROWS].tensor, rank = p->job.desc.tensors[rows].rank;
  uint32_t axes = (uint32_t)bits_mask(rank);
  LLRT_TRY(dot_convert_stage(&p->job.desc, rows, type, 0, 0, target, options, kernel));
  kernel->launch.later = 1;
  kernel->launch.range = (plan_range){.min_elements = 0};
  kernel->launch.workspace = (plan_workspace){.n = 1, .clear = true};
  kernel->launch.workspace.region[0] = (plan_region){
      .per_position = llrt_dtype_bits(type) / 8, .axes = axes & ~dot_lacking(&p->job.desc, rows)};
  LLRT_TRY(llrt_storage_row_major(rank, &p->cast));
  dot_in_workspace(&p->job, rows, type, &p->cast);
  return LLRT_OK;
}

static void read_copied_rows(const packed *p, plan_kernel *kernel) {
  const op_description *desc = &p->job.desc;
  int rows = p->operand[PACKED_ROWS].tensor;
  stages_view_all(desc, kernel, desc->n_tensors);
  stages_view_region(kernel, rows, 0, dot_lacking(desc, rows));
  kernel->launch.stage = 1;
}

/* A shape without what the target lacks: clusters, for which more blocks make fewer columns each.
 */
static packed_shape shape_on(const packed_shape *wanted, const plan_target *target) {
  packed_shape s = *wanted;
  if (s.cluster <= target->cluster_bits) return s;
  s.n -= s.cluster;
  s.warps[PACKED_N] -= s.cluster;
  s.cluster = 0;
  return s;
}

#define MOST_WARPS 3 /* log2, of those that are added to */

/* A shape with all columns that accesses of W have: its blocks are fewer then, their warps along K
 * more, with shorter turns of more slots. */
static packed_shape with_columns(const packed *p, packed_shape s) {
  int more = bits_max(p->columns - s.n, 0);
  if (more == 0) return s;
  s.n += more;
  s.k = bits_max(s.k - more, PACKED_VECTOR_K);
  s.slots += s.slots / 2;
  s.warps[PACKED_K] = bits_max(s.warps[PACKED_K],
                               bits_min(s.warps[PACKED_K] + more, MOST_WARPS - s.warps[PACKED_N]));
  s.resident = bits_max(s.resident >> more, 1);
  return s;
}

/* With turns as long, and then as many warps along K, as rings fit in shared memory. */
static llrt_status plan_shape(packed *p, const packed_shape *shape, const plan_target *target,
                              const plan_options *options, plan_kernel *kernel) {
  const packed begin = *p;
  llrt_status status = LLRT_UNSUPPORTED;
  for (int less = 0; less < 3 && status == LLRT_UNSUPPORTED; less++)
    for (int k = shape->k; k >= PACKED_VECTOR_K && status == LLRT_UNSUPPORTED; k--) {
      *p = begin;
      p->shape = with_columns(p, shape_on(shape, target));
      p->shape.k = k;
      p->shape.warps[PACKED_K] = bits_max(p->shape.warps[PACKED_K] - less, 0);
      status = packed_plan_kernel(p, target, options, kernel);
    }
  return status;
}

/* A variant's kernels at `first`; *n of them. */
static llrt_status plan_variant(packed *p, const packed_shape *shape, const plan_target *target,
                                const plan_options *options, plan_kernel *first, int *n) {
  bool casts = packed_casts_rows(p) && shape->m >= CAST_BEFORE, before = casts || gathers(p, shape);
  llrt_dtype own = p->job.desc.tensors[p->operand[PACKED_ROWS].tensor].dtype;
  if (before) LLRT_TRY(copy_rows(p, casts ? p->compute : own, target, options, first));
  LLRT_TRY(plan_shape(p, shape, target, options, first + before));
  if (before) read_copied_rows(p, first + before);
  *n = 1 + before;
  return LLRT_OK;
}

/* Whether no extent that is promised passes a shape's limit; none: any does. */
static bool is_within(const llrt_promise *extent, int64_t limit) {
  return limit == 0 || (extent->max > 0 && extent->max <= limit);
}

/* Whether a shape is another choice where one behind it serves, too: that one takes walks of no
 * turns. */
static bool is_other(const packed_shape *shape) {
  return shape->deal || shape->rounds || shape->own > 0;
}

#define LEAST_ROWS 8    /* of a tile */
#define GROUP_WARPS 2   /* log2, of a warpgroup */
#define MOST_RESIDENT 4 /* blocks of warps' tiles: registers have room for them */
#define RESERVED 1024   /* bytes of shared memory that a block has beside its own */

static tile_kind kind_of(const packed_shape *shape) {
  const bool few = 1 << shape->m == LEAST_ROWS, narrow = shape->warps[PACKED_N] == GROUP_WARPS;
  if (!shape->warpgroups) return few ? TILE_FEW : TILE_WARPS;
  return !shape->producers ? TILE_GROUPS : narrow ? TILE_NARROW : TILE_PRODUCED;
}

/* Warpgroups that multiply; of those that copy, too, those beside each other. */
static int groups_of(const packed_shape *shape) {
  const int sharing = shape->warps[PACKED_K] - shape->cluster;
  if (!shape->warpgroups) return 0;
  return 1 << (shape->warps[PACKED_N] - GROUP_WARPS +
               (kind_of(shape) == TILE_NARROW ? sharing : 0));
}

/* Blocks that a multiprocessor has at once: shared memory says how many, and registers how many
 * there may be of larger threads than warps' tiles have. */
static int resident_of(const packed_shape *shape, const plan_kernel *kernel) {
  const int room =
      (kernel->target.facts.shared_bytes + RESERVED) / (kernel->launch.shared_bytes + RESERVED);
  const int most = shape->warpgroups ? shape->resident : MOST_RESIDENT;
  return bits_max(bits_min(most, room), 1);
}

/* Bits of memory for each element of B, with its part of a scale and a zero point. */
static double weight_bits(const packed *p) {
  const llrt_tensor *tensors = p->job.desc.tensors;
  double bits = llrt_dtype_bits(tensors[p->operand[PACKED_WEIGHTS].tensor].dtype);
  for (int i = PACKED_SCALES; i <= PACKED_ZEROS; i++) {
    int tensor = p->operand[i].tensor;
    if (tensor >= 0) bits += (double)llrt_dtype_bits(tensors[tensor].dtype) / (1 << p->scale_bits);
  }
  return bits;
}

static void set_pace(const packed *p, plan_kernel *kernel) {
  const packed_shape *shape = &p->shape;
  const llrt_tensor *tensors = p->job.desc.tensors;
  kernel->tile = (tile_facts){
      .kind = kind_of(shape),
      .positions = {shape->own ? shape->own : 1 << shape->m, 1 << shape->n,
                    1 << (shape->k + shape->warps[PACKED_K] - shape->cluster)},
      .cluster = 1 << shape->cluster,
      .resident = resident_of(shape, kernel),
      .slots = shape->slots,
      .groups = groups_of(shape),
      .bits = {llrt_dtype_bits(tensors[p->operand[PACKED_ROWS].tensor].dtype), weight_bits(p),
               llrt_dtype_bits(tensors[p->job.tensor[LLRT_DOT_D]].dtype)},
      .bytes = p->bytes,
      .short_sums = p->short_sums,
      .rounds = shape->rounds,
      .dealt = shape->deal,
      .beside = 1,
      .across = 1};
  tile_pace(&kernel->tile, &kernel->launch.pace);
  kernel->launch.pace.invariant = p->job.desc.dot.batch_invariant;
  kernel->launch.range.min_extent[packed_axis(&p->job, PACKED_K)] = is_other(shape);
}

/* "packed, 128 rows, 4096 columns: tile 128 x 128, turns of 128 along K, dealt". */
static void name_shape(const packed_shape *shape, int64_t columns, char what[PLAN_ATTEMPT_NAME]) {
  char rows[24] = "any", wide[24] = "any";
  if (shape->rows) snprintf(rows, sizeof rows, "%lld", (long long)shape->rows);
  if (columns) snprintf(wide, sizeof wide, "%lld", (long long)columns);
  snprintf(what, PLAN_ATTEMPT_NAME, "packed, M <= %s, N <= %s: tile %d x %d x %d%s%s", rows, wide,
           1 << shape->m, 1 << shape->n, 1 << shape->k, shape->warpgroups ? ", warpgroups" : "",
           shape->deal     ? ", dealt"
           : shape->rounds ? ", rounds"
                           : "");
}

/* ---- by their paces ---- */

#define WASTED_ROWS 2 /* tiles have at most so many times as many rows as are promised */

/* Of the tiles with a pace a shape takes the one that is done first. */
static llrt_status plan_tiles(packed *p, const plan_target *target, const plan_options *options,
                              plan *out) {
  const packed_shape_list *shapes = &packed_tiles;
  const packed begin = *p;
  const int64_t rows = p->job.desc.promises[0].shape[packed_axis(&p->job, PACKED_M)].max;
  const bool few = rows > 0 && rows < INT32_MAX / WASTED_ROWS && !(options && options->wide);
  out->n_variants = 0;
  for (int i = 0; i < shapes->n && out->n_variants < PLAN_MAX_VARIANTS; i++) {
    const packed_shape *shape = &shapes->shape[i];
    const int64_t most = few ? bits_max((int)rows, LEAST_ROWS) * WASTED_ROWS : INT32_MAX;
    plan_kernel *kernel = &out->variant[out->n_variants];
    char what[PLAN_ATTEMPT_NAME];
    name_shape(shape, 0, what);
    if ((int64_t)1 << shape->m > most) {
      plan_refused(options, NULL, what, "as many rows are not promised");
      continue;
    }
    if (shape->deal && p->job.desc.dot.batch_invariant) {
      plan_refused(options, NULL, what, "rows say how turns are dealt: not batch invariant");
      continue;
    }
    *p = begin;
    llrt_status status = plan_shape(p, shape, target, options, kernel);
    plan_refused_by(options, status, what);
    if (status == LLRT_UNSUPPORTED) continue;
    LLRT_TRY(status);
    plan_taken(options, kernel, "%s", what);
    set_pace(p, kernel);
    out->n_variants++;
  }
  return out->n_variants > 0 ? LLRT_OK
                             : llrt_error(LLRT_UNSUPPORTED, "no tile of packed weights fits");
}

/* ---- by tables ---- */

/* Why a shape is not for rows of experts; NULL: it is. There are blocks enough whatever the columns
 * are, all in one stage, and an expert's rows begin where they do. */
static const char *not_of_experts(const packed *p, const packed_shape *shape) {
  if (dot_grouped_axis(&p->job.desc.dot) < 0) return NULL;
  return shape->columns && !shape->rounds                  ? "experts make blocks enough"
         : packed_casts_rows(p) && shape->m >= CAST_BEFORE ? "rows would be cast by a stage before"
                                                           : NULL;
}

/* Rows of the shape that a batch-invariant product takes for all. */
#define INVARIANT_ROWS 64

/* More rows than every limit are the last variant's for any columns, whose blocks take as many as
 * there are: the shapes without limits may have been left out. `first`: its first kernel. */
static void open_rows(plan_kernel *first, int axis) {
  for (int i = 0; i <= first->launch.later; i++) first[i].launch.range.max_extent[axis] = 0;
}

/* Of those without a pace each serves as many rows, and columns, as it says. Those for few columns
 * are left out where they are not needed, or not to be had, or rows of 8 bits have their own. */
static llrt_status plan_shapes(packed *p, const packed_shape_list *shapes,
                               const plan_target *target, const plan_options *options, plan *out) {
  const int first = packed_axis(&p->job, 0);
  const llrt_promise *extents = p->job.desc.promises[0].shape + first;
  const packed begin = *p;
  const bool invariant = begin.job.desc.dot.batch_invariant;
  int64_t covered = 0; /* rows that the shapes so far take, however many columns there are */
  bool all = false;
  int last = -1; /* variant for any columns */
  out->n_variants = 0;
  for (int i = 0; i < shapes->n && !all; i++) {
    const packed_shape *shape = &shapes->shape[i];
    plan_kernel *kernel = &out->variant[out->n_variants];
    const packed_shape *wanted = shape_for(&begin, shape);
    bool grouped = dot_grouped_axis(&begin.job.desc.dot) >= 0;
    const int64_t columns = shape->columns && !grouped ? plan_for_units(target, shape->columns) : 0;
    char what[PLAN_ATTEMPT_NAME];
    name_shape(wanted, columns, what);
    const char *experts = not_of_experts(p, shape);
    const char *left_out =
        invariant && (shape->rows != INVARIANT_ROWS || shape->columns)
            ? "a batch-invariant product has one shape for all rows"
        : experts                                    ? experts
        : columns && extents[PACKED_N].min > columns ? "N is promised to be longer"
        : columns && wanted != shape                 ? "rows of 8 bits have a shape of their own"
        : shape->rows > 0 && shape->rows <= covered  ? "a shape before it takes as many rows"
                                                     : NULL;
    if (left_out) {
      plan_refused(options, NULL, what, "%s", left_out);
      continue;
    }
    if (out->n_variants + 2 > PLAN_MAX_VARIANTS)
      return llrt_error(LLRT_INTERNAL, "a plan of more than %d kernels", PLAN_MAX_VARIANTS);
    *p = begin;
    int kernels = 0;
    llrt_status status = plan_variant(p, wanted, target, options, kernel, &kernels);
    plan_refused_by(options, status, what);
    if (status == LLRT_UNSUPPORTED && shape->columns) continue; /* there are others */
    LLRT_TRY(status);
    plan_taken(options, kernel + kernels - 1, "%s", what);
    if (!columns && !is_other(shape)) last = out->n_variants;
    out->n_variants += kernels;
    bool any_columns = is_within(&extents[PACKED_N], columns);
    if (invariant) break;
    if (is_other(shape)) kernel->launch.range.min_extent[first + PACKED_K] = 1;
    all = !is_other(shape) && any_columns && is_within(&extents[PACKED_M], shape->rows);
    if (any_columns && !is_other(shape)) covered = shape->rows;
    if (!all) {
      kernel->launch.range.max_extent[first + PACKED_M] = shape->rows;
      kernel->launch.range.max_extent[first + PACKED_N] = columns;
    }
    if (kernels > 1 && grouped) kernel[1].launch.range = kernel->launch.range; /* which decides */
  }
  if (!all && last >= 0) open_rows(&out->variant[last], first + PACKED_M);
  return LLRT_OK;
}

llrt_status plan_dot_packed_make(const op_description *desc, const plan_target *target,
                                 const plan_options *options, plan *out, bool *made) {
  packed *p = memory_zeroed(1, sizeof *p);
  *made = false;
  if (!p) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  dot_begin_job(desc, target, &p->job);
  llrt_status status = LLRT_OK;
  const char *why = NULL;
  if (!packed_begin(p, target, &why)) plan_refused(options, NULL, "packed weights", "%s", why);
  else {
    const packed begin = *p;
    bool groups = packed_instruction(p, target, true, 6) >= 0;
    if (!groups)
      plan_refused(options, NULL, "packed weights by warpgroups",
                   "%s has no warpgroups' instruction for these types", target->name);
    status = !groups ? LLRT_UNSUPPORTED
             : packed_casts_rows(p) || dot_grouped_axis(&p->job.desc.dot) >= 0
                 ? plan_shapes(p, &packed_table_shapes, target, options, out)
                 : plan_tiles(p, target, options, out);
    if (status == LLRT_UNSUPPORTED) {
      *p = begin;
      status = plan_shapes(p, &packed_warp_shapes, target, options, out);
    }
    *made = status == LLRT_OK;
    if (status == LLRT_UNSUPPORTED)
      status = LLRT_OK; /* storages or extents that only the general kernels take */
  }
  free(p);
  return status;
}
