/* docs/storages.md against the table of named storages: a row for each entry, and no others. */
#include <llrt/storage_named.h>

#include <criterion/criterion.h>
#include <stdarg.h>
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

typedef struct line {
  size_t used;
  char text[1024];
} line;

__attribute__((format(printf, 2, 3))) static void append(line *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(out->text + out->used, sizeof out->text - out->used, format, arguments);
  va_end(arguments);
  out->used += (size_t)n;
  cr_assert_lt(out->used, sizeof out->text);
}

/* `c* w*` in a table: a bar would end the cell. */
static void append_formula(line *out, const char *formula) {
  append(out, "`");
  for (; *formula; formula++) append(out, "%s%c", *formula == '|' ? "\\" : "", *formula);
  append(out, "`");
}

static void append_params(line *out, const llrt_named_storage *entry) {
  for (int i = 0; i < LLRT_NAMED_MAX_PARAMS && entry->param[i].name; i++) {
    const llrt_named_param *param = &entry->param[i];
    append(out, "%s`%s`", i ? "; " : "", param->name);
    if (param->preset >= 0) append(out, "=%lld", (long long)param->preset);
    append(out, ": %s", param->meaning);
  }
}

/* The entry's whole line on the page, line ends included. */
static void describe(const llrt_named_storage *entry, line *out) {
  out->used = 0;
  append(out, ROW_START "%s` | %s | ", entry->name, entry->dims);
  if (entry->formula) append_formula(out, entry->formula);
  append(out, " | ");
  append_params(out, entry);
  append(out, " | %s | ", entry->widths);
  if (entry->pad == LLRT_PAD_VALUE) append(out, "%lld", (long long)entry->pad_value);
  if (entry->pad == LLRT_PAD_KEEP) append(out, "keep");
  append(out, " | %s |\n", entry->source);
}

Test(storages_page, shows_the_table) {
  char *page = read_page();
  line row;
  int rows = 0;
  for (int i = 0; i < llrt_storage_named_count(); i++) {
    describe(llrt_storage_named_at(i), &row);
    cr_expect(strstr(page, row.text), PAGE " lacks this row:%s", row.text);
  }
  for (const char *at = strstr(page, ROW_START); at; at = strstr(at + 1, ROW_START)) rows++;
  cr_expect_eq(rows, llrt_storage_named_count(), PAGE " has %d rows, the table %d", rows,
               llrt_storage_named_count());
  free(page);
}
