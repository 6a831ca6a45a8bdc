/* Plans: what the recipe makes of every tensor, and which files the results lie in. */
#include "tools/model/repack.h"

#include "tools/common/library_says.h"
#include "tools/model/original.h"
#include "tools/model/digest.h"
#include "tools/model/repack_parts.h"

#include <stdlib.h>
#include <string.h>

llrt_named_tensor repack_describe(const char *name, const file_type *type, int32_t rank,
                                  const int64_t *shape) {
  llrt_named_tensor t = {.name = name, .dtype = type->dtype, .rank = rank};
  memcpy(t.shape, shape, (size_t)rank * sizeof *shape);
  if (type->dtype != LLRT_DTYPE_NONE) return t;
  t.dtype = LLRT_U8;
  if (rank == 0) t.shape[t.rank++] = 1;
  int64_t *last = &t.shape[t.rank - 1];
  if (*last % type->elements == 0) {
    *last = *last / type->elements * type->bytes;
  } else { /* blocks that go on from row to row */
    uint64_t bytes;
    bool large;
    (void)file_type_bytes(type, rank, shape, &bytes, &large);
    t.rank = 1;
    t.shape[0] = (int64_t)bytes;
  }
  return t;
}

/* ---- plans ---- */

static bool bind_plan(const repack_request *request, const original *given, int rank, bool inverse,
                      llrt_repack **plan, array_error *error) {
  llrt_named_tensor *in = calloc(given->n_tensors + 1, sizeof *in);
  if (!in) return array_fail(error, "no memory for the tensors");
  for (size_t i = 0; i < given->n_tensors; i++) {
    const original_tensor *t = &given->tensor[i];
    in[i] = repack_describe(t->name, t->type, t->rank, t->shape);
  }
  const llrt_recipe_params params = {.size = sizeof params,
                                     .config = request->config,
                                     .config_bytes = request->config_bytes,
                                     .tp = request->tp,
                                     .rank = rank,
                                     .inverse = inverse};
  llrt_status status =
      llrt_recipe_bind(request->device, request->recipe, in, (int)given->n_tensors, &params, plan);
  free(in);
  return status == LLRT_OK || array_fail(error, "%.400s", library_says());
}

/* Whether a file's type is a plan's, or of its bits where those may be of any type. */
static bool is_type(llrt_dtype found, llrt_dtype wanted) {
  bool any = wanted >= LLRT_B4 && wanted <= LLRT_B128;
  return found == wanted || (any && found && llrt_dtype_bits(found) == llrt_dtype_bits(wanted));
}

/* Looks a plan's inputs up in the model, whose file may say something else of them. */
static bool find_inputs(const model *from, repack_rank *rank, array_error *error) {
  for (int i = 0; llrt_repack_input(rank->plan, i); i++) {
    const llrt_repack_tensor *wanted = llrt_repack_input(rank->plan, i);
    if (wanted->step < 0) continue;
    const model_tensor *t = model_find(from, wanted->name);
    if (!t) return array_fail(error, "there is no tensor '%.64s'", wanted->name);
    llrt_named_tensor is = repack_describe(t->name, t->type, t->rank, t->shape);
    if (t->bytes != wanted->bytes || !is_type(is.dtype, wanted->dtype) || is.rank != wanted->rank ||
        memcmp(is.shape, wanted->shape, (size_t)is.rank * sizeof *is.shape) != 0)
      return array_fail(error, "'%.64s' is no %s of the shape that the recipe makes", t->name,
                        llrt_dtype_name(wanted->dtype));
    rank->in[i] = t;
  }
  return true;
}

static bool bind_rank(const repack_request *request, const original *given, int number, repack *r,
                      array_error *error) {
  repack_rank *rank = &r->rank[number];
  llrt_repack_info info = {.size = sizeof info};
  if (!bind_plan(request, given, number, request->inverse, &rank->plan, error)) return false;
  if (llrt_repack_get_info(rank->plan, &info) != LLRT_OK)
    return array_fail(error, "%.400s", library_says());
  array_error why; /* a recipe need not have a way back */
  if (request->checks) bind_plan(request, given, number, !request->inverse, &rank->back, &why);
  rank->in = calloc((size_t)info.n_inputs + 1, sizeof(model_tensor *));
  rank->out = calloc((size_t)info.n_outputs + 1, sizeof *rank->out);
  if (!rank->in || !rank->out) return array_fail(error, "no memory for a plan");
  return find_inputs(&request->from[request->n_models > 1 ? number : 0], rank, error);
}

/* ---- outputs ---- */

/* The first input of a step that lies in a file; NULL: a step without inputs. */
static const model_tensor *first_input(const repack_rank *rank, const llrt_repack_step *step) {
  const model_tensor *first = NULL;
  for (int i = 0; i < step->n_inputs; i++) {
    const model_tensor *t = rank->in[step->inputs[i]];
    if (!first || t->file < first->file || (t->file == first->file && t->at < first->at)) first = t;
  }
  return first;
}

/* What the file calls a result's type. A tensor that is kept keeps its own, and so does one of
 * blocks that only changed their order; bits of any type are of the type that they were. */
