/* Plans with indices, executed by the interpreter against the plain C reference. */
#include "index_cases.h"

#include "base/text.h"
#include "jit/interpret/plan_interpret.h"
#include "jit/plan/check/plan_view.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const targets[] = {"sm_90a", "gfx942", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

/* A case's memory on the host. */
typedef struct memory {
  unsigned char *data[2], *expected;
  void *values[2][LLRT_MAX_INDICES];
  llrt_index index[2][LLRT_MAX_INDICES];
  int32_t reports[2][LLRT_MAX_INDICES], counted[2][LLRT_MAX_INDICES];
  op_description desc;
} memory;

static void memory_make(const index_case *of, memory *m) {
  memset(m, 0, sizeof *m);
  m->desc.kind = LLRT_OP_CONVERT;
  m->desc.n_tensors = 2;
  for (int s = 0; s < 2; s++) {
    size_t bytes = index_side_bytes(of, s);
    m->data[s] = aligned_alloc(256, (bytes + 511) / 256 * 256);
    for (size_t i = 0; i < bytes; i++)
      m->data[s][i] = (unsigned char)((i * 0x9e3779b97f4a7c15 >> 56) + 3 * (size_t)s);
    for (int i = 0; i < of->side[s].n_indices; i++) {
      m->values[s][i] = malloc(index_side_values_bytes(of, s, i));
      index_side_write_values(of, s, i, m->data[s], m->values[s][i]);
      m->index[s][i] = of->side[s].index[i];
      m->index[s][i].data = m->values[s][i];
      if (m->index[s][i].out_of_range == LLRT_RANGE_REPORT)
        m->index[s][i].report = &m->reports[s][i];
    }
    m->desc.tensors[s] = index_side_tensor(of, s, m->data[s]);
    m->desc.tensors[s].indices = m->index[s];
    for (int a = 0; a < of->rank && of->said >> s & 1; a++)
      if (of->counted >> a & 1) m->desc.tensors[s].extent_ptr[a] = &of->count[a];
  }
  size_t bytes = index_side_bytes(of, 1);
  m->expected = malloc(bytes + 1);
  memcpy(m->expected, m->data[1], bytes);
  index_case_reference(of, m->data[0], m->expected, m->counted);
}

static void memory_free(memory *m) {
  for (int s = 0; s < 2; s++) {
    free(m->data[s]);
    for (int i = 0; i < LLRT_MAX_INDICES; i++) free(m->values[s][i]);
  }
  free(m->expected);
}

static void explain_failure(const plan *made, int variant) {
  llrt_text text;
  llrt_text_init(&text);
  plan_print(made, &text);
  fprintf(stderr, "variant %d of\n%s\n", variant, text.data ? text.data : "");
  llrt_text_fini(&text);
}

static void check(const index_case *of, const char *name) {
  static plan made;
  plan_target target;
  memory m;
  memory_make(of, &m);
  size_t bytes = index_side_bytes(of, 1);
  unsigned char *before = malloc(bytes + 1);
  memcpy(before, m.data[1], bytes);
  cr_assert_eq(described_promise(&m.desc), LLRT_OK, "%s: %s", of->title, llrt_last_error());
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
  cr_assert_eq(plan_make(&m.desc, &target, NULL, &made), LLRT_OK, "%s: %s", of->title,
               llrt_last_error());
  llrt_storage_binding bindings[2] = {of->side[0].binding, of->side[1].binding};
  for (int v = 0; v < made.n_variants; v++) {
    memcpy(m.data[1], before, bytes);
    memset(m.reports, 0, sizeof m.reports);
    llrt_status status = plan_interpret(&made.variant[v], m.desc.tensors, bindings, 2);
    bool same = memcmp(m.data[1], m.expected, bytes) == 0;
    bool counted = memcmp(m.reports, m.counted, sizeof m.reports) == 0;
    if (status != LLRT_OK || !same || !counted) explain_failure(&made, v);
    cr_assert_eq(status, LLRT_OK, "%s on %s: %s", of->title, name, llrt_last_error());
    cr_assert(same, "%s on %s, variant %d: wrong elements", of->title, name, v);
    cr_assert(counted, "%s on %s, variant %d: wrong counters", of->title, name, v);
  }
  free(before);
  memory_free(&m);
}

Test(index_plan, every_case_on_every_target) {
  for (int i = 0; i < index_cases_count(); i++) {
    index_case made;
    cr_assert(index_case_make(i, 1, &made), "case %d (%s): %s", i, made.title, llrt_last_error());
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) check(&made, targets[t]);
    index_case_free(&made);
  }
}
