/* Steps of a plan, as rows make them. */
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "recipe/plan.h"

#include <stdlib.h>

void *plan_append(plan_array *array, size_t bytes) {
  if (array->n == array->capacity) {
    int capacity = array->capacity ? 2 * array->capacity : 16;
    void *grown = memory_resize(array->data, (size_t)capacity * bytes);
    if (!grown) return NULL;
    array->data = grown;
    array->capacity = capacity;
  }
  return memset((char *)array->data + (size_t)array->n++ * bytes, 0, bytes);
}

static llrt_status no_memory(void) {
  return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
}

const char *plan_text(llrt_repack *plan, span text) {
  char *copy = memory_new(text.length + 1);
  char **kept = copy ? plan_append(&plan->texts, sizeof *kept) : NULL;
  if (!kept) {
    free(copy);
    return NULL;
  }
  if (text.length) memcpy(copy, text.text, text.length);
  copy[text.length] = 0;
  *kept = copy;
  return copy;
}

/* ---- steps and their tensors ---- */

llrt_status plan_step_begin(llrt_repack *plan, int row) {
  step_range *range = plan_append(&plan->ranges, sizeof *range);
  llrt_repack_step *step = range ? plan_append(&plan->steps, sizeof *step) : NULL;
  if (!step) return no_memory();
  step->row = row;
  *range = (step_range){.used = plan->used.n,
                        .made = plan->made.n,
                        .move = plan->moves.n,
                        .schedule = {.first_word = plan->words}};
  return LLRT_OK;
}

llrt_status plan_step_uses(llrt_repack *plan, int number) {
  int32_t *used = plan_append(&plan->used, sizeof *used);
  if (!used) return no_memory();
  *used = number;
  PLAN_AT(*plan_checkpoint(plan), llrt_repack_tensor, number)->step = plan->steps.n - 1;
  return LLRT_OK;
}

llrt_status plan_step_makes(llrt_repack *plan, const llrt_repack_tensor *tensor, int *number) {
  plan_array *engine = plan_engine(plan);
  int32_t *made = plan_append(&plan->made, sizeof *made);
  llrt_repack_tensor *kept = made ? plan_append(engine, sizeof *kept) : NULL;
  if (!kept) return no_memory();
  *kept = *tensor;
  kept->step = plan->steps.n - 1;
  kept->place = -1;
  *made = *number = engine->n - 1;
  return LLRT_OK;
}

static repack_move *add_move(llrt_repack *plan, repack_kind kind, int in, int out) {
  repack_move *move = plan_append(&plan->moves, sizeof *move);
  if (move) *move = (repack_move){.kind = kind, .of_class = -1, .in = in, .out = out};
  return move;
}

static llrt_repack_step *current(llrt_repack *plan) {
  return PLAN_AT(plan->steps, llrt_repack_step, plan->steps.n - 1);
}

static void needs(llrt_repack *plan, size_t workspace) {
  llrt_repack_step *step = current(plan);
  if (step->workspace < workspace) step->workspace = workspace;
}

/* ---- conversions ---- */

/* Casts that lose nothing: every number of `from` is one of `to`. */
static bool is_wider(llrt_dtype from, llrt_dtype to) {
  bool half = from == LLRT_F16 || from == LLRT_BF16;
  bool eight = from == LLRT_E4M3 || from == LLRT_E5M2 || from == LLRT_E2M1;
  if (to == LLRT_F64) return half || eight || from == LLRT_F32;
  if (to == LLRT_F32) return half || eight;
  return (to == LLRT_F16 || to == LLRT_BF16) && eight;
}

static llrt_status check_inverse(const plan_pair *pair) {
  bool cast = pair->from_dtype != pair->to_dtype;
  if (cast && !is_wider(pair->from_dtype, pair->to_dtype))
    return llrt_error(LLRT_UNSUPPORTED, "the row has no inverse: it casts %s to %s",
                      llrt_dtype_name(pair->from_dtype), llrt_dtype_name(pair->to_dtype));
  for (int i = 0; pair->maps && cast && i < pair->maps->n; i++)
    return llrt_error(LLRT_UNSUPPORTED, "the row has no inverse: it casts, and maps bits");
  return LLRT_OK;
}

