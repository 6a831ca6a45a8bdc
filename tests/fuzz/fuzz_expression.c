/* Any text as an expression. What parses prints, and parses back to one that prints and hashes
 * alike; what does not says where. */
#include "tests/fuzz/fuzz.h"

#include <llrt/llrt.h>

#include <string.h>

static char *printed(const llrt_expr *expr) {
  size_t length, same;
  FUZZ_CHECK(llrt_expr_print(expr, NULL, 0, &length) == LLRT_OK);
  char *text = malloc(length + 1);
  FUZZ_CHECK(text && llrt_expr_print(expr, text, length + 1, &same) == LLRT_OK);
  FUZZ_CHECK(same == length && strlen(text) == length);
  return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  llrt_expr *expr, *again;
  FUZZ_CHECK(text);
  memcpy(text, data, size);
  text[size] = 0;
  llrt_status status = llrt_expr_parse(text, &expr);
  FUZZ_CHECK(status == LLRT_OK || status == LLRT_INVALID_ARGUMENT || status == LLRT_UNSUPPORTED);
  FUZZ_CHECK((status == LLRT_OK) == (expr != NULL));
  if (expr) {
    char *first = printed(expr);
    FUZZ_CHECK(llrt_expr_parse(first, &again) == LLRT_OK);
    char *second = printed(again);
    llrt_hash a = llrt_expr_hash(expr), b = llrt_expr_hash(again);
    FUZZ_CHECK(strcmp(first, second) == 0);
    FUZZ_CHECK(a.low == b.low && a.high == b.high);
    free(first);
    free(second);
    llrt_expr_destroy(&again);
    llrt_expr_destroy(&expr);
  } else {
    FUZZ_CHECK(strchr(llrt_last_error(), ':'));
  }
  free(text);
  return 0;
}
