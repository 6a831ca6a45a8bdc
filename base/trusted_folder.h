/* Folders whose files may be run: nobody but the user and root can have put anything there. */
#ifndef LLRT_BASE_TRUSTED_FOLDER_H
#define LLRT_BASE_TRUSTED_FOLDER_H

#include <llrt/status.h>

#include <stdbool.h>
#include <sys/types.h>

/* Opens a folder from the root down, without following any symbolic link. It and each folder above
 * it are root's or the user's, and nobody else may write there (above it: or it is sticky, as /tmp
 * is). path: absolute, or relative to the current folder; ".." is refused. create: with all that is
 * missing, mode 0700. own: it is the user's, not root's. *folder: for openat and fsync; close it.
 * Errors: IO, saying which part of the path is why. */
llrt_status llrt_trusted_folder_open(const char *path, bool create, bool own, int *folder);

/* Opens a file of such a folder for reading: a regular file of the user's or root's that nobody
 * else may write, and no symbolic link. Returns -1 where there is none, with *why NULL, or where it
 * is another kind, with the reason. */
int llrt_trusted_file_open(int folder, const char *name, off_t *size, const char **why);

#endif
