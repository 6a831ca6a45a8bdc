/* What a conversion between two register layouts has to move. */
#include "base/status.h"
#include "layout/check.h"

/* From what is dearest to move to what is free. */
static const struct {
  const char *name;
  unsigned moves;
} levels[] = {{"block", LLRT_MOVES_BLOCKS},
              {"warp", LLRT_MOVES_WARPS},
              {"lane", LLRT_MOVES_LANES},
              {"register", LLRT_MOVES_REGISTERS}};
enum { LEVELS = sizeof levels / sizeof levels[0] };

/* The layout with all four in-dims, those missing having one position; registers without zero
 * columns. */
static llrt_status prepare(const llrt_layout *given, const char *argument, llrt_layout *out) {
  LLRT_TRY(layout_check(given, argument));
  *out = *given;
  for (int i = 0; i < given->n_in; i++) {
    bool known = false;
    for (int k = 0; k < LEVELS; k++) known |= strcmp(given->in[i].name, levels[k].name) == 0;
    LLRT_REQUIRE(known, "layout %s: in-dim %s is none of register, lane, warp, block", argument,
                 given->in[i].name);
  }
  for (int k = 0; k < LEVELS; k++)
    if (llrt_layout_in_index(out, levels[k].name) < 0)
      LLRT_TRY(llrt_layout_add_in(out, levels[k].name, 0));
  return llrt_layout_remove_zero_bases(out, "register", out);
}

static llrt_status conversion(const llrt_layout *source, const llrt_layout *destination,
                              unsigned *moves, llrt_layout *out) {
  llrt_layout from, to;
  LLRT_TRY(prepare(source, "source", &from));
  LLRT_TRY(prepare(destination, "destination", &to));
  LLRT_TRY(llrt_layout_invert_and_compose(&to, &from, out));
  *moves = 0;
  int level = 0;
  for (; level < LEVELS; level++) {
    if (!llrt_layout_is_trivial_over(out, &levels[level].name, 1)) break;
    LLRT_TRY(llrt_layout_quotient(out, &levels[level].name, 1, out));
  }
  for (; level < LEVELS; level++) *moves |= levels[level].moves;
  return LLRT_OK;
}

llrt_status llrt_layout_conversion(const llrt_layout *source, const llrt_layout *destination,
                                   unsigned *moves, llrt_layout *out) {
  LLRT_ENTRY();
  llrt_layout result;
  unsigned found = 0;
  llrt_status status = conversion(source, destination, &found, &result);
  if (moves) *moves = status ? LLRT_MOVES_NOTHING : found;
  return layout_finish(status, &result, out);
}

bool llrt_layout_is_equivalent(const llrt_layout *a, const llrt_layout *b) {
  llrt_layout result;
  unsigned moves;
  return conversion(a, b, &moves, &result) == LLRT_OK && moves == LLRT_MOVES_NOTHING &&
         conversion(b, a, &moves, &result) == LLRT_OK && moves == LLRT_MOVES_NOTHING;
}
