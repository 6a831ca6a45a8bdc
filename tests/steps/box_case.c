/* See box_case.h. Tensor 0 has rows, each of which a walk goes along: digit 0 is what a turn has of
 * a row, and the turn; digit 1 what a block has of the rows, and the block. Tensor 1 has the sums
 * of all turns, tensor 2 what dealt blocks tell each other. */
#include "box_case.h"

#include "base/bits.h"
#include "jit/plan/facts/access.h"
#include "jit/plan/facts/dot_shared.h"

enum { ALONG = 0, ACROSS = 1, SLOT_ALIGNMENT = 1024 };

typedef struct maker {
  uint64_t seed;
  step_case *c;
  plan_kernel *kernel;
  box_way way;
  llrt_dtype type, sum; /* of elements, of their sums */
  step_places places;
  int bits, n, along, across; /* of an element, the tile, digit 0, digit 1 */
  int swizzle, slots;
  int64_t turns, blocks;       /* upper positions of the digits */
  int64_t length, rows, pitch; /* of tensor 0 */
  bool landed;
} maker;

static plan_number number(int64_t value) { return (plan_number){.arg = -1, .value = value}; }

/* ---- what is where ---- */

/* Of a row that ends anywhere, but begins at 16 bytes: the box of a turn behind its end brings 0.
 */
static void choose(maker *m, const plan_target *target) {
  static const uint8_t types[] = {LLRT_F32, LLRT_F16, LLRT_BF16, LLRT_I8, LLRT_I32, LLRT_U32};
  m->type = (llrt_dtype)types[step_below(&m->seed, m->way == BOX_SETTLE ? 3 : 6)];
  m->sum = m->type == LLRT_U32                         ? LLRT_U32
           : m->type == LLRT_I8 || m->type == LLRT_I32 ? LLRT_I32
                                                       : LLRT_F32;
  m->bits = llrt_dtype_bits(m->type);
  m->places = (step_places){
      .registers = 2 + step_below(&m->seed, 3), .lanes = target->lane_bits, .warps = 2};
  m->n = step_place_bits(&m->places);
  m->swizzle = step_below(&m->seed, 4);
  int row = bits_log2((128 << m->swizzle) / m->bits);
  m->along = row + step_below(&m->seed, 2);
  m->across = m->n - m->along;
  m->slots = 2 + step_below(&m->seed, 3);
  bool dealt = m->way == BOX_SETTLE; /* positions that blocks share */
  m->turns = (dealt ? 3 : 1) + step_below(&m->seed, 4);
  m->blocks = (dealt ? 2 : 1) + step_below(&m->seed, 3);
  m->landed = m->way == BOX_LANDED || (m->way == BOX_SETTLE && step_once_in(&m->seed, 2));
  m->length = (m->turns << m->along) - step_below(&m->seed, 1 << m->along);
  m->rows = (m->blocks << m->across) - step_below(&m->seed, 1 << m->across);
  int64_t unit = 128 / m->bits;
  m->pitch = (m->length + unit - 1) / unit * unit + unit * step_below(&m->seed, 3);
}

static void make_digit(maker *m, int d, int bits, int64_t upper) {
  plan_kernel *kernel = m->kernel;
  kernel->digit[d] = (plan_digit){
      .axis = (int8_t)d, .bits = (uint8_t)bits, .rest = true, .step = 1, .upper = number(upper)};
  for (int t = 0; t < 2; t++)
    kernel->digit[d].side[t] = (plan_digit_side){
        .kind = d == ALONG ? PLAN_COLUMNS : PLAN_STRIDE,
        .stride = number(d == ALONG ? (t == 0 ? (int64_t)1 << bits : 0)
                                    : (t == 0 ? m->pitch : (int64_t)1 << m->along))};
  for (int t = 0; t < 2 && d == ALONG; t++)
    for (int b = 0; b < bits; b++) kernel->column[t][b] = 1ull << b;
}

static plan_place place_of(int digit, int64_t count) {
  return (plan_place){.digit = (int8_t)digit,
                      .count = number(count),
                      .magic = {.arg = -1},
                      .magic_shift = {.arg = -1}};
}

