#include "compute_beside.h"

#include "bare_read.h"

#include <string.h>

typedef struct copying {
  llrt_device *device;
  void *from, *to;
  size_t bytes;
} copying;

static void launch_copy(const void *data) {
  const copying *c = data;
  harness_must(llrt_memory_copy(c->device, c->to, c->from, c->bytes, LLRT_COPY_ON_DEVICE, NULL),
               "copy");
}

harness_statistic beside_copy(const flushed *f, int64_t bytes) {
  copying c = {.device = f->h->device, .bytes = (size_t)bytes / 2};
  harness_must(llrt_memory_allocate(c.device, c.bytes, &c.from), "device memory");
  harness_must(llrt_memory_allocate(c.device, c.bytes, &c.to), "device memory");
  harness_must(llrt_memory_set(c.device, c.from, 1, c.bytes, NULL), "memory");
  harness_statistic s = flushed_measure(f, launch_copy, &c);
  llrt_memory_free(c.device, c.from);
  llrt_memory_free(c.device, c.to);
  return s;
}

typedef struct reading {
  bare_read read;
  void *from;
  size_t bytes;
} reading;

static void launch_read(const void *data) {
  const reading *r = data;
  bare_read_launch(&r->read, r->from, r->bytes);
}

harness_statistic beside_read(const flushed *f, const device_matrix *x, int64_t bytes) {
  harness *h = f->h;
  reading r = {.bytes = (size_t)bytes};
  if (strncmp(h->info.name, "cuda:", 5) != 0) return (harness_statistic){0};
  size_t all = bare_read_bytes(r.bytes), own = x->bytes < r.bytes ? x->bytes : r.bytes;
  harness_must(llrt_memory_allocate(h->device, all, &r.from), "device memory");
  harness_must(llrt_memory_set(h->device, r.from, 1, all, NULL), "memory");
  harness_must(llrt_memory_copy(h->device, r.from, x->tensor.data, own, LLRT_COPY_ON_DEVICE, NULL),
               "copy");
  bare_read_begin(h, &r.read);
  bare_read_check(&r.read, r.from, x->host, own);
  harness_statistic s = flushed_measure(f, launch_read, &r);
  bare_read_end(&r.read);
  llrt_memory_free(h->device, r.from);
  return s;
}
