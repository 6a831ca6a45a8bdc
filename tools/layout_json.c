#include "tools/layout_json.h"

#include "tools/layout_inverse.h"

#include <inttypes.h>
#include <math.h>

static void print_bases(FILE *stream, const llrt_layout *layout, int in) {
  int shift = llrt_layout_in_shift(layout, in);
  fprintf(stream, "{\"name\":\"%s\",\"bases\":[", layout->in[in].name);
  for (int bit = 0; bit < layout->in[in].bits; bit++) {
    fputs(bit ? ",[" : "[", stream);
    for (int out = 0; out < layout->n_out; out++)
      fprintf(stream, "%s%" PRIu64, out ? "," : "",
              layout_out_coordinate(layout, out, layout->column[shift + bit]));
    fputc(']', stream);
  }
  fputs("]}", stream);
}

void layout_json_print(FILE *stream, const llrt_layout *layout) {
  uint64_t masks[LLRT_MAX_IN_DIMS] = {0};
  llrt_layout_free_variable_masks(layout, masks);
  fputs("{\"in\":[", stream);
  for (int in = 0; in < layout->n_in; in++) {
    if (in) fputc(',', stream);
    print_bases(stream, layout, in);
  }
  fputs("],\"out\":[", stream);
  for (int out = 0; out < layout->n_out; out++) /* a power of two prints exactly, 2^64 too */
    fprintf(stream, "%s{\"name\":\"%s\",\"size\":%.0f}", out ? "," : "", layout->out[out].name,
            ldexp(1, layout->out[out].bits));
  fprintf(stream, "],\"surjective\":%s,\"injective\":%s,\"free_variable_masks\":{",
          llrt_layout_is_surjective(layout) ? "true" : "false",
          llrt_layout_is_injective(layout) ? "true" : "false");
  for (int in = 0; in < layout->n_in; in++)
    fprintf(stream, "%s\"%s\":%" PRIu64, in ? "," : "", layout->in[in].name, masks[in]);
  fprintf(stream, "},\"num_consecutive\":%" PRId64 "}\n", llrt_layout_num_consecutive(layout));
}

static void print_at(FILE *stream, int rank, const int64_t *coords) {
  fputs("{\"at\":[", stream);
  for (int i = 0; i < rank; i++) fprintf(stream, "%s%" PRId64, i ? "," : "", coords[i]);
  fputs("],\"coords\":[", stream);
}

void layout_json_print_at(FILE *stream, const llrt_layout *layout, const int64_t *coords) {
  layout_inverse inverse;
  int axis[LLRT_MAX_OUT_DIMS];
  uint64_t y = 0, x;
  layout_inverse_init(layout, &inverse);
  layout_axes(layout, axis);
  for (int i = 0; i < layout->n_out; i++)
    if (layout->out[axis[i]].bits > 0)
      y |= (uint64_t)coords[i] << llrt_layout_out_shift(layout, axis[i]);
  print_at(stream, layout->n_out, coords);
  uint64_t copies = inverse.n_free < 64 ? UINT64_C(1) << inverse.n_free : 0;
  for (uint64_t copy = 0; copy < copies && layout_inverse_find(&inverse, y, copy, &x); copy++) {
    fputs(copy ? ",{" : "{", stream);
    for (int in = 0; in < layout->n_in; in++)
      fprintf(stream, "%s\"%s\":%" PRIu64, in ? "," : "", layout->in[in].name,
              layout_in_coordinate(layout, in, x));
    fputc('}', stream);
  }
  fputs("]}\n", stream);
}

void storage_json_print_at(FILE *stream, const llrt_storage *storage,
                           const llrt_storage_binding *binding, const int64_t *coords) {
  print_at(stream, storage->rank, coords);
  fprintf(stream, "{\"offset\":%" PRId64 "}]}\n", llrt_storage_offset(storage, binding, coords));
}

llrt_status places_json_print_at(FILE *stream, const llrt_storage *storage, int rank,
                                 const int64_t *shape, const int64_t *coords) {
  static llrt_places places; /* large for a stack */
  int64_t first = 0;
  do {
    llrt_status status = llrt_storage_places(storage, rank, shape, coords, first, &places);
    if (status != LLRT_OK) return status;
    if (first == 0) {
      fputs("{\"at\":[", stream);
      for (int i = 0; i < rank; i++) fprintf(stream, "%s%" PRId64, i ? "," : "", coords[i]);
      fputs("],\"coords\":[", stream);
    }
    for (int i = 0; i < places.n; i++) {
      fputs(first + i ? ",{" : "{", stream);
      for (int axis = 0; axis < places.n_axes; axis++)
        fprintf(stream, "%s\"%s\":%" PRId64, axis ? "," : "", places.axis[axis],
                places.at[i][axis]);
      fputc('}', stream);
    }
    first += places.n;
  } while (first < places.copies);
  fputs("]}\n", stream);
  return LLRT_OK;
}

/* Steps coords to the next position of shape, the last axis fastest; false after the last. */
static bool next_position(int rank, const int64_t *shape, int64_t *coords) {
  for (int i = rank - 1; i >= 0; i--) {
    if (++coords[i] < shape[i]) return true;
    coords[i] = 0;
  }
  return false;
}

void storage_json_print_table(FILE *stream, const llrt_storage *storage,
                              const llrt_storage_binding *binding, const int64_t *shape) {
  int64_t coords[LLRT_MAX_RANK] = {0};
  bool more = true;
  const char *separator = "";
  for (int i = 0; i < storage->rank; i++) more &= shape[i] > 0;
  fputc('[', stream);
  while (more) {
    fprintf(stream, "%s%" PRId64, separator, llrt_storage_offset(storage, binding, coords));
    separator = ",";
    more = next_position(storage->rank, shape, coords);
  }
  fputs("]\n", stream);
}
