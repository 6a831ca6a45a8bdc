/* The arguments of a kernel from a code object's note: msgpack (msgpack.org, "Formats"), in which
 * {amdhsa.kernels: [{.name: text, .args: [{.offset, .size, .value_kind}]}]} is looked for. */
#include "gfx9_code.h"

#include <string.h>

typedef struct cursor {
  const uint8_t *at, *end;
  bool broken;
} cursor;

typedef enum kind { NUMBER, TEXT, ARRAY, MAP, OTHER } kind;

typedef struct item {
  kind kind;
  uint64_t number;  /* value, or the count of an array's or map's members */
  const char *text; /* TEXT: number bytes */
} item;

static uint64_t take(cursor *c, int bytes) {
  uint64_t value = 0;
  if (c->end - c->at < bytes) {
    c->broken = true;
    c->at = c->end;
    return 0;
  }
  for (int i = 0; i < bytes; i++) value = value << 8 | *c->at++;
  return value;
}

static item text_of(cursor *c, uint64_t length) {
  item found = {.kind = TEXT, .number = length, .text = (const char *)c->at};
  if (length > (uint64_t)(c->end - c->at)) {
    c->broken = true;
    found.number = length = 0;
  }
  c->at += length;
  return found;
}

/* The next item; members of arrays and maps follow it. */
static item next(cursor *c) {
  unsigned tag = (unsigned)take(c, 1);
  if (tag < 0x80) return (item){.kind = NUMBER, .number = tag};
  if (tag < 0x90) return (item){.kind = MAP, .number = tag & 15};
  if (tag < 0xa0) return (item){.kind = ARRAY, .number = tag & 15};
  if (tag < 0xc0) return text_of(c, tag & 31);
  if (tag >= 0xcc && tag <= 0xcf) {
    return (item){.kind = NUMBER, .number = take(c, 1 << (tag - 0xcc))};
  }
  if (tag >= 0xd0 && tag <= 0xd3) {
    return (item){.kind = NUMBER, .number = take(c, 1 << (tag - 0xd0))};
  }
  if (tag >= 0xd9 && tag <= 0xdb) return text_of(c, take(c, 1 << (tag - 0xd9)));
  if (tag == 0xdc || tag == 0xdd) {
    return (item){.kind = ARRAY, .number = take(c, tag == 0xdc ? 2 : 4)};
  }
  if (tag == 0xde || tag == 0xdf) {
    return (item){.kind = MAP, .number = take(c, tag == 0xde ? 2 : 4)};
  }
  if (tag != 0xc0 && tag != 0xc2 && tag != 0xc3 && tag < 0xe0) c->broken = true;
  return (item){.kind = OTHER};
}

static void skip(cursor *c) {
  for (uint64_t left = 1; left > 0 && !c->broken; left--) {
    item found = next(c);
    if (found.kind == ARRAY) left += found.number;
    if (found.kind == MAP) left += 2 * found.number;
  }
}

static bool is(const item *found, const char *text) {
  return found->kind == TEXT && found->number == strlen(text) &&
         memcmp(found->text, text, found->number) == 0;
}

/* One member of .args; the hidden ones are not the caller's. */
static void read_argument(cursor *c, gfx9_kernel *kernel) {
  item map = next(c);
  gfx9_arg arg = {0, 0};
  bool hidden = false;
  for (uint64_t i = 0; map.kind == MAP && i < map.number && !c->broken; i++) {
    item key = next(c);
    if (is(&key, ".offset") || is(&key, ".size")) {
      item value = next(c);
      *(is(&key, ".size") ? &arg.bytes : &arg.offset) = (uint32_t)value.number;
    } else if (is(&key, ".value_kind")) {
      item value = next(c);
      hidden = value.kind == TEXT && value.number > 7 && memcmp(value.text, "hidden_", 7) == 0;
    } else {
      skip(c);
    }
  }
  if (!hidden && kernel->n_args < GFX9_MAX_ARGS) kernel->arg[kernel->n_args++] = arg;
}

/* One member of amdhsa.kernels; whether it is the one called `name`. */
static bool read_kernel(cursor *c, const char *name, gfx9_kernel *kernel) {
  item map = next(c);
  bool found = false;
  kernel->n_args = 0;
  for (uint64_t i = 0; map.kind == MAP && i < map.number && !c->broken; i++) {
    item key = next(c);
    if (is(&key, ".name")) {
      item value = next(c);
      found = is(&value, name);
    } else if (is(&key, ".args")) {
      item list = next(c);
      for (uint64_t k = 0; list.kind == ARRAY && k < list.number && !c->broken; k++) {
        read_argument(c, kernel);
      }
    } else {
      skip(c);
    }
  }
  return found && !c->broken;
}

bool gfx9_metadata_read(const uint8_t *bytes, size_t size, const char *name, gfx9_kernel *kernel) {
  cursor c = {.at = bytes, .end = bytes + size};
  item map = next(&c);
  for (uint64_t i = 0; map.kind == MAP && i < map.number && !c.broken; i++) {
    item key = next(&c);
    if (!is(&key, "amdhsa.kernels")) {
      skip(&c);
      continue;
    }
    item list = next(&c);
    for (uint64_t k = 0; list.kind == ARRAY && k < list.number && !c.broken; k++) {
      if (read_kernel(&c, name, kernel)) return true;
    }
  }
  kernel->n_args = -1;
  return false;
}
