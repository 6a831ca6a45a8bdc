/* Weights in other engines' orders: which of them the packed kernels read as they lie, and that
 * such a kernel's interpretation is right. */
#include "dot_problem.h"
#include "dot_reference.h"

#include "jit/interpret/plan_interpret.h"
#include "jit/plan/kernel/plan.h"
#include "jit/plan/plan_make.h"
#include "runtime/described.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static plan made;
static described_dot call;

/* u4, or u8 where that is what the storage is of, with f16 scales for 128 positions each and zero
 * points of the same storage. */
static dot_problem problem_of(int64_t m, int64_t n, int64_t k, const char *b, const char *scales) {
  dot_problem p = {
      .m = m, .n = n, .k = k, .group = {{0}, {128, 1}}, .type = {[LLRT_DOT_A] = LLRT_F16}};
  p.type[LLRT_DOT_B] = strstr(b, "_w8") ? LLRT_U8 : LLRT_U4;
  p.type[LLRT_DOT_SCALE_B] = LLRT_F16;
  p.type[LLRT_DOT_ZERO_B] = p.type[LLRT_DOT_B];
  snprintf(p.storage[LLRT_DOT_B], DOT_STORAGE_TEXT, "%s", b);
  snprintf(p.storage[LLRT_DOT_SCALE_B], DOT_STORAGE_TEXT, "%s", scales);
  return p;
}

static const plan *plan_on(dot_bench *bench, const char *name) {
  const dot_part *part = bench->part;
  plan_target target;
  cr_assert_eq(plan_target_find(name, &target), LLRT_OK);
  cr_assert_eq(described_dot_make(&part[LLRT_DOT_A].tensor, &part[LLRT_DOT_B].tensor,
                                  &part[LLRT_DOT_D].tensor, &bench->params, &call),
               LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(described_promise(&call.desc), LLRT_OK);
  cr_assert_eq(plan_make(&call.desc, &target, NULL, &made), LLRT_OK, "%s", llrt_last_error());
  return &made;
}

/* Whether B's words go from memory to the lanes that multiply them by copies and loads alone, in
 * every kernel. */
static bool is_direct(const plan *p) {
  for (int i = 0; i < p->n_variants; i++) {
    const plan_kernel *kernel = &p->variant[i];
    bool copied = false, stored = false;
    for (int s = 0; s < kernel->n_steps; s++) {
      const plan_step *step = &kernel->step[s];
      copied |= step->kind == PLAN_COPY && step->tensor == 2 &&
                kernel->tensor_bits[2] << step->vector == 128;
      stored |=
          step->kind == PLAN_SHARED_STORE && kernel->value[step->in].bits == kernel->tensor_bits[2];
    }
    if (!copied || stored) return false;
  }
  return true;
}

Test(dot_orders, read_as_they_lie) {
  static const struct {
    const char *b, *scales;
    bool direct;
  } rows[] = {
      {"marlin_w4", "marlin_scales", true},
      {"marlin_w4", "", true},
      {"marlin_w4", "col_major", true},
      {"transposed(machete_w4)", "", true},
      {"transposed(machete_w4_1wg)", "", true},
      {"transposed(machete_w8)", "marlin_scales", true},
      {"marlin_w8", "", false},
      {"transposed(cutlass_atom_e2m1)", "", true},
      {"transposed(cutlass_atom_int4)", "", true},
      {"transposed(hopper_value_w4)", "", true},
      {"storage(digits=[dim1:rest,dim0:rest],tile={offset:[[1,0],[0,8],[8,0],[2,0],[4,0],[0,1],[0,"
       "2],[0,4]]}->[dim0:16,dim1:16],pad=0)",
       "", true},
      {"storage(digits=[dim1:rest,dim0:rest],tile={offset:[[8,0],[0,8],[1,0],[2,0],[4,0],[0,1],[0,"
       "2],[0,4]]}->[dim0:16,dim1:16],pad=0)",
       "", false},
      {"", "", false},
      {"col_major", "", false},
      {"gptq_w4", "", false},
      {"awq_w4", "", false},
      {"transposed(machete_mma8)", "", false},
      {"storage(digits=[dim1: rest, dim0: rest], tile={offset: "
       "[[1,0],[0,8],[8,0],[2,0],[4,0],[0,1],[0,2],[0,4]]} -> [dim0:16,dim1:16],pad=3)",
       "", false},
  };
  static const char *const targets[] = {"sm_80", "sm_89", "sm_90a"};
  static dot_bench bench;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const dot_problem problem = problem_of(16, 256, 512, rows[i].b, rows[i].scales);
    cr_assert(dot_bench_make(&problem, 1, &bench), "%s: %s", rows[i].b, llrt_last_error());
    for (int t = 0; t < 3; t++)
      cr_expect_eq(is_direct(plan_on(&bench, targets[t])), rows[i].direct, "%s on %s", rows[i].b,
                   targets[t]);
    dot_bench_free(&bench);
  }
}

/* The kernel for a shape. */
static const plan_kernel *kernel_for(const plan *p, const int64_t shape[3]) {
  for (int i = 0; i < p->n_variants; i++)
    if (p->variant[i].launch.stage == 0 &&
        plan_range_contains(&p->variant[i].launch.range, 3, shape))
      return &p->variant[i];
  return NULL;
}

Test(dot_orders, interpreted) {
  static const struct {
    const char *b;
    int64_t m, n, k;
  } rows[] = {{"marlin_w4", 5, 128, 400},
              {"marlin_w4", 20, 64, 272},
              {"marlin_w4", 70, 192, 144},
              {"transposed(machete_w4)", 20, 128, 192},
              {"transposed(machete_w8)", 7, 128, 192}};
  static dot_bench bench;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const dot_problem problem =
        problem_of(rows[i].m, rows[i].n, rows[i].k, rows[i].b, "marlin_scales");
    llrt_storage_binding bindings[LLRT_MAX_TENSORS];
    char why[400];
    cr_assert(dot_bench_make(&problem, 7 + i, &bench), "%s", llrt_last_error());
    llrt_tensor tensors[LLRT_MAX_TENSORS];
    const int64_t shape[] = {rows[i].m, rows[i].n, rows[i].k};
    const plan_kernel *kernel = kernel_for(plan_on(&bench, "sm_90a"), shape);
    cr_assert(kernel);
    for (int t = 0; t < call.desc.n_tensors; t++) {
      tensors[t] = call.desc.tensors[t];
      cr_assert_eq(llrt_storage_bind(tensors[t].storage, tensors[t].rank, tensors[t].shape, NULL,
                                     &bindings[t]),
                   LLRT_OK);
      memcpy(tensors[t].shape, shape, sizeof shape);
    }
    cr_assert_eq(plan_interpret(kernel, tensors, bindings, call.desc.n_tensors), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect(dot_reference_check(&bench, bench.part[LLRT_DOT_D].image, why, sizeof why), "%s: %s",
              rows[i].b, why);
    dot_bench_free(&bench);
  }
}
