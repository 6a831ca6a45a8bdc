/* What grids have touched that may still run beside the one behind them: such as said
 * griddepcontrol.launch_dependents, and for whose end nobody has waited. */
#ifndef LLRT_EMULATORS_PTX_FRONT_H
#define LLRT_EMULATORS_PTX_FRONT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ptx_front ptx_front;

/* One that nothing has touched; another one's copy. NULL: no memory. Ownership: free. */
ptx_front *ptx_front_new(void);
ptx_front *ptx_front_copy(const ptx_front *front);
/* Notes an access; *front may move. false: no memory. */
bool ptx_front_add(ptx_front **front, uint64_t address, int bytes, bool write);
/* Whether an access meets one that was noted, and one of the two writes. */
bool ptx_front_meets(const ptx_front *front, uint64_t address, int bytes, bool write);

#endif
