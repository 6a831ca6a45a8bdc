/* llrt repack: folders of shards and .gguf files through recipes and back, ranks, plans, refusals.
 */
#include "tool_run.h"

#include "tools/model/output.h"

#include <criterion/criterion.h>
#include <jansson.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(repack, .init = tool_folder_enter, .fini = tool_folder_leave);

/* ---- models ---- */

typedef struct tensor_case {
  const char *name, *type;
  int rank;
  int64_t shape[3];
  int file;
} tensor_case;

/* Writes the files of a model, in a folder that is there; bytes differ everywhere. */
static void write_model(model_format format, const char *folder, const char *const *files,
                        const tensor_case *tensors, int n) {
  output o = {.format = format};
  array_error error;
  for (int i = 0; files[i]; i++) output_add_file(&o, files[i]);
  for (int i = 0; i < n; i++) {
    output_tensor t = {.name = (char *)(uintptr_t)tensors[i].name,
                       .rank = tensors[i].rank,
                       .file = tensors[i].file};
    memcpy(t.shape, tensors[i].shape, sizeof tensors[i].shape);
    t.type = file_type_safetensors(tensors[i].type);
    for (uint32_t code = 0; format == MODEL_GGUF && code < 64; code++)
      if (file_type_ggml(code) && !strcmp(file_type_ggml(code)->name, tensors[i].type))
        t.type = file_type_ggml(code);
    cr_assert(output_add_tensor(&o, &t, &error), "%s", error.text);
  }
  cr_assert(output_place(&o, &error), "%s", error.text);
  for (int i = 0; i < o.n_files; i++) {
    char path[128], *header = output_header(&o, i);
    snprintf(path, sizeof path, "%s/%s", folder, o.file[i].name);
    FILE *file = fopen(path, "wb");
    cr_assert(file && header);
    fwrite(header, 1, o.file[i].header, file);
    for (uint64_t at = o.file[i].header; at < o.file[i].size; at++)
      fputc((int)((at + 77) * 2654435761u >> 13), file);
    fclose(file);
    free(header);
  }
  if (o.n_files > 1) {
    char path[128], *index = output_index(&o, NULL);
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    tool_write_file(path, index, strlen(index));
    free(index);
  }
  output_fini(&o);
}

#define CONFIG \
  "{\"quantization_config\": {\"quant_method\": \"gptq\", \"bits\": 4, \"sym\": true, " \
  "\"desc_act\": %s, \"group_size\": 64}}"

/* A GPTQ checkpoint of two layers in two shards, "m". */
static void write_gptq(const char *desc_act) {
  static const char *const files[] = {"model-00001-of-00002.safetensors",
                                      "model-00002-of-00002.safetensors", NULL};
  static const tensor_case tensors[] = {
      {"model.embed.weight", "BF16", 2, {5, 3}, 0},
      {"model.layers.0.q.qweight", "I32", 2, {16, 128}, 0},
      {"model.layers.0.q.scales", "F16", 2, {2, 128}, 0},
      {"model.layers.1.q.qweight", "I32", 2, {16, 128}, 1},
      {"model.layers.1.q.scales", "F16", 2, {2, 128}, 1},
      {"model.phase", "C64", 1, {3}, 1},
      {"model.nothing", "F32", 2, {0, 4}, 1},
  };
  char config[256];
  cr_assert_eq(mkdir("m", 0777), 0);
  write_model(MODEL_SAFETENSORS, "m", files, tensors, 7);
  snprintf(config, sizeof config, CONFIG, desc_act);
  tool_write_file("m/config.json", config, strlen(config));
  tool_write_file("m/tokenizer.json", "{}", 2);
}

