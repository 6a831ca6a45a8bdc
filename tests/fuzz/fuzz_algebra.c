/* Bytes as a program of operations on a few layouts. Each result is compared, point by point, with
 * what the operation's definition says; so is a refusal, where the definition says when there is no
 * result. */
#include "tests/fuzz/operations.h"

#include <string.h>

static const char *const pool[] = {"register", "lane", "warp"}; /* names of in-dims and out-dims */
enum { POOL = 3, SLOTS = 4, MAX_STEPS = 16 };

int bytes_names(bytes *from, const llrt_dim *dims, int n, const char **names) {
  uint8_t mask = bytes_next(from);
  int count = 0;
  for (int i = 0; i < n; i++)
    if (mask >> i & 1) names[count++] = dims[i].name;
  if (mask & 128 && count > 1) { /* the other way round */
    const char *first = names[0];
    names[0] = names[count - 1];
    names[count - 1] = first;
  }
  return count;
}

static void read_dims(bytes *from, llrt_layout *out, bool ins) {
  uint8_t shape = bytes_next(from), sizes = bytes_next(from);
  for (int i = 0; i < (shape & 3); i++) {
    const char *name = pool[(shape / 4 + (shape & 64 ? 2 : 1) * i) % POOL];
    int bits = sizes >> 2 * i & 3;
    if (ins) llrt_layout_add_in(out, name, bits);
    else llrt_layout_add_out(out, name, bits);
  }
}

/* Up to three in-dims and out-dims of up to 3 bits, columns as they come. */
static void read_layout(bytes *from, llrt_layout *out) {
  *out = llrt_layout_empty();
  read_dims(from, out, true);
  read_dims(from, out, false);
  int in_bits = llrt_layout_in_bits(out), out_bits = llrt_layout_out_bits(out);
  for (int i = 0; i < in_bits; i++) {
    unsigned low = bytes_next(from), high = out_bits > 8 ? bytes_next(from) : 0;
    out->column[i] = (low | high << 8) & ((1u << out_bits) - 1);
  }
  FUZZ_CHECK(llrt_layout_is_valid(out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bytes from = {.data = data, .size = size};
  llrt_layout slot[SLOTS];
  for (int i = 0; i < SLOTS; i++) read_layout(&from, &slot[i]);
  for (int step = 0; step < MAX_STEPS && from.at < from.size; step++) {
    uint8_t what = bytes_next(&from), where = bytes_next(&from);
    const llrt_layout a = slot[where & 3], b = slot[where >> 2 & 3];
    llrt_layout out = a;
    if (what % (n_operations + 1) == n_operations) read_layout(&from, &out);
    else if (operations[what % (n_operations + 1)](&from, &a, &b, &out) != LLRT_OK)
      FUZZ_CHECK(llrt_layout_equal(&out, &(llrt_layout){0}));
    FUZZ_CHECK(llrt_layout_is_valid(&out));
    check_questions(&a, &b);
    check_pairs(&a, &b);
    if (llrt_layout_in_bits(&out) < POINTS_MAX_BITS && llrt_layout_out_bits(&out) < POINTS_MAX_BITS)
      slot[where >> 4 & 3] = out;
  }
  return 0;
}
