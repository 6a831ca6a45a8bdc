/* Parts of a program: outputs whose values vary along other axes than each other's. Queries of 32
 * heads and keys and values of 8 have nothing to say to each other but cosines: each part is a
 * program of its own, and of the operation's kernels one does each. */
#ifndef LLRT_EXPRESSION_PROGRAM_PARTS_H
#define LLRT_EXPRESSION_PROGRAM_PARTS_H

#include "expression/program.h"

#define PROGRAM_MAX_PARTS 4
/* More than there may be: some output lacks an axis that its own tensors vary along. */
#define PROGRAM_NO_PARTS 0

typedef struct program_parts {
  int n;     /* at least 1; PROGRAM_NO_PARTS */
  bool many; /* NO_PARTS: outputs have more sets of axes than there may be parts */
  uint16_t tensors[PROGRAM_MAX_PARTS]; /* bit t: the part reads or writes tensor t */
  uint8_t axes[PROGRAM_MAX_PARTS];     /* along which these vary */
} program_parts;

/* One part where all outputs can be made together: each has all axes of all tensors but those that
 * something is joined along. Else as many as outputs have sets of axes; each part reads an input.
 */
void program_find_parts(const expr_program *program, program_parts *parts);

/* The part's program, with the axes and numbers of the whole; tensor[t]: what its tensor t is. */
void program_take_part(const expr_program *program, const program_parts *parts, int part,
                       expr_program *out, int8_t tensor[PROGRAM_MAX_TENSORS]);

#endif
