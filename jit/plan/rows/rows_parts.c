/* Planning an expression: a kernel for each of its parts (expression/program_parts.h), one behind
 * the other. Most expressions are one part. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/memory.h"
#include "base/status.h"
#include "expression/program_parts.h"
#include "jit/plan/stages/stages.h"

#include <stdlib.h>
#include <string.h>

/* The part as an operation: its tensors, and one position along axes that these do not have. */
static void take_part(const op_description *desc, const program_parts *parts, int part,
                      op_description *own, int8_t tensor[PROGRAM_MAX_TENSORS]) {
  *own = *desc;
  program_take_part(&desc->program, parts, part, &own->program, tensor);
  own->n_tensors = own->program.n_tensors;
  for (int t = 0; t < own->n_tensors; t++) {
    own->tensors[t] = desc->tensors[tensor[t]];
    own->promises[t] = desc->promises[tensor[t]];
    memcpy(own->dot.group[t], desc->dot.group[tensor[t]], sizeof own->dot.group[t]);
  }
  for (int a = 0; a < LLRT_MAX_RANK; a++)
    own->promises[0].shape[a] = parts->axes[part] >> a & 1
                                    ? desc->promises[0].shape[a]
                                    : (llrt_promise){.multiple = 1, .min = 1, .max = 1};
}

static bool reports(const llrt_tensor *tensor) {
  bool any = false;
  for (int i = 0; i < tensor->n_indices; i++)
    any |= tensor->indices[i].out_of_range == LLRT_RANGE_REPORT;
  return any;
}

/* Values out of range are counted once, by the kernel that reads them. */
static llrt_status check_reports(const op_description *desc, const program_parts *parts) {
  for (int t = 0; t < desc->n_tensors; t++) {
    int readers = 0;
    for (int p = 0; p < parts->n; p++) readers += parts->tensors[p] >> t & 1;
    if (readers > 1 && reports(&desc->tensors[t]))
      return llrt_error(LLRT_UNSUPPORTED,
                        "values of an index are counted (REPORT) of a tensor that outputs along "
                        "different axes read");
  }
  return LLRT_OK;
}

/* The kernel of a part, or where no thread has whole bytes of 4-bit outputs two, which store one
 * half of each. *n: how many. */
static llrt_status make_part(const op_description *own, const plan_target *target,
                             const plan_options *options, rows_way way, plan *out, int *n) {
  plan_kernel *kernel;
  bool halves;
  *n = 1;
  LLRT_TRY(stages_next(out, &kernel));
  llrt_status status = rows_make_kernel(own, target, options, way, kernel, &halves);
  if (!halves) return status;
  *n = 2;
  way.half = 1;
  LLRT_TRY(rows_make_kernel(own, target, options, way, kernel, &halves));
  LLRT_TRY(stages_next(out, &kernel));
  way.half = 2;
  return rows_make_kernel(own, target, options, way, kernel, &halves);
}

static llrt_status make_parts(const op_description *desc, const plan_target *target,
                              const plan_options *options, const program_parts *parts, bool few,
                              op_description *own, plan *out) {
  int8_t tensor[PROGRAM_MAX_TENSORS] = {0};
  LLRT_TRY(check_reports(desc, parts));
  for (int p = 0; p < parts->n; p++) {
    int first = out->n_variants, n;
    take_part(desc, parts, p, own, tensor);
    const rows_way way = {.few = few};
    LLRT_TRY(make_part(own, target, options, way, out, &n));
    /* A part reads and writes tensors that no other one writes; but of halves of bytes the second
     * kernel keeps what the first has stored. */
    out->variant[first].launch.beside = p > 0;
    for (int k = first; k < first + n; k++) {
      stages_view_all(desc, &out->variant[k], own->n_tensors);
      stages_view_ones(&out->variant[k], ~(uint32_t)parts->axes[p]);
      for (int t = 0; t < own->n_tensors; t++)
        stages_view_tensor(&out->variant[k], t, tensor[t], 0);
    }
  }
  return LLRT_OK;
}

/* All kernels of a variant. */
static llrt_status make_variant(const op_description *desc, const plan_target *target,
                                const plan_options *options, bool few, plan *out) {
  program_parts parts;
  program_find_parts(&desc->program, &parts);
  if (parts.many)
    return llrt_error(LLRT_UNSUPPORTED, "outputs along more than %d sets of axes",
                      PROGRAM_MAX_PARTS);
  if (parts.n <= 1) {
    int kernels;
    const rows_way way = {.few = few};
    return make_part(desc, target, options, way, out, &kernels); /* says what outputs lack */
  }
  op_description *own = memory_new(sizeof *own);
  if (!own) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  llrt_status status = make_parts(desc, target, options, &parts, few, own, out);
  free(own);
  return status;
}

llrt_status plan_rows_make(const op_description *desc, const plan_target *target,
                           const plan_options *options, plan *out) {
  plan_range range;
  int holds = rows_few(desc, target, &range) ? stages_range_holds(desc, &range) : 0, first;
  out->n_variants = 0;
  if (holds > 0) {
    LLRT_TRY(make_variant(desc, target, options, true, out));
    stages_close(out, 0, holds == 2 ? (plan_range){.min_elements = 0} : range);
  }
  if (holds == 2) return LLRT_OK;
  first = out->n_variants;
  LLRT_TRY(make_variant(desc, target, options, false, out));
  stages_close(out, first, (plan_range){.min_elements = 0});
  return LLRT_OK;
}
