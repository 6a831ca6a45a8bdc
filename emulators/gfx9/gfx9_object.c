/* Code objects: an ELF shared object with a 64-byte kernel descriptor beside each kernel (AMDGPU
 * usage guide, "Code Object V5", "Kernel Descriptor"). The segments are laid out in device
 * memory. */
#include "gfx9_code.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACHINE_MASK 0xff /* of e_flags; EF_AMDGPU_MACH_AMDGCN_... */
static const struct {
  const char *cpu;
  uint32_t machine;
} machines[] = {{"gfx90a", 0x3f}, {"gfx942", 0x4c}};

typedef struct object_file {
  const uint8_t *bytes;
  size_t size;
  Elf64_Ehdr header;
} object_file;

static bool copy_out(const object_file *file, size_t offset, void *to, size_t bytes) {
  if (offset > file->size || bytes > file->size - offset) return false;
  memcpy(to, file->bytes + offset, bytes);
  return true;
}

static bool section_at(const object_file *file, int index, Elf64_Shdr *section) {
  return copy_out(file, file->header.e_shoff + (size_t)index * sizeof *section, section,
                  sizeof *section);
}

static bool read_header(object_file *file, const char *cpu, emu_fault *fault) {
  if (!copy_out(file, 0, &file->header, sizeof file->header) ||
      memcmp(file->header.e_ident, ELFMAG, SELFMAG) != 0) {
    return emu_fault_set(fault, EMU_UNKNOWN, "not an ELF file");
  }
  const Elf64_Ehdr *header = &file->header;
  if (header->e_machine != EM_AMDGPU || header->e_type != ET_DYN) {
    return emu_fault_set(fault, EMU_UNKNOWN, "not an AMDGPU code object");
  }
  if (header->e_ident[EI_ABIVERSION] != 3) {
    return emu_fault_set(fault, EMU_UNKNOWN, "code object ABI %d is not version 5's",
                         header->e_ident[EI_ABIVERSION]);
  }
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    if (strcmp(machines[i].cpu, cpu) != 0) continue;
    if ((header->e_flags & MACHINE_MASK) == machines[i].machine) return true;
    return emu_fault_set(fault, EMU_UNKNOWN, "code for another GPU than %s", cpu);
  }
  return emu_fault_set(fault, EMU_UNKNOWN, "no emulation of %s", cpu);
}

static bool find_symbol(const object_file *file, const char *name, Elf64_Sym *symbol) {
  Elf64_Shdr table, names;
  for (int i = 0; i < file->header.e_shnum; i++) {
    if (!section_at(file, i, &table)) return false;
    if (table.sh_type != SHT_SYMTAB && table.sh_type != SHT_DYNSYM) continue;
    if (!section_at(file, (int)table.sh_link, &names)) return false;
    for (size_t at = 0; at + sizeof *symbol <= table.sh_size; at += sizeof *symbol) {
      size_t length = strlen(name) + 1;
      if (!copy_out(file, table.sh_offset + at, symbol, sizeof *symbol)) return false;
      size_t text = names.sh_offset + symbol->st_name;
      if (text + length <= file->size && memcmp(file->bytes + text, name, length) == 0 &&
          symbol->st_shndx != SHN_UNDEF) {
        return true;
      }
    }
  }
  return false;
}

/* Where the line table is, if there is one. */
static void find_lines(gfx9_module *module, const object_file *file) {
  static const char name[] = ".debug_line";
  Elf64_Shdr section, names;
  char text[sizeof name];
  if (!section_at(file, file->header.e_shstrndx, &names)) return;
  for (int i = 0; i < file->header.e_shnum && section_at(file, i, &section); i++) {
    if (!copy_out(file, names.sh_offset + section.sh_name, text, sizeof text)) continue;
    if (memcmp(text, name, sizeof name) != 0 || section.sh_flags & SHF_COMPRESSED ||
        section.sh_offset > file->size || section.sh_size > file->size - section.sh_offset) {
      continue;
    }
    module->lines = section.sh_offset;
    module->lines_bytes = section.sh_size;
  }
}

/* Copies the loaded segments to one allocation; *low becomes its first virtual address. */
static bool load_segments(gfx9_module *module, const object_file *file) {
  Elf64_Phdr segment;
  uint64_t end = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < file->header.e_phnum; i++) {
      size_t at = file->header.e_phoff + (size_t)i * sizeof segment;
      if (!copy_out(file, at, &segment, sizeof segment)) return false;
      if (segment.p_type != PT_LOAD) continue;
      if (segment.p_filesz > segment.p_memsz || segment.p_offset > file->size ||
          segment.p_filesz > file->size - segment.p_offset || segment.p_vaddr > 1 << 30 ||
          segment.p_memsz > 1 << 30) {
        return false;
      }
      if (segment.p_vaddr + segment.p_memsz > end) end = segment.p_vaddr + segment.p_memsz;
      if (pass == 0 || segment.p_memsz == 0) continue;
      emu_memory_set(module->memory, module->image + segment.p_vaddr, 0, segment.p_memsz);
      emu_memory_write(module->memory, module->image + segment.p_vaddr,
                       file->bytes + segment.p_offset, segment.p_filesz);
    }
    if (pass == 0) module->image = emu_memory_allocate(module->memory, end);
    if (!module->image) return false;
  }
  return true;
}

