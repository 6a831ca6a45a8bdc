/* What draws are made of, and how often: the lists from which `llrt_draws --weights` prints
 * docs/draws.md's tables. A line is X(name of the choice, weight, what it is); a choice's chance is
 * its weight among those of its list. */
#ifndef LLRT_TESTS_DRAW_WEIGHTS_H
#define LLRT_TESTS_DRAW_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRAW_OPERATION_LIST(X) \
  X(OPERATION_CONVERT, 64, "convert") \
  X(OPERATION_GATHER, 6, "gather") \
  X(OPERATION_SCATTER, 5, "scatter") \
  X(OPERATION_REDUCE, 8, "reduce") \
  X(OPERATION_SCAN, 5, "scan") \
  X(OPERATION_DOT, 14, "dot") \
  X(OPERATION_PACKED, 9, "dot with packed weights, or with weights as other engines have them") \
  X(OPERATION_TILE, 0, "a form inside a block: by `llrt_draws_plan --only tile` alone") \
  X(OPERATION_RESHARD, 0, "a re-shard between meshes: by `--only reshard` alone")

#define DRAW_TILE_LIST(X) \
  X(TILE_CONVERT, 30, "convert") \
  X(TILE_CAST, 12, "convert by way of another type") \
  X(TILE_GATHER, 18, "gather") \
  X(TILE_REDUCE, 14, "reduce") \
  X(TILE_SCAN, 18, "scan") \
  X(TILE_DOT, 8, "dot")

/* clang-format off */
#define DRAW_RANK_LIST(X) \
  X(RANK_0, 2, "0") X(RANK_1, 14, "1") X(RANK_2, 38, "2") X(RANK_3, 20, "3") X(RANK_4, 11, "4") \
  X(RANK_5, 6, "5") X(RANK_6, 3, "6") X(RANK_7, 2, "7") X(RANK_8, 4, "8")
/* clang-format on */

#define DRAW_SIZE_LIST(X) \
  X(SIZE_TINY, 25, "elements: up to 64") \
  X(SIZE_SMALL, 45, "up to 2,048") \
  X(SIZE_MIDDLE, 24, "up to 16,384 (plans: 4,096)") \
  X(SIZE_LARGE, 6, "up to 131,072 (emulators: 32,768, plans: 16,384)")

#define DRAW_EXTENT_LIST(X) \
  X(EXTENT_POWER, 26, "a power of two") \
  X(EXTENT_NEAR, 14, "one beside a power of two") \
  X(EXTENT_SMALL, 18, "1 to 9") \
  X(EXTENT_PRIME, 10, "a prime") \
  X(EXTENT_MULTIPLE, 14, "2, 4, 8, 16 or 32 times any number") \
  X(EXTENT_ANY, 10, "any number") \
  X(EXTENT_ONE, 7, "1") \
  X(EXTENT_ZERO, 1, "0")

#define DRAW_STORAGE_LIST(X) \
  X(STORAGE_ROWS, 10, "row_major") \
  X(STORAGE_COLUMNS, 5, "col_major") \
  X(STORAGE_STRIDED, 5, "strided, by numbers, axes in any order, gaps") \
  X(STORAGE_BROUGHT, 6, "strided, by strides that the tensor brings") \
  X(STORAGE_RULE, 40, "a rule of digits, written out") \
  X(STORAGE_CUTE, 7, "digits in CuTe notation") \
  X(STORAGE_TIRX, 6, "digits in TIRx notation") \
  X(STORAGE_NAMED, 12, "a named storage with any parameters") \
  X(STORAGE_TRANSPOSED, 2, "transposed(a named storage or row_major)") \
  X(STORAGE_ONEDNN, 3, "onednn, any blocks") \
  X(STORAGE_TILED, 2, "tiled(a literal)") \
  X(STORAGE_LITERAL, 9, "a literal of registers, lanes, warps, blocks or offsets") \
  X(STORAGE_FAMILY, 8, "a family of registers or of shared memory") \
  X(STORAGE_EXPRESSION, 4, "layouts composed, divided, reshaped") \
  X(STORAGE_PADDED, 1, "padded_shared") \
  X(STORAGE_WGMMA, 1, "wgmma_shared")

#define DRAW_TYPES_LIST(X) \
  X(TYPES_MOVED, 62, "one type, moved as bits") \
  X(TYPES_CAST, 30, "a cast between any two types of numbers") \
  X(TYPES_OPAQUE, 8, "one type without numbers: b4 to b128, bool, 64-bit integers")

#define DRAW_MAPS_LIST(X) \
  X(MAPS_NONE, 74, "no map") \
  X(MAPS_XOR, 8, "XOR of one constant or two") \
  X(MAPS_SCALE, 13, \
    "SCALE by groups that divide the extents or do not, by whole axes, by more than the extents") \
  X(MAPS_WORDS, 5, "WORD_BITS, any permutation; XOR before it at times")

#define DRAW_INDICES_LIST(X) \
  X(INDICES_NONE, 76, "no index") \
  X(INDICES_SOURCE, 11, "on the source") \
  X(INDICES_DESTINATION, 8, "on the destination") \
  X(INDICES_BOTH, 5, "on both")

