/* One file of the disk cache: a kernel's bytes with what it is for, under one checksum.
 * docs/cache.md has the format. */
#ifndef LLRT_RUNTIME_DISK_ENTRY_H
#define LLRT_RUNTIME_DISK_ENTRY_H

#include "base/hash.h"
#include "base/text.h"

#include <stdint.h>

#define DISK_ENTRY_SUFFIX ".kernel"
#define DISK_ENTRY_NAME_BYTES (32 + sizeof DISK_ENTRY_SUFFIX)

typedef struct disk_entry {
  llrt_hash key;
  char build[33];   /* llrt_build_id of who wrote it */
  char version[32]; /* its llrt */
  char target[32];
  const char *text; /* what the kernel does, in a line; of text_bytes, no zero behind it */
  size_t text_bytes;
  const void *kernel; /* llrt_kernel_bytes_write's; of kernel_bytes */
  size_t kernel_bytes;
} disk_entry;

/* The file's name: the key in hexadecimal. */
void llrt_disk_entry_name(llrt_hash key, char name[DISK_ENTRY_NAME_BYTES]);
/* The other way; false where the name is no such name. */
bool llrt_disk_entry_key(const char *name, llrt_hash *key);

/* Appends the file's bytes. The build, version and target are filled in by the caller. */
llrt_status llrt_disk_entry_write(const disk_entry *entry, llrt_text *out);

/* Reads them; the entry points into them. NULL, or why they are no whole entry. */
const char *llrt_disk_entry_read(const void *bytes, size_t size, disk_entry *entry);

#endif
