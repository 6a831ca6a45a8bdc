/* JSON -> recipe: every key is known, every value of its kind. */
#include "base/memory.h"
#include "base/status.h"
#include "recipe/recipe.h"

#include <stdlib.h>

static const char *const kind_names[] = {"null",   "true or false", "a number",
                                         "a text", "a list",        "an object"};

static llrt_status want(const json_value *value, json_kind kind) {
  if (value->kind == kind) return LLRT_OK;
  return json_error(LLRT_INVALID_ARGUMENT, value, "%s, and should be %s", kind_names[value->kind],
                    kind_names[kind]);
}

/* That `value` is an object whose keys are among `keys`, which end with NULL. */
static llrt_status want_keys(const json_value *value, const char *const *keys) {
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    int k = 0;
    while (keys[k] && strcmp(keys[k], member->key) != 0) k++;
    if (keys[k]) continue;
    llrt_text all;
    llrt_text_init(&all);
    for (k = 0; keys[k]; k++) llrt_text_add(&all, "%s%s", k ? ", " : "", keys[k]);
    llrt_status status = json_error(LLRT_INVALID_ARGUMENT, member,
                                    "no key of a recipe's; here may stand: %s", all.data);
    llrt_text_fini(&all);
    return status;
  }
  return LLRT_OK;
}

/* An array of n zeroed elements, one at least. */
static llrt_status allocate(int n, size_t bytes, void *out) {
  void *memory = memory_zeroed((size_t)(n > 0 ? n : 1), bytes);
  memcpy(out, &memory, sizeof memory);
  return memory ? LLRT_OK : llrt_error(LLRT_OUT_OF_MEMORY, "no memory for a recipe");
}

static int members(const json_value *value) { return value ? value->n : 0; }

/* A whole number, or a text that is an expression. */
static llrt_status read_expression(const json_value *value, span *expression) {
  if (value->kind == JSON_NUMBER && value->whole) {
    *expression = span_of(value->text);
    return LLRT_OK;
  }
  LLRT_TRY(want(value, JSON_TEXT));
  *expression = span_of(value->text);
  llrt_status status = number_check(value->text, strlen(value->text));
  return status ? json_error(status, value, "%s", llrt_error_text()) : LLRT_OK;
}

static bool is_name(const char *text, bool upper) {
  if (!(upper ? *text >= 'A' && *text <= 'Z' : *text >= 'a' && *text <= 'z')) return false;
  for (const char *c = text; *c; c++) {
    bool letter = (*c >= 'a' && *c <= 'z') || (upper && *c >= 'A' && *c <= 'Z');
    if (!letter && *c != '_' && !(*c >= '0' && *c <= '9')) return false;
  }
  return true;
}

/* ---- rows ---- */

static llrt_status read_tensors(const json_value *value, recipe_tensor **tensors, int *n) {
  LLRT_TRY(allocate(members(value), sizeof **tensors, tensors));
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    LLRT_TRY(want(member, JSON_TEXT));
    LLRT_TRY(recipe_tensor_read(member, false, &(*tensors)[*n]));
    ++*n;
  }
  return LLRT_OK;
}

static llrt_status read_shard(const json_value *value, recipe_row *row) {
  static const char *const keys[] = {"tp", "block", NULL};
  if (!value) return LLRT_OK;
  LLRT_TRY(want_keys(value, keys));
  const json_value *axis = json_member(value, "tp"), *block = json_member(value, "block");
  if (!axis)
    return json_error(LLRT_INVALID_ARGUMENT, value, "tp is missing: an axis, or \"first\"");
  LLRT_TRY(want(axis, JSON_TEXT));
  row->shard_at = value;
  row->shard_axis = span_of(axis->text);
  row->shard = strcmp(axis->text, "first") == 0 ? SHARD_FIRST : SHARD_AXIS;
  if (block) LLRT_TRY(read_expression(block, &row->shard_block));
  return LLRT_OK;
}

