/* Addresses in the object are offsets from where its memory begins. Kernels are made
 * position-independent, by lld: one read-only segment, one of code, and one that is read-only after
 * relocation. */
#include "backends/host/host_image.h"

#include "base/status.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__)
enum {
  MACHINE = EM_AARCH64,
  RELATIVE = R_AARCH64_RELATIVE,
  ABSOLUTE = R_AARCH64_ABS64,
  IN_TABLE = R_AARCH64_GLOB_DAT,
  CALLED = R_AARCH64_JUMP_SLOT
};
#else
enum {
  MACHINE = EM_X86_64,
  RELATIVE = R_X86_64_RELATIVE,
  ABSOLUTE = R_X86_64_64,
  IN_TABLE = R_X86_64_GLOB_DAT,
  CALLED = R_X86_64_JUMP_SLOT
};
#endif

#define MOST_BYTES ((uint64_t)1 << 30)
#define UNKNOWN(...) llrt_error(LLRT_UNSUPPORTED, "host code: " __VA_ARGS__)

static bool inside(uint64_t begin, uint64_t bytes, uint64_t size) {
  return begin <= size && bytes <= size - begin;
}

/* The object's bytes at an address, NULL unless so many are there and aligned to 8 (strings: to 1).
 */
static const void *bytes_at(const host_image *image, uint64_t address, uint64_t bytes,
                            uint64_t alignment) {
  for (int i = 0; i < image->n_segments; i++) {
    const Elf64_Phdr *s = &image->segment[i];
    if (s->p_type != PT_LOAD || address < s->p_vaddr ||
        !inside(address - s->p_vaddr, bytes, s->p_filesz))
      continue;
    const unsigned char *found = image->bytes + s->p_offset + (address - s->p_vaddr);
    return (uintptr_t)found % alignment == 0 ? found : NULL;
  }
  return NULL;
}

