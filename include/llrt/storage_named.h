/* Storages with names: the layouts in memory that inference engines and their libraries use. One
 * table drives making, parsing and listing them; docs/storages.md shows it.
 *
 * The general rules of layout.h hold here too. */
#ifndef LLRT_STORAGE_NAMED_H
#define LLRT_STORAGE_NAMED_H

#include <llrt/storage.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LLRT_NAMED_MAX_PARAMS 3
#define LLRT_NAMED_REQUIRED (-1) /* preset of a parameter that must be given */
#define LLRT_NAMED_EXTENT (-2)   /* preset: the extent of the last axis, where a shape is known */

typedef struct llrt_named_param {
  const char *name, *meaning;
  int64_t preset; /* value where it is left out, or one of the above */
} llrt_named_param;

typedef struct llrt_named_storage {
  const char *name;
  const char *dims;    /* logical axes in order, a letter each: "n k"; "" for any rank. A tensor of
                          higher rank has further axes in front: outermost, the first slowest */
  const char *formula; /* the storage from the fastest place outwards, see docs/storages.md; NULL
                          for rules that depend on the rank or take lists */
  llrt_named_param param[LLRT_NAMED_MAX_PARAMS]; /* unused entries have no name */
  const char *widths;                            /* bits of an element: "4", "8,16", … */
  llrt_pad pad; /* preset of pad=…; LLRT_PAD_NONE: the extents must divide, no pad=… */
  int64_t pad_value;
  const char *source; /* who defines it */
} llrt_named_storage;

typedef struct llrt_named_argument {
  const char *name;
  int64_t value;
} llrt_named_argument;

/* The table: entry i of 0 .. count-1, NULL outside. Static. */
LLRT_API int llrt_storage_named_count(void);
LLRT_API const llrt_named_storage *llrt_storage_named_at(int i);

/* The storage of that name for tensors of `rank` axes (0: as many as it has). shape (rank entries)
 * may be NULL; it is read only for parameters whose preset is LLRT_NAMED_EXTENT. Errors:
 * INVALID_ARGUMENT for an unknown name or argument, a rank that is too small, a value that makes no
 * layout. Rules that take lists (strided, tiled, onednn) are made by their own functions, or from
 * text. */
LLRT_API llrt_status llrt_storage_named(const char *name, int rank, const int64_t *shape,
                                        const llrt_named_argument *arguments, int n_arguments,
                                        llrt_storage *out);

/* A blocked format as oneDNN describes it: blocks[i] positions of axis axes[i], the last fastest,
 * then the axes themselves along `order` (slowest first, rank entries; NULL: 0, 1, …). Pads with
 * zeros. */
LLRT_API llrt_status llrt_storage_onednn(int rank, const int64_t *blocks, const int *axes,
                                         int n_blocks, const int *order, llrt_storage *out);

#ifdef __cplusplus
}
#endif
#endif
