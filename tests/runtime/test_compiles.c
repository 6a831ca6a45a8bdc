/* How many kernels one-line calls make, which serves which call, and the policies of compiling.
 * Every result is compared. */
#include "runtime/described.h"
#include "runtime/policy.h"
#include "tests/runtime/convert_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#define SIDE 80
#define MOST_ROWS 8192 /* of two columns */
#define BYTES (MOST_ROWS * 2 * 4 + 64)

static fixture at;
static _Alignas(64) unsigned char in[BYTES], out[BYTES];

static void start(void) { fixture_make(&at, &fixture_params); }
static void stop(void) { fixture_end(&at); }
TestSuite(compiles, .init = start, .fini = stop);

static uint64_t count_compiles(void) {
  llrt_cache_stats stats = {0};
  cr_assert_eq(llrt_context_get_cache_stats(at.context, &stats), LLRT_OK);
  return stats.compiles;
}

static void fill(void) {
  for (int i = 0; i < BYTES; i++) in[i] = (unsigned char)(i * 2654435761u >> 13), out[i] = 0xA5;
}

/* One f32 matrix at these addresses, compared with its elements and with what surrounds it. */
static llrt_status convert_at(int64_t rows, int64_t columns, int from, int to,
                              const llrt_storage *storage) {
  llrt_tensor source = {
      .data = in + from, .dtype = LLRT_F32, .rank = 2, .shape = {rows, columns}, .device = at.host};
  llrt_tensor destination = source;
  destination.data = out + to;
  destination.storage = storage;
  fill();
  return llrt_convert_into(&source, &destination, NULL, NULL);
}

static void compare(int64_t rows, int64_t columns, int from, int to, const llrt_storage *storage) {
  llrt_storage_binding binding;
  int64_t shape[] = {rows, columns};
  cr_assert_eq(llrt_storage_bind(storage, 2, shape, NULL, &binding), LLRT_OK);
  for (int64_t r = 0; r < rows; r++)
    for (int64_t c = 0; c < columns; c++) {
      int64_t offset = llrt_storage_offset(storage, &binding, (int64_t[]){r, c});
      cr_assert_eq(memcmp(out + to + 4 * offset, in + from + 4 * (r * columns + c), 4), 0,
                   "(%lld, %lld) of %lld x %lld", (long long)r, (long long)c, (long long)rows,
                   (long long)columns);
    }
  for (int i = 0; i < BYTES; i++)
    if (i < to || i >= to + 4 * binding.span)
      cr_assert_eq(out[i], 0xA5, "byte %d beside the destination", i);
}

static void convert_and_compare(int64_t rows, int64_t columns, int from, int to,
                                const llrt_storage *storage) {
  cr_assert_eq(convert_at(rows, columns, from, to, storage), LLRT_OK, "%s", llrt_last_error());
  compare(rows, columns, from, to, storage);
}

/* ---- how many ---- */

Test(compiles, addresses_share_kernels) {
  static const int places[] = {0, 4, 8, 16, 32};
  for (int first = 0; first < 25; first++) { /* whichever comes first */
    fixture_end(&at);
    fixture_make(&at, &fixture_params);
    for (int i = first; i < first + 25; i++)
      convert_and_compare(64, 64, places[i % 25 / 5], places[i % 5], &at.col_major);
    cr_expect_leq(count_compiles(), 3, "from %d on", first);
  }
}

Test(compiles, forty_layouts_at_any_address) {
  for (int layout = 0; layout < 40; layout++) {
    llrt_storage storage;
    char text[64];
    snprintf(text, sizeof text, "storage(digits=[dim0: %d, dim1: rest, dim0: rest])", layout + 2);
    cr_assert_eq(llrt_storage_parse(text, 2, NULL, &storage), LLRT_OK, "%s", llrt_last_error());
    int64_t rows = 2 * (layout + 2) <= 48 ? 2 * (layout + 2) : layout + 2;
    for (int i = 0; i < 9; i++) convert_and_compare(rows, 64, 16 * (i % 3), 16 * (i / 3), &storage);
  }
  cr_expect_leq(count_compiles(), 80);
}

Test(compiles, counts_share_kernels) {
  for (int64_t count = 1; count <= MOST_ROWS; count += count < 1024 ? 1 : 7)
    convert_and_compare(count, 2, 0, 0, &at.col_major);
  convert_and_compare(MOST_ROWS, 2, 0, 0, &at.col_major);
  cr_expect_leq(count_compiles(), 3);
}

Test(compiles, extents_are_compiled_in_where_it_is_asked_for) {
  llrt_context_params params = fixture_params;
  params.fix_extents = 1;
  fixture_end(&at);
  fixture_make(&at, &params);
  for (int64_t count = 8; count < 40; count += 8)
    convert_and_compare(count, 16, 0, 0, &at.col_major);
  cr_expect_eq(count_compiles(), 4);
}

