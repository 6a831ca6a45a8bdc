/* A paged KV cache, filled, moved to another layout and read, as an inference engine does it.
 *
 *   - write: keys of new tokens go to their slots of a pool in vLLM's order; the slot mapping has
 * -1 for tokens that are only padding, and the number of tokens lies in device memory
 *   - move: the blocks in use go to other blocks of a second pool, whose order is HND
 *   - read: a block table gathers every request's keys into contiguous rows; -1 where a request has
 *     no block
 *
 * Each step is one llrt operation, the indices are read on the device, and the whole of the second
 * pool and of the rows is compared with plain C.
 *
 *     paged_kv [--device NAME] */
#include "tools/common/best_device.h"

#include <llrt/llrt.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 4, TABLE = 6, BLOCK = 16, HEADS = 8, SIZE = 128, LANE = 8 };
enum { POOL = 32, MAX_TOKENS = 256, TOKEN = HEADS * SIZE, POISON = 0xee };

typedef uint16_t element; /* a bf16, moved as it is */

/* Tokens of each request: whole blocks, parts of one, none. */
static const int lengths[REQUESTS] = {64, 37, 0, 81};

/* What the engine knows: which block of each pool holds which part of which request. */
typedef struct plan {
  int32_t table[REQUESTS][TABLE]; /* block of the second pool; -1: none */
  int32_t from[POOL], to[POOL];   /* blocks in use, in the first and the second pool */
  int32_t slots[MAX_TOKENS];      /* of the first pool, for every token; -1: padding */
  int32_t blocks, tokens;
} plan;

/* Addresses on the device. */
typedef struct memory {
  void *keys, *first, *second, *rows, *slots, *tokens, *from, *to, *table;
} memory;

/* An example may end at the first error; a library would pass it on. */
static void must(llrt_status status, const char *what) {
  if (status == LLRT_OK) return;
  fprintf(stderr, "paged_kv: %s: %s\n", what, llrt_last_error());
  exit(1);
}

/* ---- the engine's side ---- */

/* The key of a token, element by element, so that no two places hold the same by chance for long.
 */
static element key_of(int request, int position, int i) {
  uint32_t x = ((uint32_t)request << 20 ^ (uint32_t)position << 10 ^ (uint32_t)i) * 2654435761u;
  return (element)(x >> 15);
}

/* Blocks are handed out all over both pools. */
static void make_plan(plan *p) {
  memset(p, 0, sizeof *p);
  memset(p->table, -1, sizeof p->table);
  memset(p->slots, -1, sizeof p->slots);
  for (int r = 0; r < REQUESTS; r++) {
    for (int position = 0; position < lengths[r]; position++) {
      int used = p->blocks - 1;
      if (position % BLOCK == 0) {
        used = p->blocks++;
        p->from[used] = (used * 11 + 5) % POOL;
        p->to[used] = (used * 7 + 2) % POOL;
        p->table[r][position / BLOCK] = p->to[used];
      }
      if (p->tokens % 50 == 49)
        p->tokens++; /* now and then a token of padding, whose slot stays -1 */
      p->slots[p->tokens++] = p->from[used] * BLOCK + position % BLOCK;
    }
  }
  /* Beyond the number of tokens the list holds what an earlier step left there: slots in use. */
  for (int i = p->tokens; i < MAX_TOKENS; i++) p->slots[i] = p->slots[p->tokens - 1];
}

/* Keys of all tokens in the order of the slot mapping; of padding, something that must not be
 * stored. */
static void make_keys(const plan *p, element *keys) {
  int token = 0;
  memset(keys, POISON, sizeof(element) * MAX_TOKENS * TOKEN);
  for (int r = 0; r < REQUESTS; r++) {
    for (int position = 0; position < lengths[r]; position++) {
      while (p->slots[token] < 0) token++;
      for (int i = 0; i < TOKEN; i++) keys[token * TOKEN + i] = key_of(r, position, i);
      token++;
    }
  }
}

/* ---- llrt's side ---- */

static void *to_device(llrt_device *device, const void *data, size_t bytes) {
  void *made;
  must(llrt_memory_allocate(device, bytes, &made), "device memory");
  if (data) must(llrt_memory_copy(device, made, data, bytes, LLRT_COPY_TO_DEVICE, NULL), "copy");
  return made;
}

static void *pool_of(llrt_device *device, size_t bytes, int value) {
  void *made = to_device(device, NULL, bytes);
  must(llrt_memory_set(device, made, value, bytes, NULL), "memory");
  return made;
}

