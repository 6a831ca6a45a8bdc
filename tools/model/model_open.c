/* Finds a model's files and opens them. */
#include "tools/model/model.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INDEX_SUFFIX ".safetensors.index.json"

static bool has_suffix(const char *text, const char *suffix) {
  size_t length = strlen(text), wanted = strlen(suffix);
  return length >= wanted && strcmp(text + length - wanted, suffix) == 0;
}

/* Puts "path: " before the message. */
static bool fail_in(const char *path, array_error *error) {
  array_error reason = *error;
  return array_fail(error, "%.200s: %.300s", path, reason.text);
}

/* ---- one file ---- */

/* Opens a regular file as the model's next one. */
static bool add_file(model *m, const char *path, array_error *error) {
  struct stat about;
  model_file *larger = realloc(m->file, ((size_t)m->n_files + 1) * sizeof *larger);
  if (!larger) return array_fail(error, "no memory for the files");
  m->file = larger;
  model_file *file = &m->file[m->n_files];
  *file = (model_file){.path = strdup(path), .stream = fopen(path, "rb")};
  m->n_files++;
  if (!file->path) return array_fail(error, "no memory for the files");
  if (!file->stream || fstat(fileno(file->stream), &about) != 0)
    return array_fail(error, "%.200s: %s", path, strerror(errno));
  if (!S_ISREG(about.st_mode)) return array_fail(error, "%.200s: it is no regular file", path);
  file->size = (uint64_t)about.st_size;
  file->device = (uint64_t)about.st_dev;
  file->inode = (uint64_t)about.st_ino;
  file->modified = about.st_mtim;
  return true;
}

/* Opens a file and reads its header. */
static bool read_file(model *m, const char *path, array_error *error) {
  if (!add_file(m, path, error)) return false;
  int32_t file = m->n_files - 1;
  FILE *stream = m->file[file].stream;
  bool done = has_suffix(path, ".gguf") ? model_read_gguf(stream, file, m, error)
                                        : model_read_safetensors(stream, file, m, error);
  return done || fail_in(path, error);
}

/* ---- an index ---- */

/* The tensors of a file are those that the index places there: none that it places elsewhere, or
 * does not have. */
