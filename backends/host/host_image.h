/* A host kernel's ELF shared object, placed into memory without the dynamic loader, which wants a
 * file. */
#ifndef LLRT_BACKENDS_HOST_IMAGE_H
#define LLRT_BACKENDS_HOST_IMAGE_H

#include <llrt/status.h>

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/* What of the object's dynamic table is needed, at its addresses in the object. */
typedef struct host_image {
  const unsigned char *bytes; /* borrowed */
  size_t size;
  const Elf64_Phdr *segment;
  int n_segments;
  size_t span; /* bytes of memory from address 0 that code may look at */
  const Elf64_Sym *symbol;
  size_t n_symbols;
  const char *strings;
  size_t strings_size;
  const Elf64_Rela *relocation[2]; /* of data, of calls */
  size_t n_relocations[2];
} host_image;

/* Checks the object: everything lies inside of it, and it asks for nothing but memory that is never
 * written after loading, and functions of the process. Errors: UNSUPPORTED: the dynamic loader may
 * know what to do with it. */
llrt_status llrt_host_image_read(const void *bytes, size_t size, host_image *image);

/* Copies the object to zeroed memory of span bytes, which begin a page, and relocates it; *entry:
 * the function of that name. Errors: UNSUPPORTED, as above. */
llrt_status llrt_host_image_place(const host_image *image, char *memory, const char *name,
                                  void **entry);

#endif