static void make_space(maker *m) {
  plan_kernel *kernel = m->kernel;
  plan_launch *launch = &kernel->launch;
  kernel->n_digits = 2;
  make_digit(m, ALONG, m->along, m->turns);
  make_digit(m, ACROSS, m->across, m->blocks);
  kernel->space = llrt_layout_empty();
  llrt_layout_add_out(&kernel->space, "d0", m->along);
  llrt_layout_add_out(&kernel->space, "d1", m->across);
  llrt_layout_add_in(&kernel->space, "tile", m->n);
  llrt_layout_add_in(&kernel->space, "grid", 0);
  for (int i = 0; i < m->n; i++) kernel->space.column[i] = 1ull << i;
  kernel->place[kernel->n_places++] = place_of(ACROSS, m->blocks);
  launch->grid[launch->n_grid++] = (plan_grid_place){.axis = -1, .factor = m->blocks};
  kernel->walk = (plan_turns){.n_places = 1,
                              .split = -1,
                              .turns = number(m->turns),
                              .share = number(m->turns),
                              .down = step_once_in(&m->seed, 3)};
  kernel->walk.place[0] = place_of(ALONG, m->turns);
  launch->walk = (plan_walk){.n = 1,
                             .axes = 1 << ALONG,
                             .place = {{.axis = -1, .factor = m->turns}},
                             .least = 1 + step_below(&m->seed, 2)};
  m->c->tensor[0].elements = (m->rows - 1) * m->pitch + m->length;
  m->c->tensor[1].elements = m->blocks << m->n;
}

static void add_bound(maker *m, int d, int bits, int64_t limit) {
  m->kernel->bound[m->kernel->n_bounds++] = (plan_bound){.axis = (int8_t)d,
                                                         .top = (int8_t)d,
                                                         .tensors = 1,
                                                         .limit = number(limit),
                                                         .full = number(limit >> bits)};
}

static void make_box(maker *m) {
  plan_box *box = &m->kernel->launch.box[m->kernel->launch.n_boxes];
  int bytes = m->bits / 8;
  *box = (plan_box){.bytes = (uint8_t)bits_log2(bytes),
                    .swizzle = (uint8_t)m->swizzle,
                    .size = {(uint16_t)((16 << m->swizzle) / bytes), (uint16_t)(1 << m->across)},
                    .address = {.arg = 0},
                    .extent = {number(m->length), number(m->rows)},
                    .stride = {number(m->pitch)}};
  m->kernel->box_axis[m->kernel->launch.n_boxes][0] = ALONG;
  m->kernel->box_axis[m->kernel->launch.n_boxes++][1] = ACROSS;
  add_bound(m, ALONG, m->along, m->length);
  add_bound(m, ACROSS, m->across, m->rows);
}

/* ---- rings ---- */

static int add_ring(maker *m) {
  plan_kernel *kernel = m->kernel;
  int number = kernel->n_buffers++;
  plan_buffer *buffer = &kernel->buffer[number];
  *buffer = (plan_buffer){.bits = (uint8_t)m->bits,
                          .bytes = (m->bits << m->n) / 8,
                          .slots = (uint8_t)m->slots,
                          .offset = number ? plan_buffer_end(&kernel->buffer[number - 1]) : 0,
                          .layout = llrt_layout_empty()};
  llrt_layout_add_out(&buffer->layout, "tile", m->n);
  llrt_layout_add_in(&buffer->layout, "offset", m->n);
  llrt_layout_add_in(&buffer->layout, "repetition", 0);
  llrt_layout_add_in(&buffer->layout, "block", 0);
  return number;
}

/* Row after row of each box, box after box along the rows, pieces of 16 bytes permuted. */
static int add_box_ring(maker *m) {
  int number = add_ring(m), bytes = bits_log2(m->bits / 8), row = 4 + m->swizzle - bytes;
  uint64_t *column = m->kernel->buffer[number].layout.column;
  for (int i = 0; i < m->n; i++) {
    uint64_t plain = dot_shared_permuted(1ull << (i + bytes), m->swizzle) >> bytes;
    uint64_t across = plain >> row & bits_mask(m->across);
    uint64_t along = (plain & bits_mask(row)) | plain >> (row + m->across) << row;
    column[i] = along | across << m->along;
  }
  return number;
}

