/* One row of D, whose operands are read where they lie, once: a product of a matrix with a vector,
 * on GPUs. Lanes and warps lie along K, so that rows of B are read as memory has them, whatever
 * begins them; each thread multiplies its elements of a few rows of B with the same ones of A, and
 * sums of lanes and warps are joined at the end:
 *
 *   fill, walk { load A, load B, multiply }, join lanes and warps, epilogue, store
 *
 * Nothing is copied to shared memory ahead: as many loads as a thread has registers for are under
 * way, in as many threads as a multiprocessor has room for. */
#include "jit/plan/dot/dot.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/draft/draft.h"
#include "jit/plan/facts/value.h"

/* ---- the tile ---- */

int dot_row_word(const dot_job *job) {
  int word = 1;
  for (int i = 0; i < 2; i++) {
    const int bits = llrt_dtype_bits(job->desc.tensors[2 * i].dtype);
    if (bits != 16 && bits != 32) return -1;
    word = bits_min(word, 5 - bits_log2(bits));
  }
  return word;
}

/* The joins want bits of warps lowest behind those of results, then those of lanes, which are
 * neighbouring words of a row, then registers'. */
void dot_order_row(dot_draft *x) {
  const int n = bits_count(x->bits[DOT_DIM_K]), word = dot_row_word(x->job),
            warps = x->d.kernel->warp_bits - 1, lanes = x->d.kernel->lane_bits;
  uint64_t own[LLRT_MAX_BITS], *order = &x->d.order[0][x->d.tile_bits - n];
  int at = 0;
  for (int i = 0; i < n; i++) own[i] = order[i];
  for (int i = n - warps; i < n; i++) order[at++] = own[i];
  for (int i = word; i < word + lanes; i++) order[at++] = own[i];
  for (int i = 0; i < word; i++) order[at++] = own[i];
  for (int i = word + lanes; i < n - warps; i++) order[at++] = own[i];
}

#define PIECE_BYTES 16 /* rows of whole such are copied, by boxes or threads */

/* Whether the tensor's neighbours in memory are neighbours along K; whether its rows are whole
 * pieces. */
static bool goes_along_k(const dot_draft *x, int operand, bool *whole) {
  const int tensor = dot_operand_tensor(x, operand), bits = x->d.kernel->tensor_bits[tensor];
  draft_runs runs;
  draft_runs_of((draft *)&x->d, tensor, &runs);
  *whole = runs.align >= 0 && bits << bits_min(runs.align, 7) >= 8 * PIECE_BYTES;
  return runs.n > 0 && (runs.vector[0] & x->bits[DOT_DIM_K]) != 0;
}

llrt_status dot_plan_row(dot_draft *x, const dot_space *space) {
  x->row = true;
  x->types = (dot_types){.a = space->a, .b = space->b, .sum = space->acc};
  bool whole;
  if (!goes_along_k(x, 0, &whole) || !goes_along_k(x, 1, &whole))
    return llrt_error(LLRT_UNSUPPORTED, "elements of a row do not follow each other in memory");
  if (whole)
    return llrt_error(LLRT_UNSUPPORTED, "rows of B are whole pieces of %d bytes", PIECE_BYTES);
  if (dot_layouts_row(x->d.kernel, space, &x->how)) return LLRT_OK;
  return llrt_error(LLRT_UNSUPPORTED, "a row has too few elements for all lanes and warps");
}

/* ---- steps ---- */

/* Words that rows overhang are loaded element by element, neighbouring lanes beside each other. */
static llrt_status load_overhanging(dot_draft *x, int operand, const plan_value *value, int align,
                                    int *out) {
  plan_kernel *kernel = x->d.kernel;
  const int tensor = dot_operand_tensor(x, operand);
  plan_step load = {.kind = PLAN_LOAD,
                    .tensor = (uint8_t)tensor,
                    .vector = value->word,
                    .misaligned = (uint8_t)(value->word - align),
                    .overhang = true,
                    .by_words = true,
                    .exact = true};
  plan_value spread;
  plan_value_spread(kernel, value, &spread);
  if (!draft_can_be_exact(&x->d, tensor, &spread, value->word))
    return llrt_error(LLRT_UNSUPPORTED, "rows of operand %c cannot be overhung", "AB"[operand]);
  LLRT_TRY(draft_value(kernel, value, out));
  load.out = (uint8_t)*out;
  if (kernel->n_bounds == 0) return draft_step(kernel, load);
  LLRT_TRY(draft_step(
      kernel,
      (plan_step){
          .kind = PLAN_IF_INTERIOR, .joins = true, .body = 1, .otherwise = 1, .out = load.out}));
  LLRT_TRY(draft_step(kernel, load));
  load.masked = true;
  return draft_step(kernel, load);
}

static llrt_status load_operand(dot_draft *x, int operand, int *value) {
  const plan_value wanted = dot_wanted_value(x, operand);
  dot_access access;
  draft_runs runs;
  draft_runs_of(&x->d, dot_operand_tensor(x, operand), &runs);
  if (runs.align < wanted.word)
    return load_overhanging(x, operand, &wanted, bits_max(runs.align, 0), value);
  dot_value_access(x, dot_operand_tensor(x, operand), &wanted, &access);
  return dot_load(x, dot_operand_tensor(x, operand), &access, value);
}

llrt_status dot_row_products(dot_draft *x, int carried) {
  plan_kernel *kernel = x->d.kernel;
  int a, b, out;
  /* Both are under way before anything waits for one of them. */
  LLRT_TRY(load_operand(x, 0, &a));
  LLRT_TRY(load_operand(x, 1, &b));
  LLRT_TRY(dot_widen_operand(x, 0, &a));
  LLRT_TRY(dot_widen_operand(x, 1, &b));
  LLRT_TRY(draft_value(kernel, &x->how.acc, &out));
  return draft_step(kernel, (plan_step){.kind = PLAN_DOT,
                                        .in = (uint8_t)a,
                                        .second = (uint8_t)b,
                                        .with = (uint8_t)carried,
                                        .out = (uint8_t)out,
                                        .instruction = (uint8_t)x->how.how.instruction});
}
