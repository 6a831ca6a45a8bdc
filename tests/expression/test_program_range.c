/* What a program's text tells of its values, whatever its tensors hold
 * (expression/program_range.h). */
#include "expression/program_range.h"
#include "tests/expression/program_text.h"

#include <criterion/criterion.h>

/* ---- quotients ---- */

typedef struct fact {
  const char *text; /* its only quotient with a tensor above is what is asked about */
  bool over, power, coarse;
} fact;

static const fact facts[] = {
    {"(x[t n]) -> (q[t n]: e4m3) { q = x / (maximum(max(abs(x), n), 1e-10) / 448) }", true, false,
     true},
    {"(x[t n]) -> (q[t n]: i8) { q = i8(round(x / (max(abs(x), n) * 0.5))) }", true, false, true},
    {"(x[t n]) -> (q[t n]: f32) { q = x / (maximum(max(abs(x), n), 1e-10) / 448) }", true, false,
     false},
    {"(x[t n]) -> (q[t n]: e4m3) { q = x / max(x, n) }", false, false, true},
    {"(x[t n]) -> (q[t n]: e4m3) { q = x / (max(abs(x), n) * 1e-20) }", false, false, true},
    {"(x[t n]) -> (q[t n]: e4m3) { q = x / e4m3(max(abs(x), n)) }", false, false, true},
    {"(x[t n]) -> (q[t n]: bf16) { q = x / e8m0(max(abs(x), n), round=up) }", true, true, false},
    {"(x[t n], s[t]) -> (q[t n]: e4m3) { q = x / s }", false, false, true},
    /* floor tells a small number from 0, and so does what is added to it */
    {"(x[t n], s[t]) -> (q[t n]: i8) { q = i8(floor(x / s)) }", false, false, false},
    {"(x[t n], s[t]) -> (q[t n]: e4m3) { q = x / s * 1e30 }", false, false, false},
    {"(x[t n], s[t]) -> (q[t n]: e4m3) { q = minimum(x / s, 1e-30) }", false, false, false},
    {"(x[t n], s[t]) -> (q[t n]: e4m3) { q = minimum(maximum(x / s, -448), 448) }", false, false,
     true},
    {"(x[t n], s[t]) -> (q[t n]: e4m3, y[t n]: f32) { q = x / s; y = x / s }", false, false, false},
};

static void check_fact(const fact *f) {
  const expr_program *program = program_of(f->text);
  int at = -1;
  for (int i = 0; i < program->n_nodes; i++)
    if (program->node[i].op == EXPR_DIVIDE &&
        program->node[program->node[i].arg[0]].op == EXPR_TENSOR)
      at = i;
  cr_assert_geq(at, 0, "%s", f->text);
  int x = program->node[at].arg[0], y = program->node[at].arg[1];
  cr_expect_eq(program_most_over(program, x, y) < 42, f->over, "%s: over", f->text);
  cr_expect_eq(program_is_power(program, y), f->power, "%s: power", f->text);
  cr_expect_eq(program_is_coarse(program, at), f->coarse, "%s: coarse", f->text);
}

Test(program_range, quotients) {
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) check_fact(&facts[i]);
}

/* ---- how small and how large ---- */

static const struct {
  const char *text; /* of its last operator is asked */
  int least, most;  /* program_least, program_most_finite */
} sizes[] = {
    {"(x[t n]) -> (y[t]: f32) { y = maximum(max(abs(x), n), 1e-10) }", -34, 128},
    {"(x[t n]) -> (y[t]: f32) { y = maximum(max(abs(x), n), 1e-10) / 448 }", -43, 120},
    {"(x[t n]) -> (y[t]: f32) { y = maximum(max(abs(x), n) * 0.25, 1e-10) * 4 }", -32, 128},
    {"(x[t n]) -> (y[t]: f32) { y = maximum(max(abs(x), n) / 448, 1e-10) }", -34, 120},
    {"(x[t n]) -> (y[t]: f32) { y = minimum(max(abs(x), n), 448) }", -PROGRAM_ANY_SIZE, 128},
    {"(x[t n]) -> (y[t]: f32) { y = maximum(max(abs(x), n), -1e-10) }", -PROGRAM_ANY_SIZE, 128},
    {"(x[t n], s[t]) -> (y[t]: f32) { y = maximum(max(x, n), 2) / s }", -PROGRAM_ANY_SIZE, 128},
    {"(x[t n]) -> (y[t]: f32) { y = maximum(max(x, n), 2) - 1 }", -PROGRAM_ANY_SIZE, 128},
};

