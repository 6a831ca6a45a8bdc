#include "tools/model/stage.h"

#include "tools/model/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL "llrt-journal"
#define HEAD "llrt repack 1 "
#define CHECK_DIGITS 8
#define MAX_LINE 128 /* bytes of a journal's line */

static bool fail_errno(array_error *error, const char *path, const char *what) {
  return array_fail(error, "%.300s: %s: %s", path, what, strerror(errno));
}

/* "FOLDER/NAME"; free it. NULL: no memory. */
static char *join(const char *folder, const char *name) {
  char *path;
  return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

/* ---- the journal ---- */

/* Whether a line's last word is the check of what comes before. Cuts the word off. */
static bool check_line(char *line) {
  char *last = strrchr(line, ' '), hash[DIGEST_SIZE];
  if (!last || strlen(last + 1) != CHECK_DIGITS) return false;
  *last = 0;
  digest_of(line, strlen(line), hash);
  return strncmp(hash, last + 1, CHECK_DIGITS) == 0;
}

static bool append(int journal, const char *text, array_error *error) {
  char line[MAX_LINE + CHECK_DIGITS + 3], hash[DIGEST_SIZE];
  digest_of(text, strlen(text), hash);
  int length = snprintf(line, sizeof line, "%s %.*s\n", text, CHECK_DIGITS, hash);
  if (write(journal, line, (size_t)length) == length) return true;
  return array_fail(error, "the journal cannot be written: %s", strerror(errno));
}

/* Takes a line that names a complete tensor in. */
static bool take_line(char *line, output *o) {
  size_t number;
  char hash[DIGEST_SIZE];
  if (!check_line(line) || sscanf(line, "%zu %32[0-9a-f]", &number, hash) != 2) return false;
  if (number >= o->n_tensors || strlen(hash) != OUTPUT_HASH_DIGITS) return false;
  memcpy(o->tensor[number].hash, hash, sizeof hash);
  return true;
}

/* Reads the journal from its beginning, as far as its lines are whole; the rest, which a run that
 * was interrupted left, is cut off. */
static bool read_journal(stage *s, FILE *from, output *o, const char *identity,
                         array_error *error) {
  char line[2 * MAX_LINE], wanted[MAX_LINE];
  off_t end = 0;
  snprintf(wanted, sizeof wanted, HEAD "%s", identity);
  for (int number = 0; fgets(line, sizeof line, from); number++) {
    size_t length = strlen(line);
    if (line[length - 1] != '\n') break;
    line[length - 1] = 0;
    if (number == 0) {
      if (!check_line(line)) break;
      if (strcmp(line, wanted) != 0)
        return array_fail(error,
                          "%.300s is of another run (inputs, recipe or options were "
                          "others): finish that one, or remove the folder",
                          s->partial);
    } else if (!take_line(line, o)) {
      break;
    } else {
      s->resumed = true;
    }
    end += (off_t)length;
  }
  if (ftruncate(s->journal, end) != 0)
    return fail_errno(error, s->partial, "the journal cannot be written");
  return end > 0 || append(s->journal, wanted, error);
}

static bool open_journal(stage *s, output *o, const char *identity, array_error *error) {
  char *path = join(s->partial, JOURNAL);
  if (!path) return array_fail(error, "no memory for a path");
  s->journal = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  free(path);
  if (s->journal < 0) return fail_errno(error, s->partial, "the journal cannot be written");
  if (flock(s->journal, LOCK_EX | LOCK_NB) != 0)
    return array_fail(error, "%.300s is in use by another run", s->partial);
  int copy = dup(s->journal);
  FILE *from = copy >= 0 ? fdopen(copy, "rb") : NULL;
  if (!from) {
    if (copy >= 0) close(copy);
    return array_fail(error, "no memory for the journal");
  }
  bool done = read_journal(s, from, o, identity, error);
  fclose(from);
  return done;
}

/* ---- files ---- */

/* A file of its full size, with room on the disk where the file system can promise that. */
static bool open_file(stage *s, int32_t number, const output_file *file, array_error *error) {
  char *path = join(s->partial, file->name);
  struct stat about;
  if (!path) return array_fail(error, "no memory for a path");
  if (access(path, F_OK) != 0 && s->target && access(s->target[number], F_OK) == 0) {
    free(path); /* it has its name already */
    return true;
  }
  int descriptor = s->file[number] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  bool done = descriptor >= 0 && fstat(descriptor, &about) == 0;
  if (done && (uint64_t)about.st_size != file->size)
    done = ftruncate(descriptor, (off_t)file->size) == 0;
  if (done && file->size && fallocate(descriptor, 0, 0, (off_t)file->size) != 0)
    done = errno == EOPNOTSUPP || errno == ENOSYS;
  if (!done) fail_errno(error, path, "it cannot be written");
  free(path);
  return done;
}

static bool exists(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0;
}

/* An interrupted stage_finish has renamed some files: then they exist, and only then may they. */
static bool check_targets(const stage *s, array_error *error) {
  char *journal = join(s->partial, JOURNAL);
  bool done = journal || array_fail(error, "no memory for a path"),
       resumes = done && exists(journal);
  for (int32_t i = 0; i < s->n_files && done && s->target && !resumes; i++)
    if (exists(s->target[i])) done = array_fail(error, "%.300s exists", s->target[i]);
  if (done && s->folder && exists(s->name)) done = array_fail(error, "%.300s exists", s->name);
  free(journal);
  return done;
}

static bool prepare(stage *s, const char *name, const char *const *target, const output *o,
                    array_error *error) {
  *s = (stage){.journal = -1, .folder = !target, .n_files = o->n_files};
  s->file = malloc(((size_t)o->n_files + 1) * sizeof *s->file);
  if (target) s->target = calloc((size_t)o->n_files + 1, sizeof *s->target);
  s->name = strdup(name);
  bool done = s->file && s->name && (!target || s->target);
  for (int32_t i = 0; i < o->n_files && s->file; i++) s->file[i] = -1;
  for (int32_t i = 0; i < o->n_files && done && target; i++)
    done = (s->target[i] = strdup(target[i])) != NULL;
  size_t length = strlen(name);
  while (length > 1 && name[length - 1] == '/') length--;
  if (done) s->name[length] = 0;
  if (done && asprintf(&s->partial, "%s.partial", s->name) < 0) {
    s->partial = NULL;
    done = false;
  }
  return done || array_fail(error, "no memory for paths");
}

bool stage_open(const char *name, const char *const *target, output *o, const char *identity,
                stage *out, array_error *error) {
  bool done = prepare(out, name, target, o, error) && check_targets(out, error);
  if (done && mkdir(out->partial, 0777) != 0 && errno != EEXIST)
    done = fail_errno(error, out->partial, "it cannot be made");
  done = done && open_journal(out, o, identity, error);
  for (int32_t i = 0; i < o->n_files && done; i++) done = open_file(out, i, &o->file[i], error);
  if (!done) stage_close(out);
  return done;
}

bool stage_write(const stage *s, const output *o, int32_t file, uint64_t at, const void *data,
                 uint64_t bytes, array_error *error) {
  for (uint64_t done = 0; done < bytes;) {
    ssize_t part =
        pwrite(s->file[file], (const char *)data + done, bytes - done, (off_t)(at + done));
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0)
      return array_fail(error, "%.200s/%.100s: it cannot be written: %s", s->partial,
                        o->file[file].name, part < 0 ? strerror(errno) : "no room");
    done += (uint64_t)part;
  }
  return true;
}