static bool check_shard(const model *m, const json_t *map, size_t first, const char *shard,
                        array_error *error) {
  for (size_t i = first; i < m->n_tensors; i++) {
    const char *placed = json_string_value(json_object_get(map, m->tensor[i].name));
    if (!placed)
      return array_fail(error, "%.64s has the tensor '%.64s', which the index has not", shard,
                        m->tensor[i].name);
    if (strcmp(placed, shard) != 0)
      return array_fail(error, "%.64s has the tensor '%.64s', which the index places in %.64s",
                        shard, m->tensor[i].name, placed);
  }
  return true;
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every shard once, sorted by name; borrowed from the index. */
static const char **list_shards(const json_t *map, size_t *n) {
  const char **names = calloc(json_object_size(map) + 1, sizeof *names);
  const char *name;
  json_t *shard;
  size_t all = 0;
  *n = 0;
  if (!names) return NULL;
  json_object_foreach((json_t *)(uintptr_t)map, name, shard) names[all++] =
      json_string_value(shard);
  qsort(names, all, sizeof *names, compare_names);
  for (size_t i = 0; i < all; i++)
    if (*n == 0 || strcmp(names[*n - 1], names[i]) != 0) names[(*n)++] = names[i];
  return names;
}

static bool read_shards(model *m, const model_index *index, array_error *error) {
  size_t n;
  const char **shard = list_shards(index->map, &n);
  bool done = shard || array_fail(error, "no memory for the index");
  for (size_t i = 0; i < n && done; i++) {
    char *path = NULL;
    size_t first = m->n_tensors;
    if (asprintf(&path, "%s/%s", m->folder, shard[i]) < 0) {
      done = array_fail(error, "no memory for the index");
      break;
    }
    done = read_file(m, path, error) && check_shard(m, index->map, first, shard[i], error);
    free(path);
  }
  free(shard);
  return done;
}

/* After the shards: as each tensor is where the index places it, equal numbers are equal sets,
 * unless a shard has a name twice, which model_sort refuses. */
static bool check_count(const model *m, const model_index *index, array_error *error) {
  const char *name;
  json_t *shard;
  if (json_object_size(index->map) <= m->n_tensors) return true;
  json_object_foreach(index->map, name, shard) {
    bool there = false;
    for (size_t i = 0; i < m->n_tensors && !there; i++) there = !strcmp(m->tensor[i].name, name);
    if (!there)
      return array_fail(error, "%.64s has no tensor '%.64s', which the index places there",
                        json_string_value(shard), name);
  }
  return true;
}

static bool open_index(model *m, const char *path, array_error *error) {
  model_index index;
  FILE *stream = fopen(path, "rb");
  if (!stream) return array_fail(error, "%.200s: %s", path, strerror(errno));
  bool done = model_index_read(stream, &index, error);
  fclose(stream);
  if (!done) return fail_in(path, error);
  const char *slash = strrchr(path, '/');
  if (!m->folder) m->folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
  done = m->folder ? read_shards(m, &index, error) && check_count(m, &index, error)
                   : array_fail(error, "no memory for the index");
  m->index = json_incref(index.metadata);
  model_index_fini(&index);
  return done;
}

/* ---- a folder ---- */

/* The folder's entries that end so, sorted; *n of them, malloc'ed, each malloc'ed. */
static char **list_folder(const char *folder, const char *suffix, size_t *n) {
  DIR *opened = opendir(folder);
  char **list = calloc(1, sizeof *list);
  *n = 0;
  for (struct dirent *entry; opened && list && (entry = readdir(opened));) {
    if (entry->d_name[0] == '.' || !has_suffix(entry->d_name, suffix)) continue;
    char **larger = realloc(list, (*n + 1) * sizeof *list);
    if (!larger) break;
    list = larger;
    if (asprintf(&list[*n], "%s/%s", folder, entry->d_name) < 0) break;
    ++*n;
  }
  if (opened) closedir(opened);
  if (list && *n) qsort(list, *n, sizeof *list, compare_names);
  return list;
}

static void free_list(char **list, size_t n) {
  for (size_t i = 0; i < n; i++) free(list[i]);
  free(list);
}

/* What a folder has decides how it is read: an index, files without one, a .gguf file. */
static bool open_folder(model *m, const char *folder, array_error *error) {
  static const char *const suffixes[] = {INDEX_SUFFIX, ".safetensors", ".gguf"};
  char **list = NULL;
  size_t n = 0;
  int kind = 0;
  for (; kind < 3 && n == 0; kind++) {
    free_list(list, n);
    list = list_folder(folder, suffixes[kind], &n);
  }
  bool done = true;
  m->folder = strdup(folder);
  if (!list || !m->folder) done = array_fail(error, "no memory for the folder");
  else if (n == 0)
    done = array_fail(error, "%.200s: it has no .safetensors and no .gguf file", folder);
  else if (kind != 2 && n > 1)
    done =
        array_fail(error, "%.200s: it has several %s files: name one", folder, suffixes[kind - 1]);
  else if (kind == 1) done = open_index(m, list[0], error);
  else
    for (size_t i = 0; i < n && done; i++) done = read_file(m, list[i], error);
  free_list(list, n);
  return done;
}

static bool open_one(model *m, const char *path, array_error *error) {
  struct stat about;
  if (stat(path, &about) != 0) return array_fail(error, "%.200s: %s", path, strerror(errno));
  if (S_ISDIR(about.st_mode)) return open_folder(m, path, error);
  if (has_suffix(path, ".json")) return open_index(m, path, error);
  if (has_suffix(path, ".safetensors") || has_suffix(path, ".gguf"))
    return read_file(m, path, error);
  return array_fail(error, "%.200s: it is no folder, .safetensors, .gguf or index file", path);
}

bool model_open(const char *const *paths, int n, model *out, array_error *error) {
  bool done = true;
  *out = (model){0};
  for (int i = 0; i < n && done; i++) {
    bool alone = n == 1 || has_suffix(paths[i], ".safetensors");
    done = alone ? open_one(out, paths[i], error)
                 : array_fail(error, "%.200s: several are .safetensors files alone", paths[i]);
  }
  done = done && model_sort(out, error);
  if (!done) model_close(out);
  return done;
}