static llrt_status read_pads(const json_value *value, recipe_row *row) {
  LLRT_TRY(allocate(members(value), sizeof *row->pad, &row->pad));
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    recipe_pad *pad = &row->pad[row->n_pads++];
    *pad = (recipe_pad){.at = member, .axis = span_of(member->key)};
    LLRT_TRY(read_expression(member, &pad->extent));
  }
  return LLRT_OK;
}

static llrt_status read_fuses(const json_value *value, recipe_row *row) {
  LLRT_TRY(allocate(members(value), sizeof *row->fuse, &row->fuse));
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    if (row->n_fuses == RECIPE_MAX_FUSES)
      return json_error(LLRT_UNSUPPORTED, member, "more than %d axes are fused", RECIPE_MAX_FUSES);
    recipe_fuse *fuse = &row->fuse[row->n_fuses++];
    *fuse = (recipe_fuse){.at = member, .axis = span_of(member->key)};
    if (!is_name(member->key, false))
      return json_error(LLRT_INVALID_ARGUMENT, member, "no axis: those are in lower case");
    if (member->kind != JSON_LIST) {
      LLRT_TRY(read_expression(member, &fuse->count));
      continue;
    }
    fuse->parts = member;
    if (member->n == 0) return json_error(LLRT_INVALID_ARGUMENT, member, "no parts");
    for (const json_value *part = member->first; part; part = part->next)
      LLRT_TRY(want(part, JSON_TEXT));
  }
  return LLRT_OK;
}

static llrt_status read_word_bits(const json_value *value, llrt_map *map) {
  uint32_t seen = 0;
  LLRT_TRY(want(value, JSON_LIST));
  for (const json_value *bit = value->first; bit; bit = bit->next) {
    if (bit->index > 31 || !bit->whole || bit->integer < 0 || bit->integer > 31 ||
        seen >> bit->integer & 1)
      return json_error(LLRT_INVALID_ARGUMENT, bit, "32 numbers from 0 to 31, each once");
    seen |= UINT32_C(1) << bit->integer;
    map->perm[bit->index] = (uint8_t)bit->integer;
  }
  map->kind = LLRT_MAP_WORD_BITS;
  return seen == UINT32_MAX
             ? LLRT_OK
             : json_error(LLRT_INVALID_ARGUMENT, value, "32 numbers from 0 to 31, each once");
}

static llrt_status read_map(const json_value *value, llrt_map *map) {
  static const char *const keys[] = {"xor", "word_bits", NULL};
  LLRT_TRY(want_keys(value, keys));
  const json_value *xor = json_member(value, "xor"), *bits = json_member(value, "word_bits");
  if (!xor== !bits) return json_error(LLRT_INVALID_ARGUMENT, value, "xor or word_bits");
  if (bits) return read_word_bits(bits, map);
  if (xor->kind != JSON_NUMBER || !xor->whole || xor->integer < 0)
    return json_error(LLRT_INVALID_ARGUMENT, xor, "no whole number from 0 on");
  *map = (llrt_map){.kind = LLRT_MAP_XOR, .constant = (uint64_t)xor->integer};
  return LLRT_OK;
}

static llrt_status read_maps(const json_value *value, recipe_row *row) {
  LLRT_TRY(allocate(members(value), sizeof *row->maps, &row->maps));
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    recipe_maps *maps = &row->maps[row->n_maps++];
    *maps = (recipe_maps){.at = member, .key = span_of(member->key)};
    LLRT_TRY(want(member, JSON_LIST));
    for (const json_value *map = member->first; map; map = map->next) {
      if (maps->n == LLRT_MAX_MAPS)
        return json_error(LLRT_UNSUPPORTED, map, "more than %d maps", LLRT_MAX_MAPS);
      LLRT_TRY(read_map(map, &maps->map[maps->n++]));
      if (maps->n > 1 && maps->map[maps->n - 2].kind == LLRT_MAP_WORD_BITS)
        return json_error(LLRT_INVALID_ARGUMENT, map, "word_bits comes last, and once");
    }
  }
  return LLRT_OK;
}

