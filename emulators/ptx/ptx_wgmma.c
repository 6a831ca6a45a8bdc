/* Products of a warpgroup with operands in shared memory (PTX ISA, "wgmma").
 *
 * Warps run one after another: each makes its own 16 rows of D. What is checked stands for what the
 * hardware does not wait for: registers written since the last wgmma.fence; accumulators that are
 * used, operands of A that are changed, and shared memory that is written over before the wait. A
 * move of an accumulator is another name of it: assemblers remove it.
 *
 * Descriptor of a matrix in shared memory: address / 16 in bits 0-13, leading offset / 16 in 16-29,
 * stride offset / 16 in 32-45, swizzle in 62-63 (0 none, 1 128 bytes, 2 64, 3 32). Along k (K
 * major), with rows of s bytes (16 without swizzle), 16-byte chunk c of row r is at (r / 8) stride
 * + (r mod 8) s + c 16, chunks past s leading offsets apart; transposed (16 bits), s bytes of rows
 * follow each other, chunk c of k is at c 16 + (k mod 8) s, further rows leading offsets, further k
 * stride offsets apart. Swizzles XOR bits 4-6 of the address with bits 7-9, as many as s has
 * chunks.
 *
 * A row of an operand with undefined bytes makes its own row or column of D undefined. Until the
 * wait all of D is: what is so behind it stands in the upper half of a lane's undefined bits. */
#include "emulators/ptx/ptx_run.h"

#include <stdlib.h>
#include <string.h>

#define MAX_N 256
#define MAX_K 32
#define MAX_CHUNKS 1024
#define GROUP_WARPS 4
#define BEHIND_WAIT 32 /* bits of a lane's undefined bits: those above are so behind the wait */

typedef struct in_flight {
  uint64_t group;
  uint16_t a[4];
  uint64_t a_stamp[4];
  int n_a, n_chunks;
  uint32_t *chunk;               /* offsets of 16 bytes that are read */
  uint32_t seen[EMU_MAX_AGENTS]; /* what the warp knew when it began */
} in_flight;

struct ptx_wgmma {
  uint64_t group;  /* that is open */
  uint64_t fenced; /* stamp of the last fence; 0: none */
  uint64_t issued;
  in_flight *product;
  int n, capacity;
  uint64_t *pending; /* by register: 1 + group of the product that makes it; 0: none */
};

typedef struct operand_matrix {
  uint64_t address, leading, stride;
  int row_bytes, swizzle_bits; /* of the canonical layout */
  bool transposed;
} operand_matrix;

typedef struct product {
  int n, k, width;
  const ptx_type *a, *b, *d;
  double x[16][MAX_K], y[MAX_K][MAX_N];
  bool x_unknown[16], y_unknown[MAX_N];
  uint32_t chunk[MAX_CHUNKS];
  int n_chunks;
} product;

/* ---- a warp's ---- */

void ptx_wgmma_reset(ptx_warp *warp) {
  ptx_wgmma *state = warp->wgmma;
  if (!state) return;
  for (int i = 0; i < state->n; i++) free(state->product[i].chunk);
  free(state->product);
  free(state->pending);
  free(state);
  warp->wgmma = NULL;
}

static ptx_wgmma *state_of(ptx_run *run, ptx_warp *warp) {
  if (warp->wgmma) return warp->wgmma;
  ptx_wgmma *made = calloc(1, sizeof *made);
  if (made) made->pending = calloc((size_t)run->kernel->n_registers + 1, sizeof *made->pending);
  if (!made || !made->pending) {
    free(made);
    return NULL;
  }
  return warp->wgmma = made;
}

void ptx_wgmma_move(ptx_warp *warp, int to, int from) {
  if (!warp->wgmma) return;
  warp->wgmma->pending[to] = warp->wgmma->pending[from];
  warp->stamp[to] = warp->stamp[from];
  if (warp->wgmma->pending[to])
    memcpy(ptx_undefined(warp, to), ptx_undefined(warp, from), sizeof(ptx_lanes));
}

