/* What the benchmarks share: options, the device, statistics, clocks, JSON. */
#ifndef LLRT_BENCHMARKS_HARNESS_H
#define LLRT_BENCHMARKS_HARNESS_H

#include <llrt/llrt.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HARNESS_MAX_SIZES 8

typedef struct harness_options {
  const char *device; /* NULL: the first GPU that works, else the host */
  const char *filter; /* part of a case's name; NULL: all */
  const char *json;   /* file; NULL: none */
  int n_sizes;
  int64_t size[HARNESS_MAX_SIZES]; /* bytes of one tensor */
  int repeat;                      /* samples of each measurement */
  uint64_t seed;
  bool quick; /* small sizes, few samples: does it run and is it right? */
} harness_options;

typedef struct harness {
  harness_options options;
  llrt_context *context;
  llrt_device *device;
  llrt_device_info info;
  FILE *json;
  int n_records; /* written to json */
} harness;

/* Of `count` samples in microseconds. */
typedef struct harness_statistic {
  double median, min, max;
  int count;
} harness_statistic;

/* Ends the program with the library's message unless status is OK. */
void harness_must(llrt_status status, const char *what);

/* Reads the options; ends the program for --help and wrong ones. */
void harness_parse(int argc, char *argv[], harness_options *options);

/* Opens context and device, prints what they are, opens the JSON file. */
void harness_init(const harness_options *options, harness *h);

/* Closes everything; ends the program if the JSON file cannot be written. */
void harness_fini(harness *h);

/* Whether the filter wants the case. */
bool harness_wants(const harness *h, const char *name);

/* Sorts samples. */
harness_statistic harness_summarise(double *samples, int count);

/* Host clock, microseconds. */
double harness_now(void);

/* Appends a JSON object {"name":…,<fields>}; fields is the text after the name, without braces. */
void harness_record(harness *h, const char *name, const char *fields_format, ...)
    __attribute__((format(printf, 3, 4)));

/* A well-mixed 64-bit function of x (SplitMix64's finaliser). */
uint64_t harness_mix(uint64_t x);

#endif
