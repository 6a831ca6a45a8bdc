/* Choices of an operation: found, kept on the disk and brought back from there. */
#include "runtime/tuned.h"

#include "runtime/context.h"
#include "runtime/disk_folder.h"
#include "runtime/op_text.h"

#include <stdlib.h>
#include <string.h>

static bool has_shape(const llrt_op *op, const tuned_choice *choice, const int64_t *shape) {
  return memcmp(choice->shape, shape, (size_t)op->set->rank * sizeof *shape) == 0;
}

static const tuned_choice *find(const llrt_op *op, const int64_t *shape) {
  const tuned_choice *choice = atomic_load_explicit(&op->tuned, memory_order_acquire);
  while (choice && !has_shape(op, choice, shape)) choice = choice->next;
  return choice;
}

const tuned_choice *llrt_tuned_find(const llrt_op *op, const llrt_tensor *first) {
  return find(op, first->shape);
}

void llrt_tuned_add(llrt_op *op, tuned_choice *choice) {
  choice->next = atomic_load(&op->tuned);
  while (!atomic_compare_exchange_weak(&op->tuned, &choice->next, choice)) {
  }
}

void llrt_tuned_release(tuned_choice *first) {
  while (first) {
    tuned_choice *next = first->next;
    llrt_op_release(first->op);
    free(first);
    first = next;
  }
}

/* ---- on the disk ---- */

/* The file's name: what decides the operation's kernels, and on which device they were timed. */
static llrt_hash key_of(const llrt_op *op) {
  const llrt_device *device = op->device;
  llrt_hash kernels = llrt_disk_key(device, &op->desc, op->set);
  llrt_hasher hasher;
  llrt_hasher_init(&hasher);
  llrt_hasher_add_bytes(&hasher, "tuned", 5);
  llrt_hasher_add_u64(&hasher, kernels.low);
  llrt_hasher_add_u64(&hasher, kernels.high);
  llrt_hasher_add_bytes(&hasher, device->info.description, strlen(device->info.description));
  llrt_hasher_add_u64(&hasher, (uint64_t)device->info.compute_units);
  llrt_hasher_add_u64(&hasher, (uint64_t)device->driver_version);
  return llrt_hasher_finish(&hasher);
}

int llrt_tuned_lock(const llrt_op *op, int milliseconds) {
  const disk_cache *disk = &op->device->context->disk;
  return disk->folder < 0 ? -1 : llrt_disk_lock(disk->folder, key_of(op), milliseconds);
}

/* Loads the kernels of each, and adds those for shapes that the operation has no choice for. The
 * oldest first, so that the order stays. */
static void take(llrt_op *op, tuned_choice *first) {
  tuned_choice *turned = NULL;
  while (first) {
    tuned_choice *next = first->next;
    first->next = turned;
    turned = first;
    first = next;
  }
  while (turned) {
    tuned_choice *choice = turned;
    turned = choice->next;
    choice->next = NULL;
    bool taken =
        !find(op, choice->shape) && (!choice->op || llrt_op_load_variants(choice->op) == LLRT_OK);
    if (taken) llrt_tuned_add(op, choice);
    else llrt_tuned_release(choice);
  }
}

static void look_in(llrt_op *op, int folder, llrt_hash key) {
  disk_entry entry;
  const char *why;
  tuned_choice *first = NULL;
  char *bytes = llrt_disk_read_entry(&op->device->context->disk, folder, key, &entry, &why);
  if (bytes && !why) why = llrt_tuned_read(op, &entry, &first);
  if (why) llrt_disk_reject(&op->device->context->disk, key, why);
  take(op, first);
  free(bytes);
}

void llrt_tuned_look(llrt_op *op, bool again) {
  const disk_cache *disk = &op->device->context->disk;
  if (atomic_exchange(&op->tuned_looked, true) && !again) return;
  if (!llrt_disk_cache_is_on(disk)) return;
  llrt_hash key = key_of(op);
  if (disk->folder >= 0) look_in(op, disk->folder, key);
  for (int i = 0; i < disk->n_read; i++) look_in(op, disk->read_folder[i], key);
}

/* "tuned on NVIDIA H200: convert …; 4096x4096: panels=1, 10.2 us, planned 11.9 us". */
static void write_line(const llrt_op *op, llrt_text *line) {
  llrt_text_add(line, "tuned on %s: ", op->device->info.description);
  llrt_op_describe(&op->desc, op->set, line);
  for (const tuned_choice *c = atomic_load(&op->tuned); c; c = c->next) {
    if (find(op, c->shape) != c) continue;
    llrt_text_add(line, "; ");
    for (int a = 0; a < op->set->rank; a++)
      llrt_text_add(line, "%s%lld", a ? "x" : "", (long long)c->shape[a]);
    llrt_text_add(line, ": %s, %.4g us, planned %.4g us", c->text, c->measured_us, c->planned_us);
  }
}

void llrt_tuned_store(llrt_op *op) {
  disk_cache *disk = &op->device->context->disk;
  llrt_hash key = key_of(op);
  llrt_text content, line;
  llrt_text_init(&content);
  llrt_text_init(&line);
  write_line(op, &line);
  if (llrt_tuned_write(op, &content) == LLRT_OK && llrt_text_status(&line) == LLRT_OK)
    llrt_disk_write_entry(disk, op->device, key, &line, &content, true);
  llrt_text_fini(&content);
  llrt_text_fini(&line);
}
