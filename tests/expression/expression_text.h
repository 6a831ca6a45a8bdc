/* Random expressions as text. */
#ifndef LLRT_TESTS_EXPRESSION_TEXT_H
#define LLRT_TESTS_EXPRESSION_TEXT_H

#include "tests/expression/expression_draw.h"

/* A signature, and what a body may say of it. */
typedef struct form {
  const char *inputs, *output, *row; /* row: an output that lacks what joins[0] joins */
  const char *whole;                 /* a value along all axes */
  const char *leaves[10];
  const char *joins[3]; /* axes of reductions, the largest set first */
  const char *positions[3];
  const char *others[7]; /* of `row`, where its tensors are others; none: leaves */
  bool copies;           /* `row` has axes as they are: nothing is joined for it */
} form;

typedef struct writer {
  uint64_t state;
  expression_draw *out;
  const form *form;
  int length, left; /* left: nodes that may still be made */
  bool all;         /* whatever the language has; else what the first seeds draw */
  bool fits;        /* without what is refused by design (expression_fit.h) */
  bool empties;     /* some axes have no position, or one */
  bool more;        /* what few use, too */
  bool floors;      /* // and % of floats, too */
  bool others;      /* of the form is what is written */
  const char *name[4];
  int names; /* of statements so far */
} writer;

/* A number from 0 to n - 1. */
int writer_draw(writer *w, int n);

#define ONE_OF(w, texts) (texts)[writer_draw(w, (int)(sizeof(texts) / sizeof *(texts)))]

/* Draws a signature and a body into w->out->text. */
void writer_write(writer *w);

#endif
