/* A product's tensors by role, and its parameters. */
#ifndef LLRT_PYTHON_DOT_H
#define LLRT_PYTHON_DOT_H

#include "functions.h"

typedef struct dot_call {
  uint32_t roles; /* bit r: tensor[r] is borrowed */
  bool sorted;    /* tensor[LLRT_DOT_ENDS] has each row's expert, sorted */
  borrowed tensor[LLRT_DOT_ROLES];
  llrt_dot_params params;
  llrt_map maps[3];
  int n_maps;
  double alpha, beta;
} dot_call;

/* The params' pointers to the call's own tensors, maps and numbers. */
void dot_call_point(dot_call *call);

#endif
