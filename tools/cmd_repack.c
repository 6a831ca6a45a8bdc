/* llrt repack: a whole model, from files to files, as a recipe says. */
#include "tools/repack_show.h"
#include "tools/tool.h"

#include "tools/common/best_device.h"
#include "tools/model/ahead.h"
#include "tools/model/original.h"

#include <llrt/llrt.h>
#include <llrt/recipe.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RECIPE, OUT, INVERSE, MESH, CONFIG, MEMORY, DEVICE, VERIFY, DRY_RUN, JSON, LIST };

static const option_spec table[] = {
    [RECIPE] = {"recipe", 0, "NAME|FILE",
                "what becomes of every tensor: one of --list, or a .json file;\n"
                "without it all tensors are kept as they are"},
    [OUT] = {"output", 'o', "OUT",
             "a folder, or with these endings one file: .safetensors, .gguf;\n"
             "{} in a file's name stands for the rank. It must not exist"},
    [INVERSE] = {"inverse", 0, NULL,
                 "the way back: MODEL is what repack made, of each rank in order"},
    [MESH] = {"mesh", 0, "tp=N", "tensors are cut for N ranks, a file each"},
    [CONFIG] = {"config", 0, "FILE", "the checkpoint's config.json; beside MODEL unless given"},
    [MEMORY] = {"memory", 0, "BYTES",
                "of tensors under way, with K, M or G; unless given 2G\n"
                "beside the largest tensor's parts"},
    [DEVICE] = {"device", 0, "NAME", "that converts: host, cuda:0, hip:1, …"},
    [VERIFY] = {"verify", 0, NULL,
                "convert all back and compare, where there is a way back, and\n"
                "compare what lies on the disk with what was written"},
    [DRY_RUN] = {"dry-run", 0, NULL, "only tell what would be done: tensors, bytes, launches"},
    [JSON] = {"json", 0, NULL, "tell it, or what was done, as a JSON object"},
    [LIST] = {"list", 0, NULL, "only tell the names of the recipes that come with llrt"},
    {0},
};

/* Everything that a run has open. */
typedef struct session {
  const options *given;
  model *from; /* n_models */
  int n_models;
  llrt_recipe *recipe;
  char *config;
  size_t config_bytes;
  int tp;
  uint64_t memory; /* 0: the preset */
  llrt_context *context;
  llrt_device *device;
  repack work;
  model_ahead ahead;
} session;

/* ---- options ---- */

static int list_recipes(void) {
  for (int i = 0; llrt_recipe_shipped(i, NULL); i++) printf("%s\n", llrt_recipe_shipped(i, NULL));
  return TOOL_DONE;
}

static int parse_memory(const char *text, uint64_t *bytes) {
  static const char units[] = "KMGT";
  char *end;
  *bytes = 0;
  if (!text) return TOOL_DONE;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  int shift = unit ? 10 * (int)(unit - units + 1) : 0;
  if (!isdigit((unsigned char)*text) || errno || (*end && (!unit || end[1])) || number == 0 ||
      number > UINT64_MAX >> 1 >> shift)
    return tool_wrong("repack", "--memory: '%s' is no number of bytes like 512M or 2G", text);
  *bytes = (uint64_t)number << shift;
  return TOOL_DONE;
}

static int parse_mesh(const char *text, int *tp) {
  int64_t number;
  int count;
  *tp = 1;
  if (!text) return TOOL_DONE;
  if (strncmp(text, "tp=", 3) != 0 || !options_parse_numbers(text + 3, ',', 1, &number, &count) ||
      number < 1 || number > REPACK_MAX_RANKS)
    return tool_wrong("repack", "--mesh: '%s' is not tp=N, N from 1 to %d", text, REPACK_MAX_RANKS);
  *tp = (int)number;
  return TOOL_DONE;
}

/* ---- what is read ---- */

/* A whole file as text, zero-terminated; free it. NULL: it cannot be read, and errno says why. */
static char *read_text(const char *path, size_t *bytes) {
  enum { MOST = 64 << 20 };
  FILE *file = fopen(path, "rb");
  size_t room = 1 << 16, used = 0;
  char *text = file ? malloc(room) : NULL;
  while (text) {
    used += fread(text + used, 1, room - used - 1, file);
    if (used < room - 1 || room >= MOST) break;
    char *larger = realloc(text, room *= 2);
    if (!larger) free(text);
    text = larger;
  }
  if (text && (ferror(file) || room >= MOST)) {
    if (!ferror(file)) errno = EFBIG;
    free(text);
    text = NULL;
  }
  if (file) fclose(file);
  if (text) text[used] = 0;
  *bytes = used;
  return text;
}