/* The byte at which an image begins. */
static llrt_status offset_of(const storage_image *image, llrt_dtype dtype, int64_t *bytes) {
  int bits = llrt_dtype_bits(dtype);
  *bytes = image->offset / 8 * bits + image->offset % 8 * bits / 8;
  if (image->offset * bits % 8)
    return llrt_error(LLRT_UNSUPPORTED, "a part begins inside of a byte");
  return LLRT_OK;
}

static int32_t alignment_of(int64_t offset) { return (int32_t)((offset | 64) & -(offset | 64)); }

/* The class of a move from `from` to `to`, without maps. */
static llrt_status class_of(const plan_pair *pair, bool inverse, repack_class *class) {
  const storage_image *from = inverse ? &pair->to : &pair->from,
                      *to = inverse ? &pair->from : &pair->to;
  memset(class, 0, sizeof *class);
  class->from = inverse ? pair->to_dtype : pair->from_dtype;
  class->to = inverse ? pair->from_dtype : pair->to_dtype;
  class->rank = pair->rank;
  memcpy(class->shape, pair->shape, sizeof class->shape);
  LLRT_TRY(image_storage(from, pair->rank, &class->source));
  return image_storage(to, pair->rank, &class->destination);
}

/* Undoes the bits of words of one of the engine's tensors, into the workspace. */
static llrt_status unscramble(llrt_repack *plan, int engine, const llrt_map *map) {
  size_t bytes = PLAN_AT(plan->inputs, llrt_repack_tensor, engine)->bytes;
  repack_class class;
  memset(&class, 0, sizeof class);
  class.from = class.to = LLRT_B32;
  class.rank = class.n_maps = 1;
  class.shape[0] = (int64_t)(bytes / 4);
  class.source_alignment = class.destination_alignment = alignment_of(0);
  class.map[0].kind = LLRT_MAP_WORD_BITS;
  for (int i = 0; i < 32; i++) class.map[0].perm[map->perm[i]] = (uint8_t)i;
  if (bytes % 4) return llrt_error(LLRT_UNSUPPORTED, "a tensor that is not of whole words");
  LLRT_TRY(llrt_storage_row_major(1, &class.source));
  class.destination = class.source;
  repack_move *move = add_move(plan, REPACK_CONVERT, engine, REPACK_WORKSPACE);
  if (!move) return no_memory();
  needs(plan, bytes);
  move->bytes = (int64_t)bytes;
  return plan_class(plan, &class, &move->of_class);
}

/* Sets the class's maps, and for an inverse *scrambled: what is first to be undone. */
static void take_maps(const plan_pair *pair, bool inverse, repack_class *class,
                      const llrt_map **scrambled) {
  *scrambled = NULL;
  for (int i = 0; pair->maps && i < pair->maps->n; i++) {
    const llrt_map *map = &pair->maps->map[i];
    if (inverse && map->kind == LLRT_MAP_WORD_BITS) *scrambled = map;
    else class->map[class->n_maps++] = *map;
  }
}

