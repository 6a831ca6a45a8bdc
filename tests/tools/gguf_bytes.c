#include "gguf_bytes.h"

#include <criterion/criterion.h>

#include <string.h>

static void put_number(FILE *file, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) fputc((int)(number >> 8 * i & 0xff), file);
}

static void put_text(FILE *file, const char *text) {
  put_number(file, strlen(text), 8);
  fputs(text, file);
}

static void put_key(FILE *file, const gguf_key_case *key) {
  put_text(file, key->name);
  put_number(file, key->type, 4);
  fwrite(key->value, 1, key->bytes, file);
}

static void put_tensor(FILE *file, const gguf_tensor_case *t) {
  put_text(file, t->name);
  put_number(file, t->rank, 4);
  for (uint32_t axis = 0; axis < t->rank && axis < 6; axis++) put_number(file, t->extent[axis], 8);
  put_number(file, t->type, 4);
  put_number(file, t->offset, 8);
}

memory_file gguf_bytes(const gguf_case *c) {
  memory_file made = {0};
  uint64_t keys = 0, tensors = 0;
  FILE *file = open_memstream(&made.data, &made.size);
  cr_assert_not_null(file);
  while (keys < 3 && c->key[keys].name) keys++;
  while (tensors < 3 && c->tensor[tensors].name) tensors++;
  fputs(c->magic ? c->magic : "GGUF", file);
  put_number(file, c->version ? c->version : 3, 4);
  put_number(file, c->n_tensors ? c->n_tensors : tensors, 8);
  put_number(file, c->n_keys ? c->n_keys : keys, 8);
  for (uint64_t i = 0; i < keys; i++) put_key(file, &c->key[i]);
  for (uint64_t i = 0; i < tensors; i++) put_tensor(file, &c->tensor[i]);
  while ((uint64_t)ftello(file) % (c->align ? c->align : 32)) fputc(0, file);
  for (size_t i = 0; i < c->data_bytes; i++) fputc((int)(i + 1) & 0xff, file);
  cr_assert_eq(fclose(file), 0);
  made.size -= c->cut;
  return made;
}
