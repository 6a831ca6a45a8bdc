#include "base/trusted_folder.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

static bool is_ours(uid_t owner) { return owner == geteuid() || owner == 0; }

/* NULL: it may be trusted. last: the folder itself, not one above it. */
static const char *reason_against(const struct stat *info, bool last, bool own) {
  if (!is_ours(info->st_uid)) return "belongs to another user";
  if (last && own && info->st_uid != geteuid()) return "belongs to root, not to this user";
  bool guarded = !last && (info->st_mode & S_ISVTX);
  if ((info->st_mode & OTHERS_WRITE) && !guarded) return "can be written by others";
  return NULL;
}

static llrt_status refuse(const char *path, size_t length, const char *why) {
  return llrt_error(LLRT_IO, "%.*s %s", (int)length, path, why);
}

static llrt_status refuse_errno(const char *path, size_t length) {
  int code = errno;
  if (code == ENOTDIR || code == ELOOP)
    return refuse(path, length, "is a symbolic link, or no folder");
  return llrt_error_vendor(LLRT_IO, code, "cannot open the folder %.*s: %s", (int)length, path,
                           strerror(code));
}

/* The folder `name` in `above`, or -1. */
static int step_into(int above, const char *name, bool create) {
  int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int folder = openat(above, name, flags);
  if (folder >= 0 || errno != ENOENT || !create) return folder;
  if (mkdirat(above, name, 0700) != 0 && errno != EEXIST) return -1;
  return openat(above, name, flags);
}

static llrt_status check(int folder, const char *path, size_t length, bool last, bool own) {
  struct stat info;
  if (fstat(folder, &info) != 0) return refuse_errno(path, length);
  const char *why = reason_against(&info, last, own);
  return why ? refuse(path, length, why) : LLRT_OK;
}

/* Steps from *folder, which is the root, to the path's end; *folder is the caller's to close. */
static llrt_status walk(const char *path, bool create, bool own, int *folder) {
  const char *at = path + strspn(path, "/");
  LLRT_TRY(check(*folder, "/", 1, *at == 0, own));
  while (*at) {
    size_t length = strcspn(at, "/");
    char name[NAME_MAX + 1];
    const char *next = at + length + strspn(at + length, "/");
    size_t so_far = (size_t)(at - path) + length;
    if (length > NAME_MAX) return refuse(path, so_far, "has too long a name");
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    at = next;
    if (strcmp(name, ".") == 0) continue;
    if (strcmp(name, "..") == 0) return refuse(path, so_far, "goes up");
    int below = step_into(*folder, name, create);
    if (below < 0) return refuse_errno(path, so_far);
    close(*folder);
    *folder = below;
    LLRT_TRY(check(below, path, so_far, *at == 0, own));
  }
  return LLRT_OK;
}

static llrt_status make_absolute(const char *path, char absolute[PATH_MAX]) {
  char current[PATH_MAX] = "";
  if (path[0] != '/' && !getcwd(current, sizeof current))
    return llrt_error_vendor(LLRT_IO, errno, "cannot tell the current folder: %s", strerror(errno));
  int length = snprintf(absolute, PATH_MAX, "%s%s%s", current, path[0] == '/' ? "" : "/", path);
  if (length >= PATH_MAX) return llrt_error(LLRT_IO, "a folder's path has %d bytes", length);
  return LLRT_OK;
}

llrt_status llrt_trusted_folder_open(const char *path, bool create, bool own, int *out) {
  char absolute[PATH_MAX];
  *out = -1;
  LLRT_TRY(make_absolute(path, absolute));
  int folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return refuse_errno("/", 1);
  llrt_status status = walk(absolute, create, own, &folder);
  if (status == LLRT_OK) {
    *out = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*out < 0) status = refuse_errno(absolute, strlen(absolute));
  }
  close(folder);
  return status;
}

int llrt_trusted_file_open(int folder, const char *name, off_t *size, const char **why) {
  struct stat info;
  *why = NULL;
  int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    if (errno != ENOENT) *why = errno == ELOOP ? "it is a symbolic link" : strerror(errno);
    return -1;
  }
  if (fstat(file, &info) != 0) *why = strerror(errno);
  else if (!S_ISREG(info.st_mode)) *why = "it is no regular file";
  else if (!is_ours(info.st_uid)) *why = "it belongs to another user";
  else if (info.st_mode & OTHERS_WRITE) *why = "others can write it";
  *size = info.st_size;
  if (!*why) return file;
  close(file);
  return -1;
}