static llrt_status read_consts(const json_value *value, recipe_row *row) {
  LLRT_TRY(allocate(members(value), sizeof *row->constant, &row->constant));
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    recipe_const *constant = &row->constant[row->n_consts++];
    LLRT_TRY(want(member, JSON_NUMBER));
    LLRT_TRY(recipe_tensor_read(member, true, &constant->tensor));
    constant->value = member->number;
  }
  return LLRT_OK;
}

static llrt_status read_wheres(const json_value *value, recipe_row *row) {
  LLRT_TRY(allocate(members(value), sizeof *row->where, &row->where));
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    recipe_where *where = &row->where[row->n_wheres++];
    *where = (recipe_where){.at = member, .left = span_of(member->key)};
    if (number_check(member->key, strlen(member->key)) != LLRT_OK)
      return json_error(LLRT_INVALID_ARGUMENT, member, "%s", llrt_error_text());
    LLRT_TRY(read_expression(member, &where->right));
  }
  return LLRT_OK;
}

static const recipe_tensor *of_key(const recipe_tensor *tensors, int n, span key) {
  for (int i = 0; i < n; i++)
    if (span_is(tensors[i].key, key)) return &tensors[i];
  return NULL;
}

static bool has_axis(const recipe_tensor *tensor, span axis) {
  for (int i = 0; i < tensor->n_axes; i++)
    if (span_is(tensor->axis[i].name, axis)) return true;
  return false;
}

static const recipe_fuse *fuse_of(const recipe_row *row, span axis) {
  for (int f = 0; f < row->n_fuses; f++)
    if (span_is(row->fuse[f].axis, axis)) return &row->fuse[f];
  return NULL;
}

/* That the axes of an input and its output are the same, but for those that fusing makes. */
static llrt_status check_axes(const recipe_row *row, const recipe_tensor *in,
                              const recipe_tensor *out) {
  for (int i = 0; i < in->n_axes; i++)
    if (!has_axis(out, in->axis[i].name))
      return json_error(LLRT_INVALID_ARGUMENT, out->at, "axis %.*s of the input is not here",
                        (int)in->axis[i].name.length, in->axis[i].name.text);
  for (int i = 0; i < out->n_axes; i++)
    if (!has_axis(in, out->axis[i].name) && !fuse_of(row, out->axis[i].name))
      return json_error(LLRT_INVALID_ARGUMENT, out->at,
                        "axis %.*s is not the input's, and is not fused",
                        (int)out->axis[i].name.length, out->axis[i].name.text);
  return LLRT_OK;
}

static llrt_status check_pairs(const recipe_row *row) {
  for (int i = 0; i < row->n_in; i++)
    if (!of_key(row->out, row->n_out, row->in[i].key))
      return json_error(LLRT_INVALID_ARGUMENT, row->in[i].at, "`out` has no tensor of this key");
  for (int i = 0; i < row->n_out; i++) {
    const recipe_tensor *in = of_key(row->in, row->n_in, row->out[i].key);
    if (!in)
      return json_error(LLRT_INVALID_ARGUMENT, row->out[i].at, "`in` has no tensor of this key");
    LLRT_TRY(check_axes(row, in, &row->out[i]));
  }
  for (int i = 0; i < row->n_maps; i++)
    if (!of_key(row->in, row->n_in, row->maps[i].key))
      return json_error(LLRT_INVALID_ARGUMENT, row->maps[i].at, "`in` has no tensor of this key");
  return LLRT_OK;
}

/* That an axis which the row speaks of is one of its tensors'. */
static llrt_status check_named(const recipe_row *row, const json_value *at, span axis) {
  for (int i = 0; i < row->n_out; i++)
    if (has_axis(&row->out[i], axis)) return LLRT_OK;
  return json_error(LLRT_INVALID_ARGUMENT, at, "no tensor of `out` has an axis %.*s",
                    (int)axis.length, axis.text);
}