static int open_models(session *s) {
  const options *given = s->given;
  bool separate = given->value[INVERSE] != NULL;
  array_error error;
  s->n_models = separate ? given->n_words : 1;
  s->from = calloc((size_t)s->n_models, sizeof *s->from);
  if (!s->from) return tool_refuse("no memory for the models");
  for (int i = 0; i < s->n_models; i++)
    if (!model_open(&given->word[i], separate ? 1 : given->n_words, &s->from[i], &error))
      return tool_refuse("%s", error.text);
  return TOOL_DONE;
}

/* The folder in which the model's first file lies, or that was named; free it. */
static char *folder_of(const model *m) {
  if (m->folder || m->n_files == 0) return strdup(m->folder ? m->folder : ".");
  const char *path = m->file[0].path, *slash = strrchr(path, '/');
  return slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

static int read_config(session *s) {
  const char *named = s->given->value[CONFIG];
  char *path = NULL, *folder = NULL;
  if (!named && s->given->value[INVERSE]) {
    s->config = original_metadata(&s->from[0], REPACK_CONFIG);
    s->config_bytes = s->config ? strlen(s->config) : 0;
    return TOOL_DONE;
  }
  if (!named && ((folder = folder_of(&s->from[0])) == NULL ||
                 asprintf(&path, "%s/config.json", folder) < 0)) {
    free(folder);
    return tool_refuse("no memory for a path");
  }
  free(folder);
  s->config = read_text(named ? named : path, &s->config_bytes);
  int code = s->config || !named ? TOOL_DONE : tool_refuse("%s: %s", named, strerror(errno));
  free(path);
  return code;
}

#define KEEP_ALL "{\"recipe\": 1, \"name\": \"keep\", \"rows\": [], \"rest\": \"keep\"}"

static int load_text(session *s, const char *text, size_t bytes, const char *from) {
  return llrt_recipe_load(text, bytes, &s->recipe) == LLRT_OK ? TOOL_DONE
                                                              : tool_refuse_library(from);
}

static bool is_file(const char *name) {
  size_t length = strlen(name);
  return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".json") == 0);
}

/* A recipe by its name or file; without either that of a repacked model, or one that keeps all. */
static int load_recipe(session *s) {
  const char *named = s->given->value[RECIPE];
  size_t bytes;
  char *text = NULL;
  if (named && !is_file(named))
    return llrt_recipe_load_named(named, &s->recipe) == LLRT_OK ? TOOL_DONE
                                                                : tool_refuse_library(NULL);
  if (!named && !s->given->value[INVERSE]) return load_text(s, KEEP_ALL, strlen(KEEP_ALL), NULL);
  if (named) text = read_text(named, &bytes);
  else if ((text = original_metadata(&s->from[0], REPACK_RECIPE_TEXT))) bytes = strlen(text);
  if (!text)
    return named ? tool_refuse("%s: %s", named, strerror(errno))
                 : tool_refuse("%s: no recipe made it: it has no metadata '" REPACK_RECIPE_TEXT "'",
                               s->given->word[0]);
  int code = load_text(s, text, bytes, named ? named : "the model's recipe");
  free(text);
  return code;
}

/* The ranks of a repacked model: as many as it says, each in its place. */
static int check_ranks(session *s) {
  int code = TOOL_DONE;
  if (!s->given->value[INVERSE]) return TOOL_DONE;
  for (int i = 0; i < s->n_models && code == TOOL_DONE; i++) {
    char *mesh = original_metadata(&s->from[i], REPACK_MESH);
    char *rank = original_metadata(&s->from[i], REPACK_RANK);
    int tp = 0, number = -1;
    if (!mesh || !rank || sscanf(mesh, "tp=%d", &tp) != 1 || sscanf(rank, "%d", &number) != 1)
      code = tool_refuse("%s: no recipe made it: it has no metadata '" REPACK_MESH "'",
                         s->given->word[i]);
    else if (tp != s->n_models)
      code = tool_refuse("%s is one of %d ranks, %d are given", s->given->word[i], tp, s->n_models);
    else if (number != i)
      code = tool_refuse("%s is rank %d, and stands in the place of rank %d", s->given->word[i],
                         number, i);
    free(mesh);
    free(rank);
  }
  s->tp = s->n_models;
  return code;
}

/* ---- the run ---- */

