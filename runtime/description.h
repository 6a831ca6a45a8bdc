/* Descriptions as callers give them (llrt_op_desc), and the one copy that the library keeps of
 * each. */
#ifndef LLRT_RUNTIME_DESCRIPTION_H
#define LLRT_RUNTIME_DESCRIPTION_H

#include "jit/plan/types/description.h"

/* Copies a caller's description; tensors' storages, indices and memory stay borrowed. What it says
 * is not checked, but for the counts of its arrays. Errors: INVALID_ARGUMENT; UNSUPPORTED for what
 * a newer version may mean. */
llrt_status llrt_description_take(const llrt_op_desc *desc, op_description *out);

/* Brings promises that say the same in other words into one form. Precondition: the description is
 * checked. */
void llrt_description_normalise(op_description *description);

/* Of a list of maps: how many, and that there are any. */
llrt_status llrt_description_take_maps(const llrt_map *maps, int n_maps, op_description *out);

#endif
