/* Elements are numbers of their coordinates; what a destination is to hold follows from them, the
 * maps, the scales and the indices, place by place. */
#include "tests/reshard/reshard_reference.h"

#include "tests/storage_walk.h"

#include <math.h>
#include <string.h>

/* ---- elements ---- */

static void put(uint8_t *bytes, int64_t place, int bits, uint64_t code) {
  if (bits == 4) {
    int shift = 4 * (int)(place & 1);
    bytes[place / 2] = (uint8_t)((bytes[place / 2] & ~(15 << shift)) | (int)(code & 15) << shift);
    return;
  }
  memcpy(bytes + place * (bits / 8), &code, (size_t)bits / 8); /* little-endian */
}

/* Bits of a float type: exponent, fraction. */
static bool float_format(llrt_dtype dtype, int *exponent, int *fraction) {
  static const struct {
    llrt_dtype dtype;
    int exponent, fraction;
  } formats[] = {{LLRT_F64, 11, 52}, {LLRT_F32, 8, 23}, {LLRT_F16, 5, 10}, {LLRT_BF16, 8, 7},
                 {LLRT_E4M3, 4, 3},  {LLRT_E5M2, 5, 2}, {LLRT_E2M1, 2, 1}, {LLRT_E8M0, 8, 0}};
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (formats[i].dtype == dtype) {
      *exponent = formats[i].exponent;
      *fraction = formats[i].fraction;
      return true;
    }
  return false;
}

/* The code of a number that the type has exactly, of an integer type rounded to the even one. */
static uint64_t code_of(llrt_dtype dtype, double value) {
  int exponent, fraction, power;
  if (!float_format(dtype, &exponent, &fraction)) return (uint64_t)(int64_t)nearbyint(value);
  if (value == 0) return 0;
  double part = frexp(value, &power); /* 0.5 <= part < 1 */
  int bias = (1 << (exponent - 1)) - 1, biased = power - 1 + bias;
  if (biased < 1) return (uint64_t)ldexp(part, power + bias - 1 + fraction); /* subnormal */
  return (uint64_t)biased << fraction | (uint64_t)ldexp(2 * part - 1, fraction);
}

static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

static uint64_t number_of(const reshard_case *c, const int64_t *coords) {
  uint64_t number = 1;
  for (int axis = 0; axis < c->source.rank; axis++) number = number * 1000 + (uint64_t)coords[axis];
  return mix(number);
}

static bool has_values(llrt_dtype dtype) {
  return dtype != LLRT_B4 && dtype != LLRT_B8 && dtype != LLRT_B16 && dtype != LLRT_B32 &&
         dtype != LLRT_B64;
}

static int64_t count_summands(const llrt_sharding *s) {
  int64_t n = 1;
  for (int axis = 0; axis < s->mesh.n_axes; axis++)
    if (s->partial >> axis & 1) n *= s->mesh.size[axis];
  return n;
}

/* What summand `summand` of the source has at coords, as a number: sums are of small integers; what
 * is scaled alone is exact in all types. */
static double value_of(const reshard_case *c, const int64_t *coords, int64_t summand) {
  bool few = c->scaled && count_summands(&c->source) == 1;
  return (double)(number_of(c, coords) >> 8 * summand & (few ? 3 : 15));
}

static uint64_t given(const reshard_case *c, const int64_t *coords, int64_t summand) {
  if (!has_values(c->from)) return number_of(c, coords);
  return code_of(c->from, value_of(c, coords, summand));
}

/* The scale at coords of the scales: 1/2, 1 or 2. */
static double scale_at(const reshard_case *c, const int64_t *coords) {
  return ldexp(1, (int)(number_of(c, coords) >> 40) % 3 - 1);
}

static double scale_of(const reshard_case *c, const int64_t *coords) {
  int64_t of[LLRT_MAX_RANK] = {0};
  for (int axis = 0; axis < c->source.rank; axis++) {
    int64_t group = c->group[axis] ? c->group[axis] : 1;
    of[axis] = group == LLRT_GROUP_ALL ? 0 : coords[axis] / group;
  }
  return c->scaled ? scale_at(c, of) : 1;
}

/* Whether the source's index has no place for the element, which is then read as zero. */
static bool is_zero(const reshard_case *c, const int64_t *coords) {
  llrt_part whole = {.copy = 0}; /* the same for all parts that have it */
  return c->indexed[0] >= 0 && reshard_case_value(c, 0, 0, &whole, coords) < 0;
}

/* What summand `summand` of the destination is to have. */
static uint64_t wanted(const reshard_case *c, const int64_t *coords, int64_t summand) {
  double sum = 0;
  if (is_zero(c, coords)) return has_values(c->from) ? code_of(c->to, 0) : c->flip;
  if (!has_values(c->from)) return number_of(c, coords) ^ c->flip;
  for (int64_t s = 0; s < count_summands(&c->source); s++) sum += value_of(c, coords, s);
  return code_of(c->to, summand ? 0 : sum * scale_of(c, coords));
}

