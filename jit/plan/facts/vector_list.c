/* See vector_list.h. */
#include "jit/plan/facts/vector_list.h"

#include "base/status.h"
#include "jit/plan/facts/value.h"

#include <assert.h>
#include <string.h>

void vector_list_read(const plan_value *value, plan_dim dim, vector_list *out) {
  out->n = plan_value_bits(value, dim);
  memcpy(out->at, plan_value_columns(value, dim), (size_t)out->n * sizeof *out->at);
}

void vector_list_in(const f2_basis *basis, const vector_list *list, int n, vector_list *out) {
  *out = (vector_list){.n = n};
  assert(n >= list->n);
  for (int i = 0; i < list->n; i++) {
    bool inside = f2_basis_coordinates(basis, list->at[i], &out->at[i]);
    assert(inside);
    (void)inside;
  }
}

llrt_status vector_lists_layout(int tile_bits, const vector_list *const lists[4],
                                llrt_layout *out) {
  static const char *const names[] = {"register", "lane", "warp", "iteration"};
  static const vector_list none;
  *out = llrt_layout_empty();
  LLRT_TRY(llrt_layout_add_out(out, "tile", tile_bits));
  for (int dim = 0; dim < 4; dim++) {
    const vector_list *list = lists[dim] ? lists[dim] : &none;
    int first = llrt_layout_in_bits(out);
    LLRT_TRY(llrt_layout_add_in(out, names[dim], list->n));
    memcpy(&out->column[first], list->at, (size_t)list->n * sizeof *list->at);
  }
  return LLRT_OK;
}

llrt_status vector_lists_value(int tile_bits, int bits, const vector_list lists[3],
                               plan_value *out) {
  const vector_list *const each[] = {&lists[0], &lists[1], &lists[2], NULL};
  *out = (plan_value){.bits = (uint8_t)bits};
  return vector_lists_layout(tile_bits, each, &out->layout);
}
