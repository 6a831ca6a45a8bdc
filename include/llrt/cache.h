/* Kernels that outlive the process: a folder with a file for each (docs/cache.md).
 *
 * What a context compiles it also writes to the folder, and what it needs it looks for there before
 * it plans or compiles. Files are run: a folder is used only where nobody but the user (or root)
 * can have written to it or to a folder above it, and where no part of its path is a symbolic link.
 */
#ifndef LLRT_CACHE_H
#define LLRT_CACHE_H

#include <llrt/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_MAX_READ_DIRS 8 /* in this version */

/* How a context keeps kernels. A folder that cannot be used is told once (LLRT_LOG_WARNING), and
 * the context works without it. */
typedef struct llrt_cache_params {
  size_t size;
  const char *dir; /* made where it is missing; NULL: LLRT_CACHE_DIR of the environment, which
                      set-user-ID programs ignore, else none; "": none */
  const char *const *read_dirs; /* looked at after `dir`, never written: those of images. They may
                                   be root's */
  int32_t n_read_dirs;
  int32_t reserved;
  uint64_t disk_bytes;   /* of files in `dir`; 0: 1 GiB. Files beyond go, those not used for longest
                            first */
  uint64_t memory_bytes; /* that kernels for one-line calls take in the process, on all devices; 0:
                            256 MiB, of which the first 128 are never unloaded; UINT64_MAX: any. As
                            most_kernels (device.h), in bytes */
} llrt_cache_params;

/* Where the command line and Python keep kernels: LLRT_CACHE_DIR, else llrt in XDG_CACHE_HOME, else
 * ~/.cache/llrt. "" where that is what LLRT_CACHE_DIR says, or nothing tells where. Errors:
 * INVALID_ARGUMENT where `capacity` bytes are too few, with a zero. */
LLRT_API llrt_status llrt_cache_default_dir(char *path, size_t capacity);

typedef enum llrt_cache_state {
  LLRT_CACHE_SOUND = 0,
  LLRT_CACHE_OTHER_BUILD = 1, /* whole, of another build of llrt: this one does not look for it */
  LLRT_CACHE_DAMAGED = 2      /* `why` says how */
} llrt_cache_state;

/* A file of a folder. All is the library's, for the time of the call. */
typedef struct llrt_cache_entry {
  size_t size;      /* of this struct, as the library knows it */
  const char *name; /* of the file */
  const char *text; /* operation, storages, types and promises, in a line; "" where damaged */
  const char *target, *version; /* of the kernel; of the llrt that wrote it */
  const char *why;              /* NULL: sound */
  uint64_t bytes;
  int64_t used; /* seconds since 1970: when it was last looked for, to the minute */
  llrt_cache_state state;
  int32_t capability, n_compiled; /* as in llrt_kernel_info; nothing is compiled where only a plan
                                     is kept, which was compared and not taken */
  int32_t reserved;
} llrt_cache_entry;

/* Calls visit for each file of the folder, in the order of their names, after reading it in full.
 * What visit returns other than 0 ends the walk. Errors: IO where the folder is not there or not to
 * be trusted. */
LLRT_API llrt_status llrt_cache_visit(const char *dir, void *user,
                                      int (*visit)(void *user, const llrt_cache_entry *entry));

/* Removes the folder's files: all, or those that are not sound. *removed: how many; may be NULL.
 * Processes that use the folder go on. Errors: IO. */
LLRT_API llrt_status llrt_cache_clear(const char *dir, int damaged_only, uint64_t *removed);

/* Writes all sound files into one (path), and adds those of such a file to a folder, each checked
 * as it would be in a folder. The file's content is code that will be run: import only what you
 * trust. *count: of files; may be NULL. Errors: IO, CORRUPT, OUT_OF_MEMORY. */
LLRT_API llrt_status llrt_cache_export(const char *dir, const char *path, uint64_t *count);
LLRT_API llrt_status llrt_cache_import(const char *dir, const char *path, uint64_t *count);

#ifdef __cplusplus
}
#endif
#endif
