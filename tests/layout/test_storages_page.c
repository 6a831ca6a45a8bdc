/* docs/storages.md against the table of named storages: a row for each entry, and no others. */
#include "base/text.h"

#include <llrt/storage_named.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE LLRT_TEST_SOURCE_DIR "/docs/storages.md"
#define ROW_START "\n| `"

/* The page; the caller frees it. */
static char *read_page(void) {
  FILE *file = fopen(PAGE, "rb");
  cr_assert(file, PAGE);
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  char *text = calloc(size + 1, 1);
  cr_assert(text && fread(text, 1, size, file) == size);
  fclose(file);
  return text;
}

/* `c* w*` in a table: a bar would end the cell. */
static void append_formula(llrt_text *out, const char *formula) {
  llrt_text_add(out, "`");
  for (; *formula; formula++) llrt_text_add(out, "%s%c", *formula == '|' ? "\\" : "", *formula);
  llrt_text_add(out, "`");
}

static void append_params(llrt_text *out, const llrt_named_storage *entry) {
  for (int i = 0; i < LLRT_NAMED_MAX_PARAMS && entry->param[i].name; i++) {
    const llrt_named_param *param = &entry->param[i];
    llrt_text_add(out, "%s`%s`", i ? "; " : "", param->name);
    if (param->preset >= 0) llrt_text_add(out, "=%lld", (long long)param->preset);
    llrt_text_add(out, ": %s", param->meaning);
  }
}

/* The entry's whole line on the page, line ends included. */
static void describe(const llrt_named_storage *entry, llrt_text *out) {
  llrt_text_add(out, ROW_START "%s` | %s | ", entry->name, entry->dims);
  if (entry->formula) append_formula(out, entry->formula);
  llrt_text_add(out, " | ");
  append_params(out, entry);
  llrt_text_add(out, " | %s | ", entry->widths);
  if (entry->pad == LLRT_PAD_VALUE) llrt_text_add(out, "%lld", (long long)entry->pad_value);
  if (entry->pad == LLRT_PAD_KEEP) llrt_text_add(out, "keep");
  llrt_text_add(out, " | %s |\n", entry->source);
}

Test(storages_page, shows_the_table) {
  char *page = read_page();
  int rows = 0;
  for (int i = 0; i < llrt_storage_named_count(); i++) {
    llrt_text row;
    llrt_text_init(&row);
    describe(llrt_storage_named_at(i), &row);
    cr_expect(strstr(page, row.data), PAGE " lacks this row:%s", row.data);
    llrt_text_fini(&row);
  }
  for (const char *at = strstr(page, ROW_START); at; at = strstr(at + 1, ROW_START)) rows++;
  cr_expect_eq(rows, llrt_storage_named_count(), PAGE " has %d rows, the table %d", rows,
               llrt_storage_named_count());
  free(page);
}