bool ptx_wgmma_ended(ptx_run *run) {
  for (int first = 0; first < run->n_warps; first += GROUP_WARPS) {
    for (int w = first; w < first + GROUP_WARPS && w < run->n_warps; w++) {
      const ptx_wgmma *one = run->warp[first].wgmma, *other = run->warp[w].wgmma;
      if ((one ? one->issued : 0) != (other ? other->issued : 0)) {
        return ptx_fault(run, &run->warp[w], NULL, EMU_NOWHERE, EMU_BARRIER,
                         "warps of one warpgroup issued different numbers of wgmma");
      }
    }
  }
  return true;
}

/* ---- operands in shared memory ---- */

static bool describe(ptx_run *run, ptx_warp *warp, const ptx_op *op, int n, bool transposed,
                     operand_matrix *matrix) {
  static const int rows[] = {16, 128, 64, 32}, bits[] = {0, 3, 2, 1};
  if (!ptx_require_defined(run, warp, op, n, PTX_FULL, "a descriptor")) return false;
  const uint64_t *value = warp->value[ptx_reg(op, n, 0)];
  for (int i = 1; i < PTX_LANES; i++) {
    if (value[i] != value[0])
      return ptx_fault(run, warp, op, i, EMU_UNKNOWN, "lanes have different descriptors");
  }
  if (value[0] >> 49 & 7)
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "a base offset");
  *matrix = (operand_matrix){.address = (value[0] & 0x3fff) << 4,
                             .leading = (value[0] >> 16 & 0x3fff) << 4,
                             .stride = (value[0] >> 32 & 0x3fff) << 4,
                             .row_bytes = rows[value[0] >> 62],
                             .swizzle_bits = bits[value[0] >> 62],
                             .transposed = transposed};
  return true;
}

/* Offset of the 16 bytes that hold element (row, k), and which of their elements it is. */
static uint32_t chunk_of(const operand_matrix *matrix, int row, int k, int bytes, int *element) {
  int along = matrix->transposed ? row : k, across = matrix->transposed ? k : row;
  uint64_t byte = (uint64_t)(along * bytes), line = byte / (uint64_t)matrix->row_bytes;
  uint64_t lead = matrix->leading, stride = matrix->stride;
  uint64_t at = matrix->address + line * lead + (uint64_t)(across / 8) * stride +
                (uint64_t)(across % 8) * (uint64_t)matrix->row_bytes +
                byte % (uint64_t)matrix->row_bytes;
  uint64_t mask = ((uint64_t)1 << matrix->swizzle_bits) - 1;
  *element = along % (16 / bytes);
  at &= ~(uint64_t)15;
  return (uint32_t)(at ^ ((at >> 7 & mask) << 4));
}

static bool note_chunk(ptx_run *run, ptx_warp *warp, const ptx_op *op, product *of, uint32_t at,
                       bool *unknown) {
  int other;
  bool fence;
  if (!emu_shared_holds(&run->shared, at, 16)) {
    return ptx_fault_at(run, warp, op, EMU_NOWHERE, at, EMU_OUT_OF_RANGE,
                        "an operand in shared memory");
  }
  int64_t race = emu_order_proxy_read(run->shared.order, at, 16, warp->index, &other, &fence);
  if (race >= 0) {
    return ptx_fault_at(run, warp, op, EMU_NOWHERE, (uint64_t)race, EMU_RACE,
                        fence ? "reads what warp %d wrote without fence.proxy.async"
                              : "reads shared memory that agent %d writes",
                        other);
  }
  for (int i = 0; i < 16; i++) *unknown |= run->shared.undefined[at + (uint32_t)i] != 0;
  of->chunk[of->n_chunks++] = at;
  return true;
}

/* Element (row, k) of a matrix in shared memory; each chunk is noted with its first element. */
static bool element_of(ptx_run *run, ptx_warp *warp, const ptx_op *op, product *of,
                       const operand_matrix *matrix, int row, int k, const ptx_type *type,
                       double *value, bool *unknown) {
  int bytes = type->bits / 8, element;
  uint32_t at = chunk_of(matrix, row, k, bytes, &element);
  if (element == 0 && !note_chunk(run, warp, op, of, at, unknown)) return false;
  uint64_t bits = 0;
  memcpy(&bits, run->shared.data + at + element * bytes, (size_t)bytes);
  *value = ptx_number_of(type, bits);
  return true;
}

