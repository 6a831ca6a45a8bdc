/* What the functions of the module share. */
#ifndef LLRT_PYTHON_FUNCTIONS_H
#define LLRT_PYTHON_FUNCTIONS_H

#include "module.h"

/* Whether a call on these tensors should let other threads run: it may compile, or works long on
 * the host. */
bool call_is_long(int kind, const llrt_tensor *const *tensors, int n, const borrowed *first);

/* {scale=, group=, xor=, word_bits=} of a conversion. */
typedef struct map_arguments {
  PyObject *scale, *group, *exclusive_or, *word_bits;
} map_arguments;

typedef struct map_list {
  llrt_map maps[LLRT_MAX_MAPS];
  int n;
  borrowed scale;
  bool scaled;
} map_list;

int take_maps(const map_arguments *given, const llrt_tensor *source, map_list *out);
void give_back_maps(map_list *list);
int take_word_bits(PyObject *object, uint8_t *bits);

/* select or along; NULL: as the index's rank says. */
int take_gather(PyObject *form, PyObject *range, PyObject *report, const llrt_tensor *store,
                const llrt_tensor *index, borrowed *counter, llrt_gather_params *params);

/* ---- prepared operations ---- */

enum { OP_ARGUMENTS = 16 };

/* What stands for an argument of a prepared operation: a plain tensor is seen as what was there
 * when it was prepared. */
typedef struct op_argument {
  char name[40];
  llrt_tensor like; /* without data */
  Storage *storage; /* of `like`, kept; NULL: interned or row_major */
  bool laid;        /* seen as `like` whatever its own shape is */
  bool indexed;     /* it was a view with indices, which another call has to bring, too */
  size_t bytes;     /* that `like` takes */
} op_argument;

typedef enum op_form {
  FORM_CONVERT = 1,
  FORM_GATHER,
  FORM_SCATTER,
  FORM_REDUCE,
  FORM_SCAN,
  FORM_DOT,
  FORM_COMPUTE
} op_form;

typedef PyObject *op_vector_call(PyObject *object, PyObject *const *args, size_t n_and_flag,
                                 PyObject *names);
op_vector_call op_call_vector;

typedef struct Op {
  PyObject_HEAD op_vector_call *call; /* where the interpreter looks: __vectorcalloffset__ */
  llrt_op *op;
  llrt_device *device;
  op_form form;
  int n; /* arguments, in the order in which a call takes them; the last that is written is `out` */
  int out; /* which is `out` */
  op_argument argument[OP_ARGUMENTS];
  DLDevice where;
  llrt_gather_params gather;
  int32_t axis;               /* GATHER, SCATTER */
  uint32_t axes;              /* REDUCE */
  llrt_dot_params dot;        /* DOT; its tensors and alpha, beta are of the call */
  llrt_map maps[3];           /* DOT: its maps */
  int dot_role[OP_ARGUMENTS]; /* which of dot's tensors an argument is: llrt_dot_role */
  double alpha, beta;
  PyObject *text;        /* COMPUTE: the expression's, */
  const llrt_expr *expr; /* and the expression, which is kept for all who have that text */
  int n_numbers;         /* COMPUTE: those of a call that brings none */
  llrt_arg number[LLRT_EXPR_MAX_SCALARS];
} Op;

/* One argument of a function that is prepared. */
typedef struct op_slot {
  const char *name;
  const borrowed *from;
  bool given_as_is; /* a plain tensor as it is: another may have another shape */
} op_slot;

/* While prepare or explain called: the Op, or the text. `op` holds what else the form needs. */
PyObject *answer(const request *what, Op *op, const op_slot *slots, int n);
/* The same for explain alone, of a description that is whole. */
PyObject *answer_desc(const llrt_op_desc *desc);
Op *op_new(op_form form);
/* Another argument of the operation. */
int op_keep_argument(Op *self, const op_slot *slot);
/* A plain tensor as the argument was when the operation was prepared. */
int op_see_as(const op_argument *argument, borrowed *from);

/* ---- compute.c ---- */

/* A prepared expression: tensors and numbers in the signature's order, or by name. */
PyObject *compute_op(Op *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
/* (text, ((name, number, integer), …)) of a prepared expression, and back. */
PyObject *compute_state(const Op *self);
int compute_load(Op *self, PyObject *state);

#endif
