/* Copies of boxes by a tensor map (PTX ISA, "cp.async.bulk.tensor"; CUDA driver API,
 * "cuTensorMapEncodeTiled"), of two or three dimensions. A map is what this emulator's driver
 * library has made of the call's arguments. Elements outside of the tensor are zero. */
#include "emulators/ptx/ptx_run.h"

#include <string.h>

#define PIECE_BITS 4 /* log2 bytes of what is permuted */
#define SOURCE_BIT 7 /* address bits that choose the permutation, from this one on */

/* Where the map behind a generic address lies: in a parameter of the kernel. */
static const uint8_t *find_map(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane,
                               uint64_t address) {
  uint64_t offset = address - PTX_PARAM_WINDOW;
  if (address < PTX_PARAM_WINDOW || offset % PTX_TENSOR_MAP_ALIGNMENT != 0 ||
      offset + PTX_TENSOR_MAP_BYTES > run->kernel->param_bytes) {
    ptx_fault_at(run, warp, op, lane, address, EMU_OUT_OF_RANGE,
                 "no parameter is a tensor map here");
    return NULL;
  }
  return run->param + offset;
}

static bool read_map(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t address,
                     ptx_tensor_map *map) {
  const uint8_t *at = find_map(run, warp, op, lane, address);
  if (!at) return false;
  memcpy(map, at, sizeof *map);
  return map->magic == PTX_TENSOR_MAP_MAGIC ||
         ptx_fault_at(run, warp, op, lane, address, EMU_UNKNOWN, "no tensor map");
}

static int dimensions(const ptx_op *op) { return op->operand[1].count - 1; }

/* The row at from[1], from[2] from element from[0] on into the copy's bytes from `at` on, permuted;
 * what is outside stays zero. */
static bool copy_row(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane,
                     const ptx_tensor_map *map, const int64_t from[3], uint32_t at, uint8_t *data,
                     uint32_t bytes) {
  for (int d = 1; d < 3; d++)
    if (from[d] < 0 || from[d] >= (int64_t)map->extent[d]) return true;
  for (uint32_t piece = 0; piece < (uint32_t)map->box[0] << map->log2_bytes;
       piece += 1 << PIECE_BITS) {
    int64_t first = from[0] + (piece >> map->log2_bytes), n = (1 << PIECE_BITS) >> map->log2_bytes;
    if (first < 0 || first >= (int64_t)map->extent[0]) continue;
    if (n > (int64_t)map->extent[0] - first) n = (int64_t)map->extent[0] - first;
    uint64_t address =
        map->address + (uint64_t)from[1] * map->stride[0] + (uint64_t)from[2] * map->stride[1];
    address += (uint64_t)first << map->log2_bytes;
    size_t size = (size_t)n << map->log2_bytes;
    const emu_range *range = emu_memory_find(run->grid->memory, address, size);
    if (!range) {
      return ptx_fault_at(run, warp, op, lane, address, EMU_OUT_OF_RANGE,
                          "%zu bytes of a tensor's row", size);
    }
    uint32_t place = at + piece;
    place ^= (place >> SOURCE_BIT & ((1u << map->swizzle) - 1)) << PIECE_BITS;
    memcpy(data + place, emu_range_data(range, address), size);
    memcpy(data + bytes + place, emu_range_undefined(range, address), size);
  }
  return true;
}

/* The same bytes to other blocks of the cluster, of which the mask in operand 3 is. */
static bool copy_to_others(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint32_t to,
                           uint32_t bytes, uint64_t barrier, const uint8_t *data) {
  const uint64_t mask = op->n_operands > 3 ? warp->value[ptx_reg(op, 3, 0)][lane] : 0;
  for (int r = 0; mask >> r != 0 && r < PTX_MAX_CLUSTER; r++) {
    if (!(mask >> r & 1) || r == run->rank) continue;
    uint8_t *other = ptx_begin_bulk_far(run, warp, op, lane, r, barrier, to, bytes);
    if (!other) return false;
    memcpy(other, data, 2 * (size_t)bytes);
  }
  return op->n_operands <= 3 || mask >> run->rank & 1 ||
         ptx_fault(run, warp, op, lane, EMU_UNKNOWN, "a box that is not for the block itself");
}