static bool load_a(ptx_run *run, ptx_warp *warp, const ptx_op *op, product *of, bool registers,
                   bool transposed) {
  int p = 32 / of->width;
  if (!registers) {
    operand_matrix matrix;
    if (!describe(run, warp, op, 1, transposed, &matrix)) return false;
    for (int i = 0; i < 16 * of->k; i++) {
      int row = transposed ? i % 16 : i / of->k, k = transposed ? i / 16 : i % of->k;
      if (!element_of(run, warp, op, of, &matrix, warp->index % GROUP_WARPS * 16 + row, k, of->a,
                      &of->x[row][k], &of->x_unknown[row])) {
        return false;
      }
    }
    return true;
  }
  if (!ptx_require_defined(run, warp, op, 1, PTX_FULL, "a matrix")) return false;
  for (int i = 0; i < PTX_LANES * 4 * p; i++) {
    int lane = i / (4 * p), r = i / p % 4, e = i % p;
    of->x[lane / 4 + 8 * (r % 2)][lane % 4 * p + e + r / 2 * 4 * p] =
        ptx_part_of(warp, ptx_reg(op, 1, r), lane, of->a, e);
  }
  return true;
}

static bool load_b(ptx_run *run, ptx_warp *warp, const ptx_op *op, product *of, bool transposed) {
  operand_matrix matrix;
  if (!describe(run, warp, op, 2, transposed, &matrix)) return false;
  for (int i = 0; i < of->n * of->k; i++) {
    int n = transposed ? i % of->n : i / of->k, k = transposed ? i / of->n : i % of->k;
    if (!element_of(run, warp, op, of, &matrix, n, k, of->b, &of->y[k][n], &of->y_unknown[n]))
      return false;
  }
  return true;
}

/* ---- the product ---- */

/* Which shapes, types, operands there are. */
static bool shape_of(const ptx_op *op, product *of, bool *registers, bool *a_transposed,
                     bool *b_transposed) {
  int shape = op->choice[0] - 1;
  static const int depth[] = {16, 32, 8};
  of->n = 8 * (shape % 32 + 1);
  of->k = depth[shape / 32];
  of->d = op->type[0], of->a = op->type[1], of->b = op->type[2];
  of->width = of->a->bits;
  *registers = op->operand[1].count == 4;
  bool integer = of->a->kind == 's' || of->a->kind == 'u';
  int flags = integer ? 0 : op->n_operands - 6; /* transpositions */
  *a_transposed = flags == 2 && op->operand[6].value;
  *b_transposed = flags > 0 && op->operand[5 + flags].value;
  bool half = of->width == 16, to_half = strcmp(of->d->name, "f16") == 0;
  bool tf32 = strcmp(of->a->name, "tf32") == 0 && of->a == of->b;
  bool eight = of->width == 8 && of->b->bits == 8 &&
               ((of->a->kind == 'x' && of->b->kind == 'x') ||
                (integer && (of->b->kind == 's' || of->b->kind == 'u')));
  bool types = half ? of->a == of->b : eight || tf32;
  types &= integer ? strcmp(of->d->name, "s32") == 0 && op->n_operands == 4 &&
                         (of->n <= 24 || of->n % 16 == 0)
                   : strcmp(of->d->name, "f32") == 0 ||
                         (to_half && !tf32 && strcmp(of->a->name, "bf16") != 0);
  if (!integer && (op->n_operands < 6 || op->operand[4].value != 1 || op->operand[5].value != 1))
    types = false;
  return types && of->k * of->width == 256 && flags == (half ? (*registers ? 1 : 2) : 0) &&
         (*registers || op->operand[1].count == 1) &&
         op->operand[0].count == of->n / (to_half ? 4 : 2);
}

/* Registers that no one has written since the fence, but for products in flight. */
static bool check_fence(ptx_run *run, ptx_warp *warp, const ptx_op *op, int n) {
  ptx_wgmma *state = warp->wgmma;
  for (int k = 0; k < op->operand[n].count; k++) {
    int reg = ptx_reg(op, n, k);
    if (state->fenced && warp->stamp[reg] <= state->fenced) continue;
    if (n == 0 && state->pending[reg]) continue;
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_NOT_WAITED,
                     "register %d of operand %d was written since the last wgmma.fence", k, n);
  }
  return true;
}

