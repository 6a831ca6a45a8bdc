#include "recipe/shipped.h"

#include "base/status.h"
#include "base/text.h"

#include <llrt/recipe.h>

#include <string.h>

const char *llrt_recipe_shipped(int number, const char **json) {
  int n = 0;
  if (json) *json = NULL;
  while (shipped_recipes[n].name && n != number) n++;
  if (number < 0 || !shipped_recipes[n].name) return NULL;
  if (json) *json = shipped_recipes[n].json;
  return shipped_recipes[n].name;
}

/* The names, for a message. */
static llrt_status no_such(const char *name) {
  llrt_text text;
  llrt_text_init(&text);
  for (const shipped_recipe *r = shipped_recipes; r->name; r++)
    llrt_text_add(&text, "%s%s", text.length ? ", " : "", r->name);
  llrt_status status =
      llrt_error(LLRT_INVALID_ARGUMENT, "there is no recipe %.64s; those that come with llrt: %s",
                 name, text.data ? text.data : "none");
  llrt_text_fini(&text);
  return status;
}

llrt_status llrt_recipe_load_named(const char *name, llrt_recipe **recipe) {
  LLRT_ENTRY();
  LLRT_REQUIRE(recipe, "recipe is NULL");
  *recipe = NULL;
  LLRT_REQUIRE(name, "name is NULL");
  for (const shipped_recipe *r = shipped_recipes; r->name; r++)
    if (strcmp(r->name, name) == 0) return llrt_recipe_load(r->json, strlen(r->json), recipe);
  return no_such(name);
}