/* The move in place, or through the workspace, where the plan and the tensors are for that. */
static llrt_status settle_place(llrt_repack *plan, const plan_pair *pair, repack_class *class,
                                repack_move *move, bool scrambled) {
  llrt_repack_tensor *in = PLAN_AT(plan->inputs, llrt_repack_tensor, move->in);
  llrt_repack_tensor *out = PLAN_AT(plan->outputs, llrt_repack_tensor, move->out);
  bool shared = plan->in_place && plan->device && pair->whole && out->bytes <= in->bytes;
  if (shared) out->place = move->in;
  if (shared && !scrambled && in->bytes == out->bytes && class->from == class->to) {
    class->in_place = 1;
    LLRT_TRY(plan_class(plan, class, &move->of_class));
    if (!(*PLAN_AT(plan->classes, repack_class *, move->of_class))->refused) return LLRT_OK;
    class->in_place = 0;
  }
  LLRT_TRY(plan_class(plan, class, &move->of_class));
  if (!shared || scrambled) return LLRT_OK; /* what was scrambled is read from the workspace */
  repack_move back = {.kind = REPACK_COPY,
                      .of_class = -1,
                      .in = REPACK_WORKSPACE,
                      .out = move->out,
                      .bytes = (int64_t)out->bytes};
  move->out = REPACK_WORKSPACE;
  needs(plan, out->bytes);
  repack_move *added = plan_append(&plan->moves, sizeof *added);
  if (!added) return no_memory();
  *added = back;
  return LLRT_OK;
}

/* A tensor whose bytes stay as they are. */
static llrt_status copies(llrt_repack *plan, const plan_pair *pair) {
  repack_move *move = add_move(plan, REPACK_COPY, plan->inverse ? pair->engine : pair->checkpoint,
                               plan->inverse ? pair->checkpoint : pair->engine);
  if (!move) return no_memory();
  llrt_repack_tensor *out = PLAN_AT(plan->outputs, llrt_repack_tensor, move->out);
  move->bytes = (int64_t)out->bytes;
  if (plan->in_place) out->place = move->in;
  return LLRT_OK;
}

/* In place by parts, where both tensors have as many bytes. */
static llrt_status settle_parts(llrt_repack *plan, const plan_pair *pair, const repack_class *class,
                                bool *done) {
  int in = plan->inverse ? pair->engine : pair->checkpoint,
      out = plan->inverse ? pair->checkpoint : pair->engine;
  llrt_repack_tensor *made = PLAN_AT(plan->outputs, llrt_repack_tensor, out);
  size_t workspace = 0;
  *done = false;
  if (made->bytes != PLAN_AT(plan->inputs, llrt_repack_tensor, in)->bytes) return LLRT_OK;
  LLRT_TRY(plan_in_parts(plan, class, in, out, &workspace, done));
  if (!*done) return LLRT_OK;
  made->place = in;
  needs(plan, workspace);
  return LLRT_OK;
}

llrt_status plan_step_moves(llrt_repack *plan, const plan_pair *pair) {
  bool inverse = plan->inverse;
  int64_t checkpoint, engine;
  const llrt_map *scrambled;
  repack_class class;
  if (inverse) LLRT_TRY(check_inverse(pair));
  LLRT_TRY(class_of(pair, inverse, &class));
  LLRT_TRY(offset_of(&pair->from, pair->from_dtype, &checkpoint));
  LLRT_TRY(offset_of(&pair->to, pair->to_dtype, &engine));
  class.source_alignment = alignment_of(inverse ? engine : checkpoint);
  class.destination_alignment = alignment_of(inverse ? checkpoint : engine);
  take_maps(pair, inverse, &class, &scrambled);
  if (pair->whole && class.n_maps == 0 && !scrambled && class.from == class.to &&
      llrt_storage_equal(&class.source, &class.destination))
    return copies(plan, pair);
  if (!scrambled && plan->in_place && plan->on_host && pair->whole) {
    bool done;
    LLRT_TRY(settle_parts(plan, pair, &class, &done));
    if (done) return LLRT_OK;
  }
  if (scrambled) LLRT_TRY(unscramble(plan, pair->engine, scrambled));
  repack_move *move = add_move(plan, REPACK_CONVERT, inverse ? pair->engine : pair->checkpoint,
                               inverse ? pair->checkpoint : pair->engine);
  if (!move) return no_memory();
  move->in_offset = inverse ? engine : checkpoint;
  move->out_offset = inverse ? checkpoint : engine;
  repack_move settled = *move;
  int at = plan->moves.n - 1;
  LLRT_TRY(settle_place(plan, pair, &class, &settled, scrambled != NULL));
  if (scrambled) settled.in = REPACK_WORKSPACE;
  *PLAN_AT(plan->moves, repack_move, at) = settled;
  return LLRT_OK;
}