/* Whether two models have the same tensors, with the same bytes. */
static void expect_same(const char *a, const char *b) {
  model x, y;
  array_error error;
  cr_assert(model_open(&a, 1, &x, &error) && model_open(&b, 1, &y, &error), "%s", error.text);
  cr_expect_eq(x.n_tensors, y.n_tensors);
  for (size_t i = 0; i < x.n_tensors; i++) {
    const model_tensor *t = &x.tensor[i], *u = model_find(&y, t->name);
    cr_assert(u && t->type == u->type && t->rank == u->rank && t->bytes == u->bytes, "%s", t->name);
    cr_expect_arr_eq(t->shape, u->shape, sizeof t->shape);
    char *p = malloc(t->bytes + 1), *q = malloc(t->bytes + 1);
    cr_assert(model_read(&x, t, 0, t->bytes, p, &error) &&
              model_read(&y, u, 0, u->bytes, q, &error));
    cr_expect_arr_eq(p, q, t->bytes, "%s", t->name);
    free(p);
    free(q);
  }
  model_close(&x);
  model_close(&y);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

/* ---- there and back ---- */

Test(repack, folder) {
  write_gptq("false");
  tool_result result =
      tool_expect_success("repack m --recipe gptq.marlin -o engine --verify --device host");
  cr_expect(strstr(result.out, "engine: 7 tensors"), "%s", result.out);
  tool_result_fini(&result);
  cr_expect(exists("engine/config.json") && exists("engine/tokenizer.json"));
  cr_expect(exists("engine/model.safetensors.index.json") && !exists("engine/llrt-journal"));
  array w = tool_array_read("engine/model-00002-of-00002.safetensors:model.layers.1.q.qweight");
  cr_expect(w.rank == 2 && w.shape[0] == 8 && w.shape[1] == 256);
  array_destroy(&w);
  result = tool_expect_success("repack engine --inverse -o back --verify --device host");
  tool_result_fini(&result);
  expect_same("m", "back");
  cr_expect(exists("back/model-00002-of-00002.safetensors"));
}

/* Files of ranks; one file of several shards. */
Test(repack, ranks) {
  write_gptq("false");
  tool_result result = tool_expect_success(
      "repack m --recipe gptq.marlin --mesh tp=2 -o 'r{}.safetensors' --verify --device host");
  tool_result_fini(&result);
  array w = tool_array_read("r1.safetensors:model.layers.0.q.qweight");
  cr_expect(w.shape[0] == 8 && w.shape[1] == 128);
  array_destroy(&w);
  result = tool_expect_success(
      "repack r0.safetensors r1.safetensors --inverse -o back.safetensors --verify --device host");
  tool_result_fini(&result);
  expect_same("m", "back.safetensors");
  result = tool_expect_success("repack m --recipe gptq.marlin --mesh tp=2 -o ranks --device host");
  tool_result_fini(&result);
  cr_expect(exists("ranks/model-rank-1-part-0.safetensors") && exists("ranks/config.json"));
}

#define TURN \
  "{\"recipe\": 1, \"name\": \"turn\", \"rows\": [{\"each\": \"{P}\", \"in\": {\"w\": " \
  "\"{each}.w: u8[n, k]\"}, \"out\": {\"w\": \"{each}.w: u8[n, k] = u8[n k] in " \
  "col_major\"}}], \"rest\": \"keep\"}"

/* Blocks of a .gguf file that change their order keep their type. */
Test(repack, gguf) {
  static const char *const files[] = {"m.gguf", NULL};
  static const tensor_case tensors[] = {{"blk.0.w", "Q8_K", 2, {8, 2048}, 0},
                                        {"blk.0.norm", "F32", 1, {5}, 0},
                                        {"blk.1.w", "Q8_K", 2, {8, 2048}, 0}};
  write_model(MODEL_GGUF, ".", files, tensors, 3);
  tool_write_file("turn.json", TURN, strlen(TURN));
  tool_result result =
      tool_expect_success("repack m.gguf --recipe turn.json -o e.gguf --verify --device host");
  tool_result_fini(&result);
  result = tool_expect_success("repack e.gguf --inverse -o back.gguf --device host");
  tool_result_fini(&result);
  expect_same("m.gguf", "back.gguf");
  model e;
  array_error error;
  const char *path = "e.gguf";
  cr_assert(model_open(&path, 1, &e, &error), "%s", error.text);
  cr_expect_str_eq(model_find(&e, "blk.1.w")->type->name, "Q8_K");
  model_close(&e);
}

/* ---- what is told ---- */

Test(repack, plans) {
  write_gptq("false");
  tool_result result = tool_expect_success("repack m --recipe gptq.marlin -o e --dry-run");
  cr_expect(strstr(result.out, "model.layers.1.q.qweight i32[8,256]"), "%s", result.out);
  tool_result_fini(&result);
  result = tool_expect_success("repack m --recipe gptq.marlin -o e --dry-run --json");
  json_t *plan = json_loads(result.out, 0, NULL);
  cr_assert_not_null(plan, "%s", result.out);
  cr_expect_eq(json_array_size(json_object_get(plan, "tensors")), 7);
  cr_expect_eq(json_array_size(json_object_get(plan, "files")), 2);
  cr_expect(json_integer_value(json_object_get(plan, "least_memory")) > 0);
  json_decref(plan);
  tool_result_fini(&result);
  cr_expect_not(exists("e") || exists("e.partial"));
  result = tool_expect_success("repack m --recipe gptq.marlin -o e --json --device host");
  json_t *done = json_loads(result.out, 0, NULL);
  cr_assert_not_null(done, "%s", result.out);
  cr_expect_eq(json_integer_value(json_object_get(done, "tensors")), 7);
  json_decref(done);
  tool_result_fini(&result);
  result = tool_expect_success("repack --list");
  cr_expect(strstr(result.out, "gptq.marlin\n"), "%s", result.out);
  tool_result_fini(&result);
}

/* Metadata: the recipe, its version, hashes that are those of the bytes, what rows say of results.
 */
Test(repack, metadata) {
  static const char *const keys[] = {"llrt.version",
                                     "llrt.recipe",
                                     "llrt.recipe.text",
                                     "llrt.config",
                                     "llrt.mesh",
                                     "llrt.checkpoint",
                                     "llrt.hash.model.layers.0.q.qweight"};
  write_gptq("false");
  tool_result result =
      tool_expect_success("repack m --recipe gptq.marlin -o e.safetensors --device host");
  tool_result_fini(&result);
  model e;
  array_error error;
  const char *path = "e.safetensors";
  cr_assert(model_open(&path, 1, &e, &error), "%s", error.text);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    cr_expect(json_object_get(e.metadata, keys[i]), "%s", keys[i]);
  cr_expect_str_eq(json_string_value(json_object_get(e.metadata, "llrt.recipe")), "gptq.marlin");
  const char *spec =
      json_string_value(json_object_get(e.metadata, "llrt.spec.model.layers.0.q.qweight"));
  cr_expect(spec && strstr(spec, "in marlin_w4"), "%s", spec);
  for (size_t i = 0; i < e.n_tensors; i++) {
    bool aligned = e.tensor[i].at % (e.tensor[i].bytes % 64 ? e.tensor[i].type->bytes : 64) == 0;
    cr_expect(aligned, "%s at %llu", e.tensor[i].name, (unsigned long long)e.tensor[i].at);
  }
  model_close(&e);
}

/* ---- refusals ---- */

Test(repack, refusals) {
  static const tool_failure rows[] = {
      {"repack m", 2, "-o is missing"},
      {"repack -o e", 2, "which model?"},
      {"repack m -o e --memory 2X", 2, "no number of bytes"},
      {"repack m -o e --memory 0", 2, "no number of bytes"},
      {"repack m -o e --mesh pp=2", 2, "is not tp=N"},
      {"repack m -o e --mesh tp=0", 2, "is not tp=N"},
      {"repack m -o e --inverse --mesh tp=2", 2, "--mesh is not for --inverse"},
      {"repack none -o e", 1, "none: No such file"},
      {"repack m -o e --recipe nonesuch", 1, "nonesuch"},
      {"repack m -o e --recipe none.json", 1, "none.json: No such file"},
      {"repack m -o e --recipe bad.json", 1, "bad.json: "},
      {"repack m -o e --config none.json", 1, "none.json: No such file"},
      {"repack m -o e --inverse", 1, "no recipe made it"},
      {"repack m -o e.gguf", 1, "only a .gguf file becomes a .gguf file"},
      {"repack m -o m", 1, "m exists"},
      {"repack m -o e.safetensors --mesh tp=2", 1, "write {} where the number stands"},
      {"repack m -o e --recipe gptq.marlin --memory 100 --device host", 1, "are allowed"},
      {"repack m -o e --recipe gptq.marlin --device nonesuch", 1, "nonesuch"},
      {"repack m -o nowhere/e", 1, "No such file"},
      {"repack m/config.json -o e", 1, "no object 'weight_map'"},
  };
  write_gptq("false");
  tool_write_file("bad.json", "{\"recipe\": 1, \"nmae\": 3}", 24);
  tool_expect_failures(rows, sizeof rows / sizeof *rows);
}

Test(repack, refused_by_the_recipe) {
  write_gptq("true");
  tool_expect_failure("repack m --recipe gptq.marlin -o e --device host", 1, "desc_act");
}

/* A disk that is full is told of before anything is converted. The limit of a file is in blocks of
 * 512 bytes: objects of kernels have room, shards have none. */
Test(repack, no_room) {
  char line[512];
  write_gptq("false");
  snprintf(line, sizeof line,
           "trap '' XFSZ; ulimit -f 16; exec '%s' repack m --recipe gptq.marlin -o e --device host "
           "2>why",
           LLRT_TEST_TOOL);
  int status = system(line);
  size_t size;
  char *why = tool_read_file("why", &size);
  cr_expect(status != 0 && !exists("e"));
  cr_expect(strstr(why, "it cannot be written: File too large"), "%s", why);
  free(why);
}