static void read_arguments(gfx9_module *module, const object_file *file) {
  Elf64_Shdr section;
  module->kernel.n_args = -1;
  for (int i = 0; i < file->header.e_shnum && section_at(file, i, &section); i++) {
    if (section.sh_type != SHT_NOTE || section.sh_offset > file->size ||
        section.sh_size > file->size - section.sh_offset) {
      continue;
    }
    const uint8_t *note = file->bytes + section.sh_offset, *end = note + section.sh_size;
    while (note + sizeof(Elf64_Nhdr) <= end) {
      Elf64_Nhdr header;
      memcpy(&header, note, sizeof header);
      const uint8_t *text = note + sizeof header + ((header.n_namesz + 3u) & ~3u);
      if (text > end || header.n_descsz > (size_t)(end - text)) break;
      if (gfx9_metadata_read(text, header.n_descsz, module->kernel.name, &module->kernel)) return;
      note = text + ((header.n_descsz + 3u) & ~3u);
    }
  }
}

static uint32_t word_at(const uint8_t *bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

#define FLOAT_MODE_MASK 0x8ff000u /* of rsrc1: rounding, denormals, IEEE mode (bit 23) */
#define FLOAT_MODE 0x8f0000u      /* to nearest, kept, on: what gfx9_float.h does */

/* Register features that would change what a wave begins with or how it runs. */
static bool check_descriptor(const gfx9_descriptor *d, emu_fault *fault) {
  int known = GFX9_HAS_PRIVATE_BUFFER | GFX9_HAS_KERNARGS | GFX9_HAS_FLAT_SCRATCH;
  if (d->properties & ~known) {
    return emu_fault_set(fault, EMU_UNKNOWN, "kernel code properties 0x%x", d->properties);
  }
  if (d->private_bytes > 1 << 16) return emu_fault_set(fault, EMU_LIMIT, "much scratch memory");
  if (d->preload) return emu_fault_set(fault, EMU_UNKNOWN, "preloaded kernel arguments");
  if ((d->rsrc1 & FLOAT_MODE_MASK) != FLOAT_MODE) {
    return emu_fault_set(fault, EMU_UNKNOWN, "floating-point modes 0x%x",
                         d->rsrc1 & FLOAT_MODE_MASK);
  }
  return true;
}

static bool read_descriptor(gfx9_module *module, uint64_t at, emu_fault *fault) {
  uint8_t bytes[64];
  gfx9_descriptor *d = &module->descriptor;
  int64_t entry;
  if (!emu_memory_read(module->memory, bytes, at, sizeof bytes)) {
    return emu_fault_set(fault, EMU_UNKNOWN, "the kernel descriptor is outside the image");
  }
  d->lds_bytes = word_at(bytes);
  d->private_bytes = word_at(bytes + 4);
  d->kernarg_bytes = word_at(bytes + 8);
  memcpy(&entry, bytes + 16, sizeof entry);
  d->rsrc3 = word_at(bytes + 44);
  d->rsrc1 = word_at(bytes + 48);
  d->rsrc2 = word_at(bytes + 52);
  d->properties = (uint16_t)word_at(bytes + 56);
  d->preload = (uint16_t)(word_at(bytes + 56) >> 16);
  module->entry = at + (uint64_t)entry;
  module->kernel.lds_bytes = d->lds_bytes;
  module->kernel.kernarg_bytes = d->kernarg_bytes;
  return check_descriptor(d, fault);
}

static bool load_object(gfx9_module *module, const uint8_t *bytes, size_t size, const char *name,
                        emu_fault *fault) {
  object_file file = {.bytes = bytes, .size = size ? size : sizeof(Elf64_Ehdr)};
  Elf64_Sym code, descriptor;
  char text[80];
  if (!read_header(&file, module->cpu, fault)) return false;
  /* lld writes the section headers last. */
  if (!size) file.size = file.header.e_shoff + file.header.e_shnum * sizeof(Elf64_Shdr);
  snprintf(module->kernel.name, sizeof module->kernel.name, "%s", name);
  snprintf(text, sizeof text, "%s.kd", module->kernel.name);
  if (!find_symbol(&file, name, &code) || !find_symbol(&file, text, &descriptor)) {
    return emu_fault_set(fault, EMU_UNKNOWN, "no kernel %s", name);
  }
  if (!load_segments(module, &file)) return emu_fault_set(fault, EMU_UNKNOWN, "broken segments");
  read_arguments(module, &file);
  find_lines(module, &file);
  module->linked = code.st_value;
  if (!read_descriptor(module, module->image + descriptor.st_value, fault)) return false;
  module->code_bytes = (uint32_t)code.st_size;
  if (module->entry != module->image + code.st_value ||
      !emu_memory_find(module->memory, module->entry, module->code_bytes)) {
    return emu_fault_set(fault, EMU_UNKNOWN, "the kernel's code is not where its symbol is");
  }
  return true;
}

bool gfx9_module_create(const void *image, size_t size, const char *cpu, const char *name,
                        emu_memory *memory, gfx9_module **out, emu_fault *fault) {
  *out = NULL;
  gfx9_module *module = calloc(1, sizeof *module);
  if (!module) return emu_fault_set(fault, EMU_LIMIT, "no memory for a module");
  emu_fault_set(fault, EMU_OK, "%s", "");
  module->memory = memory;
  snprintf(module->cpu, sizeof module->cpu, "%s", cpu);
  bool ok = load_object(module, image, size, name, fault) &&
            gfx9_decode(module->cpu, emu_range_data(NULL, module->entry), module->code_bytes,
                        &module->code, fault);
  if (ok) {
    const uint8_t *lines = (const uint8_t *)image + module->lines;
    gfx9_read_lines(lines, module->lines_bytes, module->linked, &module->code);
    *out = module;
  } else {
    gfx9_module_destroy(module);
  }
  return ok;
}

void gfx9_module_destroy(gfx9_module *module) {
  if (!module) return;
  if (module->image) emu_memory_free(module->memory, module->image);
  free(module->code.op);
  free(module);
}

const gfx9_kernel *gfx9_module_kernel(const gfx9_module *module) { return &module->kernel; }
