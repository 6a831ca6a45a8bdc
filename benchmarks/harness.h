/* What the subcommands of llrt-bench share: options, the device, statistics, clocks, JSON. */
#ifndef LLRT_BENCHMARKS_HARNESS_H
#define LLRT_BENCHMARKS_HARNESS_H

#include "base/text.h"
#include "jit/plan/types/description.h"

#include <llrt/llrt.h>

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HARNESS_MAX_SIZES 24
#define HARNESS_MAX_SAMPLES 1000

typedef struct harness_options {
  int argc; /* the command line that these are of, beginning with the subcommand's name */
  char **argv;
  const char *device;   /* NULL: the first GPU that works, else the host */
  const char *target;   /* what kernels are compiled for; NULL: the device's own */
  const char *only;     /* extended regular expression found in a case's name; NULL: all */
  const char *json;     /* file; NULL: none */
  const char *products; /* dense: names of cases between commas; NULL: the usual ones */
  const char *numbers;  /* tuned numbers instead of the device's (tuned.h); NULL: none */
  const char *predict;  /* tiles: file of candidates whose clocks are printed; NULL: none */
  const char *spoil;    /* seed by which all of them are halved or doubled; NULL: they are not */
  const char *choices;  /* --tune: the kernel cache, of a folder of these numbers; NULL: none */
  int tune;             /* llrt_tune: prepared operations are tuned */
  int n_sizes;          /* 0: the subcommand's own */
  int64_t size[HARNESS_MAX_SIZES]; /* bytes of one tensor */
  int n_rows;                      /* of models' layers; 0: the usual ones */
  int64_t rows[HARNESS_MAX_SIZES];
  bool odd;             /* shapes that are no powers of two */
  bool models;          /* products: the linear layers of models */
  bool random;          /* products: shapes of the seed (random_shapes.h) ... */
  const char *extents;  /* ... or these: MxNxK, between commas; else NULL */
  bool check_only;      /* no timing */
  bool whole;           /* products: every element is compared, and runs at once are */
  bool batch_invariant; /* dot: the same rows alone, and what that costs */
  bool list;            /* name the cases, run none */
  bool processor_time;  /* of all threads, by turns with copies, least of each: machines that are
                           shared */
  bool one_line;        /* convert: the one-line call, nothing is prepared */
  bool by_peers, by_reading, by_nccl; /* reshard: paths */
  const char *nccl;                   /* reshard: NCCL's library; NULL: as the loader finds it */
  int parts;                          /* reshard: llrt_reshard_desc.parts */
  int repeat;                         /* samples of each measurement */
  double budget;                      /* microseconds of one measurement, after three samples */
  uint64_t seed;
} harness_options;

typedef struct harness {
  harness_options options;
  regex_t only; /* compiled; unused where options.only is NULL */
  llrt_context *context;
  llrt_device *device;
  llrt_device_info info;
  FILE *json;
  int n_records;   /* written to json */
  llrt_text tuned; /* a field of the next record: of the operation that was prepared last */
} harness;

/* Of `count` samples in microseconds. */
typedef struct harness_statistic {
  double median, min, max;
  int count;
} harness_statistic;

/* Ends the program with the library's message unless status is OK. */
void harness_must(llrt_status status, const char *what);
/* Ends the program, from whichever thread, without exit's handlers: other threads go on until then,
 * and may end it themselves. */
_Noreturn void harness_end(int status);

/* Whether --only takes the case. */
bool harness_takes(const harness_options *wanted, const char *name);

/* llrt_op_prepare, or with --tune the fastest candidate's kernels, whose choice is printed, and
 * goes into the next record with all candidates. The description's tensors are complete but for
 * memory.
 */
llrt_status harness_prepare(harness *h, const op_description *desc, llrt_op **op);
/* The same with --tune, of what the library described. */
llrt_status harness_tune(harness *h, const llrt_op_desc *shown, llrt_op **op);

/* Gives params the zeroed workspace that the op wants for these tensors, or none;
 * harness_drop_workspace frees it. */
llrt_status harness_add_workspace(harness *h, llrt_op *op, const llrt_tensor *tensors, int n,
                                  llrt_run_params *params);
void harness_drop_workspace(harness *h, llrt_run_params *params);

/* Reads the options of subcommand argv[0]; ends the program for --help and wrong ones. */
void harness_parse(int argc, char *argv[], harness_options *options);
/* Splits --device, or `preset` where it was not given, at commas into names of at most 31 bytes;
 * returns how many, at most `most`. */
int harness_device_names(const harness_options *given, const char *preset, int most,
                         char (*name)[32]);

/* Opens context and device, prints what they are, opens the JSON file: an object with the
 * subcommand, its command line, the day, the device and `results`, as scripts/results reads it. */
void harness_init(const harness_options *options, harness *h);

/* Closes everything; ends the program if the JSON file cannot be written. */
void harness_fini(harness *h);

/* Whether --only wants the case. */
bool harness_wants(const harness *h, const char *name);

/* Whether the host runs the operations. */
bool harness_is_host(const harness *h);

/* Sorts samples. */
harness_statistic harness_summarise(double *samples, int count);

/* Host clock, microseconds. */
double harness_now(void);

/* Processor time of all threads of this process, microseconds. */
double harness_processor_now(void);

/* Appends a JSON object {"name":…,<fields>}; fields is the text after the name, without braces. */
void harness_record(harness *h, const char *name, const char *fields_format, ...)
    __attribute__((format(printf, 3, 4)));

/* A well-mixed 64-bit function of x (SplitMix64's finaliser). */
uint64_t harness_mix(uint64_t x);

#endif
