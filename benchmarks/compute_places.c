#include "compute_places.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16 };

/* Blocks in a random order. */
static void draw_slots(placed *p, int64_t positions, int first, uint64_t seed) {
  int64_t blocks = p->slots / BLOCK, *order = malloc((size_t)blocks * sizeof *order);
  p->slot = malloc((size_t)positions * sizeof *p->slot);
  if (!order || !p->slot) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int64_t i = 0; i < blocks; i++) {
    int64_t other = (int64_t)(harness_mix(seed + (uint64_t)i) % (uint64_t)(i + 1));
    order[i] = order[other];
    order[other] = i;
  }
  for (int64_t i = 0; i < positions; i++) {
    bool apart = first == COMPUTE_APART;
    int64_t block = apart ? i % blocks : (i + first) / BLOCK;
    p->slot[i] = order[block] * BLOCK + (apart ? i / blocks : (i + first) % BLOCK);
  }
  free(order);
}

/* As they are. */
static void number_slots(placed *p, int64_t positions) {
  p->slot = malloc((size_t)positions * sizeof *p->slot);
  if (!p->slot) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  for (int64_t i = 0; i < positions; i++) p->slot[i] = i;
}

void placed_begin(harness *h, const compute_place *place, uint64_t seed, device_matrix *x,
                  placed *p) {
  llrt_tensor *tensor = &x->tensor;
  int64_t positions = tensor->shape[0];
  size_t bytes = (size_t)positions * sizeof *p->slot;
  p->stored = place->first == COMPUTE_STORED;
  p->slots = p->stored ? positions : 2 * (positions + BLOCK - 1) / BLOCK * BLOCK;
  if (p->stored) number_slots(p, positions);
  else draw_slots(p, positions, place->first, seed);
  harness_must(llrt_memory_allocate(h->device, bytes, &p->device_slot), "device memory");
  harness_must(
      llrt_memory_copy(h->device, p->device_slot, p->slot, bytes, LLRT_COPY_TO_DEVICE, NULL),
      "copy to the device");
  harness_must(llrt_tensor_bytes(tensor, &x->bytes), "bytes");
  x->host = malloc(x->bytes);
  if (!x->host) harness_must(LLRT_OUT_OF_MEMORY, "host memory");
  p->memory.tensor = *tensor;
  p->memory.tensor.shape[0] = p->slots;
  harness_must(
      llrt_storage_parse(place->storage, tensor->rank, p->memory.tensor.shape, &p->storage),
      place->storage);
  harness_must(
      llrt_storage_bind(&p->storage, tensor->rank, p->memory.tensor.shape, NULL, &p->binding),
      place->storage);
  p->memory.tensor.storage = &p->storage;
  device_matrix_allocate(h, &p->memory);
  p->index = (llrt_index){.data = p->device_slot,
                          .dtype = LLRT_I64,
                          .out_of_range = LLRT_RANGE_SKIP,
                          .axes = 1,
                          .extent = p->slots,
                          .strides = {1}};
  tensor->device = h->device;
  tensor->data = p->memory.tensor.data;
  tensor->storage = &p->storage;
  tensor->indices = &p->index;
  tensor->n_indices = !p->stored;
}

void placed_end(harness *h, device_matrix *x, placed *p) {
  llrt_memory_free(h->device, p->device_slot);
  free(p->slot);
  x->tensor.data = NULL;
  device_matrix_free(h, &p->memory);
  *p = (placed){.slots = 0};
}

/* The first axis's position is a slot's. */
static int64_t offset_of(const placed *p, const llrt_tensor *tensor, int64_t element) {
  int64_t coords[LLRT_MAX_RANK];
  for (int a = tensor->rank - 1; a >= 0; a--) {
    coords[a] = element % tensor->shape[a];
    element /= tensor->shape[a];
  }
  coords[0] = p->slot[coords[0]];
  return llrt_storage_offset(&p->storage, &p->binding, coords);
}

bool placed_read(harness *h, const placed *p, unsigned char poison, device_matrix *x) {
  const device_matrix *from = &p->memory;
  size_t width = (size_t)llrt_dtype_bits(x->tensor.dtype) / 8;
  bool untouched = true;
  harness_must(llrt_memory_copy(h->device, from->host, from->tensor.data, from->bytes,
                                LLRT_COPY_FROM_DEVICE, NULL),
               "copy from the device");
  harness_must(llrt_stream_synchronize(h->device, NULL), "copy from the device");
  for (size_t i = 0; i < x->bytes / width; i++) {
    unsigned char *element = from->host + (size_t)offset_of(p, &x->tensor, (int64_t)i) * width;
    memcpy(x->host + i * width, element, width);
    memset(element, poison, width);
  }
  for (size_t i = 0; i < from->bytes && !p->stored; i++) untouched &= from->host[i] == poison;
  return untouched;
}
