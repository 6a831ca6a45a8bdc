/* What is known of a value: the registers, numbers or addresses that its elements are. */
#include "jit/compile/ptx/ptx_writer.h"

#include "base/memory.h"

#include <stdlib.h>

#define FIRST_ENTRIES 1024 /* a power of two */

void ptx_note_unknown(ptx_writer *w, const char *what) {
  if (!w->unknown) w->unknown = what;
}

static ptx_type integer_type(int bits) {
  if (bits == 1) return (ptx_type){.class = PTX_PRED, .bits = 1, .n = 1};
  if (bits <= 16) return (ptx_type){.class = PTX_B16, .bits = bits, .n = 1};
  if (bits == 32) return (ptx_type){.class = PTX_B32, .bits = 32, .n = 1};
  if (bits == 64) return (ptx_type){.class = PTX_B64, .bits = 64, .n = 1};
  return (ptx_type){0};
}

static ptx_type element_type(LLVMTypeRef type) {
  switch (LLVMGetTypeKind(type)) {
  case LLVMIntegerTypeKind: return integer_type((int)LLVMGetIntTypeWidth(type));
  case LLVMPointerTypeKind: return integer_type(64);
  case LLVMHalfTypeKind: return (ptx_type){PTX_B16, 16, 1, true};
  case LLVMFloatTypeKind: return (ptx_type){PTX_B32, 32, 1, true};
  case LLVMDoubleTypeKind: return (ptx_type){PTX_B64, 64, 1, true};
  default: return (ptx_type){0};
  }
}

ptx_type ptx_type_of(ptx_writer *w, LLVMTypeRef type) {
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  ptx_type found = element_type(vector ? LLVMGetElementType(type) : type);
  unsigned n = vector ? LLVMGetVectorSize(type) : 1;
  if (n > PTX_PARTS_MAX) found.n = 0;
  if (found.n) found.n = (int)n;
  else ptx_note_unknown(w, "a type");
  return found;
}

bool ptx_is_wide(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 128;
}

ptx_part ptx_new(ptx_writer *w, ptx_class class) {
  return (ptx_part){.kind = PTX_REGISTER, .class = class, .reg = ++w->registers[class]};
}

/* ---- the map */

static unsigned slot_of(const ptx_writer *w, LLVMValueRef key) {
  uint64_t mixed = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
  unsigned slot = (unsigned)(mixed >> 32) & (w->entry_capacity - 1);
  while (w->entry[slot].key && w->entry[slot].key != key)
    slot = (slot + 1) & (w->entry_capacity - 1);
  return slot;
}

static bool grow_entries(ptx_writer *w) {
  ptx_entry *old = w->entry;
  unsigned capacity = w->entry_capacity;
  ptx_entry *larger = memory_zeroed(capacity ? 2 * capacity : FIRST_ENTRIES, sizeof *larger);
  if (!larger) return false;
  w->entry = larger;
  w->entry_capacity = capacity ? 2 * capacity : FIRST_ENTRIES;
  for (unsigned i = 0; i < capacity; i++)
    if (old[i].key) w->entry[slot_of(w, old[i].key)] = old[i];
  free(old);
  return true;
}

static bool grow_parts(ptx_writer *w) {
  unsigned capacity = w->part_capacity ? 2 * w->part_capacity : FIRST_ENTRIES;
  ptx_part *larger = memory_resize(w->part, capacity * sizeof *larger);
  if (!larger) return false;
  w->part = larger;
  w->part_capacity = capacity;
  return true;
}

void ptx_define(ptx_writer *w, LLVMValueRef value, int n, const ptx_part *parts) {
  if ((2 * w->n_entries >= w->entry_capacity && !grow_entries(w)) ||
      (w->n_parts + (unsigned)n > w->part_capacity && !grow_parts(w))) {
    w->body.failed = true;
    ptx_note_unknown(w, "memory");
    return;
  }
  w->entry[slot_of(w, value)] = (ptx_entry){value, w->n_parts, (unsigned)n};
  w->n_entries++;
  for (int i = 0; i < n; i++) w->part[w->n_parts++] = parts[i];
}

void ptx_map_fini(ptx_writer *w) {
  free(w->entry);
  free(w->part);
}

/* ---- constants */

static bool is_undefined(LLVMValueRef value) { return LLVMIsUndef(value) || LLVMIsPoison(value); }

/* Floats by way of integers, as a NaN would not keep its bits otherwise. */
static uint64_t bits_of(LLVMValueRef value, ptx_type type) {
  if (!type.real) return LLVMConstIntGetZExtValue(value);
  LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(value));
  LLVMTypeRef integer = LLVMIntTypeInContext(context, (unsigned)type.bits);
  return LLVMConstIntGetZExtValue(LLVMConstBitCast(value, integer));
}

/* A variable in shared memory, and so many bytes on. */
static bool shared_address(ptx_writer *w, LLVMValueRef value, ptx_part *part) {
  uint64_t more = 0;
  while (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMGetElementPtr) {
    LLVMValueRef index = LLVMGetOperand(value, 1);
    if (LLVMGetNumOperands(value) != 2 || !LLVMIsAConstantInt(index)) return false;
    more += (uint64_t)LLVMConstIntGetSExtValue(index) *
            LLVMABISizeOfType(w->layout, LLVMGetGEPSourceElementType(value));
    value = LLVMGetOperand(value, 0);
  }
  size_t length;
  if (!LLVMIsAGlobalVariable(value)) return false;
  *part = (ptx_part){.kind = PTX_SYMBOL,
                     .class = PTX_B64,
                     .symbol = LLVMGetValueName2(value, &length),
                     .number = more};
  return true;
}

static bool constant_element(ptx_writer *w, LLVMValueRef value, ptx_type type, ptx_part *part) {
  bool zero = is_undefined(value) || LLVMIsNull(value);
  if (!zero && !LLVMIsAConstantInt(value) && !LLVMIsAConstantFP(value))
    return shared_address(w, value, part);
  *part = ptx_number(type.class, zero ? 0 : bits_of(value, type));
  return true;
}

static int constant_value(ptx_writer *w, LLVMValueRef value, ptx_part parts[PTX_PARTS_MAX]) {
  LLVMTypeRef llvm_type = LLVMTypeOf(value);
  ptx_type type = ptx_type_of(w, llvm_type);
  bool vector = LLVMGetTypeKind(llvm_type) == LLVMVectorTypeKind;
  bool whole = !vector || is_undefined(value) || LLVMIsNull(value);
  for (int i = 0; i < type.n; i++) {
    LLVMValueRef element = whole ? value : LLVMGetAggregateElement(value, (unsigned)i);
    if (element && constant_element(w, element, type, &parts[i])) continue;
    ptx_note_unknown(w, "a constant");
    return 0;
  }
  return type.n;
}

int ptx_value(ptx_writer *w, LLVMValueRef value, ptx_part parts[PTX_PARTS_MAX]) {
  if (LLVMIsAConstant(value)) return constant_value(w, value, parts);
  const ptx_entry *entry = w->entry_capacity ? &w->entry[slot_of(w, value)] : NULL;
  if (!entry || !entry->key) {
    ptx_note_unknown(w, "a value in front of its definition");
    return 0;
  }
  for (unsigned i = 0; i < entry->n; i++) parts[i] = w->part[entry->first + i];
  return (int)entry->n;
}
