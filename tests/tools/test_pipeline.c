/* Items through the stages: their order, their memory, and what becomes of them when one fails. */
#include "tools/model/pipeline.h"

#include <criterion/criterion.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ITEMS 400

typedef struct work {
  size_t bytes[ITEMS];
  size_t read, converted, finished, written, settled; /* items; each changed by one stage */
  int fails_in; /* 'r', 'c', 'f', 'w', 's'; 0: nothing fails */
  size_t fails_at;
  char *block;
  size_t size;
  bool pinned, finishes;
  atomic_size_t under_way; /* bytes */
  size_t most;             /* of them, at the end of a read */
  unsigned delay;          /* microseconds of a write, now and then */
} work;

static bool fail_at(const work *w, int stage, size_t item, array_error *error) {
  if (w->fails_in != stage || item < w->fails_at) return true;
  return array_fail(error, "stage %c", stage);
}

static size_t bytes_of(void *user, size_t item) { return ((work *)user)->bytes[item]; }

/* Fills an item's memory with its number. */
static bool read_item(void *user, size_t item, void *memory, array_error *error) {
  work *w = user;
  size_t bytes = w->bytes[item];
  cr_assert((char *)memory >= w->block && (char *)memory + bytes <= w->block + w->size);
  cr_assert_eq((uintptr_t)memory % PIPELINE_ALIGNMENT, 0);
  memset(memory, (int)item, bytes);
  size_t now = atomic_fetch_add(&w->under_way, bytes) + bytes;
  if (now > w->most) w->most = now;
  cr_assert_eq(w->read++, item);
  return fail_at(w, 'r', item, error);
}

static bool convert_item(void *user, size_t item, void *memory, array_error *error) {
  work *w = user;
  char *byte = memory;
  for (size_t i = 0; i < w->bytes[item]; i++) cr_assert_eq(byte[i]++, (char)item);
  cr_assert_eq(w->converted++, item);
  return fail_at(w, 'c', item, error);
}

/* At most one item more has been converted. */
static bool finish_item(void *user, size_t item, array_error *error) {
  work *w = user;
  cr_assert_eq(w->finished++, item);
  cr_assert(w->converted == item + 1 || w->converted == item + 2);
  return fail_at(w, 'f', item, error);
}

static bool write_item(void *user, size_t item, const void *memory, array_error *error) {
  work *w = user;
  const char *byte = memory;
  for (size_t i = 0; i < w->bytes[item]; i++) cr_assert_eq(byte[i], (char)(item + 1));
  if (w->delay && item % 16 == 0) usleep(w->delay);
  cr_assert_eq(w->written++, item);
  cr_assert(!w->finishes || w->finished > item);
  atomic_fetch_sub(&w->under_way, w->bytes[item]);
  return fail_at(w, 'w', item, error);
}

static bool settle_items(void *user, size_t first, size_t end, array_error *error) {
  work *w = user;
  cr_assert(first == w->settled && end > first && end <= w->written);
  w->settled = end;
  return fail_at(w, 's', end, error);
}

static void pin(void *user, void *block, size_t bytes) {
  work *w = user;
  w->block = block;
  w->size = bytes;
  w->pinned = true;
}

static void unpin(void *user, void *block, size_t bytes) {
  work *w = user;
  cr_assert(w->pinned && block == w->block && bytes == w->size);
  w->pinned = false;
}

static bool run(work *w, size_t memory, array_error *error) {
  const pipeline p = {.user = w,
                      .n_items = ITEMS,
                      .memory = memory,
                      .bytes = bytes_of,
                      .read = read_item,
                      .convert = convert_item,
                      .finish = w->finishes ? finish_item : NULL,
                      .write = write_item,
                      .settle = settle_items,
                      .prepare = pin,
                      .release = unpin};
  return pipeline_run(&p, error);
}

static void make_items(work *w, unsigned seed) {
  *w = (work){.delay = 200, .finishes = seed % 2};
  for (size_t i = 0; i < ITEMS; i++) {
    seed = seed * 1664525u + 1013904223u;
    w->bytes[i] = (seed >> 8) % (i % 7 ? 9000 : 60000);
  }
}

/* With room for one item at a time up to that for all of them. */
Test(pipeline, memory) {
  static const size_t memory[] = {60000, 65536, 100000, 200000, 4000000};
  for (unsigned i = 0; i < sizeof memory / sizeof *memory; i++) {
    work w;
    array_error error;
    make_items(&w, i + 1);
    cr_assert(run(&w, memory[i], &error), "%s", error.text);
    cr_expect(w.written == ITEMS && w.settled == ITEMS && !w.pinned);
    cr_expect(w.most <= memory[i] + PIPELINE_ALIGNMENT, "%zu of %zu bytes", w.most, memory[i]);
  }
}

Test(pipeline, failures) {
  static const char stages[] = "rcfws";
  for (int i = 0; stages[i]; i++) {
    work w;
    array_error error;
    char why[] = "stage ?";
    make_items(&w, 7);
    w.fails_in = why[6] = stages[i];
    w.fails_at = 200;
    cr_expect_not(run(&w, 100000, &error));
    cr_expect_str_eq(error.text, why);
    cr_expect(w.settled <= w.written && !w.pinned);
    cr_expect(stages[i] == 's' || w.written <= 201);
  }
}

/* An item that never fits is told of, and so is nothing at all. */
Test(pipeline, sizes) {
  work w;
  array_error error;
  make_items(&w, 3);
  w.bytes[100] = 1000000;
  cr_expect_not(run(&w, 100000, &error));
  cr_expect(strstr(error.text, "too large"), "%s", error.text);
  cr_expect(w.settled == w.written && w.written <= 100, "%zu %zu", w.settled, w.written);
  const pipeline nothing = {.user = &w};
  cr_expect(pipeline_run(&nothing, &error));
}