bool stage_note(stage *s, const output *o, const size_t *number, size_t n, array_error *error) {
  for (int32_t i = 0; i < s->n_files; i++)
    if (s->file[i] >= 0 && fdatasync(s->file[i]) != 0)
      return fail_errno(error, o->file[i].name, "it cannot be written");
  for (size_t i = 0; i < n; i++) {
    char line[MAX_LINE];
    snprintf(line, sizeof line, "%zu %s", number[i], o->tensor[number[i]].hash);
    if (!append(s->journal, line, error)) return false;
  }
  return true;
}

/* ---- the end ---- */

/* Brings a folder's entries to the disk. What cannot be synchronised is not: some file systems have
 * no such thing. */
static void sync_folder(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  (void)!fsync(folder);
  close(folder);
}

static void sync_folder_of(const char *path) {
  char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
  if (slash) slash[slash == copy] = 0;
  if (copy) sync_folder(slash ? copy : ".");
  free(copy);
}

bool stage_add(const stage *s, const char *name, const void *data, size_t bytes,
               array_error *error) {
  char *path = join(s->partial, name);
  if (!path) return array_fail(error, "no memory for a path");
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool done = file >= 0;
  for (size_t at = 0; at < bytes && done;) {
    ssize_t part = write(file, (const char *)data + at, bytes - at);
    done = part > 0;
    if (done) at += (size_t)part;
  }
  done = done && fsync(file) == 0;
  if (!done) fail_errno(error, path, "it cannot be written");
  if (file >= 0 && close(file) != 0 && done) done = fail_errno(error, path, "it cannot be written");
  free(path);
  return done;
}

