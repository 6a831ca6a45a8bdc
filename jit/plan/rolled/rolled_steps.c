#include "jit/plan/rolled/rolled_steps.h"

#include "base/bits.h"
#include "expression/operators.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/fold.h"
#include "jit/plan/facts/value.h"
#include "jit/plan/kernel/step_table.h"

#include <string.h>

#define WORD_BYTES 4
/* Of a multiprocessor's shared memory what the device takes for each block. */
#define DEVICE_BYTES 1024
/* Threads of a multiprocessor at least, where nothing is known of them. */
#define UNIT_THREADS 1024

/* ---- a run's lists ---- */

bool rolled_list_has(const int *list, int n, int x) {
  bool found = false;
  for (int i = 0; i < n; i++) found |= list[i] == x;
  return found;
}

bool rolled_list_add(int *list, int *n, int most, int x) {
  if (rolled_list_has(list, *n, x)) return true;
  if (*n == most) return false;
  list[(*n)++] = x;
  return true;
}

bool rolled_is_made(const plan_kernel *kernel, const rolled_run *run, int value) {
  bool made = false;
  for (int i = 0; i < run->n_turn; i++) made |= rolled_makes(&kernel->step[run->turn[i]], value);
  return made;
}

/* ---- values ---- */

/* The highest `bits` register columns of a value, as bits of the kernel's tile; false: it has not
 * so many. */
bool rolled_part(const plan_kernel *kernel, int value, int bits, uint64_t *column) {
  plan_value spread;
  plan_value_spread(kernel, &kernel->value[value], &spread);
  int registers = plan_value_bits(&spread, PLAN_REGISTER);
  if (registers - spread.word < bits) return false;
  for (int i = 0; i < bits; i++)
    column[i] = plan_value_columns(&spread, PLAN_REGISTER)[registers - bits + i];
  return true;
}

/* Whether the value has the run's columns as its highest ones, or none of them. */
rolled_standing_kind rolled_standing(const plan_kernel *kernel, const rolled_run *run, int value) {
  uint64_t own[ROLLED_MOST_BITS];
  plan_value spread;
  if (rolled_part(kernel, value, run->bits, own) &&
      memcmp(own, run->column, (size_t)run->bits * sizeof *own) == 0)
    return ROLLED_WHOLE;
  plan_value_spread(kernel, &kernel->value[value], &spread);
  for (int i = 0; i < plan_value_bits(&spread, PLAN_REGISTER); i++)
    for (int k = 0; k < run->bits; k++)
      if (plan_value_columns(&spread, PLAN_REGISTER)[i] & run->column[k]) return ROLLED_OTHER;
  return ROLLED_SINGLE;
}

int rolled_words(const plan_kernel *kernel, int value) {
  const plan_value *v = &kernel->value[value];
  return 1 << (plan_value_bits(v, PLAN_REGISTER) - v->word);
}

/* ---- steps ---- */

/* The value of which a step works on all elements. */
int rolled_whole(const plan_step *step) {
  return step->kind == PLAN_STORE || step->kind == PLAN_FOLD ? step->in : step->out;
}

rolled_operands rolled_operands_of(const plan_step *step) {
  rolled_operands o = {0};
  int uses = plan_step_row_of(step->kind)->uses;
  if (step->kind == PLAN_APPLY)
    uses &= step->operands == 0   ? 0
            : step->operands == 1 ? PLAN_USES_IN
            : step->operands == 2 ? PLAN_USES_IN | PLAN_USES_SECOND
                                  : uses;
  if (uses & PLAN_USES_IN) o.value[o.n++] = step->in;
  if (uses & PLAN_USES_SECOND) o.value[o.n++] = step->second;
  if (uses & PLAN_USES_WITH) o.value[o.n++] = step->with;
  if (step->pairs) o.value[o.n++] = step->index_in;
  return o;
}

bool rolled_uses(const plan_step *step, int value) {
  rolled_operands o = rolled_operands_of(step);
  bool found = false;
  for (int i = 0; i < o.n; i++) found |= o.value[i] == value;
  return found;
}

bool rolled_makes(const plan_step *step, int value) {
  return step->kind != PLAN_STORE &&
         (step->out == value || (step->pairs && step->index_out == value));
}

/* The last step before `end` that makes the value. */
int rolled_maker(const plan_kernel *kernel, int value, int end) {
  int i = end - 1;
  while (i >= 0 && !rolled_makes(&kernel->step[i], value)) i--;
  return i;
}

bool rolled_moves_plainly(const plan_kernel *kernel, const plan_step *step) {
  bool indexed = false;
  for (int i = 0; i < kernel->n_indices; i++)
    indexed |= kernel->index[i].tensor == step->tensor && !kernel->index[i].uniform;
  return !indexed && !step->masked && !step->overhang && !step->staged && !step->front &&
         !step->parted && !step->streaming &&
         (kernel->tensor_bits[step->tensor] >= 8 || step->vector > 0);
}

/* The same registers under another number. */
static bool renames(const plan_kernel *kernel, const plan_step *step) {
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  int n = plan_value_bits(in, PLAN_REGISTER);
  return n == plan_value_bits(out, PLAN_REGISTER) && in->word == out->word &&
         in->bits == out->bits && in->reduced == out->reduced &&
         memcmp(plan_value_columns(in, PLAN_REGISTER), plan_value_columns(out, PLAN_REGISTER),
                (size_t)n * sizeof(uint64_t)) == 0;
}

