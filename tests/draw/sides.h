/* Storages, shapes and addresses drawn at random. */
#ifndef LLRT_TESTS_DRAW_SIDES_H
#define LLRT_TESTS_DRAW_SIDES_H

#include "weights.h"

#include <llrt/llrt.h>

#define DRAW_TEXT_BYTES 2048

/* How one tensor lies. */
typedef struct draw_side {
  llrt_storage storage;           /* what the library gets */
  int64_t strides[LLRT_MAX_RANK]; /* of RUN-TIME digits */
  char text[DRAW_TEXT_BYTES];     /* what `storage` was parsed from; "": it was made as it is */
  llrt_storage meant;             /* with a text: what it has to mean, where `is_meant` */
  bool is_meant;
  int32_t address; /* bytes between an address of 256 bytes and the tensor's */
} draw_side;

/* What a side is drawn for. */
typedef struct side_wish {
  int rank;
  const int64_t *shape;
  int bits;     /* of an element */
  bool written; /* no two elements at one place */
  bool plain;   /* digits alone, no pads: what words of memory want */
  int64_t most; /* places */
} side_wish;

void draw_shape(uint64_t *seed, int64_t most, int *rank, int64_t *shape);
/* How many elements a size allows. */
int64_t draw_size(uint64_t *seed, draw_speed speed);

/* A storage that takes the shape, by the weights; row_major where twelve draws do not. */
void draw_side_make(uint64_t *seed, const side_wish *wish, draw_side *made);
/* One kind of storage; false where the draw does not suit. */
bool draw_kind_make(uint64_t *seed, int kind, const side_wish *wish, draw_side *made);

/* Whether the rule takes the shape: within `most` places and, of what is written, no place for two.
 */
bool side_suits(const side_wish *wish, const draw_side *side);

/* storage_rule.c: a rule of digits; `numbers`: every stride and extent a number, nothing but
 * digits, which count up. */
bool draw_rule(uint64_t *seed, const side_wish *wish, bool numbers, draw_side *made);
/* Digits alone, packed, in any order of memory; those of `axis` are the n extents, whose product is
 * the axis's, from the lowest on. */
void draw_split(uint64_t *seed, const side_wish *wish, int axis, int n, const int64_t *extent,
                draw_side *made);
/* storage_notation.c: the digits of such a rule in CuTe and in TIRx notation; storages with names;
 * onednn. */
bool draw_cute(uint64_t *seed, const side_wish *wish, draw_side *made);
bool draw_tirx(uint64_t *seed, const side_wish *wish, draw_side *made);
bool draw_named(uint64_t *seed, const side_wish *wish, bool transposed, draw_side *made);
bool draw_onednn(uint64_t *seed, const side_wish *wish, draw_side *made);
/* storage_layouts.c: layouts as storages. */
bool draw_literal(uint64_t *seed, const side_wish *wish, draw_side *made);
bool draw_tiled(uint64_t *seed, const side_wish *wish, draw_side *made);
bool draw_family(uint64_t *seed, const side_wish *wish, draw_side *made);
bool draw_expression(uint64_t *seed, const side_wish *wish, draw_side *made);
bool draw_padded(uint64_t *seed, const side_wish *wish, draw_side *made);
bool draw_wgmma(uint64_t *seed, const side_wish *wish, draw_side *made);

/* The same rule in other words: equal places for every copy and pad of the shape. False where the
 * draw found none. */
bool draw_other_words(uint64_t *seed, const side_wish *wish, const draw_side *side,
                      draw_side *other);

/* Text that grows in a side, cut off at its end. */
typedef struct side_text {
  char *text;
  size_t n, size;
} side_text;
side_text side_text_of(draw_side *side);
void side_say(side_text *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Parses side->text; false where it is refused. */
bool side_parse(const side_wish *wish, draw_side *side);

/* "NAME STORAGE strides … at +N bytes" */
void side_print(side_text *to, const char *name, const draw_side *side, int rank);
void side_say_shape(side_text *to, int rank, const int64_t *shape);
void side_say_storage(side_text *to, const llrt_storage *storage);

/* side_edit.c. Way 0 .. SIDE_WAYS - 1 to make a side smaller; false where it changes nothing. */
#define SIDE_WAYS (2 + 8 + LLRT_MAX_RANK + LLRT_MAX_DIGITS * 6 + 16)
bool side_edit(draw_side *side, int rank, const int64_t *shape, int way);
/* Without an axis of one position. */
bool side_without_axis(draw_side *side, int axis);
/* The axis's last digit takes what is left, and so follows the extent. */
bool side_follow_extent(draw_side *side, int axis);
/* How far from a plain one it is. */
int64_t side_cost(const draw_side *side);

bool side_brings_strides(const draw_side *side);
/* An address for elements of a type, in bytes behind an aligned one. */
int32_t draw_address(uint64_t *seed, llrt_dtype type);

int draw_log2(int64_t n); /* of a power of two; else -1 */
void draw_shuffle(uint64_t *seed, int *list, int n);

#endif