llrt_status plan_step_brings(llrt_repack *plan, const plan_arg_image *from,
                             const plan_arg_image *to) {
  plan_pair pair = {.from = from->image,
                    .to = to->image,
                    .from_dtype = from->dtype,
                    .to_dtype = to->dtype,
                    .rank = to->rank};
  repack_class class;
  int64_t offset;
  memcpy(pair.shape, to->shape, sizeof pair.shape);
  pair.to.pads = true;
  LLRT_TRY(class_of(&pair, false, &class));
  LLRT_TRY(offset_of(&to->image, to->dtype, &offset));
  class.source_alignment = alignment_of(from->offset);
  class.destination_alignment = alignment_of(offset);
  repack_move *move = add_move(plan, REPACK_CONVERT, REPACK_WORDS, to->tensor);
  if (!move) return no_memory();
  move->in_offset = from->offset;
  move->out_offset = offset;
  return plan_class(plan, &class, &move->of_class);
}

/* ---- what is no conversion ---- */

llrt_status plan_step_sets(llrt_repack *plan, int engine, int value) {
  if (plan->inverse) return LLRT_OK;
  repack_move *move = add_move(plan, REPACK_SET, REPACK_WORKSPACE, engine);
  if (!move) return no_memory();
  move->value = value;
  move->bytes = (int64_t)PLAN_AT(plan->outputs, llrt_repack_tensor, engine)->bytes;
  return LLRT_OK;
}

/* The description of `out = number` for all elements of an output. */
static llrt_status prepare_fill(llrt_repack *plan, const llrt_repack_tensor *out, double number) {
  llrt_tensor tensor;
  llrt_op_desc *desc = NULL;
  repack_fill_tensor(plan, out, (void *)(uintptr_t)16, &tensor);
  llrt_arg args[2] = {{.name = "a", .number = number}, {.name = "y", .tensor = &tensor}};
  LLRT_TRY(llrt_compute_describe(plan->fill, args, 2, NULL, &desc));
  llrt_op **op = plan_append(&plan->fills, sizeof *op);
  llrt_status status = op ? llrt_op_promise_coarse(desc) : no_memory();
  if (!status) status = llrt_op_prepare(plan->device, desc, op);
  llrt_op_desc_destroy(&desc);
  return status;
}

void repack_fill_tensor(const llrt_repack *plan, const llrt_repack_tensor *out, void *data,
                        llrt_tensor *tensor) {
  *tensor = (llrt_tensor){.data = data, .dtype = out->dtype, .rank = 1, .device = plan->device};
  tensor->shape[0] = 1;
  for (int i = 0; i < out->rank; i++) tensor->shape[0] *= out->shape[i];
}

llrt_status plan_step_fills(llrt_repack *plan, int engine, double number) {
  repack_move *move = add_move(plan, REPACK_FILL, REPACK_WORKSPACE, engine);
  if (!move) return no_memory();
  const llrt_repack_tensor *out = PLAN_AT(plan->outputs, llrt_repack_tensor, engine);
  move->number = number;
  move->bytes = (int64_t)out->bytes;
  if (!plan->fill) LLRT_TRY(llrt_expr_parse("(a: f64) -> (y[n]) { y = a }", &plan->fill));
  return plan->device ? prepare_fill(plan, out, number) : LLRT_OK;
}

