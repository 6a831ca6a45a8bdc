/* Vectors, addresses, accesses. */
#include "jit/compile/ptx/ptx_writer.h"

#include <stdio.h>

/* ---- vectors are registers side by side: what takes them apart is no instruction */

static void insert(ptx_writer *w, LLVMValueRef at, int n, ptx_part *parts) {
  LLVMValueRef index = LLVMGetOperand(at, 2);
  ptx_part word[PTX_PARTS_MAX];
  if (!LLVMIsAConstantInt(index) || ptx_value(w, LLVMGetOperand(at, 1), word) != 1) {
    ptx_note_unknown(w, "an element at a place that is computed");
    return;
  }
  parts[LLVMConstIntGetZExtValue(index)] = word[0];
  ptx_define(w, at, n, parts);
}

static void extract(ptx_writer *w, LLVMValueRef at, const ptx_part *parts) {
  LLVMValueRef index = LLVMGetOperand(at, 1);
  if (LLVMIsAConstantInt(index)) ptx_define(w, at, 1, &parts[LLVMConstIntGetZExtValue(index)]);
  else ptx_note_unknown(w, "an element at a place that is computed");
}

static void shuffle(ptx_writer *w, LLVMValueRef at, int n, const ptx_part *first) {
  ptx_part second[PTX_PARTS_MAX], to[PTX_PARTS_MAX];
  int n_to = (int)LLVMGetNumMaskElements(at);
  if (ptx_value(w, LLVMGetOperand(at, 1), second) != n || n_to > PTX_PARTS_MAX) {
    ptx_note_unknown(w, "a shuffle of a vector");
    return;
  }
  for (int i = 0; i < n_to; i++) {
    int from = LLVMGetMaskValue(at, (unsigned)i);
    if (from < 0) to[i] = ptx_number(first[0].class, 0);
    else to[i] = from < n ? first[from] : second[from - n];
  }
  ptx_define(w, at, n_to, to);
}

void ptx_write_vector(ptx_writer *w, LLVMValueRef at, LLVMOpcode code) {
  ptx_part parts[PTX_PARTS_MAX];
  int n = ptx_value(w, LLVMGetOperand(at, 0), parts);
  if (n == 0) return;
  if (code == LLVMInsertElement) insert(w, at, n, parts);
  else if (code == LLVMExtractElement) extract(w, at, parts);
  else if (code == LLVMShuffleVector) shuffle(w, at, n, parts);
  else if (code == LLVMFreeze) ptx_define(w, at, n, parts);
  else if (LLVMGetNumIndices(at) == 1) ptx_define(w, at, 1, &parts[LLVMGetIndices(at)[0]]);
  else ptx_note_unknown(w, "a result inside of a result");
}

/* ---- addresses */

static ptx_part scaled(ptx_writer *w, ptx_part index, uint64_t size) {
  if (size == 1) return index;
  if (size & (size - 1))
    return ptx_binary(w, "mul.lo.s64", PTX_B64, index, ptx_number(PTX_B64, size));
  return ptx_binary(w, "shl.b64", PTX_B64, index,
                    ptx_number(PTX_B32, (uint64_t)__builtin_ctzll(size)));
}

/* A thread's own memory is addressed as such, never as any memory. */
void ptx_write_own_memory(ptx_writer *w, LLVMValueRef at) {
  unsigned long long size = LLVMABISizeOfType(w->layout, LLVMGetAllocatedType(at));
  LLVMValueRef count = LLVMGetOperand(at, 0);
  if (!LLVMIsAConstantInt(count) || LLVMConstIntGetZExtValue(count) != 1) {
    ptx_note_unknown(w, "memory of a size that is computed");
    return;
  }
  llrt_text_add(&w->body, "\t.local .align %u .b8 own%u[%llu];\n", LLVMGetAlignment(at), ++w->n_own,
                size);
}

/* By way of an address of any memory: ptxas makes registers and choices of what it sees to be a
 * thread's own, 30 instructions for 8 numbers that a loop goes over. */
void ptx_write_space(ptx_writer *w, LLVMValueRef at) {
  LLVMValueRef from = LLVMGetOperand(at, 0);
  unsigned number = 0;
  for (LLVMValueRef i = LLVMIsAAllocaInst(from); i; i = LLVMGetPreviousInstruction(i))
    number += LLVMIsAAllocaInst(i) != NULL;
  if (number == 0 || LLVMGetPointerAddressSpace(LLVMTypeOf(at)) != 5) {
    ptx_note_unknown(w, "an address space");
    return;
  }
  ptx_part part = {.kind = PTX_SYMBOL, .class = PTX_B64, .reg = number};
  part = ptx_unary(w, "cvta.local.u64", PTX_B64, ptx_plain(w, part));
  part = ptx_unary(w, "cvta.to.local.u64", PTX_B64, part);
  ptx_define(w, at, 1, &part);
}

/* Constant distances stay beside the register: accesses add them. */
void ptx_write_address(ptx_writer *w, LLVMValueRef at) {
  ptx_part base[PTX_PARTS_MAX], index[PTX_PARTS_MAX];
  if (ptx_value(w, LLVMGetOperand(at, 0), base) != 1) return;
  if (LLVMGetNumOperands(at) != 2 || ptx_value(w, LLVMGetOperand(at, 1), index) != 1 ||
      index[0].class != PTX_B64) {
    ptx_note_unknown(w, "an address of several indices, or of few bits");
    return;
  }
  uint64_t size = LLVMABISizeOfType(w->layout, LLVMGetGEPSourceElementType(at));
  ptx_part to = base[0];
  if (index[0].kind == PTX_NUMBER) {
    to.number += index[0].number * size;
  } else {
    uint64_t beside = to.number;
    if (to.kind != PTX_NUMBER) to.number = 0;
    ptx_part by = scaled(w, ptx_plain(w, index[0]), size);
    to = ptx_binary(w, "add.s64", PTX_B64, ptx_in_register(w, to), by);
    if (base[0].kind != PTX_NUMBER) to.number = beside;
  }
  ptx_define(w, at, 1, &to);
}