Test(program_range, sizes) {
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const expr_program *program = program_of(sizes[i].text);
    int last = program->n_nodes - 1;
    cr_expect_eq(program_least(program, last), sizes[i].least, "%s: %d", sizes[i].text,
                 program_least(program, last));
    cr_expect_eq(program_most_finite(program, last), sizes[i].most, "%s: %d", sizes[i].text,
                 program_most_finite(program, last));
  }
}

/* ---- numbers without a sign ---- */

static const struct {
  const char *text; /* of its last operator is asked */
  bool positive, makes;
} signs[] = {
    {"(x[t n]) -> (y[t n]: f32) { y = abs(x) }", true, true},
    {"(x[t n]) -> (y[t n]: f32) { y = x * x }", true, true},
    {"(x[t n]) -> (y[t]: f32) { y = max(abs(x), n) }", true, false},
    {"(x[t n]) -> (y[t]: f32) { y = max(abs(x), n) * 0.5 }", true, false},
    {"(x[t n]) -> (y[t]: f32) { y = max(abs(x), n) * -0.5 }", false, false},
    {"(x[t n]) -> (y[t]: f32) { y = maximum(max(x, n), 1e-10) / 448 }", true, false},
    {"(x[t n]) -> (y[t]: f32) { y = minimum(max(abs(x), n), 448) }", true, false},
    {"(x[t n]) -> (y[t]: f32) { y = max(x, n) }", false, false},
    {"(x[t n]) -> (y[t n]: f32) { y = x / abs(x) }", false, false},
};

Test(program_range, signs) {
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    const expr_program *program = program_of(signs[i].text);
    int last = program->n_nodes - 1;
    cr_expect_eq(program_is_positive(program, last), signs[i].positive, "%s", signs[i].text);
    cr_expect_eq(program_makes_positive(program, last), signs[i].makes, "%s: makes", signs[i].text);
  }
}

/* ---- powers that are added ---- */

static const struct {
  const char *text; /* has one EXP */
  bool added;
} powers[] = {
    {"(x[t n]) -> (y[t n]: f32) { z = x - max(x, n); y = z - log(sum(exp(z), n)) }", true},
    {"(x[t n]) -> (y[t]: f32) { y = mean(exp(x - max(x, n)), n) }", true},
    {"(x[t g j]) -> (y[t]: f32) { y = sum(exp(x - max(x, j)), (g, j)) }", true},
    /* stored, or used otherwise; sums that lack the largest; no largest, or of others */
    {"(x[t n]) -> (y[t n]: f32) { e = exp(x - max(x, n)); y = e / sum(e, n) }", false},
    {"(x[t n]) -> (e[t n]: f32, y[t]: f32) { e = exp(x - max(x, n)); y = sum(e, n) }", false},
    {"(x[t g j]) -> (y[t g]: f32) { y = sum(exp(x - max(x, (g, j))), j) }", false},
    {"(x[t n]) -> (y[t]: f32) { y = sum(exp(x - min(x, n)), n) }", false},
    {"(x[t n], z[t n]) -> (y[t]: f32) { y = sum(exp(x - max(z, n)), n) }", false},
    {"(x[t n]) -> (y[t]: f32) { y = max(exp(x - max(x, n)), n) }", false},
};

Test(program_range, powers_that_are_added) {
  for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
    const expr_program *program = program_of(powers[i].text);
    int at = -1;
    for (int k = 0; k < program->n_nodes; k++)
      if (program->node[k].op == EXPR_EXP) at = k;
    cr_assert_geq(at, 0, "%s", powers[i].text);
    cr_expect_eq(program_is_added(program, at), powers[i].added, "%s", powers[i].text);
  }
}