static int add_value(maker *m, int bits) {
  uint64_t matrix[LLRT_MAX_BITS];
  step_random_matrix(&m->seed, m->n, 0, step_once_in(&m->seed, 2), matrix);
  plan_value value = step_value(&m->places, matrix, bits, 0);
  return step_add_value(m->c, &value);
}

static int add_like(maker *m, int value) {
  plan_value like = m->kernel->value[value];
  return step_add_value(m->c, &like);
}

/* ---- steps ---- */

static void move_shared(maker *m, bool load, int value, int ring) {
  step_add(m->c, (plan_step){.kind = load ? PLAN_SHARED_LOAD : PLAN_SHARED_STORE,
                             .buffer = (uint8_t)ring,
                             .in = (uint8_t)(load ? 0 : value),
                             .out = (uint8_t)(load ? value : 0)});
}

/* Elements change their sign on the way from ring to ring. */
static void work_on_boxes(maker *m, int from, int to) {
  plan_kernel *kernel = m->kernel;
  int landed = add_value(m, m->bits), made = add_like(m, landed);
  int number = kernel->n_maps++;
  kernel->map[number] = (plan_map){.kind = PLAN_MAP_XOR,
                                   .from = (uint8_t)m->type,
                                   .to = (uint8_t)m->type,
                                   .constant = 1ull << (m->bits - 1)};
  step_add(m->c, (plan_step){.kind = PLAN_LANDED, .turns = step_below(&m->seed, m->slots)});
  move_shared(m, true, landed, from);
  step_add(m->c, (plan_step){.kind = PLAN_MAP,
                             .map = (uint8_t)number,
                             .in = (uint8_t)landed,
                             .out = (uint8_t)made});
  move_shared(m, false, made, to);
}

/* Fills the slots of the turn; returns the ring that is summed from. */
static int produce(maker *m) {
  int ring = add_box_ring(m), copied = add_value(m, m->bits), made = m->landed ? add_ring(m) : ring;
  if (m->landed)
    step_random_matrix(&m->seed, m->n, 0, step_once_in(&m->seed, 3),
                       m->kernel->buffer[made].layout.column);
  step_add(m->c, (plan_step){.kind = PLAN_PRODUCE, .body = (uint8_t)(m->landed ? 5 : 1)});
  step_add(m->c, (plan_step){.kind = PLAN_COPY,
                             .box = 1,
                             .buffer = (uint8_t)ring,
                             .in = (uint8_t)copied,
                             .masked = true});
  if (m->landed) work_on_boxes(m, ring, made);
  return made;
}

static plan_step combining(const maker *m, plan_step_kind kind, int in, int out) {
  return (plan_step){.kind = (uint8_t)kind,
                     .combiner = LLRT_COMBINE_SUM,
                     .type = (uint8_t)m->sum,
                     .in = (uint8_t)in,
                     .out = (uint8_t)out};
}

/* The turn's elements in the type that they are summed in. */
static int load_turn(maker *m, int ring, int like) {
  plan_kernel *kernel = m->kernel;
  int wide = add_like(m, like), loaded = wide;
  if (m->sum != m->type) {
    loaded = add_like(m, like);
    kernel->value[loaded].bits = (uint8_t)m->bits;
  }
  move_shared(m, true, loaded, ring);
  if (m->sum == m->type) return loaded;
  kernel->map[kernel->n_maps] =
      (plan_map){.kind = PLAN_MAP_CAST, .from = (uint8_t)m->type, .to = (uint8_t)m->sum};
  step_add(m->c, (plan_step){.kind = PLAN_MAP,
                             .map = (uint8_t)kernel->n_maps++,
                             .in = (uint8_t)loaded,
                             .out = (uint8_t)wide});
  return wide;
}