/* ---- parts ---- */

const llrt_sharding *reshard_sharding_of(const reshard_case *c, reshard_role of) {
  return of == ROLE_SOURCE ? &c->source : of == ROLE_DESTINATION ? &c->destination : &c->scale;
}

llrt_dtype reshard_dtype_of(const reshard_case *c, reshard_role of) {
  return of == ROLE_SOURCE ? c->from : of == ROLE_DESTINATION ? c->to : c->scale_dtype;
}

static void shape_of(const reshard_case *c, reshard_role of, int64_t *shape) {
  if (of == ROLE_SCALE) reshard_case_scale_shape(c, shape);
  else memcpy(shape, c->shape, sizeof c->shape);
}

static uint64_t code_at(const reshard_case *c, reshard_role of, const int64_t *coords,
                        int64_t summand) {
  if (of == ROLE_SCALE) return code_of(c->scale_dtype, scale_at(c, coords));
  return of == ROLE_SOURCE ? given(c, coords, summand) : wanted(c, coords, summand);
}

/* Words that hold elements: those are whole words where a re-shard is not refused. */
static void note_word(part_memory *memory, int64_t place, int bits) {
  for (int64_t bit = place * bits; bit < (place + 1) * bits; bit += bits < 32 ? bits : 32)
    memory->word[bit / 32] = 1;
}

static void permute_words(const reshard_case *c, part_memory *memory) {
  for (size_t i = 0; i < memory->size / 4; i++) {
    uint32_t word, permuted = 0;
    if (!memory->word[i]) continue;
    memcpy(&word, memory->bytes + 4 * i, sizeof word);
    for (int bit = 0; bit < 32; bit++) permuted |= (word >> c->perm[bit] & 1) << bit;
    memcpy(memory->bytes + 4 * i, &permuted, sizeof permuted);
  }
}

llrt_status reshard_bind_part(const reshard_case *c, reshard_role of, int rank, llrt_part *part,
                              llrt_storage_binding *binding) {
  const llrt_sharding *s = reshard_sharding_of(c, of);
  int64_t shape[LLRT_MAX_RANK], strides[LLRT_MAX_RANK] = {0};
  shape_of(c, of, shape);
  for (int axis = 0; axis < s->rank && of != ROLE_SCALE; axis++)
    strides[axis] = c->brought[of] * c->strides[of][rank][axis];
  llrt_status status = llrt_sharding_part(s, shape, rank, part);
  if (!status && of != ROLE_SCALE && c->indexed[of] >= 0)
    part->extent[c->indexed[of]] = c->pool[of];
  return status ? status : llrt_storage_bind(&s->storage, s->rank, part->extent, strides, binding);
}

/* The element at a place of a part's memory: coordinates in the whole tensor; false where none is.
 */
static bool find_element(const reshard_case *c, reshard_role of, int rank, const llrt_part *memory,
                         const storage_walk *walk, int64_t *coords) {
  const llrt_sharding *s = reshard_sharding_of(c, of);
  int64_t shape[LLRT_MAX_RANK], local[LLRT_MAX_RANK];
  llrt_part part;
  if (!storage_walk_is_element(walk, memory->extent)) return false;
  shape_of(c, of, shape);
  llrt_sharding_part(s, shape, rank, &part);
  memcpy(local, walk->coords, sizeof local);
  if (of != ROLE_SCALE && c->indexed[of] >= 0) {
    int64_t *x = &local[c->indexed[of]], value = *x;
    for (*x = 0; *x < part.extent[c->indexed[of]]; ++*x)
      if (reshard_case_value(c, of, rank, &part, local) == value) break;
    if (*x == part.extent[c->indexed[of]]) return false;
  }
  for (int axis = 0; axis < s->rank; axis++) coords[axis] = local[axis] + part.begin[axis];
  return true;
}

void reshard_fill_part(const reshard_case *c, reshard_role of, int rank, part_memory *memory) {
  const llrt_sharding *s = reshard_sharding_of(c, of);
  llrt_part part;
  llrt_storage_binding binding;
  int bits = llrt_dtype_bits(reshard_dtype_of(c, of));
  storage_walk walk;
  reshard_bind_part(c, of, rank, &part, &binding);
  if (binding.span == 0) return;
  storage_walk_begin(&walk, &s->storage, &binding);
  do {
    int64_t coords[LLRT_MAX_RANK];
    bool element = find_element(c, of, rank, &part, &walk, coords);
    if (element) put(memory->bytes, walk.place, bits, code_at(c, of, coords, part.summand));
    else if (of == ROLE_DESTINATION && c->indexed[1] < 0 && s->storage.pad == LLRT_PAD_VALUE)
      put(memory->bytes, walk.place, bits, s->storage.pad_value);
    if (element && of == ROLE_DESTINATION && c->permuted) note_word(memory, walk.place, bits);
  } while (storage_walk_next(&walk));
  if (of == ROLE_DESTINATION && c->permuted) permute_words(c, memory);
}