static bool copy_box(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t to,
                     uint64_t map_address, uint64_t barrier) {
  ptx_tensor_map made, *map = &made;
  if (!read_map(run, warp, op, lane, map_address, map)) return false;
  if (map->rank != dimensions(op) || map->box[2] != 1 || op->choice[0] != dimensions(op) - 1) {
    return ptx_fault_at(run, warp, op, lane, map_address, EMU_UNKNOWN,
                        "%d coordinates of a tensor of %d dimensions", dimensions(op), map->rank);
  }
  uint32_t row = (uint32_t)map->box[0] << map->log2_bytes, bytes = row * map->box[1],
           offset = (uint32_t)(to & ~PTX_SHARED_WINDOW);
  if (offset % (map->swizzle ? 1u << (SOURCE_BIT + map->swizzle) : 128) != 0) {
    return ptx_fault_at(run, warp, op, lane, to, EMU_MISALIGNED,
                        "a box of which 2^%d pieces are permuted", map->swizzle);
  }
  if (!emu_shared_holds(&run->shared, offset, bytes)) {
    return ptx_fault_at(run, warp, op, lane, to, EMU_OUT_OF_RANGE, "a box of %u bytes", bytes);
  }
  uint8_t *data = ptx_begin_bulk(run, warp, op, lane, barrier, offset, bytes);
  if (!data) return false;
  int64_t from[3] = {0};
  for (int d = 0; d < dimensions(op); d++)
    from[d] = (int32_t)warp->value[ptx_reg(op, 1, 1 + d)][lane];
  for (uint32_t i = 0; i < map->box[1]; i++, from[1]++) {
    if (!copy_row(run, warp, op, lane, map, from, i * row, data, bytes)) return false;
  }
  if (!copy_to_others(run, warp, op, lane, offset, bytes, barrier, data)) return false;
  run->counters.global_loads++;
  run->counters.global_load_bytes += bytes;
  run->counters.global_load_sectors += bytes / EMU_SECTOR_BYTES;
  return true;
}

static bool run_copy_box(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes to, map, barrier;
  if (!ptx_addresses(run, warp, op, 0, mask, to) || !ptx_addresses(run, warp, op, 1, mask, map) ||
      !ptx_addresses(run, warp, op, 2, mask, barrier)) {
    return false;
  }
  for (int d = 0; d < dimensions(op); d++) {
    int reg = ptx_reg(op, 1, 1 + d);
    for (uint32_t rest = warp->state[reg] ? mask : 0; rest; rest &= rest - 1) {
      int lane = __builtin_ctz(rest);
      if ((uint32_t)ptx_undefined(warp, reg)[lane]) {
        return ptx_fault(run, warp, op, lane, EMU_UNDEFINED, "coordinate %d of a box", d);
      }
    }
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (!copy_box(run, warp, op, lane, to[lane], map[lane], barrier[lane])) return false;
  }
  return true;
}

/* The same row from shared memory to where the tensor has it; what is outside is left out. */
static bool send_row(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane,
                     const ptx_tensor_map *map, const int64_t to[3], uint64_t from, uint32_t at) {
  for (int d = 1; d < 3; d++)
    if (to[d] < 0 || to[d] >= (int64_t)map->extent[d]) return true;
  const uint64_t row =
      map->address + (uint64_t)to[1] * map->stride[0] + (uint64_t)to[2] * map->stride[1];
  for (uint32_t piece = 0; piece < (uint32_t)map->box[0] << map->log2_bytes;
       piece += 1 << PIECE_BITS) {
    int64_t first = to[0] + (piece >> map->log2_bytes), n = (1 << PIECE_BITS) >> map->log2_bytes;
    uint32_t place = at + piece;
    if (first < 0 || first >= (int64_t)map->extent[0]) continue;
    if (n > (int64_t)map->extent[0] - first) n = (int64_t)map->extent[0] - first;
    place ^= (place >> SOURCE_BIT & ((1u << map->swizzle) - 1)) << PIECE_BITS;
    for (int64_t i = 0; i < n; i++) {
      const int size = 1 << map->log2_bytes;
      const uint64_t address = row + ((uint64_t)(first + i) << map->log2_bytes);
      uint8_t *bits, *shadow;
      const uint8_t *source =
          ptx_locate(run, warp, op, lane, PTX_SHARED, from + place + (uint64_t)i * (uint64_t)size,
                     size, false, &bits);
      uint8_t *target =
          source ? ptx_locate(run, warp, op, lane, PTX_GLOBAL, address, size, true, &shadow) : NULL;
      if (!target) return false;
      for (int b = 0; b < size; b++)
        if (bits[b])
          return ptx_fault_at(run, warp, op, lane, address, EMU_UNDEFINED,
                              "bits 0x%x of what is stored are undefined", bits[b]);
      memcpy(target, source, (size_t)size);
      memset(shadow, 0, (size_t)size);
    }
  }
  return true;
}