static bool write_header(const stage *s, const output *o, int32_t file, array_error *error) {
  char *text = output_header(o, file);
  if (!text) return array_fail(error, "the header of %s cannot be made", o->file[file].name);
  bool done = stage_write(s, o, file, 0, text, o->file[file].header, error);
  free(text);
  if (done && fsync(s->file[file]) != 0)
    done = fail_errno(error, o->file[file].name, "it cannot be written");
  return done;
}

/* rename(2) would replace what somebody put there meanwhile. */
static bool take_name(const char *from, const char *to, array_error *error) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS) {
    if (exists(to)) return array_fail(error, "%.300s exists", to);
    if (rename(from, to) == 0) return true;
  }
  if (errno == EEXIST) return array_fail(error, "%.300s exists", to);
  return fail_errno(error, to, "it cannot take its name");
}

static bool name_files(const stage *s, const output *o, array_error *error) {
  bool done = true;
  for (int32_t i = 0; i < s->n_files && done; i++) {
    char *path = join(s->partial, o->file[i].name);
    if (!path) return array_fail(error, "no memory for a path");
    if (s->file[i] >= 0) done = take_name(path, s->target[i], error);
    if (done) sync_folder_of(s->target[i]);
    free(path);
  }
  return done;
}

/* The journal goes last: until then the run can be taken up again. */
static void remove_journal(const char *folder) {
  char *path = join(folder, JOURNAL);
  if (path) unlink(path);
  free(path);
}

bool stage_finish(stage *s, const output *o, array_error *error) {
  bool done = true;
  for (int32_t i = 0; i < s->n_files && done; i++)
    if (s->file[i] >= 0) done = write_header(s, o, i, error);
  if (!done) return false;
  sync_folder(s->partial);
  if (s->folder) {
    if (!take_name(s->partial, s->name, error)) return false;
    sync_folder_of(s->name);
    remove_journal(s->name);
  } else {
    if (!name_files(s, o, error)) return false;
    remove_journal(s->partial);
    rmdir(s->partial);
  }
  return true;
}

void stage_close(stage *s) {
  for (int32_t i = 0; i < s->n_files && s->file; i++)
    if (s->file[i] >= 0) close(s->file[i]);
  for (int32_t i = 0; i < s->n_files && s->target; i++) free(s->target[i]);
  if (s->journal >= 0) close(s->journal);
  free(s->file);
  free(s->target);
  free(s->name);
  free(s->partial);
  *s = (stage){.journal = -1};
}