/* clang-format off */
#define DRAW_POLICY_LIST(X) \
  X(POLICY_SKIP, 3, "SKIP") X(POLICY_ZERO, 3, "ZERO (sources)") \
  X(POLICY_CLAMP, 2, "CLAMP (coordinates of sources)") \
  X(POLICY_REPORT, 2, "REPORT")
/* clang-format on */

#define DRAW_COUNTS_LIST(X) \
  X(COUNTS_NONE, 84, "extents as they are") \
  X(COUNTS_SOURCE, 4, "counts of one axis or several in device memory, on the source alone") \
  X(COUNTS_DESTINATION, 4, "on the destination alone") \
  X(COUNTS_BOTH, 8, "on both")

#define DRAW_ROUTE_LIST(X) \
  X(ROUTE_CALL, 50, "the one-line call") \
  X(ROUTE_COARSE, 8, "prepared with coarse promises") \
  X(ROUTE_PROMISED, 32, "prepared with promises drawn by number") \
  X(ROUTE_LOADED, 4, "prepared, saved, loaded") \
  X(ROUTE_ALLOCATED, 6, "into memory of the context's allocator")

#define DRAW_PROMISE_LIST(X) \
  X(PROMISE_NOTHING, 30, "of a number: nothing") \
  X(PROMISE_EXACT, 20, "the number itself") \
  X(PROMISE_MOST, 15, "the number as the largest") \
  X(PROMISE_LEAST, 6, "the number as the smallest") \
  X(PROMISE_RANGE, 17, "a range around it") \
  X(PROMISE_FITS, 12, "that it fits 31 bits")

#define DRAW_DEPTH_LIST(X) \
  X(DEPTH_ANY, 70, "as the operands' storages have it") \
  X(DEPTH_ALIKE, 16, \
    "two or three digits, mostly no powers of two, in A as in B, every stride packed") \
  X(DEPTH_TURNED, 8, "such digits in A, in B the other way around") \
  X(DEPTH_ONE, 6, "such digits in one of both")

#define DRAW_ADDRESS_LIST(X) \
  X(ADDRESS_ALIGNED, 50, "256 bytes") \
  X(ADDRESS_ELEMENT, 20, "of an element only") \
  X(ADDRESS_POWER, 30, "any power of two up to 128 bytes, or an odd multiple of it")

#define DRAW_MEMORY_LIST(X) \
  X(MEMORY_GUARDED, 60, "bytes on all sides that are compared") \
  X(MEMORY_TIGHT, 40, \
    "nothing behind the last byte: emulators, and on the host a page without access, see it read")

#define DRAW_CONTEXT_LIST(X) \
  X(CONTEXT_KEPT, 62, "the context that earlier cases used") \
  X(CONTEXT_FRESH, 30, "a context of its own") \
  X(CONTEXT_WORDS, 8, \
    "a context of its own, the rule in other words before it, then the other order")

/* X(list, title) */
/* clang-format off */
#define DRAW_LISTS(X) \
  X(OPERATION, "operation") X(RANK, "rank") X(SIZE, "size") X(EXTENT, "extent of an axis") \
  X(STORAGE, "storage of a tensor") X(TYPES, "element types") X(MAPS, "maps") \
  X(INDICES, "indices") \
  X(POLICY, "values out of range") X(COUNTS, "extents in device memory") \
  X(ROUTE, "how it is called") \
  X(PROMISE, "promise of an extent") X(ADDRESS, "address") X(MEMORY, "memory around a tensor") \
  X(CONTEXT, "context") X(TILE, "form inside a block") X(DEPTH, "K of a product")
/* clang-format on */

#define DRAW_CHOICE(name, weight, text) name,
#define DRAW_ENUM(list, title) enum draw_##list{DRAW_##list##_LIST(DRAW_CHOICE) list##_COUNT};
DRAW_LISTS(DRAW_ENUM)
#undef DRAW_ENUM
#undef DRAW_CHOICE

typedef enum draw_list {
#define DRAW_ENUM(list, title) LIST_##list,
  DRAW_LISTS(DRAW_ENUM)
#undef DRAW_ENUM
      LIST_COUNT
} draw_list;

/* How long a device takes for an element, which bounds sizes. */
typedef enum draw_speed { SPEED_HARDWARE, SPEED_EMULATED, SPEED_INTERPRETED } draw_speed;

/* splitmix64, whose whole state is one number. */
uint64_t draw_next(uint64_t *seed);
/* 0 .. n - 1; n > 0. */
int64_t draw_below(uint64_t *seed, int64_t n);
static inline bool draw_one_in(uint64_t *seed, int n) { return draw_below(seed, n) == 0; }
/* A choice of a list by the weights. */
int draw_pick(uint64_t *seed, draw_list list);
const char *draw_choice_text(draw_list list, int choice);

/* The tables of docs/draws.md, into text[size]; returns the length, as snprintf does. */
size_t draw_print_weights(char *text, size_t size);

#endif