static bool accumulate(ptx_run *run, ptx_warp *warp, const ptx_op *op, product *of) {
  ptx_wgmma *state = warp->wgmma;
  if (!ptx_require_defined(run, warp, op, 3, PTX_FULL, "scale-d")) return false;
  bool add = warp->value[ptx_reg(op, 3, 0)][0] != 0, half = of->d->bits == 16;
  int count = op->operand[0].count, packed = half ? 2 : 1;
  for (int r = 0; r < count; r++) {
    int reg = ptx_reg(op, 0, r);
    if (add && !state->pending[reg] && warp->state[reg] == PTX_NEVER) {
      return ptx_fault(run, warp, op, 0, EMU_UNDEFINED, "an accumulator is undefined");
    }
    ptx_lanes value = {0}, unknown = {0};
    for (int l = 0; l < PTX_LANES && add && warp->state[reg] != PTX_DEFINED; l++)
      unknown[l] = ptx_undefined(warp, reg)[l] >> (state->pending[reg] ? BEHIND_WAIT : 0);
    for (int i = 0; i < PTX_LANES * packed; i++) {
      int l = i / packed, e = i % packed, number = r * packed + e;
      int row = l / 4 + 8 * (number / 2 % 2), column = number / 4 * 8 + l % 4 * 2 + number % 2;
      double sum = add ? ptx_part_of(warp, reg, l, of->d, e) : 0;
      for (int k = 0; k < of->k; k++) sum += of->x[row][k] * of->y[k][column];
      value[l] |= ptx_result_bits(of->d, sum) << (16 * e);
      if (of->x_unknown[row] || of->y_unknown[column])
        unknown[l] |= (half ? (uint64_t)UINT16_MAX : UINT32_MAX) << (16 * e);
    }
    for (int l = 0; l < PTX_LANES; l++) unknown[l] = unknown[l] << BEHIND_WAIT | UINT32_MAX;
    ptx_write(warp, reg, PTX_FULL, value, unknown);
    state->pending[reg] = 1 + state->group;
  }
  return true;
}

static bool keep_product(const ptx_run *run, ptx_warp *warp, const ptx_op *op, const product *of,
                         bool registers) {
  ptx_wgmma *state = warp->wgmma;
  if (state->n == state->capacity) {
    int larger = state->capacity ? 2 * state->capacity : 8;
    in_flight *grown = realloc(state->product, (size_t)larger * sizeof *grown);
    if (!grown) return false;
    state->product = grown;
    state->capacity = larger;
  }
  in_flight *made = &state->product[state->n];
  *made = (in_flight){.group = state->group, .n_a = registers ? 4 : 0, .n_chunks = of->n_chunks};
  memcpy(made->seen, run->shared.order->clock[warp->index].seen, sizeof made->seen);
  for (int i = 0; i < made->n_a; i++) {
    made->a[i] = (uint16_t)ptx_reg(op, 1, i);
    made->a_stamp[i] = warp->stamp[made->a[i]];
  }
  made->chunk = malloc(((size_t)of->n_chunks + 1) * sizeof *made->chunk);
  if (!made->chunk) return false;
  memcpy(made->chunk, of->chunk, (size_t)of->n_chunks * sizeof *made->chunk);
  state->n++;
  return true;
}

static bool run_product(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  static _Thread_local product of;
  bool registers, a_transposed, b_transposed;
  of.n_chunks = 0;
  memset(of.x_unknown, 0, sizeof of.x_unknown);
  memset(of.y_unknown, 0, sizeof of.y_unknown);
  if (!shape_of(op, &of, &registers, &a_transposed, &b_transposed)) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_UNKNOWN, "shape, types or operands");
  }
  if (mask != PTX_FULL || (warp->index | (GROUP_WARPS - 1)) >= run->n_warps) {
    return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_BARRIER, "not a whole warpgroup");
  }
  ptx_wgmma *state = state_of(run, warp);
  if (!state) return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_LIMIT, "no memory for a product");
  if (!check_fence(run, warp, op, 0) || (registers && !check_fence(run, warp, op, 1))) return false;
  if (!load_a(run, warp, op, &of, registers, a_transposed) ||
      !load_b(run, warp, op, &of, b_transposed))
    return false;
  if (!accumulate(run, warp, op, &of)) return false;
  state->issued++;
  return keep_product(run, warp, op, &of, registers) ||
         ptx_fault(run, warp, op, EMU_NOWHERE, EMU_LIMIT, "no memory for a product");
}

