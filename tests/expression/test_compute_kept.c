/* Calls that an expression keeps (runtime/compute_kept.c): the next call of the same tensors
 * describes nothing, and whatever differs is seen. */
#include "base/memory.h"
#include "tests/expression/compute_trial.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, LENGTH = 8, ALL = ROWS * LENGTH };

typedef struct pair {
  llrt_expr *expr;
  llrt_storage storage;
  llrt_tensor x, y;
  llrt_arg args[3]; /* x, y, s */
  float data[2][2][ALL];
} pair;

static pair *pair_new(const char *text) {
  pair *p = memory_zeroed(1, sizeof *p);
  cr_assert_not_null(p);
  cr_assert_eq(llrt_expr_parse(text, &p->expr), LLRT_OK, "%s", llrt_last_error());
  cr_assert_eq(llrt_storage_row_major(2, &p->storage), LLRT_OK);
  p->x = (llrt_tensor){.data = p->data[0][0],
                       .dtype = LLRT_F32,
                       .rank = 2,
                       .shape = {ROWS, LENGTH},
                       .storage = &p->storage,
                       .device = trial_device("host")};
  p->y = p->x;
  p->y.data = p->data[1][0];
  p->args[0] = (llrt_arg){.name = "x", .tensor = &p->x};
  p->args[1] = (llrt_arg){.name = "y", .tensor = &p->y};
  p->args[2] = (llrt_arg){.name = "s", .number = 2};
  for (int i = 0; i < 2 * ALL; i++) p->data[0][i / ALL][i % ALL] = (float)(i + 1);
  return p;
}

static void pair_free(pair *p) {
  llrt_expr_destroy(&p->expr);
  free(p);
}

static void call(pair *p, int n) {
  llrt_status status = llrt_compute_into(p->expr, p->args, n, NULL, NULL);
  cr_assert_eq(status, LLRT_OK, "%s", llrt_last_error());
}

static const char scaled[] = "(x[t n], s: f32) -> (y[t n]) { y = x * s + n }";

static void expect(const float *x, const float *y, float s) {
  for (int i = 0; i < ALL; i++)
    cr_expect_eq(y[i], x[i] * s + (float)(i % LENGTH), "[%d] is %g", i, (double)y[i]);
}

/* A warm call asks for no memory: what a description takes was cleared and filled by each one. */
Test(compute_kept, asks_for_no_memory) {
  pair *p = pair_new(scaled);
  call(p, 3);
  memory_fail(MEMORY_ALL, 0, 0);
  call(p, 3);
  cr_expect_eq(memory_asked(), 0, "%d requests", (int)memory_asked());
  p->x.shape[1] = p->y.shape[1] = LENGTH / 2; /* another call */
  call(p, 3);
  cr_expect_gt(memory_asked(), 0);
  pair_free(p);
}

Test(compute_kept, addresses_and_numbers_are_the_calls) {
  pair *p = pair_new(scaled);
  for (int turn = 0; turn < 6; turn++) {
    p->x.data = p->data[0][turn & 1];
    p->y.data = p->data[1][turn >> 1 & 1];
    p->args[2].number = turn;
    call(p, 3);
    expect(p->x.data, p->y.data, (float)turn);
  }
  const llrt_arg turned[] = {p->args[2], p->args[1], p->args[0]}; /* in another order */
  cr_assert_eq(llrt_compute_into(p->expr, turned, 3, NULL, NULL), LLRT_OK);
  expect(p->x.data, p->y.data, 5);
  pair_free(p);
}

/* Of a storage the contents count, not the address. */
Test(compute_kept, storages_are_compared) {
  pair *p = pair_new("(x[t n]) -> (y[t n]) { y = x }");
  llrt_storage columns = p->storage;
  p->y.storage = &columns;
  call(p, 2);
  cr_assert_eq(llrt_storage_col_major(2, &columns), LLRT_OK);
  call(p, 2);
  for (int i = 0; i < ALL; i++)
    cr_expect_eq(p->data[1][0][i % LENGTH * ROWS + i / LENGTH], p->data[0][0][i], "[%d]", i);
  p->y.storage = NULL;
  p->y.shape[1] = LENGTH - 1;
  cr_expect_eq(llrt_compute_into(p->expr, p->args, 2, NULL, NULL), LLRT_INVALID_ARGUMENT);
  pair_free(p);
}

/* Elements that are taken lie off the argument's address. */
Test(compute_kept, positions_that_are_taken) {
  pair *p = pair_new("(x[t p:8]) -> (y[t]) { y = x[p=5] - x[p=1] }");
  p->y = (llrt_tensor){.dtype = LLRT_F32, .rank = 1, .shape = {ROWS}, .device = p->x.device};
  for (int turn = 0; turn < 3; turn++) {
    const float *x = p->data[0][turn & 1];
    float *y = p->data[1][turn & 1];
    p->x.data = (void *)x;
    p->y.data = y;
    call(p, 2);
    for (int t = 0; t < ROWS; t++)
      cr_expect_eq(y[t], x[t * LENGTH + 5] - x[t * LENGTH + 1], "turn %d, [%d]", turn, t);
  }
  pair_free(p);
}

