/* Which memory operations can be under way at a barrier: a data flow over the disassembled kernel.
 *
 * Every instruction has, on entry, the largest number of LDS and of vector-memory operations that
 * can be outstanding on any path to it. s_waitcnt bounds the numbers, branches carry them along,
 * joins take the maximum; numbers saturate, so the iteration ends. */
#include "readback.h"

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNREACHED = -1, SATURATED = 64 };

/* SOPP instructions of GFX9, by their raw dword: bits 31..23 are 0x17f, bits 22..16 the opcode. */
enum {
  SOPP_ENDPGM = 1,
  SOPP_BRANCH = 2,
  SOPP_CBRANCH_FIRST = 4,
  SOPP_CBRANCH_LAST = 9,
  SOPP_BARRIER = 10,
  SOPP_WAITCNT = 12
};

typedef struct pending {
  int lds, vector;
} pending;

typedef struct instruction {
  uint32_t offset; /* bytes from the kernel's start */
  int sopp;        /* SOPP opcode, or -1 */
  int16_t immediate;
  bool lds, vector; /* starts such an operation */
  pending in;
  char text[48];
} instruction;

typedef struct program {
  instruction *list;
  int n;
} program;

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The lane exchanges bear DS names and touch no memory. */
static bool is_lds(const char *text) {
  return starts_with(text, "ds_") && !starts_with(text, "ds_bpermute") &&
         !starts_with(text, "ds_permute") && !starts_with(text, "ds_swizzle");
}

static bool is_vector(const char *text) {
  return starts_with(text, "global_") || starts_with(text, "flat_") ||
         starts_with(text, "buffer_") || starts_with(text, "scratch_");
}

static void describe(const uint8_t *bytes, const char *text, uint32_t offset, instruction *out) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  while (*text == ' ' || *text == '\t') text++;
  out->offset = offset;
  out->sopp = word >> 23 == 0x17f ? (int)(word >> 16 & 0x7f) : -1;
  out->immediate = (int16_t)(word & 0xffff);
  out->vector = is_vector(text);
  out->lds = is_lds(text) || starts_with(text, "flat_");
  out->in = (pending){UNREACHED, UNREACHED};
  snprintf(out->text, sizeof out->text, "%.47s", text);
}

static bool disassemble(const uint8_t *code, size_t size, const char *cpu, program *out,
                        char *message, size_t message_size) {
  LLVMInitializeAMDGPUDisassembler();
  LLVMDisasmContextRef context = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", cpu, NULL, 0, NULL, NULL);
  out->n = 0;
  out->list = calloc(size / 4 + 1, sizeof *out->list);
  bool ok = context && out->list;
  if (!ok) snprintf(message, message_size, "no disassembler for %s", cpu);
  for (size_t offset = 0, length; ok && offset < size; offset += length) {
    char text[128];
    length = LLVMDisasmInstruction(context, (uint8_t *)code + offset, size - offset, offset, text,
                                   sizeof text);
    ok = length > 0;
    if (ok) describe(code + offset, text, (uint32_t)offset, &out->list[out->n++]);
    else snprintf(message, message_size, "cannot decode at 0x%zx", offset);
  }
  if (context) LLVMDisasmDispose(context);
  return ok;
}

static int at_most(int value, int bound) { return value < bound ? value : bound; }

/* What is outstanding after an instruction. s_waitcnt of GFX9: vmcnt in bits 3..0 and 15..14,
 * lgkmcnt in bits 11..8. Scalar loads share lgkmcnt, so a wait for n leaves at most n LDS
 * operations. */
static pending after(const instruction *at) {
  pending p = at->in;
  if (at->sopp == SOPP_WAITCNT) {
    unsigned bits = (uint16_t)at->immediate;
    p.vector = at_most(p.vector, (int)((bits & 15) | (bits >> 14 << 4)));
    p.lds = at_most(p.lds, (int)(bits >> 8 & 15));
  }
  p.lds = at_most(p.lds + at->lds, SATURATED);
  p.vector = at_most(p.vector + at->vector, SATURATED);
  return p;
}

/* Raises an instruction's entry state; true when that changed it. */
static bool join(instruction *at, pending p) {
  bool changed = p.lds > at->in.lds || p.vector > at->in.vector;
  if (p.lds > at->in.lds) at->in.lds = p.lds;
  if (p.vector > at->in.vector) at->in.vector = p.vector;
  return changed;
}

static instruction *find_offset(const program *whole, int64_t offset) {
  for (int i = 0; i < whole->n; i++)
    if (whole->list[i].offset == offset) return &whole->list[i];
  return NULL;
}

static bool is_branch(const instruction *at) {
  return at->sopp == SOPP_BRANCH ||
         (at->sopp >= SOPP_CBRANCH_FIRST && at->sopp <= SOPP_CBRANCH_LAST);
}

/* One pass over all reached instructions; true when a state changed. */
static bool propagate(const program *whole) {
  bool changed = false;
  for (int i = 0; i < whole->n; i++) {
    instruction *at = &whole->list[i];
    if (at->in.lds == UNREACHED) continue;
    pending p = after(at);
    if (is_branch(at)) {
      instruction *target = find_offset(whole, (int64_t)at->offset + 4 + 4 * at->immediate);
      if (target) changed |= join(target, p);
    }
    bool falls_through = at->sopp != SOPP_BRANCH && at->sopp != SOPP_ENDPGM;
    if (falls_through && i + 1 < whole->n) changed |= join(at + 1, p);
  }
  return changed;
}

static void note_barrier(const program *whole, int i, readback_barriers *out) {
  const instruction *at = &whole->list[i];
  out->barriers++;
  out->lds_pending += at->in.lds > 0;
  out->vector_pending += at->in.vector > 0;
  if ((at->in.lds > 0 || at->in.vector > 0) && !out->first_pending[0])
    snprintf(out->first_pending, sizeof out->first_pending, "s_barrier at 0x%x after %s",
             at->offset, i > 0 ? whole->list[i - 1].text : "");
}

bool readback_check_barriers(const uint8_t *code, size_t size, const char *cpu,
                             readback_barriers *out, char *message, size_t message_size) {
  memset(out, 0, sizeof *out);
  program whole;
  bool ok = disassemble(code, size, cpu, &whole, message, message_size);
  if (ok && whole.n > 0) {
    whole.list[0].in = (pending){0, 0};
    while (propagate(&whole)) continue;
    for (int i = 0; i < whole.n; i++)
      if (whole.list[i].sopp == SOPP_BARRIER && whole.list[i].in.lds != UNREACHED)
        note_barrier(&whole, i, out);
  }
  free(whole.list);
  return ok;
}
