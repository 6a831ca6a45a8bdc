#include "tools/model/repack_stage.h"

#include "tools/model/digest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- verifying ---- */

#define VERIFY_PART ((size_t)16 << 20) /* bytes that are read at a time */

static bool verify_tensor(const stage *s, const output *o, const output_tensor *t, char *memory,
                          array_error *error) {
  char hash[DIGEST_SIZE];
  digest *d = digest_begin();
  if (!d) return array_fail(error, "no memory for a digest");
  uint64_t at = 0;
  for (ssize_t part = 1; at < t->bytes && part > 0; at += part > 0 ? (uint64_t)part : 0) {
    size_t bytes = t->bytes - at < VERIFY_PART ? t->bytes - at : VERIFY_PART;
    part = pread(s->file[t->file], memory, bytes, (off_t)(t->at + at));
    if (part > 0) digest_add(d, memory, (size_t)part);
  }
  digest_end(d, hash);
  return strcmp(hash, t->hash) == 0 ||
         array_fail(error, "%s: '%.64s' is not on the disk what was written", o->file[t->file].name,
                    t->name);
}

bool repack_verify(const repack *r, const stage *s, array_error *error) {
  char *memory = malloc(VERIFY_PART);
  bool done = memory || array_fail(error, "no memory to verify");
  for (int32_t i = 0; i < s->n_files && done; i++)
    if (s->file[i] >= 0) posix_fadvise(s->file[i], 0, 0, POSIX_FADV_DONTNEED);
  for (size_t i = 0; i < r->to.n_tensors && done; i++)
    if (s->file[r->to.tensor[i].file] >= 0)
      done = verify_tensor(s, &r->to, &r->to.tensor[i], memory, error);
  free(memory);
  return done;
}

/* ---- the rest of a folder ---- */

static bool is_weights(const char *name) {
  static const char *const suffixes[] = {
      ".safetensors", ".safetensors.index.json", ".gguf", ".bin", ".bin.index.json", ".pt", ".pth"};
  size_t length = strlen(name);
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    size_t wanted = strlen(suffixes[i]);
    if (length >= wanted && strcmp(name + length - wanted, suffixes[i]) == 0) return true;
  }
  return false;
}

#define MAX_REST ((off_t)1 << 30) /* bytes of one file; a larger one is no description */

static bool copy_file(const stage *s, const char *folder, const char *name, array_error *error) {
  char *path = NULL, *data = NULL;
  struct stat about;
  bool done = true;
  if (asprintf(&path, "%s/%s", folder, name) < 0) return array_fail(error, "no memory for a path");
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &about) != 0) {
    done = array_fail(error, "%.300s: %s", path, strerror(errno));
  } else if (S_ISREG(about.st_mode) && about.st_size <= MAX_REST) {
    data = malloc((size_t)about.st_size + 1);
    ssize_t got = data ? pread(file, data, (size_t)about.st_size, 0) : -1;
    done = got == about.st_size ? stage_add(s, name, data, (size_t)got, error)
                                : array_fail(error, "%.300s: it cannot be read", path);
  }
  if (file >= 0) close(file);
  free(data);
  free(path);
  return done;
}

bool repack_add_rest(const repack *r, const stage *s, array_error *error) {
  bool done = true;
  if (!r->folder) return true;
  DIR *folder = r->from->folder ? opendir(r->from->folder) : NULL;
  for (struct dirent *entry; folder && done && (entry = readdir(folder));)
    if (entry->d_name[0] != '.' && !is_weights(entry->d_name))
      done = copy_file(s, r->from->folder, entry->d_name, error);
  if (folder) closedir(folder);
  if (done && r->to.n_files > 1 && (r->ranks == 1 || r->inverse)) {
    char *index = output_index(&r->to, r->from->index);
    done = index ? stage_add(s, "model.safetensors.index.json", index, strlen(index), error)
                 : array_fail(error, "no memory for the index");
    free(index);
  }
  return done;
}
