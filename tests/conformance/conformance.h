/* The conformance suite: conversions checked bit for bit against a plain C reference, through the
 * public API alone, on every device that a machine has. */
#ifndef LLRT_TESTS_CONFORMANCE_H
#define LLRT_TESTS_CONFORMANCE_H

#include "runtime/described.h"

#include <llrt/llrt.h>

/* One tensor of a case. Strides are read for RUN-TIME digits; `shift` moves the base that many
 * elements off its 256-byte alignment. */
typedef struct side {
  llrt_storage storage;
  int64_t strides[LLRT_MAX_RANK];
  int shift;
} side;

/* How a case reaches the device: the one-line call, prepare and run, or saved bytes reloaded. */
typedef enum route { ROUTE_CONVERT, ROUTE_PREPARE, ROUTE_LOAD, ROUTE_COUNT } route;

typedef struct conformance_case {
  char title[160];
  llrt_dtype dtype, to; /* to NONE: the same */
  bool every_code; /* the source's elements are 0, 1, 2, …, or codes near every edge if 32 bits or
                      wider, not random */
  int n_maps;
  llrt_map maps[LLRT_MAX_MAPS];
  int rank;
  int64_t shape[LLRT_MAX_RANK];
  side source, destination;
  llrt_dtype scale_type; /* NONE: no scales */
  side scale;
  route route;
  uint64_t data_seed;
} conformance_case;

/* A small generator (splitmix64) whose whole state is one number. */
uint64_t random_next(uint64_t *state);
/* 0 .. n - 1. */
int random_below(uint64_t *state, int n);

/* conformance_random.c: how many random cases a variable asks for, 0 where it is not set; whether
 * any does, and the suite is made of nothing else. */
int asked_randoms(const char *variable);
bool randoms_alone(void);

/* A case of two storages as they are written; its title is both. False: a defect of the suite or of
 * parsing. */
typedef struct text_row {
  int rank;
  int64_t shape[4];
  const char *source, *destination;
} text_row;
bool case_from_text(const text_row *row, llrt_dtype dtype, conformance_case *made);

int cases_count(void);
/* Makes case `index` of the suite; the same seed and index give the same case. False, with the last
 * error set, is a defect of the suite or of the storage functions. */
bool cases_make(int index, uint64_t seed, conformance_case *made);

/* Random layouts of 2^least elements or more along the last axis: kind 0 plain, 1 with copies, 2
 * one side row_major. */
bool random_layouts_make(int kind, int least, uint64_t *seed, conformance_case *made);

/* conformance_widths.c: cases of elements of 4 and of 128 bits. */
int width_cases_count(void);
bool width_cases_make(int index, uint64_t *seed, conformance_case *made);

/* conformance_maps.c: cases with value maps, and what the maps do. */
int map_cases_count(void);
bool map_cases_make(int index, conformance_case *made);
/* The type of the result. */
llrt_dtype result_type(const conformance_case *tested);
/* Code `i` of those that a case with every_code begins with. */
uint64_t source_code(llrt_dtype dtype, uint64_t i);
/* The bits of an element after the maps of elements and the cast. */
uint64_t map_element(const conformance_case *tested, uint64_t bits, double scale);
/* The scale's shape and coordinates for those of an element. */
void scale_shape(const conformance_case *tested, int64_t *shape);
void scale_coords(const conformance_case *tested, const int64_t *coords, int64_t *at);
/* The value of a scale's code. */
double scale_value(const conformance_case *tested, uint64_t code);
/* Whether words of the destination are changed last, and how. */
bool maps_words(const conformance_case *tested);
uint32_t map_word(const conformance_case *tested, uint32_t word);
/* The parts of the suite that conformance_general.c and conformance_named.c make; titles without
 * the dtype. */
int named_cases_count(void);
bool named_cases_make(int index, conformance_case *made);
int general_cases_count(void);
bool general_cases_make(int index, conformance_case *made);

/* Converts as described, with the promises that the tensors keep, by a route; false with the reason
 * in why[size]. */
bool conformance_convert(llrt_device *device, const op_description *asked, route by, char *why,
                         size_t size);

/* conformance_index.c: cases whose tensors have indices; they follow the others in the count. */
int index_cases(void);
bool index_case_passes(int number, uint64_t seed, llrt_device *device, char *title,
                       size_t title_size, char *why, size_t size);

/* conformance_gather.c: gathers and scatters; they follow those. */
int gather_cases(void);
bool gather_case_passes(int number, uint64_t seed, llrt_device *device, char *title,
                        size_t title_size, char *why, size_t size);

/* conformance_reduce.c: reduces. */
int reduce_cases(void);
bool reduce_case_passes(int number, uint64_t seed, llrt_device *device, char *title,
                        size_t title_size, char *why, size_t size);

/* conformance_scan.c: scans. */
int scan_cases(void);
bool scan_case_passes(int number, uint64_t seed, llrt_device *device, char *title,
                      size_t title_size, char *why, size_t size);

/* conformance_dot.c: products of matrices. */
int dot_cases(void);
bool dot_case_passes(int number, uint64_t seed, llrt_device *device, char *title, size_t title_size,
                     char *why, size_t size);

/* Runs a case on an open device and says in why[size] what was wrong, or makes it empty. */
bool case_passes(const conformance_case *tested, llrt_device *device, char *why, size_t size);

#endif
