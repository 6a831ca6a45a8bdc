/* Choices as bytes: the content of an entry of the disk cache (docs/measured-choice.md has the
 * format). */
#include "base/memory.h"
#include "base/status.h"
#include "jit/plan/plan_choice.h"
#include "runtime/byte_stream.h"
#include "runtime/disk_cache.h"
#include "runtime/tuned.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "llrttune"
#define FORMAT 1
#define MOST_CHOICES 1024

/* A number of microseconds as the bits of a double. */
static void put_us(llrt_text *out, double us) {
  int64_t bits;
  memcpy(&bits, &us, sizeof bits);
  put(out, bits);
}

static double get_us(reader *in) {
  int64_t bits = get(in);
  double us;
  memcpy(&us, &bits, sizeof us);
  if (!(us >= 0 && us < 1e12)) in->bad = true;
  return us;
}

/* ---- writing ---- */

static llrt_status put_kernels(const llrt_op *op, llrt_text *out) {
  llrt_text kernels;
  llrt_text_init(&kernels);
  llrt_status status = LLRT_OK;
  if (op)
    status = llrt_kernel_bytes_write(&op->device->target, &op->desc, op->set, op->variant,
                                     atomic_load(&op->n_variants), &kernels);
  put(out, (int64_t)kernels.length);
  put_bytes(out, kernels.data, kernels.length);
  llrt_text_fini(&kernels);
  return status;
}

static bool is_latest(const llrt_op *op, const tuned_choice *choice) {
  llrt_tensor like = {.rank = op->set->rank};
  memcpy(like.shape, choice->shape, sizeof like.shape);
  return llrt_tuned_find(op, &like) == choice;
}

llrt_status llrt_tuned_write(const llrt_op *op, llrt_text *out) {
  const llrt_device *device = op->device;
  int64_t n = 0;
  const tuned_choice *first = atomic_load(&op->tuned);
  for (const tuned_choice *c = first; c; c = c->next) n += n < MOST_CHOICES && is_latest(op, c);
  put_bytes(out, MAGIC, 8);
  put(out, FORMAT);
  put_bytes(out, device->info.description, sizeof device->info.description);
  put(out, device->driver_version);
  put(out, op->set->rank);
  put(out, n);
  for (const tuned_choice *c = first; c && n > 0; c = c->next) {
    if (!is_latest(op, c)) continue;
    for (int a = 0; a < op->set->rank; a++) put(out, c->shape[a]);
    put_us(out, c->predicted_us);
    put_us(out, c->measured_us);
    put_us(out, c->planned_us);
    put_bytes(out, c->text, sizeof c->text);
    LLRT_TRY(put_kernels(c->op, out));
    n--;
  }
  return llrt_text_status(out);
}

/* ---- reading ---- */

typedef struct tuned_head {
  char device[sizeof(((llrt_device_info *)0)->description)];
  int64_t driver;
  int rank, n;
} tuned_head;

static const char *read_head(reader *in, tuned_head *head) {
  char magic[8];
  *head = (tuned_head){.n = 0};
  get_bytes(in, magic, sizeof magic);
  if (in->bad || memcmp(magic, MAGIC, sizeof magic) != 0) return "it has no choices";
  if (get(in) != FORMAT) return "its choices have another format";
  get_bytes(in, head->device, sizeof head->device);
  head->device[sizeof head->device - 1] = 0;
  head->driver = get(in);
  head->rank = get_within(in, 0, LLRT_MAX_RANK);
  head->n = get_within(in, 0, MOST_CHOICES);
  return in->bad ? "it contradicts itself" : NULL;
}

/* One choice without kernels, which are left in *kernels. */
static void read_choice(reader *in, int rank, tuned_choice *choice, reader *kernels) {
  memset(choice, 0, sizeof *choice);
  for (int a = 0; a < rank; a++) choice->shape[a] = get(in);
  choice->predicted_us = get_us(in);
  choice->measured_us = get_us(in);
  choice->planned_us = get_us(in);
  get_bytes(in, choice->text, sizeof choice->text);
  choice->text[sizeof choice->text - 1] = 0;
  uint64_t size = (uint64_t)get(in);
  if (size > in->left) in->bad = true;
  *kernels = (reader){in->data, in->bad ? 0 : (size_t)size, in->bad};
  if (in->bad) return;
  in->data += size;
  in->left -= (size_t)size;
}

