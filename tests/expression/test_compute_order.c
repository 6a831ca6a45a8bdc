/* In which order a kernel of rows loads, joins and stores, on sm_90a: all that memory has to bring
 * before anything waits for it, and nothing in registers that could be stored. */
#include "backends/backend.h"
#include "tests/expression/catalogue_call.h"
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <string.h>

/* Of the plan's last kernel: tensors that are loaded, and stores, before rows are first joined. */
static const struct {
  const char *name;
  int loads, stores;
} cases[] = {
    {"rms_norm", 1, 0},
    {"residual_rms_norm", 2, 1}, /* h, which is wanted again */
    {"fp8_row", 1, 0},
    {"qk_norm_rope", 3, 0},        /* rows, cosines, sines; then the weights */
    {"kv_norm_rope_append", 4, 1}, /* values are stored before keys are joined */
    {"qkv_norm_rope_append", 4, 1},
};

static char *plan_of(const char *name) {
  char text[4000], *plan;
  size_t size;
  llrt_op_desc *desc;
  trial_read_text(name, text, sizeof text);
  cr_assert_eq(catalogue_describe(text, trial_device("cuda-emu:sm_90a"), &desc), LLRT_OK, "%s: %s",
               name, llrt_last_error());
  llrt_status status =
      llrt_op_compile(trial_device("host")->context, "sm_90a", desc, LLRT_EMIT_PLAN, &plan, &size);
  cr_assert_eq(status, LLRT_OK, "%s: %s", name, llrt_last_error());
  llrt_op_desc_destroy(&desc);
  return plan;
}

/* Lines that begin so, but for blanks, before `end`; those that are masked are an edge's. */
static int count(const char *text, const char *end, const char *begin) {
  int n = 0;
  for (const char *line = text; line && line < end; line = strchr(line, '\n')) {
    line += strspn(line, "\n ");
    const char *masked = strstr(line, "masked"), *next = strchr(line, '\n');
    n += strncmp(line, begin, strlen(begin)) == 0 && (!masked || masked > next);
  }
  return n;
}

Test(compute_order, before_joins) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *plan = plan_of(cases[i].name);
    const char *last = plan, *next;
    while ((next = strstr(last + 1, "variant "))) last = next;
    const char *joined = strstr(last, " inside a thread");
    cr_assert_not_null(joined, "%s joins nothing", cases[i].name);
    int loads = count(last, joined, "load "), stores = count(last, joined, "store ");
    cr_expect_eq(loads, cases[i].loads, "%s: %d loads", cases[i].name, loads);
    cr_expect_eq(stores, cases[i].stores, "%s: %d stores", cases[i].name, stores);
    llrt_buffer_free(&plan);
  }
}
