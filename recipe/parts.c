/* Conversions in place on the host, by parts: where both storages are cut alike along what is the
 * slowest in memory, some parts at a time are copied to the workspace and converted back from
 * there, out of the cache, by the kernels of conversions into memory of their own. A kernel in
 * place would move elements one by one. */
#include "base/status.h"
#include "recipe/plan.h"

#define PARTS_BYTES ((int64_t)1 << 20) /* of the workspace; no more than that at a time */

/* The parts of a tensor: some positions of a digit of both storages, which take the same bytes. */
typedef struct tensor_parts {
  int digit[2];      /* of the source, of the destination */
  int64_t each[2];   /* its positions in a part */
  int64_t n, bytes;  /* parts, and bytes of one */
  int64_t positions; /* of the digit's axis in one */
  int32_t axis;
} tensor_parts;

/* The digit of the largest stride; -1 where it is not its axis's highest, or counts down. */
static int slowest_digit(const llrt_storage *storage) {
  int slowest = -1;
  for (int i = 0; i < storage->n_digits; i++)
    if (slowest < 0 || storage->digit[i].stride > storage->digit[slowest].stride) slowest = i;
  for (int i = slowest + 1; i < storage->n_digits && slowest >= 0; i++)
    if (storage->digit[i].axis == storage->digit[slowest].axis) return -1;
  return slowest >= 0 && storage->digit[slowest].reversed ? -1 : slowest;
}

static int64_t positions_below(const llrt_storage *storage, int digit) {
  int64_t positions = 1;
  for (int i = 0; i < digit; i++)
    if (storage->digit[i].axis == storage->digit[digit].axis) positions *= storage->digit[i].extent;
  return positions;
}

static bool find_parts(const repack_class *class, tensor_parts *parts) {
  const llrt_storage *storage[2] = {&class->source, &class->destination};
  int bits = llrt_dtype_bits(class->from);
  for (int s = 0; s < 2; s++) {
    parts->digit[s] = slowest_digit(storage[s]);
    if (parts->digit[s] < 0) return false;
  }
  const llrt_digit *a = &storage[0]->digit[parts->digit[0]],
                   *b = &storage[1]->digit[parts->digit[1]];
  int64_t stride = a->stride > b->stride ? a->stride : b->stride;
  parts->axis = a->axis;
  parts->n = a->extent * a->stride / stride;
  parts->bytes = stride * bits / 8;
  for (int s = 0; s < 2; s++) parts->each[s] = stride / storage[s]->digit[parts->digit[s]].stride;
  parts->positions = parts->each[0] * positions_below(storage[0], parts->digit[0]);
  return class->from == class->to && a->axis == b->axis && stride % a->stride == 0 &&
         stride % b->stride == 0 && a->extent == parts->n * parts->each[0] &&
         b->extent == parts->n * parts->each[1] && parts->bytes % 64 == 0 &&
         parts->bytes <= PARTS_BYTES &&
         parts->positions == parts->each[1] * positions_below(storage[1], parts->digit[1]) &&
         class->shape[a->axis] == parts->n * parts->positions;
}

/* Adds the moves of `n` parts from part `first` on. */
static llrt_status move_parts(llrt_repack *plan, const repack_class *whole,
                              const tensor_parts *parts, int64_t first, int64_t n, int in,
                              int out) {
  repack_class class;
  memcpy(&class, whole, sizeof class);
  class.source.digit[parts->digit[0]].extent = n * parts->each[0];
  class.destination.digit[parts->digit[1]].extent = n * parts->each[1];
  class.shape[parts->axis] = n * parts->positions;
  class.source_alignment = class.destination_alignment = 64;
  repack_move *copy = plan_append(&plan->moves, sizeof *copy);
  repack_move *back = copy ? plan_append(&plan->moves, sizeof *back) : NULL;
  if (!back) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  *PLAN_AT(plan->moves, repack_move, plan->moves.n - 2) =
      (repack_move){.kind = REPACK_COPY,
                    .of_class = -1,
                    .in = in,
                    .out = REPACK_WORKSPACE,
                    .in_offset = first * parts->bytes,
                    .bytes = n * parts->bytes};
  *back = (repack_move){.kind = REPACK_CONVERT,
                        .in = REPACK_WORKSPACE,
                        .out = out,
                        .out_offset = first * parts->bytes};
  return plan_class(plan, &class, &back->of_class);
}

llrt_status plan_in_parts(llrt_repack *plan, const repack_class *class, int in, int out,
                          size_t *workspace, bool *done) {
  tensor_parts parts;
  *done = find_parts(class, &parts);
  if (!*done) return LLRT_OK;
  int64_t most = PARTS_BYTES / parts.bytes;
  for (int64_t first = 0; first < parts.n; first += most)
    LLRT_TRY(move_parts(plan, class, &parts, first, parts.n - first < most ? parts.n - first : most,
                        in, out));
  *workspace = (size_t)((parts.n < most ? parts.n : most) * parts.bytes);
  return LLRT_OK;
}