bool llrt_tuned_is_entry(const disk_entry *entry) {
  return entry->kernel_bytes >= 8 && memcmp(entry->kernel, MAGIC, 8) == 0;
}

const char *llrt_tuned_check(const disk_entry *entry, int *n) {
  reader in = {entry->kernel, entry->kernel_bytes, false};
  tuned_head head;
  const char *why = read_head(&in, &head);
  *n = why ? 0 : head.n;
  for (int i = 0; i < head.n && !why; i++) {
    tuned_choice choice;
    reader kernels;
    llrt_kernel_info info = {0};
    read_choice(&in, head.rank, &choice, &kernels);
    if (in.bad) return "it contradicts itself";
    if (kernels.left > 0 && llrt_kernel_inspect(kernels.data, kernels.left, NULL, &info) != LLRT_OK)
      return llrt_error_text();
  }
  return why ? why : in.bad || in.left ? "it contradicts itself" : NULL;
}

/* Whether a file's kernels are those of a choice for the operation. */
static const char *check_image(const llrt_op *op, kernel_image *image) {
  if (strcmp(image->target, op->device->target.name) != 0) return "it is for another target";
  image->desc.any_order = op->desc.any_order; /* kernels do not say */
  image->desc.linked = op->desc.linked;
  llrt_hash own = llrt_disk_key(op->device, &op->desc, op->set);
  if (!llrt_hash_equal(llrt_disk_key(op->device, &image->desc, &image->set), own))
    return "its description is another operation's";
  return image->variant[0].launch.later + 1 == image->n_variants
             ? NULL
             : "a choice has more than one variant";
}

/* An operation of the kernels, nothing of it loaded. */
static const char *make_op(const llrt_op *op, const reader *kernels, llrt_op **made) {
  kernel_image *image = memory_zeroed(1, sizeof *image);
  if (!image) return "there is no memory for it";
  const char *why = NULL;
  if (llrt_kernel_bytes_read(kernels->data, kernels->left, image) != LLRT_OK)
    why = llrt_error_text();
  if (!why) why = check_image(op, image);
  if (!why && llrt_op_make(op->device, &op->desc, op->set, made) != LLRT_OK)
    why = "there is no memory for it";
  if (!why) {
    (*made)->variant = image->variant;
    atomic_store(&(*made)->n_variants, image->n_variants);
    image->variant = NULL;
    image->n_variants = 0;
    if (!llrt_op_has_code(*made, 0)) why = "a choice has no code";
  }
  llrt_kernel_image_fini(image);
  free(image);
  return why;
}

/* The next choice, malloc'ed. */
static const char *next_choice(const llrt_op *op, reader *in, tuned_choice **out) {
  tuned_choice *choice = memory_zeroed(1, sizeof *choice);
  plan_choice parsed;
  reader kernels;
  *out = choice;
  if (!choice) return "there is no memory for it";
  read_choice(in, op->set->rank, choice, &kernels);
  if (in->bad) return "it contradicts itself";
  if (!plan_choice_parse(choice->text, &parsed)) return "a choice has a number that is not known";
  return kernels.left > 0 ? make_op(op, &kernels, &choice->op) : NULL;
}

const char *llrt_tuned_read(const llrt_op *op, const disk_entry *entry, tuned_choice **first) {
  reader in = {entry->kernel, entry->kernel_bytes, false};
  tuned_head head;
  tuned_choice **link = first;
  *first = NULL;
  const char *why = read_head(&in, &head);
  if (why) return why;
  if (strcmp(head.device, op->device->info.description) != 0 ||
      head.driver != op->device->driver_version || head.rank != op->set->rank)
    return "it was measured on another device, or under another driver";
  for (int i = 0; i < head.n && !why; i++) {
    why = next_choice(op, &in, link);
    if (*link) link = &(*link)->next;
  }
  if (!why && (in.bad || in.left)) why = "it contradicts itself";
  if (why) llrt_tuned_release(*first);
  if (why) *first = NULL;
  return why;
}
