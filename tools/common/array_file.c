#include "tools/common/array_file.h"

#include "tools/common/npy.h"
#include "tools/common/safetensors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TENSOR_MARK ".safetensors:"

/* "dir/model.safetensors:name" -> its path (free it) and the name inside; NULL for another name. */
static char *split_tensor_name(const char *name, const char **tensor) {
  const char *mark = strstr(name, TENSOR_MARK);
  if (!mark) return NULL;
  *tensor = mark + strlen(TENSOR_MARK);
  return strndup(name, (size_t)(*tensor - 1 - name));
}

/* Puts "path: " before the message. */
static bool fail_in(const char *path, array_error *error) {
  array_error reason = *error;
  return array_fail(error, "%.200s: %.300s", path, reason.text);
}

static bool has_suffix(const char *text, const char *suffix) {
  size_t length = strlen(text), wanted = strlen(suffix);
  return length >= wanted && strcmp(text + length - wanted, suffix) == 0;
}

bool array_read(const char *name, array *out, array_error *error) {
  const char *tensor = NULL;
  char *path = split_tensor_name(name, &tensor);
  const char *opened = path ? path : name;
  bool done = false;
  *out = (array){0};
  bool standard = strcmp(opened, "-") == 0;
  if (standard) opened = "standard input";
  FILE *file = standard ? stdin : fopen(opened, "rb");
  if (!file) array_fail(error, "%s", strerror(errno));
  else if (standard && isatty(STDIN_FILENO)) array_fail(error, "it is a terminal");
  else if (path) done = safetensors_read(file, tensor, out, error);
  else if (has_suffix(name, ".safetensors"))
    array_fail(error, "name one tensor of it: %.200s:TENSOR", name);
  else done = npy_read(file, out, error);
  if (!done) fail_in(opened, error);
  if (file && !standard) fclose(file);
  free(path);
  return done;
}

/* Writes the array into *file, which has to be committed. */
static bool write_into(const char *name, const array *a, outfile *file, array_error *error) {
  const char *tensor = NULL;
  char *path = split_tensor_name(name, &tensor);
  *file = (outfile){0};
  if (has_suffix(name, ".safetensors") || (path && !*tensor)) {
    free(path);
    return array_fail(error, "%.200s: name the tensor in it, as new.safetensors:NAME", name);
  }
  if (path && access(path, F_OK) == 0) {
    array_fail(error, "%.200s exists; a tensor is written to a new .safetensors file only", path);
    free(path);
    return false;
  }
  bool done = outfile_open(path ? path : name, file, error);
  if (done) {
    done = path ? safetensors_write(file->stream, tensor, a, error)
                : npy_write(file->stream, a, error);
    if (!done) fail_in(file->path, error);
  }
  free(path);
  return done;
}

bool array_begin(const char *name, array *a, outfile *file, array_error *error) {
  if (!write_into(name, a, file, error)) return false;
  return (file->temporary && array_map_result(file->stream, a)) || array_allocate(a, error);
}

bool array_end_all(outfile *const *files, const array *const *arrays, int n, array_error *error) {
  bool done = true;
  for (int i = 0; i < n && done; i++) {
    done = array_write_data(files[i]->stream, arrays[i]) ||
           array_fail(error, "%.200s: cannot be written: %s", files[i]->path, strerror(errno));
    done = done && outfile_flush(files[i], error);
  }
  for (int i = 0; i < n && done; i++) done = outfile_commit(files[i], error);
  return done;
}

bool array_write_all(const char *const *names, const array *const *arrays, int n,
                     array_error *error) {
  outfile file[ARRAY_MAX_WRITES] = {{0}};
  bool done = true;
  for (int i = 0; i < n && done; i++)
    done = write_into(names[i], arrays[i], &file[i], error) && outfile_flush(&file[i], error);
  for (int i = 0; i < n && done; i++) done = outfile_commit(&file[i], error);
  for (int i = 0; i < n; i++) outfile_discard(&file[i]);
  return done;
}

bool array_write(const char *name, const array *a, array_error *error) {
  return array_write_all(&name, &a, 1, error);
}

/* The permissions that a newly created file gets. */
static mode_t default_mode(void) {
  mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* Opens file->temporary beside file->path. */
static FILE *open_temporary(outfile *file, mode_t mode) {
  if (asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
    file->temporary = NULL;
    return NULL;
  }
  int descriptor = mkstemp(file->temporary);
  if (descriptor < 0) {
    free(file->temporary);
    file->temporary = NULL;
    return NULL;
  }
  FILE *stream = fchmod(descriptor, mode) == 0 ? fdopen(descriptor, "wb") : NULL;
  if (!stream) close(descriptor);
  return stream;
}

/* Standard output, which stays open for others. */
static bool open_standard(outfile *out, array_error *error) {
  if (isatty(STDOUT_FILENO)) return array_fail(error, "standard output is a terminal");
  int descriptor = dup(STDOUT_FILENO);
  out->path = strdup("standard output");
  out->stream = descriptor >= 0 && out->path ? fdopen(descriptor, "wb") : NULL;
  if (out->stream) return true;
  int reason = errno;
  if (descriptor >= 0) close(descriptor);
  outfile_discard(out);
  return array_fail(error, "standard output cannot be written: %s", strerror(reason));
}

bool outfile_open(const char *path, outfile *out, array_error *error) {
  struct stat present;
  bool exists = stat(path, &present) == 0;
  bool special = exists && !S_ISREG(present.st_mode);
  *out = (outfile){0};
  if (strcmp(path, "-") == 0) return open_standard(out, error);
  out->path = exists && !special ? realpath(path, NULL) : strdup(path);
  if (out->path && special) out->stream = fopen(path, "wb");
  else if (out->path)
    out->stream = open_temporary(out, exists ? present.st_mode & 0777 : default_mode());
  if (out->stream) return true;
  int reason = errno;
  outfile_discard(out);
  return array_fail(error, "%.200s: cannot be written: %s", path, strerror(reason));
}

bool outfile_flush(outfile *file, array_error *error) {
  if (fflush(file->stream) == 0 && !ferror(file->stream)) return true;
  return array_fail(error, "%.200s: cannot be written: %s", file->path, strerror(errno));
}

bool outfile_commit(outfile *file, array_error *error) {
  bool written = !ferror(file->stream);
  written &= fclose(file->stream) == 0;
  file->stream = NULL;
  if (written && file->temporary) written = rename(file->temporary, file->path) == 0;
  if (!written) {
    array_fail(error, "%.200s: cannot be written: %s", file->path, strerror(errno));
    outfile_discard(file);
    return false;
  }
  free(file->temporary);
  free(file->path);
  *file = (outfile){0};
  return true;
}

void outfile_discard(outfile *file) {
  if (file->stream) fclose(file->stream);
  if (file->temporary) unlink(file->temporary);
  free(file->temporary);
  free(file->path);
  *file = (outfile){0};
}
