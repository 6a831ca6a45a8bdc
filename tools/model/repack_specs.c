#include "tools/model/repack_parts.h"

#include "tools/common/library_says.h"

#include <stdlib.h>
#include <string.h>

bool specs_read(const llrt_recipe *recipe, specs *out, array_error *error) {
  size_t length = 0;
  json_error_t reason;
  *out = (specs){0};
  if (llrt_recipe_print(recipe, NULL, 0, &length) != LLRT_OK)
    return array_fail(error, "%.400s", library_says());
  char *text = malloc(length + 1);
  json_t *json = NULL;
  if (text && llrt_recipe_print(recipe, text, length + 1, &length) == LLRT_OK)
    json = json_loadb(text, length, 0, &reason);
  free(text);
  if (!json) return array_fail(error, "no memory for the recipe");
  out->rows = json_incref(json_object_get(json, "rows"));
  json_decref(json);
  return true;
}

void specs_fini(specs *s) {
  json_decref(s->rows);
  *s = (specs){0};
}

/* A step's outputs are those of its row, in their order. */
char *specs_find(const specs *s, const llrt_repack_step *step, int32_t number) {
  json_t *row = step->row < 0 ? NULL : json_array_get(s->rows, (size_t)step->row), *text;
  json_t *out = json_object_get(row, "out");
  const char *key;
  int32_t place = 0, wanted = 0;
  while (wanted < step->n_outputs && step->outputs[wanted] != number) wanted++;
  if (json_object_size(out) != (size_t)step->n_outputs) return NULL;
  json_object_foreach(out, key, text) {
    const char *said = json_string_value(text), *colon = said ? strstr(said, ": ") : NULL;
    if (place++ == wanted) return colon ? strdup(colon + 2) : NULL;
  }
  return NULL;
}
