/* A dot as the command line asks for it: A, B and what stands on them, from files or described by
 * type and shape. */
#ifndef LLRT_TOOLS_REQUEST_DOT_H
#define LLRT_TOOLS_REQUEST_DOT_H

#include "tools/request.h"

#include <llrt/dot.h>

/* For the tables of dot, explain and compile; `first` of the values is the first of these. Where
 * there are other operations' options beside them, OF says whose these are. */
#define REQUEST_DOT_OPTIONS(OF) \
  {"layout-a", 0, "EXPR", OF "storage that A's elements lie in (default: as the\nfile says)"}, \
      {"layout-b", 0, "EXPR", OF "the same of B, whose axes are K, N"}, \
      {"layout-scale-b", 0, "EXPR", OF "the same of B's scales, of the file's shape"}, \
      {"layout-zero-b", 0, "EXPR", OF "the same of B's zero points"}, \
      {"dtype-a", 0, "TYPE", OF "read A's bytes as this type, such as bf16"}, \
      {"dtype-b", 0, "TYPE", OF "the same of B, such as e2m1"}, \
      {"scale-a", 0, "S.npy", OF "scales of A, whose extents are A's divided by groups"}, \
      {"scale-b", 0, "S.npy", OF "scales of B, such as [K/32,N]; uint8 is e8m0, uint16\nbf16"}, \
      {"scale-dtype", 0, "TYPE", OF "read the scales' bytes as this type, such as e4m3"}, \
      {"scale-range", 0, "LOW,HIGH", \
       OF "a promise: the bytes of e8m0 scales lie in it; auto:\nfind out what it is (not for " \
          "explain and compile)"}, \
      {"zero-b", 0, "Z.npy", OF "zero points of B, of its scales' shape"}, \
      {"global-b", 0, "G.npy", OF "one f32 that all of B is multiplied with"}, \
      {"bias", 0, "F.npy", OF "added to every row; uint16 is bf16"}, \
      {"activation", 0, "NAME", OF "relu, gelu or silu of the result"}, \
      {"alpha", 0, "X", OF "the product times X"}, \
      {"tf32", 0, NULL, OF "f32 may be rounded to tf32"}
enum {
  REQUEST_LAYOUT_A,
  REQUEST_LAYOUT_B,
  REQUEST_LAYOUT_SCALE_B,
  REQUEST_LAYOUT_ZERO_B,
  REQUEST_DTYPE_A,
  REQUEST_DTYPE_B,
  REQUEST_SCALE_A,
  REQUEST_SCALE_B,
  REQUEST_SCALE_DTYPE,
  REQUEST_SCALE_RANGE,
  REQUEST_ZERO_B,
  REQUEST_GLOBAL_B,
  REQUEST_BIAS,
  REQUEST_ACTIVATION,
  REQUEST_ALPHA,
  REQUEST_TF32,
  REQUEST_N_DOT_OPTIONS
};

typedef struct request_dot_options {
  const char *command_name;
  bool described;            /* "bf16[16x64]" may stand for a file */
  const char *a, *b;         /* NULL: of `shape` alone, as described */
  const char *const *values; /* REQUEST_DOT_OPTIONS's */
  const char *shape;         /* "MxNxK", or NULL: the files' own */
  const char *to, *out_dtype, *accumulate;
} request_dot_options;

typedef struct request_dot {
  array file[LLRT_DOT_ROLES]; /* those that were read; of the result: its bytes */
  llrt_storage storage[LLRT_DOT_ROLES];
  llrt_tensor tensor[LLRT_DOT_ROLES]; /* without addresses; dtype NONE: there is none */
  bool find_range;                    /* of scales, before the call */
  double alpha;
  llrt_dot_params params; /* points to tensor[] and alpha */
  llrt_map maps[1];
  llrt_op_desc *desc; /* checked; NULL before */
} request_dot;

/* Reads and checks everything; fills the call. To be destroyed in any event. Returns an exit code
 * of tool.h. */
int request_dot_read(const request_dot_options *given, request_dot *r);
void request_dot_destroy(request_dot *r);

/* As request_describe_op. */
int request_dot_describe_op(const request_dot *r, llrt_device *device, request_use *use,
                            void *user);

#endif
