/* A recipe and a checkpoint -> a plan. */
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "recipe/plan.h"

#include <stdlib.h>

/* ---- values ---- */

int bind_find(void *user, const char *name, size_t length, int64_t *value) {
  recipe_binder *binder = user;
  const llrt_recipe *recipe = binder->recipe;
  span wanted = {name, length};
  if (span_is(wanted, span_of("tp"))) return *value = binder->tp, 1;
  if (span_is(wanted, span_of("rank"))) return *value = binder->rank, 1;
  for (int i = 0; i < recipe->n_config; i++) {
    if (!span_is(recipe->config[i].name, wanted)) continue;
    const json_value *found = json_follow(binder->config.root, recipe->config[i].value.text);
    if (!found || found->kind != JSON_NUMBER || !found->whole) return 0;
    return *value = found->integer, 1;
  }
  number_scope scope = {.user = binder, .find = bind_find};
  for (int i = 0; i < recipe->n_lets; i++) {
    if (!span_is(recipe->let[i].name, wanted)) continue;
    if (binder->depth == 8) return 0;
    binder->depth++;
    llrt_status status =
        number_whole(recipe->let[i].value.text, recipe->let[i].value.length, &scope, value);
    binder->depth--;
    return status == LLRT_OK;
  }
  return name[0] >= 'A' && name[0] <= 'Z' ? 0 : -1;
}

static bool same_value(const json_value *a, const json_value *b) {
  if (!b) return a->kind == JSON_NULL;
  if (a->kind != b->kind) return false;
  if (a->kind == JSON_NUMBER) return a->number == b->number;
  if (a->kind == JSON_TEXT) return strcmp(a->text, b->text) == 0;
  return a->kind == JSON_NULL || (a->kind == JSON_BOOL && a->integer == b->integer);
}

static llrt_status refuse(const json_value *required, const json_value *is,
                          const json_value *found) {
  const json_value *why = json_member(required, "why");
  llrt_text text;
  llrt_text_init(&text);
  llrt_text_add(&text, "the config has ");
  if (found) json_add(&text, found);
  else llrt_text_add(&text, "nothing");
  llrt_text_add(&text, ", and the recipe is for ");
  json_add(&text, is);
  if (why) llrt_text_add(&text, ": %s", why->text);
  llrt_status status = json_error(LLRT_UNSUPPORTED, required, "%s", text.data ? text.data : "");
  llrt_text_fini(&text);
  return status;
}

static llrt_status check_required(const recipe_binder *binder, const json_value *required) {
  const json_value *is = json_member(required, "is");
  if (!is) is = required;
  if (!binder->config.root)
    return json_error(LLRT_INVALID_ARGUMENT, required, "there is no config to look in");
  const json_value *found = json_follow(binder->config.root, required->key);
  if (is->kind != JSON_LIST) return same_value(is, found) ? LLRT_OK : refuse(required, is, found);
  for (const json_value *one = is->first; one; one = one->next)
    if (same_value(one, found)) return LLRT_OK;
  return refuse(required, is, found);
}

/* ---- the checkpoint ---- */

static int by_name(const void *a, const void *b, void *user) {
  const llrt_named_tensor *tensor = user;
  return strcmp(tensor[*(const int32_t *)a].name, tensor[*(const int32_t *)b].name);
}

