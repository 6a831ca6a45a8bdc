/* HSACO files through LLVM's object reader. The metadata is msgpack; its few keys are found by
 * their encoded text, since a key is never part of a value here. */
#include "readback.h"

#include "jit/plan/kernel/launch.h"

#include <elf.h>
#include <llvm-c/Core.h>
#include <llvm-c/Object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct object_part {
  const uint8_t *bytes;
  size_t size;
} object_part;

/* A symbol's bytes inside its section. The section's contents point into the caller's buffer. */
static bool find_symbol(LLVMBinaryRef binary, const char *name, object_part *part) {
  bool found = false;
  LLVMSymbolIteratorRef symbol = LLVMObjectFileCopySymbolIterator(binary);
  LLVMSectionIteratorRef section = LLVMObjectFileCopySectionIterator(binary);
  for (; !found && !LLVMObjectFileIsSymbolIteratorAtEnd(binary, symbol);
       LLVMMoveToNextSymbol(symbol)) {
    if (strcmp(LLVMGetSymbolName(symbol), name) != 0) continue;
    LLVMMoveToContainingSection(section, symbol);
    uint64_t offset = LLVMGetSymbolAddress(symbol) - LLVMGetSectionAddress(section);
    part->bytes = (const uint8_t *)LLVMGetSectionContents(section) + offset;
    part->size = LLVMGetSymbolSize(symbol);
    found = offset + part->size <= LLVMGetSectionSize(section);
  }
  LLVMDisposeSectionIterator(section);
  LLVMDisposeSymbolIterator(symbol);
  return found;
}

static bool find_section(LLVMBinaryRef binary, const char *name, object_part *part) {
  bool found = false;
  LLVMSectionIteratorRef section = LLVMObjectFileCopySectionIterator(binary);
  for (; !found && !LLVMObjectFileIsSectionIteratorAtEnd(binary, section);
       LLVMMoveToNextSection(section)) {
    const char *section_name = LLVMGetSectionName(section);
    if (!section_name || strcmp(section_name, name) != 0) continue;
    part->bytes = (const uint8_t *)LLVMGetSectionContents(section);
    part->size = LLVMGetSectionSize(section);
    found = true;
  }
  LLVMDisposeSectionIterator(section);
  return found;
}

/* The msgpack value after a key, or NULL. Keys of up to 31 bytes are 0xa0 | length and the text. */
static const uint8_t *metadata_value(const object_part *note, const char *key) {
  char encoded[40];
  size_t length = strlen(key);
  encoded[0] = (char)(0xa0 | length);
  memcpy(encoded + 1, key, length);
  const uint8_t *found = memmem(note->bytes, note->size, encoded, length + 1);
  return found ? found + length + 1 : NULL;
}

static int64_t metadata_number(const object_part *note, const char *key) {
  const uint8_t *value = metadata_value(note, key);
  if (!value) return -1;
  if (value[0] < 0x80) return value[0];
  if (value[0] == 0xcc) return value[1];
  if (value[0] == 0xcd) return value[1] << 8 | value[2];
  if (value[0] == 0xce) return (int64_t)value[1] << 24 | value[2] << 16 | value[3] << 8 | value[4];
  return -1;
}

static void metadata_text(const object_part *note, const char *key, char *text, size_t size) {
  const uint8_t *value = metadata_value(note, key);
  text[0] = 0;
  if (!value) return;
  int length = (value[0] & 0xe0) == 0xa0 ? value[0] & 0x1f : value[0] == 0xd9 ? value[1] : 0;
  const uint8_t *start = value + (value[0] == 0xd9 ? 2 : 1);
  snprintf(text, size, "%.*s", length, (const char *)start);
}

static uint32_t read_word(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static const char *read_kernel(LLVMBinaryRef binary, readback_hsaco *out) {
  object_part code, descriptor, note;
  if (!find_symbol(binary, PLAN_ENTRY_NAME, &code)) return "no symbol " PLAN_ENTRY_NAME;
  if (!find_symbol(binary, PLAN_ENTRY_NAME ".kd", &descriptor)) return "no kernel descriptor";
  if (descriptor.size != READBACK_DESCRIPTOR_BYTES) return "kernel descriptor is not 64 bytes";
  if (!find_section(binary, ".note", &note)) return "no metadata note";
  out->code = code.bytes;
  out->code_bytes = code.size;
  memcpy(out->descriptor, descriptor.bytes, descriptor.size);
  out->descriptor_group_bytes = read_word(descriptor.bytes);
  out->descriptor_kernarg_bytes = read_word(descriptor.bytes + 8);
  out->kernarg_bytes = metadata_number(&note, ".kernarg_segment_size");
  out->group_bytes = metadata_number(&note, ".group_segment_fixed_size");
  out->private_bytes = metadata_number(&note, ".private_segment_fixed_size");
  out->wavefront = metadata_number(&note, ".wavefront_size");
  metadata_text(&note, "amdhsa.target", out->target, sizeof out->target);
  return NULL;
}

static const char *read_header(const void *bytes, size_t size, readback_hsaco *out) {
  Elf64_Ehdr header;
  if (size < sizeof header) return "shorter than an ELF header";
  memcpy(&header, bytes, sizeof header);
  if (header.e_machine != EM_AMDGPU) return "not an AMDGPU file";
  if (header.e_type != ET_DYN) return "not a shared object";
  out->machine = header.e_flags & 0xff;
  out->abi_version = header.e_ident[EI_ABIVERSION];
  return NULL;
}

bool readback_open_hsaco(const void *bytes, size_t size, readback_hsaco *out, char *message,
                         size_t message_size) {
  memset(out, 0, sizeof *out);
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRange(bytes, size, "kernel.hsaco", false);
  char *error = NULL;
  LLVMBinaryRef binary = LLVMCreateBinary(buffer, NULL, &error);
  const char *reason = binary ? read_header(bytes, size, out) : error;
  if (!reason) reason = read_kernel(binary, out);
  if (reason) snprintf(message, message_size, "%s", reason);
  if (binary) LLVMDisposeBinary(binary);
  if (error) LLVMDisposeMessage(error);
  LLVMDisposeMemoryBuffer(buffer);
  return !reason;
}
