#include "layout/writer.h"

#include "base/bits.h"
#include "base/status.h"
#include "layout/check.h"

#include <stdarg.h>
#include <stdio.h>

llrt_status writer_start(char *buffer, size_t size, size_t *length, writer *out) {
  *out = (writer){.buffer = buffer, .size = size};
  if (length) *length = 0;
  LLRT_REQUIRE(buffer || size == 0, "buffer: NULL with size %zu", size);
  if (size) buffer[0] = 0;
  return LLRT_OK;
}

void writer_add(writer *self, const char *format, ...) {
  size_t room = self->length < self->size ? self->size - self->length : 0;
  va_list arguments;
  va_start(arguments, format);
  int added = vsnprintf(room ? self->buffer + self->length : NULL, room, format, arguments);
  va_end(arguments);
  if (added > 0) self->length += (size_t)added;
}

/* [c0,c1,…], one coordinate per out-dim */
static void add_basis(writer *self, const llrt_layout *layout, uint64_t column) {
  writer_add(self, "[");
  for (int i = 0; i < layout->n_out; i++) {
    int bits = layout->out[i].bits;
    writer_add(self, i ? ",%llu" : "%llu", (unsigned long long)(column & bits_mask(bits)));
    column = bits < 64 ? column >> bits : 0;
  }
  writer_add(self, "]");
}

static void add_size(writer *self, int bits) {
  if (bits == 64) writer_add(self, "18446744073709551616");
  else writer_add(self, "%llu", 1ull << bits);
}

void writer_add_layout(writer *self, const llrt_layout *layout) {
  writer_add(self, "{");
  for (int i = 0, column = 0; i < layout->n_in; i++) {
    writer_add(self, i ? ", %s: [" : "%s: [", layout->in[i].name);
    for (int k = 0; k < layout->in[i].bits; k++) {
      if (k) writer_add(self, ",");
      add_basis(self, layout, layout->column[column++]);
    }
    writer_add(self, "]");
  }
  writer_add(self, "} -> [");
  for (int i = 0; i < layout->n_out; i++) {
    writer_add(self, i ? ", %s:" : "%s:", layout->out[i].name);
    add_size(self, layout->out[i].bits);
  }
  writer_add(self, "]");
}

llrt_status llrt_layout_print(const llrt_layout *layout, char *buffer, size_t size,
                              size_t *length) {
  LLRT_ENTRY();
  writer text;
  LLRT_TRY(writer_start(buffer, size, length, &text));
  LLRT_TRY(layout_check(layout, "layout"));
  writer_add_layout(&text, layout);
  if (length) *length = text.length;
  return LLRT_OK;
}