int checkpoint_find(const given_tensors *checkpoint, const char *name) {
  int low = 0, high = checkpoint->n;
  while (low < high) {
    int middle = low + (high - low) / 2;
    int order = strcmp(checkpoint->tensor[checkpoint->sorted[middle]].name, name);
    if (order == 0) return checkpoint->sorted[middle];
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return -1;
}

static llrt_status check_tensor(const llrt_named_tensor *tensor, int i, size_t *bytes) {
  int bits = llrt_dtype_bits(tensor->dtype);
  unsigned __int128 n = (unsigned)bits;
  LLRT_REQUIRE(tensor->name && tensor->name[0], "tensor %d has no name", i);
  LLRT_REQUIRE(strlen(tensor->name) < 4096, "tensor %d has a name of more than 4095 bytes", i);
  LLRT_REQUIRE(bits, "%s has no type", tensor->name);
  LLRT_REQUIRE(tensor->rank >= 0 && tensor->rank <= LLRT_MAX_RANK, "%s has %d axes", tensor->name,
               tensor->rank);
  LLRT_REQUIRE(llrt_params_are_zero(tensor->reserved, sizeof tensor->reserved),
               "%s: reserved is not zero", tensor->name);
  for (int a = 0; a < tensor->rank; a++) {
    LLRT_REQUIRE(tensor->shape[a] >= 0, "%s: axis %d has %lld positions", tensor->name, a,
                 (long long)tensor->shape[a]);
    n *= (uint64_t)tensor->shape[a];
    LLRT_REQUIRE(n >> 62 == 0, "%s has too many elements", tensor->name);
  }
  *bytes = (size_t)((n + 7) / 8);
  return LLRT_OK;
}

static llrt_status take_tensor(recipe_binder *binder, int i) {
  const llrt_named_tensor *given = &binder->given.tensor[i];
  size_t bytes;
  LLRT_TRY(check_tensor(given, i, &bytes));
  llrt_repack_tensor *tensor = plan_append(plan_checkpoint(binder->plan), sizeof *tensor);
  if (tensor) tensor->name = plan_text(binder->plan, span_of(given->name));
  if (!tensor || !tensor->name) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  tensor->dtype = given->dtype;
  tensor->rank = given->rank;
  tensor->bytes = bytes;
  tensor->step = tensor->place = -1;
  memcpy(tensor->shape, given->shape, (size_t)given->rank * sizeof *given->shape);
  binder->given.sorted[i] = i;
  binder->given.step[i] = -1;
  return LLRT_OK;
}

static llrt_status take_tensors(recipe_binder *binder) {
  given_tensors *given = &binder->given;
  given->sorted = memory_zeroed((size_t)given->n + 1, sizeof *given->sorted);
  given->step = memory_zeroed((size_t)given->n + 1, sizeof *given->step);
  if (!given->sorted || !given->step)
    return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for %d tensors", given->n);
  for (int i = 0; i < given->n; i++) LLRT_TRY(take_tensor(binder, i));
  qsort_r(given->sorted, (size_t)given->n, sizeof *given->sorted, by_name,
          (void *)(uintptr_t)given->tensor);
  for (int i = 1; i < given->n; i++) {
    const char *name = given->tensor[given->sorted[i]].name;
    LLRT_REQUIRE(strcmp(name, given->tensor[given->sorted[i - 1]].name) != 0,
                 "there are two tensors %s", name);
  }
  return LLRT_OK;
}

/* ---- rows ---- */

/* Whether a row's first input may be this tensor, by its name, type and rank; `known` is what names
 * stand for then. */
static llrt_status fits(const recipe_row *row, const llrt_named_tensor *tensor, row_names *known,
                        bool *matches) {
  row_names parts = {0};
  *matches = false;
  if (!bind_type_fits(row->in[0].stored, tensor->dtype) || row->in[0].n_shape != tensor->rank)
    return LLRT_OK;
  for (int f = 0; f < row->n_fuses; f++) {
    const recipe_fuse *fuse = &row->fuse[f];
    names_add(&parts, fuse->axis, span_of(fuse->parts ? fuse->parts->first->text : "0"));
  }
  int fixed = parts.n;
  llrt_status status =
      names_match(row->in[0].name, row->each, span_of(tensor->name), &parts, matches);
  if (status) return json_error(status, row->in[0].at, "%s", llrt_error_text());
  known->n = parts.n - fixed;
  memcpy(known->entry, parts.entry + fixed, (size_t)known->n * sizeof *known->entry);
  return LLRT_OK;
}

static llrt_status bind_row(recipe_binder *binder, int r) {
  const recipe_row *row = &binder->recipe->row[r];
  row_names known = {0};
  if (row->n_in == 0) return binder->plan->inverse ? LLRT_OK : bind_step(binder, r, &known);
  for (int i = 0; i < binder->given.n; i++) {
    bool matches;
    LLRT_TRY(fits(row, &binder->given.tensor[i], &known, &matches));
    if (matches) LLRT_TRY(bind_step(binder, r, &known));
  }
  return LLRT_OK;
}

static llrt_status bind_rest(recipe_binder *binder) {
  int steps = binder->plan->steps.n;
  LLRT_REQUIRE(steps > 0 || binder->recipe->n_rows == 0,
               "no row of recipe %s fits any of the %d tensors", binder->recipe->name,
               binder->given.n);
  for (int i = 0; i < binder->given.n; i++) {
    if (binder->given.step[i] >= 0) continue;
    const char *name = binder->given.tensor[i].name;
    if (binder->recipe->rest == REST_KEEP) LLRT_TRY(plan_keeps(binder->plan, i));
    LLRT_REQUIRE(binder->recipe->rest != REST_REFUSE, "no row of recipe %s is for %s",
                 binder->recipe->name, name);
    if (binder->recipe->rest == REST_DROP && binder->plan->inverse)
      return llrt_error(LLRT_UNSUPPORTED, "there is no inverse: the recipe drops %s", name);
  }
  return LLRT_OK;
}

static llrt_status bind_all(recipe_binder *binder) {
  LLRT_TRY(take_tensors(binder));
  for (int i = 0; i < binder->recipe->n_requires; i++)
    LLRT_TRY(check_required(binder, binder->recipe->require[i]));
  for (int i = 0; i < binder->recipe->n_rows; i++) LLRT_TRY(bind_row(binder, i));
  LLRT_TRY(bind_rest(binder));
  return plan_seal(binder->plan);
}

static llrt_status begin(recipe_binder *binder, llrt_device *device,
                         const llrt_recipe_params *params) {
  llrt_device_info about = {.size = sizeof about};
  if (device) LLRT_TRY(llrt_device_get_info(device, &about));
  LLRT_REQUIRE(params->tp >= 0 && params->tp <= 65536, "params: tp is %d", params->tp);
  binder->tp = params->tp ? params->tp : 1;
  binder->rank = params->rank;
  LLRT_REQUIRE(params->rank >= 0 && params->rank < binder->tp, "params: rank %d of %lld",
               params->rank, (long long)binder->tp);
  LLRT_REQUIRE(params->config || params->config_bytes == 0, "params: config is NULL");
  if (params->config) {
    llrt_status status = json_read(params->config, params->config_bytes, &binder->config);
    if (status) return llrt_error_prefix(status, "config");
  }
  binder->plan = memory_zeroed(1, sizeof *binder->plan);
  if (!binder->plan) return llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a plan");
  binder->plan->device = device;
  binder->plan->on_host = strcmp(about.name, "host") == 0;
  binder->plan->inverse = params->inverse;
  binder->plan->in_place = params->in_place;
  return LLRT_OK;
}

llrt_status llrt_recipe_bind(llrt_device *device, const llrt_recipe *recipe,
                             const llrt_named_tensor *in, int n, const llrt_recipe_params *params,
                             llrt_repack **plan) {
  LLRT_ENTRY();
  LLRT_REQUIRE(plan, "plan is NULL");
  *plan = NULL;
  LLRT_REQUIRE(recipe, "recipe is NULL");
  LLRT_REQUIRE(in || n == 0, "in is NULL");
  LLRT_REQUIRE(n >= 0 && n <= 1 << 24, "n is %d", n);
  llrt_recipe_params own;
  LLRT_TRY(LLRT_PARAMS_READ(llrt_recipe_params, params, &own));
  recipe_binder binder = {.recipe = recipe, .given = {.tensor = in, .n = n}};
  llrt_status status = begin(&binder, device, &own);
  if (!status) status = bind_all(&binder);
  if (status) llrt_repack_destroy(&binder.plan);
  else *plan = binder.plan;
  free(binder.given.sorted);
  free(binder.given.step);
  json_free(&binder.config);
  return status;
}
