/* What an emulator found wrong: the first finding of a launch, and where. */
#ifndef LLRT_EMULATORS_EMU_FAULT_H
#define LLRT_EMULATORS_EMU_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum emu_fault_kind {
  EMU_OK = 0,
  EMU_UNKNOWN,      /* an instruction, modifier or operand that the emulator does not know */
  EMU_OUT_OF_RANGE, /* no allocation, or not one alone, holds the bytes */
  EMU_MISALIGNED,
  EMU_UNDEFINED,  /* undefined bits reached an address, a branch, a store or a matrix product */
  EMU_RACE,       /* two warps, one byte, no barrier between, one of them writes */
  EMU_BARRIER,    /* divergence at a barrier, or a deadlock */
  EMU_NOT_WAITED, /* a result used before its wait */
  EMU_LIMIT       /* too many steps, too little memory, a launch that the kernel forbids */
} emu_fault_kind;

#define EMU_NOWHERE (-1)

typedef struct emu_fault {
  emu_fault_kind kind;
  char message[160];     /* what is wrong */
  char instruction[160]; /* as in the program's text */
  int line;              /* of the text or offset in the code; EMU_NOWHERE: unknown */
  int plan_step;         /* number of the plan's step; EMU_NOWHERE: unknown */
  int lane, warp;        /* EMU_NOWHERE: not one alone */
  int64_t block;
  uint64_t address; /* of an access, else 0 */
  bool has_address;
} emu_fault;

/* Sets kind and message (printf's format) and clears the rest to nowhere. Always false, to
 * return. */
bool emu_fault_set(emu_fault *fault, emu_fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One line with everything that is known. */
void emu_fault_print(const emu_fault *fault, char *text, size_t size);

#endif