llrt_status plan_keeps(llrt_repack *plan, int number) {
  int engine;
  llrt_repack_tensor kept = *PLAN_AT(*plan_checkpoint(plan), llrt_repack_tensor, number);
  LLRT_TRY(plan_step_begin(plan, -1));
  LLRT_TRY(plan_step_uses(plan, number));
  LLRT_TRY(plan_step_makes(plan, &kept, &engine));
  repack_move *move =
      add_move(plan, REPACK_COPY, plan->inverse ? engine : number, plan->inverse ? number : engine);
  if (!move) return no_memory();
  move->bytes = (int64_t)kept.bytes;
  if (plan->in_place) PLAN_AT(plan->outputs, llrt_repack_tensor, move->out)->place = move->in;
  plan_step_end(plan);
  return LLRT_OK;
}

/* ---- ends ---- */

/* Bytes that a conversion moves on one side: its elements'. */
static uint64_t moved_bytes(const llrt_repack *plan, const repack_move *move, bool read) {
  if (move->kind == REPACK_COMPUTE)
    return program_bytes(*PLAN_AT(plan->programs, repack_program *, move->of_class), read,
                         PLAN_AT(plan->args, repack_arg, move->args));
  if (move->kind != REPACK_CONVERT)
    return read && move->kind != REPACK_COPY ? 0 : (uint64_t)move->bytes;
  const repack_class *class = *PLAN_AT(plan->classes, repack_class *, move->of_class);
  uint64_t n = 1;
  for (int i = 0; i < class->rank; i++) n *= (uint64_t)class->shape[i];
  return n * (uint64_t)llrt_dtype_bits(read ? class->from : class->to) / 8;
}

bool plan_stays(const llrt_repack *plan, const repack_move *move) {
  return move->kind == REPACK_COPY && move->in >= 0 && move->out >= 0 && plan->in_place;
}

void plan_step_end(llrt_repack *plan) {
  llrt_repack_step *step = current(plan);
  step_range *range = PLAN_AT(plan->ranges, step_range, plan->ranges.n - 1);
  range->schedule.words = plan->words - range->schedule.first_word;
  int used = plan->used.n - range->used, made = plan->made.n - range->made;
  step->n_inputs = plan->inverse ? made : used;
  step->n_outputs = plan->inverse ? used : made;
  for (int i = range->move; i < plan->moves.n; i++) {
    const repack_move *move = PLAN_AT(plan->moves, repack_move, i);
    if (plan_stays(plan, move)) continue;
    step->bytes_read += moved_bytes(plan, move, true);
    step->bytes_written += moved_bytes(plan, move, false);
  }
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static llrt_status check_names(const plan_array *tensors) {
  const char **names = memory_zeroed((size_t)tensors->n + 1, sizeof *names);
  llrt_status status = names ? LLRT_OK : no_memory();
  for (int i = 0; names && i < tensors->n; i++)
    names[i] = PLAN_AT(*tensors, llrt_repack_tensor, i)->name;
  if (names) qsort(names, (size_t)tensors->n, sizeof *names, by_name);
  for (int i = 1; names && i < tensors->n && !status; i++)
    if (strcmp(names[i - 1], names[i]) == 0)
      status = llrt_error(LLRT_INVALID_ARGUMENT, "two tensors would be called %s", names[i]);
  free(names);
  return status;
}

llrt_status plan_seal(llrt_repack *plan) {
  llrt_repack_info *info = &plan->info;
  *info = (llrt_repack_info){
      .n_inputs = plan->inputs.n, .n_outputs = plan->outputs.n, .n_steps = plan->steps.n};
  for (int s = 0; s < plan->steps.n; s++) {
    llrt_repack_step *step = PLAN_AT(plan->steps, llrt_repack_step, s);
    const step_range *range = PLAN_AT(plan->ranges, step_range, s);
    const int32_t *used = PLAN_AT(plan->used, int32_t, range->used),
                  *made = PLAN_AT(plan->made, int32_t, range->made);
    step->inputs = plan->inverse ? made : used;
    step->outputs = plan->inverse ? used : made;
    info->bytes_read += step->bytes_read;
    info->bytes_written += step->bytes_written;
  }
  LLRT_TRY(check_names(plan_engine(plan)));
  return plan_schedule(plan);
}