static llrt_status check_row(const recipe_row *row) {
  if (!row->expression) LLRT_TRY(check_pairs(row));
  if (row->n_in == 0 && row->n_consts == 0)
    return json_error(LLRT_INVALID_ARGUMENT, row->at, "neither in and out nor const");
  if (row->n_in == 0 && (row->n_pads || row->n_fuses || row->shard))
    return json_error(LLRT_INVALID_ARGUMENT, row->at, "pad, fuse and shard are for in and out");
  for (int i = 0; i < row->n_pads; i++)
    LLRT_TRY(check_named(row, row->pad[i].at, row->pad[i].axis));
  for (int i = 0; i < row->n_fuses; i++)
    LLRT_TRY(check_named(row, row->fuse[i].at, row->fuse[i].axis));
  if (row->shard == SHARD_AXIS) LLRT_TRY(check_named(row, row->shard_at, row->shard_axis));
  return LLRT_OK;
}

static llrt_status read_row(const json_value *value, recipe_row *row) {
  static const char *const keys[] = {"each",  "shard", "pad",  "fuse",    "in",      "out", "maps",
                                     "const", "where", "note", "compute", "largest", NULL};
  LLRT_TRY(want_keys(value, keys));
  row->at = value;
  const json_value *each = json_member(value, "each"), *note = json_member(value, "note");
  if (each) LLRT_TRY(want(each, JSON_TEXT));
  if (note) LLRT_TRY(want(note, JSON_TEXT));
  row->each = each ? span_of(each->text) : (span){"", 0};
  LLRT_TRY(read_tensors(json_member(value, "in"), &row->in, &row->n_in));
  LLRT_TRY(read_tensors(json_member(value, "out"), &row->out, &row->n_out));
  LLRT_TRY(read_shard(json_member(value, "shard"), row));
  LLRT_TRY(read_pads(json_member(value, "pad"), row));
  LLRT_TRY(read_fuses(json_member(value, "fuse"), row));
  LLRT_TRY(read_maps(json_member(value, "maps"), row));
  LLRT_TRY(read_consts(json_member(value, "const"), row));
  LLRT_TRY(read_wheres(json_member(value, "where"), row));
  LLRT_TRY(recipe_compute_read(json_member(value, "compute"), json_member(value, "largest"), row));
  return check_row(row);
}

/* ---- the recipe ---- */

static llrt_status read_names(const json_value *value, bool of_config, recipe_name **names,
                              int *n) {
  LLRT_TRY(allocate(members(value), sizeof **names, names));
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    recipe_name *name = &(*names)[(*n)++];
    *name = (recipe_name){.at = member, .name = span_of(member->key)};
    if (!is_name(member->key, true))
      return json_error(LLRT_INVALID_ARGUMENT, member, "no name: it begins in upper case");
    if (of_config) {
      LLRT_TRY(want(member, JSON_TEXT));
      name->value = span_of(member->text);
    } else {
      LLRT_TRY(read_expression(member, &name->value));
    }
  }
  return LLRT_OK;
}

static llrt_status read_requires(const json_value *value, llrt_recipe *recipe) {
  static const char *const keys[] = {"is", "why", NULL};
  LLRT_TRY(allocate(members(value), sizeof *recipe->require, &recipe->require));
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_OBJECT));
  for (const json_value *member = value->first; member; member = member->next) {
    recipe->require[recipe->n_requires++] = member;
    if (member->kind != JSON_OBJECT) continue;
    LLRT_TRY(want_keys(member, keys));
    const json_value *why = json_member(member, "why");
    if (!json_member(member, "is"))
      return json_error(LLRT_INVALID_ARGUMENT, member, "is is missing");
    if (why) LLRT_TRY(want(why, JSON_TEXT));
  }
  return LLRT_OK;
}