/* ---- accesses */

/* Bytes of an element in memory; 0: it is none. */
static int bytes_of(ptx_type type) { return type.bits % 8 ? 0 : type.bits / 8; }

static const char *space_of(LLVMValueRef pointer) {
  switch (LLVMGetPointerAddressSpace(LLVMTypeOf(pointer))) {
  case 0: return "";
  case 1: return ".global";
  case 3: return ".shared";
  case 5: return ".local";
  default: return NULL;
  }
}

/* "ld.global.v4.b32"; false where one instruction does not do it. */
static bool name_access(LLVMValueRef at, LLVMValueRef pointer, const char *what, ptx_type type,
                        char opcode[32]) {
  static const char *const vector[] = {"", "", ".v2", "", ".v4"};
  int bytes = bytes_of(type);
  const char *space = space_of(pointer);
  if (!space || bytes == 0 || type.n > 4 || type.n == 3 || bytes * type.n > 16) return false;
  if (LLVMGetAlignment(at) < (unsigned)(bytes * type.n)) return false;
  if (LLVMGetOrdering(at) != LLVMAtomicOrderingNotAtomic) return false;
  snprintf(opcode, 32, "%s%s%s%s.%c%d", what, LLVMGetVolatile(at) ? ".volatile" : "", space,
           vector[type.n], bytes == 1 ? 'u' : 'b', type.bits);
  return true;
}

static void add_bytes(ptx_writer *w, const char *text, size_t size) {
  llrt_text_add_bytes(&w->body, text, size);
}

static void add_address(ptx_writer *w, ptx_part address) {
  add_bytes(w, "[", 1);
  ptx_add_part(w, address, false);
  add_bytes(w, "]", 1);
}

static void add_words(ptx_writer *w, int n, const ptx_part *words) {
  if (n > 1) add_bytes(w, "{", 1);
  for (int i = 0; i < n; i++) {
    if (i) add_bytes(w, ", ", 2);
    ptx_add_part(w, words[i], false);
  }
  if (n > 1) add_bytes(w, "}", 1);
}

/* The address as an access takes it: what is beside the register has 32 bits. */
static bool address_of(ptx_writer *w, LLVMValueRef pointer, ptx_part *address) {
  ptx_part parts[PTX_PARTS_MAX];
  if (ptx_value(w, pointer, parts) != 1) return false;
  *address = parts[0];
  if (address->kind == PTX_NUMBER) *address = ptx_in_register(w, *address);
  if ((int64_t)address->number != (int32_t)address->number) *address = ptx_plain(w, *address);
  return true;
}

void ptx_write_load(ptx_writer *w, LLVMValueRef at) {
  LLVMValueRef pointer = LLVMGetOperand(at, 0);
  ptx_type type = ptx_type_of(w, LLVMTypeOf(at));
  ptx_part address, words[PTX_PARTS_MAX];
  char opcode[32];
  if (!name_access(at, pointer, "ld", type, opcode)) ptx_note_unknown(w, "a load");
  if (w->unknown || !address_of(w, pointer, &address)) return;
  for (int i = 0; i < type.n; i++) words[i] = ptx_new(w, type.class);
  llrt_text_add(&w->body, "\t%s \t", opcode);
  add_words(w, type.n, words);
  add_bytes(w, ", ", 2);
  add_address(w, address);
  add_bytes(w, ";\n", 2);
  ptx_define(w, at, type.n, words);
}

/* Elements of less than a byte are one word. */
static ptx_part packed(ptx_writer *w, ptx_type *type, const ptx_part *words) {
  ptx_part all = ptx_extended(w, words[0], type->bits, PTX_B16, false);
  for (int i = 1; i < type->n; i++) {
    ptx_part word = ptx_extended(w, words[i], type->bits, PTX_B16, false);
    word = ptx_binary(w, "shl.b16", PTX_B16, ptx_in_register(w, word),
                      ptx_number(PTX_B32, (uint64_t)(i * type->bits)));
    all = ptx_binary(w, "or.b16", PTX_B16, ptx_in_register(w, all), word);
  }
  *type = (ptx_type){.class = PTX_B16, .bits = type->n * type->bits, .n = 1};
  return all;
}

static bool is_packed(ptx_type type) {
  return type.class == PTX_B16 && type.bits < 8 && type.bits * type.n % 8 == 0 &&
         type.bits * type.n <= 16;
}

void ptx_write_store(ptx_writer *w, LLVMValueRef at) {
  LLVMValueRef pointer = LLVMGetOperand(at, 1);
  ptx_type type = ptx_type_of(w, LLVMTypeOf(LLVMGetOperand(at, 0)));
  ptx_part address, words[PTX_PARTS_MAX];
  char opcode[32];
  if (ptx_value(w, LLVMGetOperand(at, 0), words) != type.n || w->unknown) return;
  if (is_packed(type)) words[0] = packed(w, &type, words);
  if (!name_access(at, pointer, "st", type, opcode)) ptx_note_unknown(w, "a store");
  if (w->unknown || !address_of(w, pointer, &address)) return;
  for (int i = 0; i < type.n; i++) words[i] = ptx_in_register(w, words[i]);
  llrt_text_add(&w->body, "\t%s \t", opcode);
  add_address(w, address);
  add_bytes(w, ", ", 2);
  add_words(w, type.n, words);
  add_bytes(w, ";\n", 2);
}
