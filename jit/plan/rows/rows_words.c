/* Outputs of which bits of 32-bit words are permuted (WORD_BITS), as those of packed weights are:
 * the tile has a word's elements in a thread (rows_tile.c), on the host in neighbouring lanes; here
 * they become its lowest registers, and once they are elements of the tensor, its bits permuted. */
#include "jit/plan/rows/rows.h"

#include "base/bits.h"
#include "base/status.h"
#include "jit/plan/exchange/exchange.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/value.h"
#include "layout/f2.h"

#include <string.h>

static llrt_status refuse_words(void) {
  return llrt_error(LLRT_UNSUPPORTED,
                    "an output's words, of which bits are permuted, lie in no thread as a whole");
}

/* Puts the register or lane bit that moves the address by `step` alone in place `at` of them; what
 * was there goes where it was. False: there is none. */
static bool put_first(plan_value *value, const plan_address_map *map, plan_dim dim, int at,
                      uint64_t step) {
  const uint64_t *columns = plan_value_columns(value, dim);
  uint64_t *own = value->layout.column + (columns - value->layout.column);
  for (int i = at; i < plan_value_bits(value, dim); i++) {
    uint64_t tile = plan_tile_bits_of(value, own[i]), kept = own[at];
    if (tile == 0 || f2_apply(map->column, tile) != step) continue;
    own[at] = own[i];
    own[i] = kept;
    return true;
  }
  return false;
}

llrt_status rows_lay_out_words(rows *r, int tensor, int *value) {
  plan_kernel *kernel = r->d.kernel;
  int bits = kernel->tensor_bits[tensor], word = rows_word_bits(kernel, tensor);
  int inside = kernel->target.simd_lanes ? draft_word_of(&r->d, bits) : word;
  plan_value wanted = kernel->value[*value];
  plan_address_map map;
  plan_address_of_tensor(kernel, tensor, &map);
  for (int j = 0; j < word; j++) {
    plan_dim dim = j < inside ? PLAN_REGISTER : PLAN_LANE;
    if (!put_first(&wanted, &map, dim, j < inside ? j : j - inside, 1ull << j))
      return refuse_words();
  }
  if (llrt_layout_equal(&wanted.layout, &kernel->value[*value].layout)) return LLRT_OK;
  return draft_exchange(&r->d, *value, &wanted, value);
}

/* Words begin where memory has them, and bounds leave none of their elements out. */
static bool are_whole(rows *r, int tensor, const plan_value *value) {
  const plan_kernel *kernel = r->d.kernel;
  int word = rows_word_bits(kernel, tensor);
  int inside = kernel->target.simd_lanes ? value->word : word;
  uint64_t moved = 0;
  draft_runs runs;
  draft_runs_of(&r->d, tensor, &runs);
  if (runs.align < word || !plan_keeps_words(kernel, value, tensor)) return false;
  for (int j = 0; j < word; j++) {
    plan_dim dim = j < inside ? PLAN_REGISTER : PLAN_LANE;
    uint64_t column = plan_value_columns(value, dim)[j < inside ? j : j - inside];
    moved |= f2_apply(kernel->space.column, plan_tile_bits_of(value, column));
  }
  return kernel->n_bounds == 0 || !draft_splits(&r->d, moved, tensor);
}

llrt_status rows_permute_words(rows *r, int tensor, int *value) {
  plan_kernel *kernel = r->d.kernel;
  const program_tensor *own = &r->program->tensor[tensor];
  plan_map map = {.kind = PLAN_MAP_WORD_BITS, .from = own->store, .to = own->store};
  if (!are_whole(r, tensor, &kernel->value[*value])) return refuse_words();
  memcpy(map.perm, r->program->words[own->words - 1], sizeof map.perm);
  LLRT_TRY(draft_retype(&r->d, map, value));
  kernel->step[kernel->n_steps - 1].tensor = (uint8_t)tensor;
  return LLRT_OK;
}
