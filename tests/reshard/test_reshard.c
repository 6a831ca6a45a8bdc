/* Re-shards over several devices of one process, by a thread for each rank. */
#include "tests/open_device.h"
#include "tests/reshard/reshard_case.h"
#include "tests/reshard/reshard_devices.h"

Test(reshard, host) {
  opened_device host = open_device("host");
  reshard_place place = {.timeout_ms = 300000};
  for (int i = 0; i < RESHARD_MAX_RANKS; i++) place.device[i] = host.device;
  reshard_run_draws(&place, "reshard host", 30, RESHARD_MAX_RANKS);
  close_device(&host);
}

Test(reshard, emulated) {
  reshard_place place;
  llrt_context *context = reshard_open_emulated(&place);
  reshard_run_draws(&place, "reshard emulated", 30, RESHARD_MAX_RANKS);
  reshard_close_emulated(&context, &place);
}

/* Ranks on AMD's GPUs meet by a kernel of their own. */
Test(reshard, hip) {
  reshard_place place;
  llrt_context *context = reshard_open_hip(&place);
  reshard_run_draws(&place, "reshard hip", 8, 2);
  reshard_close_emulated(&context, &place);
}

/* What draws found. 97 and 144 of seed 11: launches of three boxes load scales of a fourth place,
 * which nobody had written. */
Test(reshard, found) {
  static const int numbers[] = {97, 144};
  reshard_place place;
  llrt_context *context = reshard_open_emulated(&place);
  random_source source = {.state = 11};
  reshard_case c;
  for (int i = 0, at = 0; i < 2; i++) {
    char message[600] = "";
    for (; at <= numbers[i]; at++) reshard_case_draw(&source, &c);
    reshard_result result = reshard_case_run(&c, &place, message, sizeof message);
    cr_expect_eq(result, RESHARD_RIGHT, "%d: %s", numbers[i], message);
  }
  reshard_close_emulated(&context, &place);
}

Test(reshard, captured) {
  reshard_place place;
  llrt_context *context = reshard_open_emulated(&place);
  place.captured = true;
  reshard_run_draws(&place, "reshard captured", 10, RESHARD_MAX_RANKS);
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

/* All that is told, for 2, 8 and 64 devices: n * n * 128 x 128 of 16 bits, so that a part has n *
 * 32768 bytes, of which each other rank gets 32768. Predictions are no less than the bound. */
Test(reshard, explained_in_full) {
  static const int ranks[] = {2, 8, 64};
  for (int i = 0; i < 3; i++) {
    static char text[1 << 16];
    char source[64], destination[64], row[160], key[32];
    int n = ranks[i];
    double least, link, link_speed, memory, memory_speed, peers, nccl;
    snprintf(source, sizeof source, "mesh(a=%d): P(a, None)", n);
    snprintf(destination, sizeof destination, "mesh(a=%d): P(None, a) o col_major", n);
    reshard_case c = case_of(n, source, destination, 128 * n, 128 * n);
    explain_to(&c, text, sizeof text);
    long long each = 32768, sent = each * (n - 1), part = each * n;
    snprintf(key, sizeof key, "\n%4d  ", n - 1);
    snprintf(row, sizeof row, "%s%12d %3d %9d %15lld %13lld %12lld %12lld %12lld\n", key, n - 1,
             n - 1, 1, sent, sent, each, part, part);
    cr_expect(strstr(text, row), "%d: %s in %s", n, row, text);
    const char *bound = strstr(text, "at least "), *predicted = strstr(text, "by peers' memory ");
    cr_assert(bound && predicted);
    cr_expect_eq(sscanf(bound,
                        "at least %lf us: link %lf us at %lf GB/s, memory %lf us at %lf GB/s",
                        &least, &link, &link_speed, &memory, &memory_speed),
                 5);
    cr_expect_float_eq(link, (double)sent / 100e3, 0.06); /* 100 GB/s, as explain_to has it */
    cr_expect_eq(sscanf(predicted, "by peers' memory %lf us, by NCCL %lf us", &peers, &nccl), 2);
    cr_expect_geq(peers, least);
    cr_expect_geq(nccl, least);
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

/* From two ranks to two: the narrower type crosses, and the longer pieces are the peers'. */
Test(reshard, access) {
  static const struct {
    int64_t m, n;
    const char *destination;
    llrt_dtype from, to;
    const char *line;
  } rows[] = {
      {64, 64, "P(None, a)", LLRT_B16, LLRT_B16,
       "ranks write peers' memory: 4096 bytes of sectors on links, 4096 if they read it\n"},
      {64, 64, "P(None, a)", LLRT_BF16, LLRT_E4M3,
       "ranks write peers' memory: 2048 bytes of sectors on links, 4096 if they read it\n"},
      {64, 64, "P(None, a)", LLRT_E4M3, LLRT_BF16,
       "ranks read peers' memory: 2048 bytes of sectors on links, 4096 if they wrote it\n"},
      /* 128 pieces of two bytes each way, which take a sector each; two rows of 128 */
      {4, 256, "P(None, a) o col_major", LLRT_B8, LLRT_B8,
       "ranks read peers' memory: 512 bytes of sectors on links, 8192 if they wrote it\n"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static char text[1 << 14];
    char destination[200];
    snprintf(destination, sizeof destination, "mesh(a=2): %s", rows[i].destination);
    reshard_case c = case_of(2, "mesh(a=2): P(a, None)", destination, rows[i].m, rows[i].n);
    c.from = rows[i].from;
    c.to = rows[i].to;
    explain_to(&c, text, sizeof text);
    cr_expect(strstr(text, rows[i].line), "row %zu: %s", i, text);
  }
}

/* Bytes of scales cross where the rank that moves a box has not its scales; several boxes' scales
 * are taken to one place by a launch of their own. */
Test(reshard, explained_with_scales) {
  static const struct {
    const char *scale, *line;
  } rows[] = {
      {"mesh(a=2): P(a)", "\n   0             1   1         2             512           512 "},
      {"mesh(a=2): P()", "\n   0             1   1         2             512           512 "},
      /* half of rank 0's scales are rank 1's: four of a box, of four bytes */
      {"mesh(a=2): P(None, a)",
       "\n   0             2   2         2             528           528 "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    static char text[1 << 14];
    reshard_case c = case_of(2, "mesh(a=2): P(a, None)", "mesh(a=2): P(None, a)", 64, 32);
    int64_t shape[2] = {8, 2};
    size_t length;
    cr_assert_eq(llrt_sharding_parse(rows[i].scale, NULL, 2, shape, &c.scale), LLRT_OK);
    const llrt_map map = {.kind = LLRT_MAP_SCALE, .group = {8, 16}};
    const llrt_reshard_desc desc = {.size = sizeof desc,
                                    .source = &c.source,
                                    .destination = &c.destination,
                                    .shape = c.shape,
                                    .source_dtype = LLRT_BF16,
                                    .destination_dtype = LLRT_E4M3,
                                    .maps = &map,
                                    .n_maps = 1,
                                    .scale = &c.scale,
                                    .scale_dtype = LLRT_F32,
                                    .access = LLRT_RESHARD_WRITE};
    cr_assert_eq(llrt_reshard_explain(&desc, 0, 0, text, sizeof text, &length), LLRT_OK, "%s",
                 llrt_last_error());
    cr_expect(strstr(text, rows[i].line), "row %zu: %s", i, text);
  }
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