static bool set_type(const repack *r, const repack_rank *rank, const llrt_repack_step *step,
                     const llrt_repack_tensor *made, output_tensor *out, array_error *error) {
  for (int i = 0; i < step->n_inputs; i++) {
    const model_tensor *t = rank->in[step->inputs[i]];
    bool blocks = t->type->dtype == LLRT_DTYPE_NONE && made->dtype == LLRT_U8 &&
                  strcmp(t->name, made->name) == 0 && t->bytes == made->bytes;
    if (step->row >= 0 && !blocks) continue;
    out->type = t->type;
    out->rank = t->rank;
    memcpy(out->shape, t->shape, sizeof out->shape);
    return true;
  }
  out->type = r->to.format == MODEL_GGUF ? file_type_ggml_of(made->dtype)
                                         : file_type_safetensors_of(made->dtype);
  for (int i = 0; i < step->n_inputs && !out->type; i++)
    if (is_type(rank->in[step->inputs[i]]->type->dtype, made->dtype))
      out->type = rank->in[step->inputs[i]]->type;
  out->rank = made->rank;
  memcpy(out->shape, made->shape, sizeof out->shape);
  return out->type || array_fail(error, "'%.64s': the file format has no type for %s", made->name,
                                 llrt_dtype_name(made->dtype));
}

/* The same of an inverse, whose checkpoint is known. */
static void set_known_type(const original *given, const llrt_repack_tensor *made,
                           output_tensor *out) {
  const original_tensor *t = original_find(given, made->name);
  if (!t) return;
  out->type = t->type;
  out->rank = t->rank;
  out->file = t->file;
  memcpy(out->shape, t->shape, sizeof out->shape);
}

static bool add_output(repack *r, int number, const llrt_repack_step *step, int32_t which,
                       const original *given, const specs *said, array_error *error) {
  const repack_rank *rank = &r->rank[number];
  const llrt_repack_tensor *made = llrt_repack_output(rank->plan, which);
  const model_tensor *first = first_input(rank, step);
  output_tensor out = {.name = (char *)(uintptr_t)made->name};
  out.file = first && r->to.n_files == r->from->n_files && r->ranks == 1 ? first->file : 0;
  if (r->ranks > 1 && !r->inverse) out.file = number;
  if (r->inverse) set_known_type(given, made, &out);
  else if (!set_type(r, rank, step, made, &out, error)) return false;
  if (!r->inverse) out.spec = specs_find(said, step, which);
  if (out.file >= r->to.n_files) out.file = 0;
  bool done = out.type ? output_add_tensor(&r->to, &out, error)
                       : array_fail(error, "'%.64s' is not of the checkpoint", made->name);
  free(out.spec);
  return done;
}

/* Adds what all steps make, in the order in which they read. */
static bool add_outputs(repack *r, const original *given, const specs *said, const int32_t *order,
                        int n_steps, array_error *error) {
  for (int number = 0; number < (r->inverse ? 1 : r->ranks); number++)
    for (int s = 0; s < n_steps; s++) {
      const llrt_repack_step *step = llrt_repack_step_at(r->rank[number].plan, order[s]);
      for (int i = 0; i < step->n_outputs; i++)
        if (!add_output(r, number, step, step->outputs[i], given, said, error)) return false;
    }
  return true;
}

/* Tensors moved when they were placed: finds them again by their name and file. */
typedef struct placed_name {
  const char *name;
  int32_t file;
  size_t number;
} placed_name;

static int by_file_name(const void *a, const void *b) {
  const placed_name *x = a, *y = b;
  if (x->file != y->file) return x->file < y->file ? -1 : 1;
  return strcmp(x->name, y->name);
}

static bool find_outputs(repack *r, array_error *error) {
  placed_name *list = calloc(r->to.n_tensors + 1, sizeof *list);
  if (!list) return array_fail(error, "no memory for the tensors");
  for (size_t i = 0; i < r->to.n_tensors; i++)
    list[i] = (placed_name){r->to.tensor[i].name,
                            r->ranks > 1 && !r->inverse ? r->to.tensor[i].file : 0, i};
  qsort(list, r->to.n_tensors, sizeof *list, by_file_name);
  bool done = true;
  for (int number = 0; number < r->ranks; number++)
    for (int i = 0; llrt_repack_output(r->rank[number].plan, i) && done; i++) {
      placed_name key = {llrt_repack_output(r->rank[number].plan, i)->name, r->inverse ? 0 : number,
                         0};
      placed_name *found = bsearch(&key, list, r->to.n_tensors, sizeof *list, by_file_name);
      if (found) r->rank[number].out[i] = found->number;
      else done = array_fail(error, "'%.64s' is made on one rank alone", key.name);
    }
  free(list);
  return done;
}

/* ---- the order of steps ---- */

typedef struct placed_step {
  const model_tensor *first;
  int32_t step;
} placed_step;

static int by_first_input(const void *a, const void *b) {
  const placed_step *x = a, *y = b;
  if (x->first && y->first && x->first != y->first) return x->first < y->first ? -1 : 1;
  if (!x->first != !y->first) return x->first ? -1 : 1;
  return x->step < y->step ? -1 : 1;
}

