/* Any text as a layout and as a storage. What parses is valid, prints, and parses back to an equal
 * value; elements of a storage lie inside its span, and are found again where they lie.
 * Input: "128x64\nEXPRESSION", or an expression alone. */
#include "tests/fuzz/fuzz.h"

#include <llrt/llrt.h>
#include <llrt/tirx.h>

#include <string.h>

typedef struct request {
  int rank; /* 0: no shape */
  int64_t shape[LLRT_MAX_RANK];
  const char *text;
} request;

/* Takes the line with the shape, if there is one, off the text. */
static void read_shape(char *text, request *out) {
  *out = (request){.text = text};
  char *end = strchr(text, '\n');
  if (!end) return;
  for (char *at = text; out->rank < LLRT_MAX_RANK && at < end; at++) {
    out->shape[out->rank] = (int64_t)(strtoull(at, &at, 10) & INT64_MAX);
    out->rank++;
    if (*at != 'x') break;
  }
  out->text = end + 1;
}

static const int64_t *shape_of(const request *given) { return given->rank ? given->shape : NULL; }

static void check_layout(const request *given) {
  llrt_layout layout, again;
  size_t length, same;
  if (llrt_layout_parse(given->text, given->rank, shape_of(given), &layout) != LLRT_OK) {
    FUZZ_CHECK(llrt_layout_equal(&layout, &(llrt_layout){0}));
    return;
  }
  FUZZ_CHECK(llrt_layout_is_valid(&layout));
  FUZZ_CHECK(llrt_layout_print(&layout, NULL, 0, &length) == LLRT_OK);
  char *text = malloc(length + 1);
  FUZZ_CHECK(text && llrt_layout_print(&layout, text, length + 1, &same) == LLRT_OK);
  FUZZ_CHECK(same == length && strlen(text) == length);
  FUZZ_CHECK(llrt_layout_parse(text, 0, NULL, &again) == LLRT_OK);
  FUZZ_CHECK(llrt_layout_equal(&layout, &again));
  free(text);
}

/* A place of every kind of coordinate: first, last, middle. */
static void choose_coords(const request *given, int kind, int64_t *coords) {
  for (int i = 0; i < given->rank; i++)
    coords[i] = kind == 0 ? 0 : kind == 1 ? given->shape[i] - 1 : given->shape[i] / (2 + i);
}

static void check_places(const request *given, const llrt_storage *storage, const int64_t *coords) {
  llrt_places places, again;
  int64_t found_at[LLRT_MAX_RANK];
  const char *axes[LLRT_MAX_TARGETS + 1];
  bool found;
  int rank = given->rank;
  if (llrt_storage_places(storage, rank, given->shape, coords, 0, &places) != LLRT_OK) return;
  FUZZ_CHECK(places.n > 0 && places.copies >= places.n);
  for (int i = 0; i < places.n_axes; i++) axes[i] = places.axis[i];
  if (llrt_storage_find(storage, rank, given->shape, axes, places.at[0], places.n_axes, &found,
                        found_at) != LLRT_OK)
    return;
  FUZZ_CHECK(found);
  FUZZ_CHECK(llrt_storage_places(storage, rank, given->shape, found_at, 0, &again) == LLRT_OK);
}

static void check_elements(const request *given, const llrt_storage *storage,
                           const llrt_storage *again) {
  llrt_storage_binding binding, other;
  int64_t coords[LLRT_MAX_RANK];
  llrt_layout layout;
  for (int i = 0; i < given->rank; i++)
    if (given->shape[i] == 0) return;
  if (llrt_storage_to_layout(storage, given->rank, given->shape, &layout) == LLRT_OK)
    FUZZ_CHECK(llrt_layout_is_valid(&layout));
  for (int kind = 0; kind < 3; kind++) {
    choose_coords(given, kind, coords);
    check_places(given, storage, coords);
  }
  if (llrt_storage_bind(storage, given->rank, given->shape, NULL, &binding) != LLRT_OK) return;
  FUZZ_CHECK(llrt_storage_bind(again, given->rank, given->shape, NULL, &other) == LLRT_OK);
  for (int kind = 0; kind < 3; kind++) {
    choose_coords(given, kind, coords);
    int64_t offset = llrt_storage_offset(storage, &binding, coords);
    FUZZ_CHECK(offset >= 0 && offset < binding.span);
    FUZZ_CHECK(llrt_storage_offset(again, &other, coords) == offset);
  }
}

static void check_storage(const request *given) {
  llrt_storage storage, again;
  size_t length, same;
  if (llrt_storage_parse(given->text, given->rank, shape_of(given), &storage) != LLRT_OK) return;
  FUZZ_CHECK(llrt_storage_validate(&storage) == LLRT_OK);
  FUZZ_CHECK(llrt_storage_print(&storage, NULL, 0, &length) == LLRT_OK);
  char *text = malloc(length + 1);
  FUZZ_CHECK(text && llrt_storage_print(&storage, text, length + 1, &same) == LLRT_OK);
  FUZZ_CHECK(same == length && strlen(text) == length);
  FUZZ_CHECK(llrt_storage_parse(text, storage.rank, NULL, &again) == LLRT_OK);
  FUZZ_CHECK(llrt_storage_equal(&storage, &again));
  llrt_hash a = llrt_storage_hash(&storage), b = llrt_storage_hash(&again);
  FUZZ_CHECK(a.low == b.low && a.high == b.high);
  free(text);
  if (given->rank) check_elements(given, &storage, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  request given;
  FUZZ_CHECK(text);
  memcpy(text, data, size);
  text[size] = '\0';
  read_shape(text, &given);
  check_layout(&given);
  check_storage(&given);
  free(text);
  return 0;
}