static llrt_status read_rest(const json_value *value, recipe_rest *rest) {
  static const char *const names[] = {"keep", "drop", "refuse"};
  if (!value) return LLRT_OK;
  LLRT_TRY(want(value, JSON_TEXT));
  for (int i = 0; i < 3; i++)
    if (strcmp(names[i], value->text) == 0) {
      *rest = (recipe_rest)i;
      return LLRT_OK;
    }
  return json_error(LLRT_INVALID_ARGUMENT, value, "should be keep, drop or refuse");
}

static llrt_status read_version(const json_value *root) {
  const json_value *version = json_member(root, "recipe");
  if (!version) return json_error(LLRT_INVALID_ARGUMENT, root, "recipe is missing: its version, 1");
  if (!version->whole || version->kind != JSON_NUMBER || version->integer < 1)
    return json_error(LLRT_INVALID_ARGUMENT, version, "no version");
  if (version->integer > 1)
    return json_error(LLRT_UNSUPPORTED, version, "version %lld, this library reads 1",
                      (long long)version->integer);
  return LLRT_OK;
}

static llrt_status read_root(const json_value *root, llrt_recipe *recipe) {
  static const char *const keys[] = {"recipe", "name",    "for",  "note", "config",
                                     "let",    "require", "rows", "rest", NULL};
  LLRT_TRY(want(root, JSON_OBJECT));
  LLRT_TRY(read_version(root));
  LLRT_TRY(want_keys(root, keys));
  for (int i = 1; i < 4; i++) {
    const json_value *text = json_member(root, keys[i]);
    if (text) LLRT_TRY(want(text, JSON_TEXT));
  }
  const json_value *name = json_member(root, "name"), *rows = json_member(root, "rows");
  if (!name) return json_error(LLRT_INVALID_ARGUMENT, root, "name is missing");
  if (!rows) return json_error(LLRT_INVALID_ARGUMENT, root, "rows is missing");
  recipe->name = name->text;
  LLRT_TRY(read_names(json_member(root, "config"), true, &recipe->config, &recipe->n_config));
  LLRT_TRY(read_names(json_member(root, "let"), false, &recipe->let, &recipe->n_lets));
  LLRT_TRY(read_requires(json_member(root, "require"), recipe));
  LLRT_TRY(read_rest(json_member(root, "rest"), &recipe->rest));
  LLRT_TRY(want(rows, JSON_LIST));
  LLRT_TRY(allocate(rows->n, sizeof *recipe->row, &recipe->row));
  for (const json_value *row = rows->first; row; row = row->next)
    LLRT_TRY(read_row(row, &recipe->row[recipe->n_rows++]));
  return LLRT_OK;
}

void llrt_recipe_destroy(llrt_recipe **recipe) {
  if (!recipe || !*recipe) return;
  for (int i = 0; i < (*recipe)->n_rows; i++) {
    recipe_row *row = &(*recipe)->row[i];
    free(row->in);
    free(row->out);
    free(row->pad);
    free(row->fuse);
    free(row->maps);
    free(row->constant);
    free(row->where);
    recipe_compute_free(row);
  }
  free((*recipe)->row);
  free((*recipe)->config);
  free((*recipe)->let);
  free((*recipe)->require);
  json_free(&(*recipe)->tree);
  free(*recipe);
  *recipe = NULL;
}

llrt_status llrt_recipe_load(const char *json, size_t bytes, llrt_recipe **recipe) {
  LLRT_ENTRY();
  LLRT_REQUIRE(recipe, "recipe is NULL");
  *recipe = NULL;
  LLRT_REQUIRE(json, "json is NULL");
  llrt_recipe *made;
  LLRT_TRY(allocate(1, sizeof *made, &made));
  llrt_status status = json_read(json, bytes, &made->tree);
  if (!status) status = read_root(made->tree.root, made);
  if (status) llrt_recipe_destroy(&made);
  else *recipe = made;
  return status;
}

const char *llrt_recipe_name(const llrt_recipe *recipe) { return recipe ? recipe->name : NULL; }