/* A prepared operation with any promises that the call's tensors keep. */
Test(compiles, what_was_prepared_serves) {
  static const llrt_promise any = {0, 0, 0}, some = {8, 8, 64};
  for (int fixed = 0; fixed < 2; fixed++) {
    fixture_end(&at);
    fixture_make(&at, &fixture_params);
    op_description desc = {
        .kind = LLRT_OP_CONVERT, .n_tensors = 2, .tensors = {at.source, at.destination}};
    for (int t = 0; t < 2; t++)
      for (int a = 0; a < 2; a++) desc.promises[t].shape[a] = fixed ? some : any;
    llrt_op *op;
    cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
    uint64_t before = count_compiles();
    cr_assert_eq(llrt_context_set_compile(at.context, LLRT_COMPILE_NEVER), LLRT_OK);
    for (int64_t rows = 8; rows <= 64; rows += 8)
      convert_and_compare(rows, 32, 4, 8, &at.col_major);
    cr_expect_eq(count_compiles(), before);
    llrt_op_destroy(&op);
  }
}

/* ---- policies ---- */

Test(compiles, never_says_what_to_prepare) {
  cr_assert_eq(llrt_context_set_compile(at.context, LLRT_COMPILE_NEVER), LLRT_OK);
  cr_expect_eq(convert_at(24, 40, 0, 0, &at.col_major), LLRT_NOT_PREPARED);
  cr_expect(strstr(llrt_last_error(), "convert source f32 row_major"), "%s", llrt_last_error());
  cr_expect(strstr(llrt_last_error(), "destination f32 col_major"), "%s", llrt_last_error());
  for (int i = 0; i < BYTES; i++) cr_assert_eq(out[i], 0xA5);
  cr_assert_eq(llrt_context_set_compile(at.context, LLRT_COMPILE_NOW), LLRT_OK);
  convert_and_compare(24, 40, 0, 0, &at.col_major);
  cr_assert_eq(llrt_context_set_compile(at.context, LLRT_COMPILE_NEVER), LLRT_OK);
  convert_and_compare(40, 24, 0, 0, &at.col_major);
}

Test(compiles, never_refuses_no_count_once_it_is_warm) {
  convert_and_compare(31, 17, 4, 4, &at.col_major);
  cr_assert_eq(llrt_context_set_compile(at.context, LLRT_COMPILE_NEVER), LLRT_OK);
  uint64_t before = count_compiles();
  unsigned seed = 1;
  for (int i = 0; i < 10000; i++) {
    seed = seed * 1664525 + 1013904223;
    int64_t rows = 1 + (seed >> 8) % SIDE;
    cr_assert_eq(convert_at(rows, 17, 4 * (i % 5), 4 * (i % 3), &at.col_major), LLRT_OK, "%s",
                 llrt_last_error());
    if (i % 50 == 0) compare(rows, 17, 4 * (i % 5), 4 * (i % 3), &at.col_major);
  }
  cr_expect_eq(count_compiles(), before);
}

typedef struct told {
  int events, behind;
  bool complete;
} told;

static void tell(void *user, const llrt_compile_event *event) {
  told *all = user;
  all->events++;
  all->behind += event->background;
  all->complete = event->size == sizeof *event && event->desc->kind == LLRT_OP_CONVERT &&
                  event->milliseconds > 0 && event->device &&
                  strstr(event->text, "convert source f32");
}

Test(compiles, every_compile_is_told) {
  told all = {0};
  llrt_context_params params = fixture_params;
  params.compile_user = &all;
  params.on_compile = tell;
  params.compile = LLRT_COMPILE_BACKGROUND;
  fixture_end(&at);
  fixture_make(&at, &params);
  for (int i = 0; i < 20; i++) convert_and_compare(64, 64, 4 * (i % 4), 0, &at.col_major);
  fixture_end(&at); /* what is being compiled ends first */
  fixture_make(&at, &fixture_params);
  cr_expect(all.complete);
  cr_expect_geq(all.events, 1);
  cr_expect_leq(all.events, 3);
}

/* The thread that compiles behind calls waits for wishes in the parent, and is not in the child,
 * which ends the context all the same, also after a wish of its own. */
Test(compiles, a_forked_child_has_no_thread_to_wait_for) {
  llrt_op *op;
  op_description desc = fixture_desc(&at);
  cr_assert_eq(described_prepare(at.host, &desc, &op), LLRT_OK, "%s", llrt_last_error());
  llrt_compile_behind(op, &at.source);
  while (atomic_load(&op->wished)) usleep(1000);
  usleep(50000);
  for (int wishes = 0; wishes < 2; wishes++) {
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
      alarm(20);
      if (wishes) llrt_compile_behind(op, &at.source);
      while (atomic_load(&op->wished)) usleep(1000);
      llrt_op_destroy(&op);
      fixture_end(&at);
      _exit(0);
    }
    int state;
    cr_assert_eq(waitpid(child, &state, 0), child);
    cr_expect(WIFEXITED(state) && WEXITSTATUS(state) == 0, "%d wishes: %#x", wishes,
              (unsigned)state);
  }
  llrt_op_destroy(&op);
}

Test(compiles, there_are_four_policies) {
  cr_expect_eq(llrt_context_set_compile(at.context, LLRT_COMPILE_FORBIDDEN), LLRT_OK);
  cr_expect_eq(llrt_context_set_compile(at.context, (llrt_compile_policy)4), LLRT_INVALID_ARGUMENT);
  cr_expect_eq(llrt_context_set_compile(NULL, LLRT_COMPILE_NOW), LLRT_INVALID_ARGUMENT);
  llrt_context *none;
  cr_expect_eq(
      llrt_context_create(&(llrt_context_params){.compile = (llrt_compile_policy)-1}, &none),
      LLRT_INVALID_ARGUMENT);
  cr_expect_null(none);
}