/* ---- groups ---- */

static bool run_fence(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_wgmma *state = state_of(run, warp);
  if (!ptx_whole_warp(run, warp, op, mask)) return false;
  if (!state) return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_LIMIT, "no memory for products");
  state->fenced = ++warp->writes;
  return true;
}

static bool run_commit(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_wgmma *state = state_of(run, warp);
  if (!ptx_whole_warp(run, warp, op, mask)) return false;
  if (!state) return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_LIMIT, "no memory for products");
  state->group++;
  return true;
}

/* Nothing that a product read may have been written over until now. */
static bool check_untouched(ptx_run *run, ptx_warp *warp, const ptx_op *op, const in_flight *done) {
  for (int i = 0; i < done->n_a; i++) {
    if (warp->stamp[done->a[i]] != done->a_stamp[i]) {
      return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_NOT_WAITED,
                       "register %d of A was written while a product read it", i);
    }
  }
  for (int i = 0; i < done->n_chunks; i++) {
    int other;
    bool fence;
    if (emu_order_written_since(run->shared.order, done->chunk[i], 16, done->seen, &other) >= 0 ||
        emu_order_proxy_read(run->shared.order, done->chunk[i], 16, warp->index, &other, &fence) >=
            0) {
      return ptx_fault_at(run, warp, op, EMU_NOWHERE, done->chunk[i], EMU_RACE,
                          "agent %d writes shared memory that a product reads", other);
    }
  }
  return true;
}

static bool run_wait(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_wgmma *state = state_of(run, warp);
  if (!ptx_whole_warp(run, warp, op, mask)) return false;
  if (!state) return ptx_fault(run, warp, op, EMU_NOWHERE, EMU_LIMIT, "no memory for products");
  uint64_t n = (uint64_t)op->operand[0].value, before = state->group > n ? state->group - n : 0;
  int kept = 0;
  for (int i = 0; i < state->n; i++) {
    in_flight *done = &state->product[i];
    if (done->group >= before) {
      state->product[kept++] = *done;
      continue;
    }
    if (!check_untouched(run, warp, op, done)) return false;
    free(done->chunk);
    done->chunk = NULL;
  }
  state->n = kept;
  for (int reg = 0; reg < run->kernel->n_registers; reg++) {
    if (!state->pending[reg] || state->pending[reg] > before) continue;
    state->pending[reg] = 0;
    uint64_t stamp = warp->stamp[reg];
    ptx_lanes value, unknown;
    memcpy(value, warp->value[reg], sizeof value);
    for (int l = 0; l < PTX_LANES; l++) unknown[l] = ptx_undefined(warp, reg)[l] >> BEHIND_WAIT;
    ptx_write(warp, reg, PTX_FULL, value, unknown);
    warp->stamp[reg] = stamp;
  }
  return true;
}

#define ROW(syntax, operands, execute) {syntax, operands, execute, NULL, NULL, PTX_MATRIX, 0}
#define EIGHT(a, b, c, d, e, f, g, h, k) \
  "m64n" a k "|m64n" b k "|m64n" c k "|m64n" d k "|m64n" e k "|m64n" f k "|m64n" g k "|m64n" h k
#define SHAPES(k) \
  EIGHT("8", "16", "24", "32", "40", "48", "56", "64", k) \
  "|" EIGHT("72", "80", "88", "96", "104", "112", "120", "128", \
            k) "|" EIGHT("136", "144", "152", "160", "168", "176", "184", "192", \
                         k) "|" EIGHT("200", "208", "216", "224", "232", "240", "248", "256", k)

const ptx_form ptx_wgmma_forms[] = {ROW("wgmma fence sync aligned", "", run_fence),
                                    ROW("wgmma mma_async sync aligned " SHAPES("k16") "|" SHAPES(
                                            "k32") "|" SHAPES("k8") " %A %A %A",
                                        "vwss?i?i?i?i", run_product),
                                    ROW("wgmma commit_group sync aligned", "", run_commit),
                                    ROW("wgmma wait_group sync aligned", "i", run_wait),
                                    {0}};