static int sum_turns(maker *m) {
  int first = add_value(m, 32), carried = add_like(m, first), made = add_like(m, first);
  step_add(m->c, combining(m, PLAN_FILL, 0, first));
  step_add(m->c, (plan_step){.kind = PLAN_ROLES});
  plan_step *walk =
      step_add(m->c, (plan_step){.kind = PLAN_WALK, .in = (uint8_t)first, .out = (uint8_t)carried});
  int ring = produce(m);
  step_add(m->c, (plan_step){.kind = PLAN_FILLED});
  int loaded = load_turn(m, ring, first);
  plan_step join = combining(m, PLAN_JOIN, carried, made);
  join.with = (uint8_t)loaded;
  step_add(m->c, join);
  step_add(m->c, (plan_step){.kind = PLAN_RELEASE,
                             .turns = step_below(&m->seed, m->slots),
                             .in = (uint8_t)made,
                             .out = (uint8_t)made});
  walk->body = (uint8_t)(&m->kernel->step[m->kernel->n_steps - 1] - walk);
  return carried;
}

/* ---- what is dealt ---- */

static plan_number address_in_cells(maker *m, int64_t bytes) {
  plan_launch *launch = &m->kernel->launch;
  launch->arg[launch->n_args] = (plan_arg){.kind = PLAN_ARG_ADDRESS, .tensor = 2, .factor = bytes};
  return (plan_number){.arg = launch->n_args++};
}

/* Flags and the counter, then cells: all 0 before and after. */
static void deal_turns(maker *m) {
  plan_kernel *kernel = m->kernel;
  int dealt = 2 + step_below(&m->seed, 5);
  int64_t flags = 8 * (dealt + 1), cells = (flags + 15) & -16;
  kernel->launch.rounds = 1;
  kernel->launch.dealt = dealt;
  kernel->positions = number(m->blocks);
  kernel->deal = (plan_deal){
      .used = true, .flags = address_in_cells(m, 0), .cells = address_in_cells(m, cells)};
  m->c->tensor[2] =
      (step_tensor){.bits = 64, .elements = (cells + ((4ll << m->n) * dealt)) / 8, .range = 1};
}

static void store_sums(maker *m, int sums) {
  plan_kernel *kernel = m->kernel;
  plan_step store = {.kind = PLAN_STORE, .tensor = STEP_DESTINATION, .in = (uint8_t)sums};
  if (m->way == BOX_SETTLE) {
    int settled = add_like(m, sums);
    step_add(
        m->c,
        (plan_step){.kind = PLAN_SETTLE, .in = (uint8_t)sums, .out = (uint8_t)settled, .body = 1});
    store.in = (uint8_t)settled;
  }
  step_add(m->c, store);
  step_finish(m->c);
  if (m->way != BOX_SETTLE) return;
  kernel->deal.place = kernel->launch.shared_bytes;
  kernel->launch.shared_bytes += PLAN_DEAL_BYTES;
}

bool box_case_make(step_case *c, const plan_target *target, box_way way) {
  maker m = {.seed = c->seed, .c = c, .kernel = &c->kernel, .way = way};
  int tensors = way == BOX_SETTLE ? 3 : 2;
  for (int t = 0; t < STEP_TENSORS; t++) c->tensor[t] = (step_tensor){.bits = 0};
  if (!target->async_copies || !target->facts.early_launches) return false;
  choose(&m, target);
  if (m.across < 3 || m.across > 8 || (m.bits << m.n) / 8 % SLOT_ALIGNMENT != 0) return false;
  c->tensor[0] = (step_tensor){.bits = m.bits, .numbers = (uint8_t)m.type};
  c->tensor[1] = (step_tensor){.bits = 32, .numbers = (uint8_t)m.sum};
  c->tensor[2].bits = way == BOX_SETTLE ? 64 : 0;
  step_begin(c, target, tensors, &m.places);
  make_space(&m);
  make_box(&m);
  if (way == BOX_SETTLE) deal_turns(&m);
  m.kernel->slots = (uint8_t)m.slots;
  m.kernel->producers = (uint8_t)(1 << step_below(&m.seed, 3));
  store_sums(&m, sum_turns(&m));
  return m.kernel->launch.shared_bytes <= target->facts.shared_bytes;
}