static llrt_index list_of(int axis, const void *values, int64_t extent) {
  llrt_index index = {.axis = axis, .dtype = LLRT_I32, .axes = 1u << axis, .extent = extent};
  index.data = values;
  index.strides[axis] = 1;
  return index; /* values out of range: skipped */
}

/* The first pool by slots: a slot falls into position (the digit of BLOCK) and block (the last) by
 * itself. In memory [block, head, element / 8, position, element % 8], which is vllm_paged_k. */
static llrt_storage slot_storage(void) {
  return (llrt_storage){.rank = 3,
                        .n_digits = 5,
                        .digit = {{LANE, LLRT_STRIDE_PACKED, 2, 0, false},
                                  {BLOCK, LLRT_STRIDE_PACKED, 0, 0, false},
                                  {LLRT_EXTENT_REST, LLRT_STRIDE_PACKED, 2, 0, false},
                                  {LLRT_EXTENT_REST, LLRT_STRIDE_PACKED, 1, 0, false},
                                  {LLRT_EXTENT_REST, LLRT_STRIDE_PACKED, 0, 0, false}},
                        .tile = llrt_layout_empty()};
}

/* [token, head, element] to the slots of the first pool. */
static void write_tokens(llrt_device *device, const memory *m) {
  llrt_storage slots = slot_storage();
  llrt_index mapping = list_of(0, m->slots, POOL * BLOCK);
  llrt_tensor keys = {.data = m->keys, .dtype = LLRT_BF16, .rank = 3};
  keys.shape[0] = MAX_TOKENS;
  keys.shape[1] = HEADS;
  keys.shape[2] = SIZE;
  keys.device = device;
  keys.extent_ptr[0] = m->tokens;
  llrt_tensor pool = keys;
  pool.data = m->first;
  pool.storage = &slots;
  pool.indices = &mapping;
  pool.n_indices = 1;
  must(llrt_convert_into(&keys, &pool, NULL, NULL), "write");
}

/* [block, position, head, element] from blocks of the first pool to blocks of the second. */
static void move_blocks(llrt_device *device, const plan *p, const memory *m) {
  llrt_storage vllm, hnd;
  const int64_t shape[4] = {p->blocks, BLOCK, HEADS, SIZE};
  must(llrt_storage_parse("vllm_paged_k", 4, shape, &vllm), "vllm_paged_k");
  must(llrt_storage_parse("kv_hnd", 4, shape, &hnd), "kv_hnd");
  llrt_index from = list_of(0, m->from, POOL), to = list_of(0, m->to, POOL);
  llrt_tensor first = {.data = m->first, .dtype = LLRT_BF16, .rank = 4, .storage = &vllm};
  memcpy(first.shape, shape, sizeof shape);
  first.device = device;
  first.indices = &from;
  first.n_indices = 1;
  llrt_tensor second = first;
  second.data = m->second;
  second.storage = &hnd;
  second.indices = &to;
  must(llrt_convert_into(&first, &second, NULL, NULL), "move");
}

/* [request, block, position, head, element] from the second pool to rows. The table is over request
 * and block; the pool has no axis for requests, so that axis is folded. */
static void read_requests(llrt_device *device, const memory *m) {
  llrt_storage hnd;
  const int64_t shape[5] = {REQUESTS, TABLE, BLOCK, HEADS, SIZE};
  must(llrt_storage_parse("kv_hnd", 5, shape, &hnd), "kv_hnd");
  llrt_index table = list_of(1, m->table, POOL);
  table.axes = 1 << 0 | 1 << 1;
  table.folded = 1 << 0;
  table.strides[0] = TABLE;
  llrt_tensor pool = {.data = m->second, .dtype = LLRT_BF16, .rank = 5, .storage = &hnd};
  memcpy(pool.shape, shape, sizeof shape);
  pool.device = device;
  llrt_tensor rows = pool;
  rows.data = m->rows;
  rows.storage = NULL;
  pool.indices = &table;
  pool.n_indices = 1;
  must(llrt_convert_into(&pool, &rows, NULL, NULL), "read");
}

/* ---- what must be there ---- */

static long compare(const char *what, const element *found, const element *expected, size_t n) {
  long wrong = 0;
  for (size_t i = 0; i < n; i++) wrong += found[i] != expected[i];
  if (wrong > 0)
    fprintf(stderr, "paged_kv: %ld of %zu elements of the %s are wrong\n", wrong, n, what);
  return wrong;
}

