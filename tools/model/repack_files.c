#include "tools/model/repack_parts.h"

#include "tools/common/library_says.h"

#include <stdlib.h>
#include <string.h>

static bool has_suffix(const char *text, const char *suffix) {
  size_t length = strlen(text), wanted = strlen(suffix);
  return length >= wanted && strcmp(text + length - wanted, suffix) == 0;
}

static const char *last_component(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* ---- names ---- */

/* The path with the rank in the place of "{}", which its last component has; free it. */
static char *fill_rank(const char *path, int rank) {
  const char *mark = strstr(last_component(path), "{}");
  char *filled;
  if (!mark) return strdup(path);
  return asprintf(&filled, "%.*s%d%s", (int)(mark - path), path, rank, mark + 2) < 0 ? NULL
                                                                                     : filled;
}

static bool add_target(repack *r, const char *out, int rank, array_error *error) {
  char *path = fill_rank(out, rank);
  char **larger = realloc(r->target, ((size_t)r->to.n_files + 1) * sizeof *larger);
  if (larger) r->target = larger;
  if (!path || !larger || output_add_file(&r->to, last_component(path)) < 0) {
    free(path);
    return array_fail(error, "no memory for the files");
  }
  r->target[r->to.n_files - 1] = path;
  return true;
}

static bool name_single(const repack_request *request, int files, repack *r, array_error *error) {
  if (files > 1 && !strstr(last_component(request->out), "{}"))
    return array_fail(error, "%.200s: %d ranks are %d files: write {} where the number stands",
                      request->out, files, files);
  for (int rank = 0; rank < files; rank++)
    if (!add_target(r, request->out, rank, error)) return false;
  return true;
}

static bool name_folder(const original *given, int files, repack *r, array_error *error) {
  char name[64];
  r->folder = true;
  for (int32_t i = 0; i < (files > 1 ? files : given->n_files); i++) {
    snprintf(name, sizeof name, "model-rank-%d-part-0.safetensors", i);
    if (output_add_file(&r->to, files > 1 ? name : given->file[i]) < 0)
      return array_fail(error, "no memory for the files");
  }
  return true;
}

bool repack_name_files(const repack_request *request, const original *given, repack *r,
                       array_error *error) {
  int files = r->inverse ? 1 : r->ranks;
  bool gguf = request->from->format == MODEL_GGUF;
  r->to.format = request->from->format;
  if (has_suffix(request->out, ".gguf") != gguf)
    return array_fail(error,
                      gguf ? "%.200s: a .gguf file becomes a .gguf file"
                           : "%.200s: only a .gguf file becomes a .gguf file",
                      request->out);
  if (gguf || has_suffix(request->out, ".safetensors"))
    return name_single(request, files, r, error);
  return name_folder(given, files, r, error);
}

/* ---- metadata ---- */

static bool is_own(const char *key) {
  return strncmp(key, OUTPUT_OWN_KEYS, strlen(OUTPUT_OWN_KEYS)) == 0;
}

/* What was there of others. */
static bool keep_metadata(const model *from, output *to) {
  const char *key;
  json_t *text;
  bool done = (to->metadata = json_object()) != NULL;
  json_object_foreach(from->metadata, key, text) if (!is_own(key)) done =
      done && json_object_set(to->metadata, key, text) == 0;
  return done;
}

static bool set_text(json_t *metadata, const char *key, const char *text) {
  return json_object_set_new(metadata, key, json_string(text)) == 0;
}

/* The recipe's whole text; free it. */
static char *print_recipe(const llrt_recipe *recipe) {
  size_t length = 0;
  if (llrt_recipe_print(recipe, NULL, 0, &length) != LLRT_OK) return NULL;
  char *text = malloc(length + 1);
  if (text && llrt_recipe_print(recipe, text, length + 1, NULL) == LLRT_OK) return text;
  free(text);
  return NULL;
}

/* What the way back needs, in the first file of a rank. */
static bool describe_rank(const repack_request *request, const char *recipe, const char *checkpoint,
                          int rank, output_file *file) {
  char mesh[32], number[16];
  snprintf(mesh, sizeof mesh, "tp=%d", request->tp > 1 ? request->tp : 1);
  snprintf(number, sizeof number, "%d", rank);
  json_t *m = file->metadata = json_object();
  return m && set_text(m, REPACK_RECIPE_TEXT, recipe) && set_text(m, REPACK_MESH, mesh) &&
         set_text(m, REPACK_RANK, number) && set_text(m, REPACK_CHECKPOINT, checkpoint) &&
         (!request->config || set_text(m, REPACK_CONFIG, request->config));
}

bool repack_add_metadata(const repack_request *request, const original *given, repack *r,
                         array_error *error) {
  bool done = keep_metadata(request->from, &r->to);
  if (request->from->format == MODEL_GGUF) r->to.keys_of = request->from;
  if (done && !r->inverse) {
    char *recipe = print_recipe(request->recipe), *checkpoint = original_print(given);
    r->to.hashes = true;
    done = recipe && checkpoint && set_text(r->to.metadata, REPACK_VERSION, request->version) &&
           set_text(r->to.metadata, REPACK_RECIPE, llrt_recipe_name(request->recipe));
    for (int rank = 0; rank < r->ranks && done; rank++)
      done = describe_rank(request, recipe, checkpoint, rank, &r->to.file[rank]);
    free(recipe);
    free(checkpoint);
  }
  return done || array_fail(error, "the metadata cannot be made: no memory, or no UTF-8");
}
