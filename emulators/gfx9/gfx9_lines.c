/* The line table (DWARF 4 and 5, section 6.2): a line is the number of the plan's step + 1, where
 * the kernel was emitted with LLRT_EMIT_LOCATIONS. */
#include "gfx9_code.h"

#include <string.h>

typedef struct reader {
  const uint8_t *at, *end;
} reader;

/* Little-endian; 0 past the end. */
static uint64_t fixed(reader *r, int bytes) {
  uint64_t value = 0;
  if (r->end - r->at < bytes) {
    r->at = r->end;
    return 0;
  }
  memcpy(&value, r->at, (size_t)bytes);
  r->at += bytes;
  return value;
}

static int64_t leb128(reader *r, bool is_signed) {
  uint64_t value = 0, byte = 0x80;
  unsigned shift = 0;
  while (byte & 0x80 && r->at < r->end && shift < 64) {
    byte = *r->at++;
    value |= (byte & 0x7f) << shift;
    shift += 7;
  }
  if (is_signed && byte & 0x40 && shift < 64) value |= ~(uint64_t)0 << shift;
  return (int64_t)value;
}

/* What the program's header says, and the registers of its machine. */
typedef struct line_machine {
  uint8_t unit, line_range, opcode_base;
  int8_t line_base;
  uint8_t lengths[256]; /* operands of a standard opcode */
  uint64_t address, line;
} line_machine;

/* Everything from `address` on is of this line, until the next row says otherwise. */
static void add_row(const line_machine *m, uint64_t base, gfx9_code *code) {
  for (int i = code->n; i-- > 0 && base + code->op[i].pc >= m->address;) {
    code->op[i].step = (int)m->line - 1;
  }
}

enum { COPY = 1, ADVANCE_PC, ADVANCE_LINE, CONST_ADD_PC = 8, FIXED_ADVANCE_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS };

static void extended(reader *r, line_machine *m) {
  int64_t length = leb128(r, false);
  if (length <= 0 || length > r->end - r->at) {
    r->at = r->end;
    return;
  }
  const uint8_t *next = r->at + length;
  int opcode = (int)fixed(r, 1);
  if (opcode == SET_ADDRESS) m->address = fixed(r, 8);
  if (opcode == END_SEQUENCE) m->address = 0, m->line = 1;
  r->at = next;
}

static void standard(reader *r, line_machine *m, int opcode, uint64_t base, gfx9_code *code) {
  switch (opcode) {
  case COPY: add_row(m, base, code); break;
  case ADVANCE_PC: m->address += (uint64_t)leb128(r, false) * m->unit; break;
  case ADVANCE_LINE: m->line += (uint64_t)leb128(r, true); break;
  case CONST_ADD_PC:
    m->address += (uint64_t)((255 - m->opcode_base) / m->line_range) * m->unit;
    break;
  case FIXED_ADVANCE_PC: m->address += fixed(r, 2); break;
  default:
    for (int i = 0; i < m->lengths[opcode]; i++) leb128(r, false);
  }
}

static void run_program(reader *r, line_machine *m, uint64_t base, gfx9_code *code) {
  m->address = 0;
  m->line = 1;
  while (r->at < r->end) {
    int opcode = *r->at++;
    if (opcode == 0) {
      extended(r, m);
    } else if (opcode < m->opcode_base) {
      standard(r, m, opcode, base, code);
    } else {
      int special = opcode - m->opcode_base;
      m->address += (uint64_t)(special / m->line_range) * m->unit;
      m->line += (uint64_t)(int64_t)(m->line_base + special % m->line_range);
      add_row(m, base, code);
    }
  }
}

void gfx9_read_lines(const uint8_t *bytes, size_t size, uint64_t base, gfx9_code *code) {
  reader all = {bytes, bytes + size};
  while (all.end - all.at > 16) {
    line_machine m = {0};
    uint64_t length = fixed(&all, 4);
    if (length > (uint64_t)(all.end - all.at)) return;
    reader r = {all.at, all.at + length};
    all.at += length;
    int version = (int)fixed(&r, 2);
    if (version != 4 && version != 5) continue;
    if (version == 5) fixed(&r, 2); /* sizes of addresses and segment selectors */
    uint64_t header = fixed(&r, 4);
    if (header > (uint64_t)(r.end - r.at)) return;
    const uint8_t *program = r.at + header;
    m.unit = (uint8_t)fixed(&r, 1);
    fixed(&r, 2); /* operations of one instruction; whether rows begin statements */
    m.line_base = (int8_t)fixed(&r, 1);
    m.line_range = (uint8_t)fixed(&r, 1);
    m.opcode_base = (uint8_t)fixed(&r, 1);
    for (int k = 1; k < m.opcode_base; k++) m.lengths[k] = (uint8_t)fixed(&r, 1);
    if (m.line_range == 0) continue;
    r.at = program;
    run_program(&r, &m, base, code);
  }
}