/* One block of a request's keys as [position, head, element]; zeros after its last token. */
static void fill_block(int request, int block, element *keys) {
  for (int t = 0; t < BLOCK; t++)
    for (int i = 0; i < TOKEN; i++) {
      int position = block * BLOCK + t;
      keys[t * TOKEN + i] = position < lengths[request] ? key_of(request, position, i) : 0;
    }
}

static void check(llrt_device *device, const plan *p, const memory *m) {
  static element second[POOL * BLOCK * TOKEN], rows[REQUESTS * TABLE * BLOCK * TOKEN];
  static element found[sizeof second > sizeof rows ? sizeof second / 2 : sizeof rows / 2];
  memset(second, POISON, sizeof second);
  memset(rows, POISON, sizeof rows);
  for (int r = 0; r < REQUESTS; r++)
    for (int b = 0; b < TABLE && p->table[r][b] >= 0; b++) {
      element *keys = rows + (r * TABLE + b) * BLOCK * TOKEN;
      element *block = second + p->table[r][b] * BLOCK * TOKEN;
      fill_block(r, b, keys);
      for (int t = 0; t < BLOCK; t++)
        for (int h = 0; h < HEADS; h++)
          memcpy(block + (h * BLOCK + t) * SIZE, keys + t * TOKEN + h * SIZE,
                 SIZE * sizeof(element));
    }
  must(llrt_memory_copy(device, found, m->second, sizeof second, LLRT_COPY_FROM_DEVICE, NULL),
       "copy");
  must(llrt_stream_synchronize(device, NULL), "run");
  long wrong = compare("second pool", found, second, sizeof second / sizeof *second);
  must(llrt_memory_copy(device, found, m->rows, sizeof rows, LLRT_COPY_FROM_DEVICE, NULL), "copy");
  must(llrt_stream_synchronize(device, NULL), "run");
  wrong += compare("rows", found, rows, sizeof rows / sizeof *rows);
  if (wrong > 0) exit(1);
}

/* ---- the program ---- */

static void run(llrt_device *device) {
  static element keys[MAX_TOKENS * TOKEN];
  static plan p;
  const size_t pool = sizeof(element) * POOL * BLOCK * TOKEN;
  make_plan(&p);
  make_keys(&p, keys);
  memory m = {.keys = to_device(device, keys, sizeof keys),
              .first = pool_of(device, pool, 0),
              .second = pool_of(device, pool, POISON),
              .rows = pool_of(device, sizeof(element) * REQUESTS * TABLE * BLOCK * TOKEN, POISON),
              .slots = to_device(device, p.slots, sizeof p.slots),
              .tokens = to_device(device, &p.tokens, sizeof p.tokens),
              .from = to_device(device, p.from, sizeof p.from),
              .to = to_device(device, p.to, sizeof p.to),
              .table = to_device(device, p.table, sizeof p.table)};
  write_tokens(device, &m);
  printf("write:  %d tokens, some padding, to slots of vLLM's order\n", p.tokens);
  move_blocks(device, &p, &m);
  printf("move:   %d blocks of %d to HND, elsewhere in another pool\n", p.blocks, POOL);
  read_requests(device, &m);
  printf("read:   %d requests by block table into rows\n", REQUESTS);
  check(device, &p, &m);
  printf("checked: every element of the second pool and of the rows is right\n");
  void *const all[] = {m.keys, m.first, m.second, m.rows, m.slots, m.tokens, m.from, m.to, m.table};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    must(llrt_memory_free(device, all[i]), "free");
}

int main(int argc, char *argv[]) {
  llrt_context *context;
  llrt_device *device;
  llrt_device_info info = {0};
  bool named = argc == 3 && strcmp(argv[1], "--device") == 0;
  if (argc != 1 && !named) {
    bool help = argc == 2 && strcmp(argv[1], "--help") == 0;
    fprintf(help ? stdout : stderr, "usage: paged_kv [--device host|cuda:0|hip:0]\n");
    return help ? 0 : 2;
  }
  must(llrt_context_create(NULL, &context), "context");
  must(best_device_open(context, named ? argv[2] : NULL, NULL, &device), "device");
  must(llrt_device_get_info(device, &info), "device");
  printf("device: %s, %s (%s)\n", info.name, info.description, info.target);
  run(device);
  llrt_device_close(&device);
  llrt_context_destroy(&context);
  return 0;
}
