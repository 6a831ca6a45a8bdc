/* Re-shards over several devices of one process, by a thread for each rank. */
#include "tests/open_device.h"
#include "tests/reshard/reshard_case.h"
#include "tests/reshard/reshard_devices.h"

static void run_draws(const reshard_place *place, const char *test, int count) {
  random_source source = random_start(test);
  int refused = 0;
  for (int i = 0; i < count; i++) {
    char message[600] = "", text[4000];
    reshard_case c;
    reshard_case_draw(&source, &c);
    reshard_result result = reshard_case_run(&c, place, message, sizeof message);
    reshard_case_print(&c, text, sizeof text);
    cr_assert_neq(result, RESHARD_WRONG, "draw %d: %s\n  %s", i, message, text);
    refused += result == RESHARD_REFUSED;
  }
  cr_expect_leq(refused, count / 4, "%d of %d refused", refused, count);
}

Test(reshard, host) {
  opened_device host = open_device("host");
  reshard_place place = {.timeout_ms = 300000};
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) place.device[i] = host.device;
  run_draws(&place, "reshard host", 30);
  close_device(&host);
}

Test(reshard, emulated) {
  reshard_place place;
  llrt_context *context = reshard_open_emulated(&place);
  run_draws(&place, "reshard emulated", 30);
  reshard_close_emulated(&context, &place);
}

Test(reshard, captured) {
  reshard_place place;
  llrt_context *context = reshard_open_emulated(&place);
  place.captured = true;
  run_draws(&place, "reshard captured", 10);
  reshard_close_emulated(&context, &place);
}

/* ---- what is right in other ways than by draws ---- */

static reshard_case case_of(int ranks, const char *source, const char *destination, int64_t m,
                            int64_t n) {
  reshard_case c = {.ranks = ranks, .shape = {m, n}, .from = LLRT_B16, .to = LLRT_B16};
  cr_assert_eq(llrt_sharding_parse(source, NULL, 2, c.shape, &c.source), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(llrt_sharding_parse(destination, NULL, 2, c.shape, &c.destination), LLRT_OK, "%s",
               llrt_last_error());
  return c;
}

static void explain_to(const reshard_case *c, char *text, size_t size) {
  size_t length;
  const llrt_reshard_desc desc = {.source = &c->source,
                                  .destination = &c->destination,
                                  .shape = c->shape,
                                  .source_dtype = c->from,
                                  .destination_dtype = c->to};
  cr_assert_eq(llrt_reshard_explain(&desc, 100, 1000, text, size, &length), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_lt(length, size);
}

/* Bytes by hand: 64 x 64 of 16 bits are 8192. */
Test(reshard, explained) {
  static const struct {
    int ranks;
    const char *source, *destination, *first_line;
  } rows[] = {
      {2, "mesh(a=2): P(a, None)", "mesh(a=2): P(None, a)",
       "2 ranks: 4096 bytes cross links, 2048 at most on one, each way\n"},
      {8, "mesh(a=8): P(a, None)", "mesh(a=8): P(None, a)",
       "8 ranks: 7168 bytes cross links, 896 at most on one, each way\n"},
      {64, "mesh(a=64): P(a, None)", "mesh(a=64): P(None, a)",
       "64 ranks: 8064 bytes cross links, 126 at most on one, each way\n"},
      /* every rank has all: nothing crosses */
      {4, "mesh(a=4): P(None, None)", "mesh(a=4): P(a, None)",
       "4 ranks: 0 bytes cross links, 0 at most on one, each way\n"},
      /* four ranks to two others: copies take turns */
      {6, "mesh(a=2, b=2): P(a, None)", "mesh(c=2) + 4: P(None, None)",
       "6 ranks: 16384 bytes cross links, 8192 at most on one, each way\n"},
      /* half of the sums are of others' summands: each rank reads half of the other's part */
      {2, "mesh(a=2): P(None, None, partial(a))", "mesh(a=2): P(a, None)",
       "2 ranks: 8192 bytes cross links, 4096 at most on one, each way\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static char text[1 << 14];
    reshard_case c = case_of(rows[i].ranks, rows[i].source, rows[i].destination, 64, 64);
    explain_to(&c, text, sizeof text);
    cr_expect_eq(strncmp(text, rows[i].first_line, strlen(rows[i].first_line)), 0, "row %zu: %s", i,
                 text);
  }
}

/* Boxes that are alike are one launch; the last rank's, where parts are uneven, is another. */
Test(reshard, launches) {
  static char text[1 << 14];
  reshard_case c = case_of(8, "mesh(a=8): P(a, None)", "mesh(a=8): P(None, a) o col_major", 64, 64);
  explain_to(&c, text, sizeof text);
  cr_expect(strstr(text, "\n   0             7   7         1 "), "%s", text);
  c = case_of(3, "mesh(a=3): P(a, None)", "mesh(a=3): P(None, a) o col_major", 64, 64);
  explain_to(&c, text, sizeof text);
  cr_expect(strstr(text, "\n   0             2   2         2 "), "%s", text);
}

/* 128 x 128 of 16 bits by NCCL: rows to columns stored by rows arrive in place, what goes is
 * packed: read and written once. Messages begin at multiples of 256 bytes of the workspace. */
Test(reshard, explained_by_nccl) {
  static const struct {
    int ranks;
    const char *source, *destination, *row;
  } rows[] = {
      {2, "mesh(a=2): P(a, None)", "mesh(a=2): P(None, a)",
       "0-1                   1   1         1            8192          8192        16384"
       "            0         8192\n"},
      {8, "mesh(a=8): P(a, None)", "mesh(a=8): P(None, a)",
       "0-7                   7   7         7            3584          3584         7168"
       "            0         3584\n"},
      {64, "mesh(a=64): P(a, None)", "mesh(a=64): P(None, a)",
       "0-63                 63  63        63             504           504         1008"
       "            0        16128\n"},
      /* summands go as they lie, and are read with the own one and written once where they arrive
       */
      {2, "mesh(a=2): P(None, None, partial(a))", "mesh(a=2): P(a, None)",
       "0-1                   1   1         1           16384         16384            0"
       "        49152        16384\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static char text[1 << 14];
    reshard_case c = case_of(rows[i].ranks, rows[i].source, rows[i].destination, 128, 128);
    c.from = c.to = i == 3 ? LLRT_BF16 : LLRT_B16;
    explain_to(&c, text, sizeof text);
    cr_expect(strstr(text, rows[i].row), "row %zu: %s", i, text);
  }
}
