/* Items of work that go through four stages, each on a thread of its own, so that several are under
 * way: read into memory, convert, write, and settle, which comes in batches. An item holds its
 * memory until it is written, and all of it comes from one block, so that it is bounded. */
#ifndef LLRT_TOOLS_MODEL_PIPELINE_H
#define LLRT_TOOLS_MODEL_PIPELINE_H

#include "tools/common/array.h"

#define PIPELINE_ALIGNMENT ((size_t)4096) /* bytes, of an item's memory */

typedef struct pipeline {
  void *user;
  size_t n_items; /* each goes through all stages in the order of their numbers */
  size_t memory;  /* bytes of all items under way, at least those of the largest one */
  /* Bytes of one item. Called on the reading thread. */
  size_t (*bytes)(void *user, size_t item);
  bool (*read)(void *user, size_t item, void *memory, array_error *error);
  bool (*convert)(void *user, size_t item, void *memory, array_error *error); /* caller's thread */
  /* Waits for what `convert` queued; called once for each item, in order, behind `convert` of the
   * next one where that has been read already. NULL: items are converted when that returns. */
  bool (*finish)(void *user, size_t item, array_error *error);
  bool (*write)(void *user, size_t item, const void *memory, array_error *error);
  /* Items first .. end-1 were written. Follows within a tenth of a second or when all are done. */
  bool (*settle)(void *user, size_t first, size_t end, array_error *error);
  /* Told of the block before the first item, and after the last; for pinning. NULL: nobody is. */
  void (*prepare)(void *user, void *block, size_t bytes);
  void (*release)(void *user, void *block, size_t bytes);
} pipeline;

/* Runs all items. What was written before an error is settled. Errors: that of the first stage that
 * fails, which ends all of them; no memory, no threads. */
bool pipeline_run(const pipeline *p, array_error *error);

#endif