static llrt_status read_header(host_image *image) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)image->bytes;
  if ((uintptr_t)image->bytes % 8 != 0 || image->size < sizeof *header ||
      memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return UNKNOWN("no ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_type != ET_DYN || header->e_machine != MACHINE)
    return UNKNOWN("no shared object of this machine");
  if (header->e_phentsize != sizeof *image->segment || header->e_phoff % 8 != 0 ||
      !inside(header->e_phoff, (uint64_t)header->e_phnum * sizeof *image->segment, image->size))
    return UNKNOWN("its segments are not listed");
  image->segment = (const Elf64_Phdr *)(image->bytes + header->e_phoff);
  image->n_segments = header->e_phnum;
  return LLRT_OK;
}

static const Elf64_Phdr *find_segment(const host_image *image, uint32_t type) {
  for (int i = 0; i < image->n_segments; i++)
    if (image->segment[i].p_type == type) return &image->segment[i];
  return NULL;
}

/* A segment that holds the dynamic table and nothing else is for the loader alone. */
static llrt_status read_segments(host_image *image, const Elf64_Phdr *dynamic) {
  const Elf64_Phdr *settled = find_segment(image, PT_GNU_RELRO);
  if (find_segment(image, PT_TLS) || find_segment(image, PT_INTERP))
    return UNKNOWN("it has memory of each thread");
  for (int i = 0; i < image->n_segments; i++) {
    const Elf64_Phdr *s = &image->segment[i];
    if (s->p_type != PT_LOAD) continue;
    if (s->p_filesz > s->p_memsz || !inside(s->p_offset, s->p_filesz, image->size) ||
        !inside(s->p_vaddr, s->p_memsz, MOST_BYTES))
      return UNKNOWN("segment %d ends outside", i);
    bool writes = s->p_flags & PF_W;
    if (writes && (!settled || s->p_vaddr < settled->p_vaddr ||
                   !inside(s->p_vaddr - settled->p_vaddr, s->p_memsz, settled->p_memsz)))
      return UNKNOWN("it writes its own memory");
    if (s->p_vaddr == dynamic->p_vaddr && s->p_filesz == dynamic->p_filesz) continue;
    if (s->p_vaddr + s->p_memsz > image->span) image->span = s->p_vaddr + s->p_memsz;
  }
  return LLRT_OK;
}

typedef struct dynamic_table {
  uint64_t symbols, strings, strings_size, hash, data, data_size, calls, calls_size;
} dynamic_table;

static llrt_status read_dynamic(const host_image *image, const Elf64_Phdr *dynamic,
                                dynamic_table *out) {
  const Elf64_Dyn *row = bytes_at(image, dynamic->p_vaddr, dynamic->p_filesz, 8);
  if (!row) return UNKNOWN("its dynamic table ends outside");
  for (size_t i = 0; i < dynamic->p_filesz / sizeof *row && row[i].d_tag != DT_NULL; i++) {
    uint64_t value = row[i].d_un.d_val;
    switch (row[i].d_tag) {
    case DT_SYMTAB: out->symbols = value; break;
    case DT_STRTAB: out->strings = value; break;
    case DT_STRSZ: out->strings_size = value; break;
    case DT_HASH: out->hash = value; break;
    case DT_RELA: out->data = value; break;
    case DT_RELASZ: out->data_size = value; break;
    case DT_JMPREL: out->calls = value; break;
    case DT_PLTRELSZ: out->calls_size = value; break;
    case DT_SYMENT:
    case DT_RELAENT:
    case DT_RELACOUNT:
    case DT_GNU_HASH:
    case DT_PLTGOT:
    case DT_PLTREL:
    case DT_FLAGS:
    case DT_FLAGS_1: break;
    default: return UNKNOWN("entry %llx of its dynamic table", (unsigned long long)row[i].d_tag);
    }
  }
  return LLRT_OK;
}

static llrt_status read_tables(host_image *image, const dynamic_table *table) {
  const uint32_t *hash = bytes_at(image, table->hash, 8, 4); /* numbers of buckets and of symbols */
  image->strings_size = table->strings_size;
  image->strings = bytes_at(image, table->strings, table->strings_size, 1);
  if (!hash || !image->strings || image->strings_size == 0 ||
      image->strings[image->strings_size - 1] != 0)
    return UNKNOWN("its symbols' names end outside");
  image->n_symbols = hash[1];
  image->symbol = bytes_at(image, table->symbols, image->n_symbols * sizeof *image->symbol, 8);
  image->n_relocations[0] = table->data_size / sizeof(Elf64_Rela);
  image->n_relocations[1] = table->calls_size / sizeof(Elf64_Rela);
  image->relocation[0] =
      table->data_size ? bytes_at(image, table->data, table->data_size, 8) : NULL;
  image->relocation[1] =
      table->calls_size ? bytes_at(image, table->calls, table->calls_size, 8) : NULL;
  bool found = image->symbol && (image->relocation[0] || !table->data_size) &&
               (image->relocation[1] || !table->calls_size);
  return found ? LLRT_OK : UNKNOWN("its symbols or relocations end outside");
}

llrt_status llrt_host_image_read(const void *bytes, size_t size, host_image *image) {
  *image = (host_image){.bytes = bytes, .size = size};
  LLRT_TRY(read_header(image));
  const Elf64_Phdr *dynamic = find_segment(image, PT_DYNAMIC);
  if (!dynamic) return UNKNOWN("no dynamic table");
  LLRT_TRY(read_segments(image, dynamic));
  dynamic_table table = {0};
  LLRT_TRY(read_dynamic(image, dynamic, &table));
  return read_tables(image, &table);
}

/* ---- placing ---- */

static const char *name_of(const host_image *image, const Elf64_Sym *symbol) {
  return symbol->st_name < image->strings_size ? image->strings + symbol->st_name : "";
}

/* Where a symbol is: in the object, or else a function of the process. */
static llrt_status resolve(const host_image *image, char *memory, uint64_t number,
                           uint64_t *address) {
  if (number >= image->n_symbols)
    return UNKNOWN("there is no symbol %llu", (unsigned long long)number);
  const Elf64_Sym *symbol = &image->symbol[number];
  if (symbol->st_shndx != SHN_UNDEF) {
    *address = (uintptr_t)memory + symbol->st_value;
    return LLRT_OK;
  }
  *address = (uintptr_t)dlsym(RTLD_DEFAULT, name_of(image, symbol));
  return *address ? LLRT_OK : UNKNOWN("nobody has %s", name_of(image, symbol));
}

static llrt_status relocate(const host_image *image, char *memory, const Elf64_Rela *row) {
  uint64_t value = 0;
  uint32_t kind = (uint32_t)ELF64_R_TYPE(row->r_info);
  if (!inside(row->r_offset, sizeof value, image->span))
    return UNKNOWN("a relocation outside of its memory");
  if (kind == RELATIVE) value = (uintptr_t)memory + (uint64_t)row->r_addend;
  else if (kind == ABSOLUTE || kind == IN_TABLE || kind == CALLED)
    LLRT_TRY(resolve(image, memory, ELF64_R_SYM(row->r_info), &value));
  else return UNKNOWN("relocation %u", kind);
  if (kind == ABSOLUTE) value += (uint64_t)row->r_addend;
  memcpy(memory + row->r_offset, &value, sizeof value);
  return LLRT_OK;
}

static llrt_status find_entry(const host_image *image, char *memory, const char *name,
                              void **entry) {
  for (size_t i = 0; i < image->n_symbols; i++) {
    const Elf64_Sym *symbol = &image->symbol[i];
    if (symbol->st_shndx == SHN_UNDEF || strcmp(name_of(image, symbol), name) != 0) continue;
    if (symbol->st_value >= image->span) break;
    *entry = memory + symbol->st_value;
    return LLRT_OK;
  }
  return UNKNOWN("no entry %s", name);
}

llrt_status llrt_host_image_place(const host_image *image, char *memory, const char *name,
                                  void **entry) {
  for (int i = 0; i < image->n_segments; i++) {
    const Elf64_Phdr *s = &image->segment[i];
    if (s->p_type == PT_LOAD && inside(s->p_vaddr, s->p_filesz, image->span))
      memcpy(memory + s->p_vaddr, image->bytes + s->p_offset, s->p_filesz);
  }
  for (int list = 0; list < 2; list++)
    for (size_t i = 0; i < image->n_relocations[list]; i++)
      LLRT_TRY(relocate(image, memory, &image->relocation[list][i]));
  return find_entry(image, memory, name, entry);
}