static bool send_box(ptx_run *run, ptx_warp *warp, const ptx_op *op, int lane, uint64_t map_address,
                     uint64_t from) {
  ptx_tensor_map map;
  int64_t to[3] = {0};
  const int rank = op->operand[0].count - 1;
  if (!read_map(run, warp, op, lane, map_address, &map)) return false;
  if (map.rank != rank || map.box[2] != 1 || op->choice[0] != rank - 1)
    return ptx_fault_at(run, warp, op, lane, map_address, EMU_UNKNOWN,
                        "%d coordinates of a tensor of %d dimensions", rank, map.rank);
  if ((from & ~PTX_SHARED_WINDOW) % (map.swizzle ? 1u << (SOURCE_BIT + map.swizzle) : 128) != 0)
    return ptx_fault_at(run, warp, op, lane, from, EMU_MISALIGNED,
                        "a box of which 2^%d pieces are permuted", map.swizzle);
  for (int d = 0; d < rank; d++) to[d] = (int32_t)warp->value[ptx_reg(op, 0, 1 + d)][lane];
  const uint32_t row = (uint32_t)map.box[0] << map.log2_bytes;
  for (uint32_t i = 0; i < map.box[1]; i++, to[1]++)
    if (!send_row(run, warp, op, lane, &map, to, from & ~PTX_SHARED_WINDOW, i * row)) return false;
  run->counters.global_stores++;
  return true;
}

/* At once: nothing tells when the device does it, but that it has been read behind a wait. */
static bool run_send_box(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes map, from;
  if (!ptx_addresses(run, warp, op, 0, mask, map) || !ptx_addresses(run, warp, op, 1, mask, from))
    return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (!send_box(run, warp, op, lane, map[lane], from[lane])) return false;
  }
  return true;
}

static bool run_sent(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  (void)run, (void)warp, (void)op, (void)mask;
  return true;
}

/* A line of memory is fetched, whatever lies in it: tensors without elements have no map, and a
 * kernel copies nothing of them. */
static bool run_fetch_map(ptx_run *run, ptx_warp *warp, const ptx_op *op, uint32_t mask) {
  ptx_lanes address;
  if (!ptx_addresses(run, warp, op, 0, mask, address)) return false;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    if (!find_map(run, warp, op, lane, address[lane])) return false;
  }
  return true;
}

#define ROW(syntax, operands, execute, class) {syntax, operands, execute, NULL, NULL, class, 0}

const ptx_form ptx_tensor_forms[] = {
    ROW("cp async bulk tensor 2d|3d shared::cta|shared::cluster "
        "global ?tile mbarrier::complete_tx::bytes "
        "?multicast::cluster",
        "mbm?s", run_copy_box, PTX_MEMORY),
    ROW("cp async bulk tensor 2d|3d global shared::cta bulk_group", "bm", run_send_box, PTX_MEMORY),
    ROW("cp async bulk commit_group", "", run_sent, PTX_MEMORY),
    ROW("cp async bulk wait_group ?read", "i", run_sent, PTX_MEMORY),
    ROW("prefetch tensormap", "m", run_fetch_map, PTX_MEMORY),
    {0}};