/* Steps by the place of what they read first, so that files are read from end to end; those that
 * read nothing last. All ranks have the same steps. malloc'ed. */
static int32_t *order_steps(const repack *r, int *n, array_error *error) {
  const repack_rank *rank = &r->rank[0];
  *n = 0;
  while (llrt_repack_step_at(rank->plan, *n)) ++*n;
  placed_step *list = calloc((size_t)*n + 1, sizeof *list);
  int32_t *order = calloc((size_t)*n + 1, sizeof *order);
  for (int s = 0; s < *n && list; s++)
    list[s] = (placed_step){first_input(rank, llrt_repack_step_at(rank->plan, s)), s};
  if (list && order) {
    qsort(list, (size_t)*n, sizeof *list, by_first_input);
    for (int s = 0; s < *n; s++) order[s] = list[s].step;
  } else {
    array_fail(error, "no memory for the steps");
    free(order);
    order = NULL;
  }
  free(list);
  return order;
}

/* Whether the ranks' plans have the same steps of the same inputs. */
static bool ranks_agree(const repack *r, int n, array_error *error) {
  for (int number = 1; number < r->ranks; number++)
    for (int s = 0; s <= n; s++) {
      const llrt_repack_step *a = llrt_repack_step_at(r->rank[0].plan, s);
      const llrt_repack_step *b = llrt_repack_step_at(r->rank[number].plan, s);
      if (!a && !b) continue;
      if (!a || !b || a->row != b->row || a->n_inputs != b->n_inputs ||
          a->n_outputs != b->n_outputs)
        return array_fail(error, "rank %d would have other steps than rank 0", number);
    }
  return true;
}

/* ---- all together ---- */

static bool make_identity(const repack_request *request, repack *r, array_error *error) {
  digest *d = digest_begin();
  bool done = d || array_fail(error, "no memory for a digest");
  if (!d) return false;
  digest_add_text(d, request->version);
  digest_add_number(d, (uint64_t)r->ranks << 1 | r->inverse);
  for (int m = 0; m < r->n_models; m++)
    for (int32_t i = 0; i < r->from[m].n_files; i++) {
      const model_file *file = &r->from[m].file[i];
      digest_add_number(d, file->size);
      digest_add_number(d, file->inode);
      digest_add_number(d, (uint64_t)file->modified.tv_sec);
      digest_add_number(d, (uint64_t)file->modified.tv_nsec);
    }
  for (int32_t i = 0; i < r->to.n_files && done; i++) {
    char *header = output_header(&r->to, i);
    if (!header) done = array_fail(error, "no memory for a header");
    else digest_add(d, header, r->to.file[i].header);
    digest_add_text(d, r->to.file[i].name);
    free(header);
  }
  digest_end(d, r->identity);
  return done;
}

static bool bind_ranks(const repack_request *request, const original *given, repack *r,
                       array_error *error) {
  r->rank = calloc((size_t)r->ranks + 1, sizeof *r->rank);
  if (!r->rank) return array_fail(error, "no memory for the ranks");
  for (int i = 0; i < r->ranks; i++)
    if (!bind_rank(request, given, i, r, error)) return false;
  return true;
}

static bool bind_all(const repack_request *request, const original *given, repack *r,
                     array_error *error) {
  int n_steps;
  specs said;
  if (!bind_ranks(request, given, r, error) || !repack_name_files(request, given, r, error))
    return false;
  int32_t *order = order_steps(r, &n_steps, error);
  if (!order) return false;
  bool done = ranks_agree(r, n_steps, error) && specs_read(request->recipe, &said, error);
  if (done) {
    done = add_outputs(r, given, &said, order, n_steps, error) &&
           repack_add_metadata(request, given, r, error) && output_place(&r->to, error) &&
           find_outputs(r, error) && repack_make_items(r, order, n_steps, error) &&
           make_identity(request, r, error);
    specs_fini(&said);
  }
  free(order);
  return done;
}

bool repack_bind(const repack_request *request, repack *out, array_error *error) {
  original given = {0};
  *out = (repack){.from = request->from,
                  .n_models = request->n_models,
                  .ranks = request->tp > 1 ? request->tp : 1,
                  .inverse = request->inverse};
  bool done = request->inverse ? original_parse(request->from, &given, error)
                               : original_of(request->from, &given, error);
  done = done && bind_all(request, &given, out, error);
  original_fini(&given);
  if (!done) repack_fini(out);
  return done;
}

void repack_fini(repack *r) {
  for (int i = 0; i < r->ranks && r->rank; i++) {
    llrt_repack_destroy(&r->rank[i].plan);
    llrt_repack_destroy(&r->rank[i].back);
    free(r->rank[i].in);
    free(r->rank[i].out);
  }
  for (int32_t i = 0; i < r->to.n_files && r->target; i++) free(r->target[i]);
  free(r->target);
  free(r->rank);
  free(r->item);
  output_fini(&r->to);
  *r = (repack){0};
}
