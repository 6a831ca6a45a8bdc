/* The products that llrt-bench dense measures: A is [.., M, K], B [.., K, N], and "n" says of
 * either that its last axis is the fastest, "t" that the one before it is. */
#ifndef LLRT_BENCHMARKS_DENSE_CASES_H
#define LLRT_BENCHMARKS_DENSE_CASES_H

#include <llrt/dot.h>

typedef struct dense_case {
  llrt_dtype type;        /* of A and B; D is bf16 */
  char form[3];           /* of A, of B */
  int64_t batch, m, n, k; /* batch 0: no such axis */
  bool lists;             /* A, B and D are lists of pointers, one for each position of the batch */
} dense_case;

extern const dense_case dense_cases[];
extern const int dense_cases_count;

enum { DENSE_A = 0, DENSE_B = 1, DENSE_D = 2, DENSE_TENSORS = 3 };

/* "bf16 nt 16x2048x2048x2048", "bf16 nt lists 16x2048x2048x2048" */
void dense_case_name(const dense_case *c, char *name, size_t size);

/* The case of such a name, which ends at a comma or with the text; *end: behind it. False: it is
 * none. */
bool dense_case_parse(const char *name, const char **end, dense_case *c);

/* One of the tensors, without memory; its storage is made in *storage. */
llrt_status dense_case_tensor(const dense_case *c, int which, llrt_storage *storage,
                              llrt_tensor *tensor);

#endif
