/* One context that meets very many shapes of one convert: what finds a shape's kernel at once is
 * kept for the last shapes alone, and counts. */
#include "tests/runtime/convert_fixture.h"

#include "runtime/context.h"

#define RANK 7
#define LONGEST 6 /* extent: of 6^7 shapes the 111,883 of at most MOST elements */
#define ALL (6 * 6 * 6 * 6 * 6 * 6 * 6)
#define MOST 1440
#define SHAPES 100000
#define WHOLLY 32 /* every so many-th result is compared in whole, of the others an element */

static fixture at;
static llrt_storage reversed;
static uint16_t in[MOST], out[MOST];

static void start(void) {
  fixture_make(&at, &fixture_params);
  cr_assert_eq(llrt_storage_col_major(RANK, &reversed), LLRT_OK);
  for (int i = 0; i < MOST; i++) in[i] = (uint16_t)(i * 40503u >> 3);
}
static void stop(void) { fixture_end(&at); }
TestSuite(many_shapes, .init = start, .fini = stop, .timeout = 900);

/* Extents as digits of n's product, so that neighbours differ in all axes; *elements: of them. */
static llrt_tensor shaped(int n, int64_t *elements) {
  llrt_tensor tensor = {.dtype = LLRT_U16, .rank = RANK, .device = at.host};
  int64_t rest = (int64_t)n * 40503 % ALL;
  *elements = 1;
  for (int axis = 0; axis < RANK; axis++, rest /= LONGEST)
    *elements *= tensor.shape[axis] = 1 + rest % LONGEST;
  return tensor;
}

/* The next shape from `n` on that is small. */
static int next_small(int n) {
  for (int64_t elements = MOST + 1;; n++) {
    shaped(n, &elements);
    if (elements <= MOST) return n;
  }
}

/* Where the element at row-major position `from` goes. */
static int64_t reversed_place(const llrt_tensor *tensor, int64_t from) {
  int64_t place = 0, coordinate[RANK];
  for (int axis = RANK - 1; axis >= 0; axis--) {
    coordinate[axis] = from % tensor->shape[axis];
    from /= tensor->shape[axis];
  }
  for (int axis = RANK - 1; axis >= 0; axis--)
    place = place * tensor->shape[axis] + coordinate[axis];
  return place;
}

static bool convert(int n) {
  int64_t elements;
  llrt_tensor source = shaped(n, &elements), destination = source;
  source.data = in;
  destination.data = out;
  destination.storage = &reversed;
  int64_t first = n % WHOLLY ? n % elements : 0, end = n % WHOLLY ? first + 1 : elements;
  bool right = true;
  for (int64_t i = first; i < end; i++) out[reversed_place(&source, i)] = (uint16_t)~in[i];
  if (llrt_convert_into(&source, &destination, NULL, NULL) != LLRT_OK) return false;
  for (int64_t i = first; i < end; i++) right &= out[reversed_place(&source, i)] == in[i];
  return right;
}

static uint64_t bytes_taken(void) {
  llrt_context_stats stats = {0};
  cr_assert_eq(llrt_context_get_stats(at.context, &stats), LLRT_OK);
  return stats.bytes;
}

/* Converts shapes from *n on, so many; returns how many are wrong. */
static int convert_many(int *n, int shapes) {
  int wrong = 0;
  for (int i = 0; i < shapes; i++, ++*n) wrong += !convert(*n = next_small(*n));
  return wrong;
}

Test(many_shapes, memory_is_flat) {
  int wrong = 0, n = 0, most = (int)llrt_cache_most_shapes(&at.context->cache);
  size_t fullest = 0;
  uint64_t most_at_first = 0, most_later = 0;
  for (int done = 0; done < SHAPES; done += 50) {
    wrong += convert_many(&n, 50);
    uint64_t bytes = bytes_taken(), *so_far = done < 2 * most ? &most_at_first : &most_later;
    size_t known = at.context->cache.shapes.count;
    if (bytes > *so_far) *so_far = bytes;
    if (known > fullest) fullest = known;
  }
  fprintf(stderr, "%d shapes: %d wrong, at most %zu known at once, at most %llu bytes, then %llu\n",
          SHAPES, wrong, fullest, (unsigned long long)most_at_first,
          (unsigned long long)most_later);
  cr_expect_eq(wrong, 0, "%s", llrt_last_error());
  cr_expect(fullest > 100 && fullest <= (size_t)most && n < ALL);
  cr_expect(most_later <= most_at_first && most_at_first < (uint64_t)1 << 20);
}

/* The table of shapes is among the bytes that are told. */
Test(many_shapes, shapes_count) {
  int n = 0;
  cr_assert_eq(convert_many(&n, 20), 0, "%s", llrt_last_error());
  uint64_t few = bytes_taken();
  size_t before = at.context->cache.shapes.capacity;
  cr_assert_eq(convert_many(&n, 600), 0, "%s", llrt_last_error());
  size_t grown = at.context->cache.shapes.capacity - before;
  cr_expect(grown > 0);
  cr_expect(bytes_taken() >= few + grown * sizeof *at.context->cache.shapes.slot);
}

/* A context of little memory knows fewer. */
Test(many_shapes, little_memory_knows_few) {
  fixture_end(&at);
  llrt_cache_params cache = {.size = sizeof cache, .memory_bytes = (uint64_t)1 << 20};
  llrt_context_params params = fixture_params;
  params.size = sizeof params;
  params.cache = &cache;
  fixture_make(&at, &params);
  int n = 0;
  size_t most = llrt_cache_most_shapes(&at.context->cache);
  cr_expect(most < 2000, "%zu", most);
  for (int i = 0; i < 30; i++) {
    cr_assert_eq(convert_many(&n, 100), 0, "%s", llrt_last_error());
    cr_assert(at.context->cache.shapes.count <= most);
  }
}
