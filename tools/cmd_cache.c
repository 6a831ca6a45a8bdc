/* llrt cache: the folder of compiled kernels. */
#include "tools/tool.h"

#include <llrt/llrt.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CACHE_DIR, CACHE_FILE, CACHE_DAMAGED };

static const option_spec table[] = {
    [CACHE_DIR] = {"dir", 0, "PATH", "the folder; LLRT_CACHE_DIR, else $XDG_CACHE_HOME/llrt"},
    [CACHE_FILE] = {"file", 'f', "PATH", "export, import: the one file of all kernels"},
    [CACHE_DAMAGED] = {"damaged", 0, NULL, "clear: only files that are damaged"},
    {0}};

typedef struct tally {
  uint64_t files[3], bytes[3]; /* by llrt_cache_state */
  bool lists, tells_damage;
} tally;

static void print_entry(const llrt_cache_entry *entry) {
  char when[32] = "";
  time_t used = (time_t)entry->used;
  struct tm at;
  if (localtime_r(&used, &at)) strftime(when, sizeof when, "%Y-%m-%d %H:%M", &at);
  printf("%.12s  %8" PRIu64 "  %s  %-14s %s%s\n", entry->name, entry->bytes, when, entry->target,
         entry->state == LLRT_CACHE_OTHER_BUILD                       ? "(another build) "
         : entry->state == LLRT_CACHE_SOUND && entry->n_compiled == 0 ? "(plan) "
                                                                      : "",
         entry->state == LLRT_CACHE_DAMAGED ? entry->why : entry->text);
}

static int count_entry(void *user, const llrt_cache_entry *entry) {
  tally *t = user;
  t->files[entry->state]++;
  t->bytes[entry->state] += entry->bytes;
  if (t->lists) print_entry(entry);
  if (t->tells_damage && entry->state == LLRT_CACHE_DAMAGED)
    printf("%s: %s\n", entry->name, entry->why);
  return 0;
}

static int look(const char *dir, tally *t) {
  return llrt_cache_visit(dir, t, count_entry) == LLRT_OK ? TOOL_DONE : tool_refuse_library(NULL);
}

static int show_stats(const char *dir) {
  static const char *const states[] = {"kernels", "of other builds", "damaged"};
  tally t = {0};
  int code = look(dir, &t);
  if (code != TOOL_DONE) return code;
  printf("%s\n", dir);
  for (int s = 0; s < 3; s++)
    printf("  %-16s %8" PRIu64 "  %12" PRIu64 " bytes\n", states[s], t.files[s], t.bytes[s]);
  return TOOL_DONE;
}

static int verify(const char *dir) {
  tally t = {.tells_damage = true};
  int code = look(dir, &t);
  if (code != TOOL_DONE) return code;
  printf("%" PRIu64 " kernels, %" PRIu64 " of other builds, %" PRIu64 " damaged\n", t.files[0],
         t.files[1], t.files[2]);
  return t.files[2] ? tool_refuse("%s has damaged files: llrt cache clear --damaged removes them, "
                                  "and until then they are not used",
                                  dir)
                    : TOOL_DONE;
}

static int clear(const char *dir, bool damaged_only) {
  uint64_t removed;
  if (llrt_cache_clear(dir, damaged_only, &removed) != LLRT_OK) return tool_refuse_library(NULL);
  printf("%" PRIu64 " removed\n", removed);
  return TOOL_DONE;
}

static int carry(const char *dir, const char *file, bool out) {
  uint64_t count;
  if (!file) return tool_wrong("cache", "%s needs --file", out ? "export" : "import");
  llrt_status status =
      out ? llrt_cache_export(dir, file, &count) : llrt_cache_import(dir, file, &count);
  if (status != LLRT_OK) return tool_refuse_library(NULL);
  printf("%" PRIu64 " kernels\n", count);
  return TOOL_DONE;
}

static int run(const options *given) {
  char preset[PATH_MAX];
  const char *dir = given->value[CACHE_DIR], *what = given->word[0];
  if (!dir) {
    if (llrt_cache_default_dir(preset, sizeof preset) != LLRT_OK) return tool_refuse_library(NULL);
    dir = preset;
  }
  if (!dir[0]) return tool_refuse("no folder: LLRT_CACHE_DIR is empty, or there is no HOME");
  if (strcmp(what, "import") != 0 && access(dir, F_OK) != 0 && !given->value[CACHE_DIR])
    return printf("%s is not there yet\n", dir) < 0 ? TOOL_REFUSED : TOOL_DONE;
  if (strcmp(what, "stats") == 0) return show_stats(dir);
  if (strcmp(what, "list") == 0) return look(dir, &(tally){.lists = true});
  if (strcmp(what, "verify") == 0) return verify(dir);
  if (strcmp(what, "clear") == 0) return clear(dir, given->value[CACHE_DAMAGED] != NULL);
  if (strcmp(what, "export") == 0) return carry(dir, given->value[CACHE_FILE], true);
  if (strcmp(what, "import") == 0) return carry(dir, given->value[CACHE_FILE], false);
  return tool_wrong("cache", "there is no '%s': stats, list, verify, clear, export or import",
                    what);
}

const command cmd_cache = {
    .name = "cache",
    .summary = "look after the compiled kernels that are kept on disk",
    .synopsis = "stats|list|verify|clear|export|import [options]",
    .text =
        "Kernels that the command line compiles are kept in a folder, so that the next process\n"
        "need not compile them. stats counts them; list has a line for each: name, bytes, last\n"
        "use, target, what it does; verify reads all and tells which are damaged (exit code 1);\n"
        "clear removes them; export writes all into one file, import adds those of such a file.\n"
        "What is imported is code that will be run: import only what you trust.",
    .example = "  llrt cache stats\n"
               "  llrt cache export --file kernels.pack",
    .option = table,
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