/* Halves of words are such where the call's address allows it. */
Test(compute_kept, words_of_pairs) {
  pair *p = pair_new("(x[t (n p:2)]) -> (y[t n]) { y = x[p=0] - x[p=1] * 4 }");
  uint16_t x[ALL + 3];
  for (int i = 0; i < ALL + 3; i++) x[i] = (uint16_t)((127 + i % 5) << 7); /* 2^(i % 5) */
  p->x.dtype = LLRT_BF16;
  p->y.shape[1] = LENGTH / 2;
  for (int turn = 0; turn < 4; turn++) {
    int begin = (turn * 3 + 2) % 4;
    p->x.data = x + begin;
    call(p, 2);
    for (int i = 0; i < ALL / 2; i++) {
      int at = begin + 2 * i;
      float wanted = (float)(1 << at % 5) - (float)(4 << (at + 1) % 5);
      cr_expect_eq(p->data[1][0][i], wanted, "from %d, [%d]: %g", begin, i,
                   (double)p->data[1][0][i]);
    }
  }
  pair_free(p);
}

/* What is refused once is refused behind calls that were not. */
Test(compute_kept, checks_what_may_differ) {
  pair *p = pair_new(scaled);
  call(p, 3);
  p->y.data = p->data[0][0] + 1;
  cr_expect_eq(llrt_compute_into(p->expr, p->args, 3, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect(strstr(llrt_last_error(), "overlaps"), "%s", llrt_last_error());
  p->y.data = (char *)p->data[1][0] + 1;
  cr_expect_eq(llrt_compute_into(p->expr, p->args, 3, NULL, NULL), LLRT_INVALID_ARGUMENT);
  p->y.data = p->data[1][0];
  p->args[1].reserved[0] = 1;
  cr_expect_eq(llrt_compute_into(p->expr, p->args, 3, NULL, NULL), LLRT_INVALID_ARGUMENT);
  p->args[1].reserved[0] = 0;
  p->x.reserved[3] = 1;
  cr_expect_eq(llrt_compute_into(p->expr, p->args, 3, NULL, NULL), LLRT_INVALID_ARGUMENT);
  p->x.reserved[3] = 0;
  p->args[2].name = "y";
  cr_expect_eq(llrt_compute_into(p->expr, p->args, 3, NULL, NULL), LLRT_INVALID_ARGUMENT);
  p->args[2].name = "s";
  cr_expect_eq(llrt_compute_into(p->expr, p->args, 2, NULL, NULL), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_compute_into(p->expr, p->args, 3, NULL, p), LLRT_INVALID_ARGUMENT);
  call(p, 3);
  expect(p->x.data, p->y.data, 2);
  pair_free(p);
}

/* More shapes than an expression keeps. */
Test(compute_kept, many_shapes) {
  pair *p = pair_new("(x[t n]) -> (y[t n]) { y = x * 3 }");
  for (int turn = 0; turn < 3 * ALL; turn++) {
    p->x.shape[0] = p->y.shape[0] = 1;
    p->x.shape[1] = p->y.shape[1] = 1 + turn * 7 % ALL;
    memset(p->data[1], 0, sizeof p->data[1]);
    call(p, 2);
    for (int i = 0; i < ALL; i++)
      cr_assert_eq(p->data[1][0][i], i < p->x.shape[1] ? 3 * p->data[0][0][i] : 0);
  }
  pair_free(p);
}

enum { THREADS = 4, CALLS = 500 };

static void *call_often(void *data) {
  const pair *p = data;
  float y[ALL];
  llrt_tensor own = p->y;
  llrt_arg args[3];
  memcpy(args, p->args, sizeof args);
  own.data = y;
  args[1].tensor = &own;
  for (int i = 0; i < CALLS; i++) {
    args[2].number = i;
    if (llrt_compute_into(p->expr, args, 3, NULL, NULL) != LLRT_OK) return data;
    for (int k = 0; k < ALL; k++)
      if (y[k] != p->data[0][0][k] * (float)i + (float)(k % LENGTH)) return data;
  }
  return NULL;
}

Test(compute_kept, threads) {
  pair *p = pair_new(scaled);
  pthread_t thread[THREADS];
  for (int i = 0; i < THREADS; i++)
    cr_assert_eq(pthread_create(&thread[i], NULL, call_often, p), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong;
    pthread_join(thread[i], &wrong);
    cr_expect_null(wrong, "thread %d", i);
  }
  pair_free(p);
}
