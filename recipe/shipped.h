/* The recipes that come with the library: recipes/NAME.json, compiled in
 * (cmake/EmbedRecipes.cmake). */
#ifndef LLRT_RECIPE_SHIPPED_H
#define LLRT_RECIPE_SHIPPED_H

typedef struct shipped_recipe {
  const char *name, *json; /* zero-terminated */
} shipped_recipe;

extern const shipped_recipe shipped_recipes[]; /* by name; the last has none */

#endif
