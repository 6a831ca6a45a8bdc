#include "tools/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The room of the list doubles. */
model_tensor *model_add(model *m) {
  size_t n = m->n_tensors;
  if ((n & (n - 1)) == 0) {
    model_tensor *larger = realloc(m->tensor, (n ? 2 * n : 1) * sizeof *larger);
    if (!larger) return NULL;
    m->tensor = larger;
  }
  m->tensor[n] = (model_tensor){0};
  return &m->tensor[n];
}

static int by_place(const void *a, const void *b) {
  const model_tensor *x = a, *y = b;
  if (x->file != y->file) return x->file < y->file ? -1 : 1;
  if (x->at != y->at) return x->at < y->at ? -1 : 1;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b) {
  const model_tensor *x = *(const model_tensor *const *)a, *y = *(const model_tensor *const *)b;
  return strcmp(x->name, y->name);
}

bool model_sort(model *m, array_error *error) {
  m->by_name = calloc(m->n_tensors + 1, sizeof(model_tensor *));
  if (!m->by_name) return array_fail(error, "no memory for the tensors");
  if (m->n_tensors) qsort(m->tensor, m->n_tensors, sizeof *m->tensor, by_place);
  for (size_t i = 0; i < m->n_tensors; i++) m->by_name[i] = &m->tensor[i];
  qsort(m->by_name, m->n_tensors, sizeof(model_tensor *), by_name);
  for (size_t i = 1; i < m->n_tensors; i++)
    if (strcmp(m->by_name[i - 1]->name, m->by_name[i]->name) == 0)
      return array_fail(error, "the tensor '%.64s' is there twice", m->by_name[i]->name);
  return true;
}

const model_tensor *model_find(const model *m, const char *name) {
  const model_tensor key = {.name = (char *)(uintptr_t)name}, *sought = &key;
  if (!m->by_name) return NULL;
  model_tensor **found =
      bsearch(&sought, m->by_name, m->n_tensors, sizeof(model_tensor *), by_name);
  return found ? *found : NULL;
}

/* ---- bytes ---- */

bool model_read(const model *m, const model_tensor *tensor, uint64_t from, uint64_t bytes, void *to,
                array_error *error) {
  const model_file *file = &m->file[tensor->file];
  char *at = to;
  if (from > tensor->bytes || bytes > tensor->bytes - from)
    return array_fail(error, "'%.64s' has %llu bytes", tensor->name,
                      (unsigned long long)tensor->bytes);
  for (uint64_t done = 0; done < bytes;) {
    ssize_t part =
        pread(fileno(file->stream), at + done, bytes - done, (off_t)(tensor->at + from + done));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0)
      return array_fail(error, "%.200s: '%.64s' cannot be read: %s", file->path, tensor->name,
                        strerror(errno));
    if (part == 0)
      return array_fail(error, "%.200s: it was cut short while it was read, in '%.64s'", file->path,
                        tensor->name);
    done += (uint64_t)part;
  }
  return true;
}

bool model_unchanged(const model *m, array_error *error) {
  for (int32_t i = 0; i < m->n_files; i++) {
    const model_file *file = &m->file[i];
    struct stat now;
    if (fstat(fileno(file->stream), &now) != 0)
      return array_fail(error, "%.200s: %s", file->path, strerror(errno));
    if ((uint64_t)now.st_size != file->size || now.st_mtim.tv_sec != file->modified.tv_sec ||
        now.st_mtim.tv_nsec != file->modified.tv_nsec)
      return array_fail(error, "%.200s: it was changed while it was read", file->path);
  }
  return true;
}

void model_close(model *m) {
  for (int32_t i = 0; i < m->n_files; i++) {
    if (m->file[i].stream) fclose(m->file[i].stream);
    free(m->file[i].path);
  }
  for (size_t i = 0; i < m->n_tensors; i++) free(m->tensor[i].name);
  for (size_t i = 0; i < m->n_keys; i++) free(m->key[i].name);
  free(m->file);
  free(m->tensor);
  free(m->by_name);
  free(m->key);
  free(m->folder);
  json_decref(m->metadata);
  json_decref(m->index);
  *m = (model){0};
}
