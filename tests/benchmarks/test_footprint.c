/* What a tensor with gaps touches of memory, by numbers worked out by hand. */
#include "benchmarks/footprint.h"

#include <llrt/llrt.h>

#include <criterion/criterion.h>
#include <stdlib.h>

static const struct {
  const char *storage;
  int width, rank;
  int64_t shape[3];
  footprint expected; /* runs 0: one after the other */
} cases[] = {
    {"row_major", 8, 2, {16, 64}, {0, 1024, 1024, 0, 1024, 1024, 32, 0}},
    {"strided([48,1])", 8, 2, {4, 32}, {0, 32, 48, 0, 176, 128, 6, 4}},
    {"ggml_q4_0x4_il4", 8, 3, {4, 8, 16}, {8, 64, 72, 0, 576, 512, 18, 8}},
    {"flashmla_rope", 16, 3, {1, 4, 64}, {528, 128, 656, 0, 2624, 512, 18, 4}},
    {"flashmla_model1_scale", 8, 3, {2, 64, 7}, {36864, 7, 8, 64, 37440, 896, 32, 32}},
};

Test(footprint, of_records) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    conversion c = {.dtype = conversion_dtype(cases[i].width), .rank = cases[i].rank};
    const footprint *expected = &cases[i].expected;
    footprint found;
    for (int a = 0; a < c.rank; a++) c.shape[a] = cases[i].shape[a];
    cr_assert_eq(llrt_storage_row_major(c.rank, &c.from), LLRT_OK);
    cr_assert_eq(llrt_storage_parse(cases[i].storage, c.rank, c.shape, &c.to), LLRT_OK, "%s",
                 llrt_last_error());
    cr_assert_eq(conversion_measure(&c), LLRT_OK);
    unsigned char *scratch = malloc((size_t)c.to_bytes);
    cr_assert(footprint_of(&c, 1, scratch, &found), "%s", cases[i].storage);
    cr_expect_eq(found.first, expected->first, "%s", cases[i].storage);
    cr_expect_eq(found.run, expected->run, "%s", cases[i].storage);
    cr_expect_eq(found.pitch, expected->pitch, "%s: %lld", cases[i].storage,
                 (long long)found.pitch);
    cr_expect_eq(found.runs, expected->runs ? expected->runs : INT64_MAX, "%s", cases[i].storage);
    if (expected->runs) cr_expect_eq(found.group, expected->group, "%s", cases[i].storage);
    cr_expect_eq(found.bytes, expected->bytes, "%s", cases[i].storage);
    cr_expect_eq(found.sectors, expected->sectors, "%s: %lld", cases[i].storage,
                 (long long)found.sectors);
    cr_expect_eq(found.partial, expected->partial, "%s: %lld", cases[i].storage,
                 (long long)found.partial);
    int64_t at = 0;
    for (int64_t byte = 0; byte < c.to_bytes; byte++)
      if (scratch[byte]) cr_assert_eq(footprint_byte(&found, at++), byte, "%s", cases[i].storage);
    cr_expect_eq(at, found.bytes);
    free(scratch);
  }
}

/* Rows that are no runs of one length: a tile's last rows are longer by nothing, the first by a
 * gap. */
Test(footprint, of_no_pattern) {
  conversion c = {.dtype = LLRT_B8, .rank = 3, .shape = {2, 3, 4}};
  unsigned char scratch[256];
  footprint found;
  cr_assert_eq(llrt_storage_row_major(3, &c.from), LLRT_OK);
  cr_assert_eq(llrt_storage_parse("strided([100,24,5])", 3, c.shape, &c.to), LLRT_OK, "%s",
               llrt_last_error());
  cr_assert_eq(conversion_measure(&c), LLRT_OK);
  cr_assert_not(footprint_of(&c, 1, scratch, &found));
}