#define AHEAD_BYTES ((uint64_t)2 << 30) /* what is read until a device is ready, at most */

static int open_device(session *s) {
  if (s->given->value[DRY_RUN]) return TOOL_DONE; /* a plan to look at */
  model_ahead_begin(&s->ahead, s->from, s->n_models,
                    s->memory && s->memory < AHEAD_BYTES ? s->memory : AHEAD_BYTES);
  if (tool_context_create(&s->context) != LLRT_OK ||
      best_device_open(s->context, s->given->value[DEVICE], NULL, &s->device) != LLRT_OK)
    return tool_refuse_library(NULL);
  return TOOL_DONE;
}

static int bind(session *s) {
  const repack_request request = {.from = s->from,
                                  .n_models = s->n_models,
                                  .recipe = s->recipe,
                                  .config = s->config,
                                  .config_bytes = s->config_bytes,
                                  .tp = s->tp,
                                  .inverse = s->given->value[INVERSE] != NULL,
                                  .checks = s->given->value[VERIFY] != NULL,
                                  .device = s->device,
                                  .out = s->given->value[OUT],
                                  .version = llrt_version()};
  array_error error;
  return repack_bind(&request, &s->work, &error) ? TOOL_DONE : tool_refuse("%s", error.text);
}

static int convert(session *s) {
  bool json = s->given->value[JSON] != NULL;
  repack_bar bar = {0};
  repack_result result;
  array_error error;
  const repack_run_params params = {.device = s->device,
                                    .memory = s->memory,
                                    .verifies = s->given->value[VERIFY] != NULL,
                                    .user = &bar,
                                    .progress = repack_bar_progress};
  if (s->given->value[DRY_RUN])
    return repack_show_plan(&s->work,
                            s->memory ? s->memory : REPACK_PRESET_MEMORY + s->work.largest, json);
  bool done = repack_run(&s->work, s->given->value[OUT], &params, &result, &error);
  repack_bar_end(&bar);
  return done ? repack_show_result(&s->work, s->given->value[OUT], &result, json)
              : tool_refuse("%s", error.text);
}

static void close_all(session *s) {
  repack_fini(&s->work);
  llrt_recipe_destroy(&s->recipe);
  llrt_device_close(&s->device);
  llrt_context_destroy(&s->context);
  model_ahead_end(&s->ahead);
  for (int i = 0; i < s->n_models && s->from; i++) model_close(&s->from[i]);
  free(s->from);
  free(s->config);
}

static int run(const options *given) {
  static int (*const part[])(session *) = {open_models, check_ranks, read_config, load_recipe,
                                           open_device, bind,        convert};
  session s = {.given = given};
  if (given->value[LIST]) return list_recipes();
  if (given->n_words == 0) return tool_wrong("repack", "which model?");
  if (!given->value[OUT]) return tool_wrong("repack", "-o is missing");
  if (given->value[INVERSE] && given->value[MESH])
    return tool_wrong("repack", "--mesh is not for --inverse: the models say of how many they are");
  int code = parse_memory(given->value[MEMORY], &s.memory);
  if (code == TOOL_DONE) code = parse_mesh(given->value[MESH], &s.tp);
  for (size_t i = 0; i < sizeof part / sizeof *part && code == TOOL_DONE; i++) code = part[i](&s);
  close_all(&s);
  return code;
}

const command cmd_repack = {
    .name = "repack",
    .summary = "convert a whole model, as a recipe says",
    .synopsis = "MODEL... --recipe NAME|FILE -o OUT [options]",
    .text =
        "Reads a model (a folder, its index, .safetensors files, a .gguf file), makes of every\n"
        "tensor what the recipe says, and writes OUT. Tensors are read, converted and written at\n"
        "the same time, within --memory. What was not finished lies in OUT.partial, and the same\n"
        "command goes on there; OUT appears when it is whole. Its metadata have the recipe, "
        "hashes\n"
        "of all tensors, and what --inverse needs to make the checkpoint again.",
    .example =
        "  llrt repack ./gpt-oss-20b --recipe gpt-oss-mxfp4.flashinfer-trtllm -o ./for-trtllm\n"
        "  llrt repack ./for-trtllm --inverse -o ./gpt-oss-again\n"
        "  llrt repack ./awq-model --recipe awq.marlin --mesh tp=2 -o 'rank{}.safetensors'",
    .option = table,
    .min_words = 0,
    .max_words = OPTIONS_MAX_WORDS,
    .run = run,
};