/* No loads: each turn would wait for memory. */
bool rolled_may_turn(const plan_kernel *kernel, const plan_step *step) {
  switch (step->kind) {
  case PLAN_APPLY: return step->op != EXPR_AT;
  case PLAN_MAP: {
    const plan_map *map = &kernel->map[step->map];
    return map->kind == PLAN_MAP_CAST && !map->words && !step->lazy;
  }
  case PLAN_REGISTERS: return renames(kernel, step);
  case PLAN_FOLD: return !plan_folds_halves(step);
  case PLAN_STORE: return rolled_moves_plainly(kernel, step);
  default: return false;
  }
}

/* Instructions of an element, about. */
int rolled_weight(const plan_kernel *kernel, const plan_step *step) {
  if (step->kind == PLAN_MAP) {
    llrt_dtype to = (llrt_dtype)kernel->map[step->map].to;
    return llrt_dtype_bits(to) < 8 ? 9 : to == LLRT_I8 || to == LLRT_U8 ? 8 : 1;
  }
  if (step->kind == PLAN_LOAD || step->kind == PLAN_STORE || step->kind == PLAN_REGISTERS) return 0;
  if (step->kind == PLAN_FOLD) return step->pairs ? 4 : 1;
  if (step->kind != PLAN_APPLY) return 1;
  switch (step->op) {
  case EXPR_LOG:
  case EXPR_LOG2:
  case EXPR_SIN:
  case EXPR_COS: return 36;
  case EXPR_TANH:
  case EXPR_ERF:
  case EXPR_GELU: return step->narrow ? 14 : 24;
  case EXPR_SIGMOID:
  case EXPR_SILU: return step->narrow ? 4 : 12;
  case EXPR_EXP:
  case EXPR_EXP2: return step->narrow ? 3 : 6;
  case EXPR_SQRT:
  case EXPR_RSQRT:
  case EXPR_FLOOR_DIVIDE:
  case EXPR_MODULO: return 10;
  case EXPR_DIVIDE:
  case EXPR_RCP: return step->power || step->narrow ? 1 : 8;
  case EXPR_NUMBER: return 0;
  default: return 1;
  }
}

/* Whether each access of the step, and each word, has all its elements in one turn. */
bool rolled_keeps_together(const plan_kernel *kernel, const rolled_run *run,
                           const plan_step *step) {
  bool moves = step->kind == PLAN_LOAD || step->kind == PLAN_STORE;
  int value = step->kind == PLAN_STORE ? step->in : step->out;
  int left = plan_value_bits(&kernel->value[value], PLAN_REGISTER) - run->bits;
  int position[LLRT_MAX_BITS];
  plan_address_map map;
  plan_value spread;
  if (kernel->value[value].word > left && rolled_standing(kernel, run, value) == ROLLED_WHOLE)
    return false;
  if (!moves) return true;
  plan_address_of_tensor(kernel, step->tensor, &map);
  plan_value_spread(kernel, &kernel->value[value], &spread);
  if (!plan_access_positions(&spread, &map, PLAN_REGISTER, step->vector, position)) return false;
  for (int i = 0; i < step->vector; i++)
    if (position[i] >= left) return false;
  return true;
}

/* Whether what a fold joins last are the turns: then its tree is the same by turns. */
bool rolled_joins_turns_last(const plan_kernel *kernel, const rolled_run *run,
                             const plan_step *step) {
  const plan_value *in = &kernel->value[step->in], *out = &kernel->value[step->out];
  int bit[LLRT_MAX_BITS], registers = plan_value_bits(in, PLAN_REGISTER);
  int n = plan_fold_bits(in, PLAN_REGISTER, out->layout.out[0].bits, bit);
  bool last = n >= run->bits;
  for (int i = 1; i <= run->bits && last; i++) last = bit[n - i] == registers - i;
  return last;
}

int rolled_registers(const plan_kernel *kernel, const plan_step *step) {
  return plan_value_bits(&kernel->value[rolled_whole(step)], PLAN_REGISTER);
}

bool rolled_has_parts(const plan_kernel *kernel, const rolled_run *run, int value) {
  return rolled_standing(kernel, run, value) == ROLLED_WHOLE;
}

bool rolled_joins(const plan_kernel *kernel, const rolled_run *run, const plan_step *step) {
  return step->kind == PLAN_FOLD && !rolled_has_parts(kernel, run, step->out);
}

/* ---- places in shared memory ---- */

int rolled_bytes(const plan_kernel *kernel, int value) {
  return rolled_words(kernel, value) * WORD_BYTES * kernel->launch.threads;
}

int rolled_first_byte(const plan_kernel *kernel) {
  return kernel->waiting ? kernel->waiting : (kernel->launch.shared_bytes + 15) & -16;
}

int rolled_room(const plan_kernel *kernel) {
  int all = kernel->target.facts.shared_bytes + DEVICE_BYTES, blocks = kernel->resident;
  if (blocks == 0) blocks = bits_max(UNIT_THREADS / kernel->launch.threads, 1);
  return all / blocks - DEVICE_BYTES - rolled_first_byte(kernel);
}

bool rolled_may_wait(const plan_kernel *kernel, int value, int bits) {
  return kernel->cluster_bits == 0 && kernel->value[value].bits < 64 &&
         rolled_words(kernel, value) >> bits >= ROLLED_ACCESS_WORDS &&
         rolled_bytes(kernel, value) <= rolled_room(kernel);
}
