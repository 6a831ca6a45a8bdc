/* Transcripts: documents whose code blocks have lines "$ llrt ...", each followed by what it
 * prints, up to the next such line or the end of the block. Every line is run and its output
 * compared; a refusal's output is its line on stderr. LLRT_CLI_UPDATE=1 writes the documents anew
 * instead. */
#include "tool_run.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

TestSuite(cli_transcripts, .init = tool_folder_enter, .fini = tool_folder_leave);

#define PROMPT "$ llrt "
#ifdef __SANITIZE_ADDRESS__
#define LIMIT_MS 2000
#else
#define LIMIT_MS 200 /* a call takes 2; a busy machine has to fit */
#endif

static size_t line_length(const char *text) {
  const char *end = strchr(text, '\n');
  return end ? (size_t)(end - text) + 1 : strlen(text);
}

static bool starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The command at `text`, without prompt; "\" at the end of a line continues it. Returns what
 * follows. */
static const char *read_command(const char *text, char *command, size_t size) {
  size_t used = 0;
  bool more = true;
  for (text += strlen(PROMPT); more; text += line_length(text)) {
    size_t length = line_length(text) - 1;
    more = length > 0 && text[length - 1] == '\\';
    if (more) length--;
    cr_assert_lt(used + length, size);
    memcpy(command + used, text, length);
    used += length;
  }
  command[used] = '\0';
  return text;
}

/* Where the output that starts at `text` ends. */
static const char *skip_output(const char *text) {
  while (*text && !starts_with(text, PROMPT) && !starts_with(text, "```"))
    text += line_length(text);
  return text;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + (double)now.tv_nsec / 1e6;
}

/* Runs one command; adds what it printed to `out`. */
static void run_command(const char *command, const char *expected, size_t length, FILE *out) {
  double start = milliseconds();
  tool_result r = tool_run(command);
  double took = milliseconds() - start;
  const char *printed = r.code == 0 ? r.out : r.err;
  cr_log_info("%6.1f ms  llrt %s\n", took, command);
  cr_expect_lt(took, LIMIT_MS, "llrt %s: %.1f ms", command, took);
  if (!getenv("LLRT_CLI_UPDATE"))
    cr_expect(strlen(printed) == length && memcmp(printed, expected, length) == 0,
              "llrt %s prints\n%s", command, printed);
  fputs(printed, out);
  tool_result_fini(&r);
}

static void run_transcript(const char *name, int at_least) {
  char path[512], command[4096];
  size_t size;
  int commands = 0;
  snprintf(path, sizeof path, "%s/%s", LLRT_TEST_SOURCE_DIR, name);
  char *document = tool_read_file(path, &size), *written = NULL;
  FILE *out = open_memstream(&written, &size);
  tool_result warm = tool_run("--version");
  tool_result_fini(&warm);
  for (const char *text = document; *text;) {
    const char *next = text + line_length(text);
    if (starts_with(text, PROMPT)) {
      const char *output = read_command(text, command, sizeof command);
      fwrite(text, 1, (size_t)(output - text), out);
      next = skip_output(output);
      run_command(command, output, (size_t)(next - output), out);
      commands++;
    } else {
      fwrite(text, 1, (size_t)(next - text), out);
    }
    text = next;
  }
  fclose(out);
  if (getenv("LLRT_CLI_UPDATE")) tool_write_file(path, written, size);
  cr_expect_geq(commands, at_least, "%s: only %d commands", name, commands);
  free(written);
  free(document);
}

Test(cli_transcripts, learning_the_language) { run_transcript("docs/layouts.md", 15); }

Test(cli_transcripts, the_reference) { run_transcript("docs/layout-language.md", 1); }

Test(cli_transcripts, several_devices) { run_transcript("docs/mesh.md", 6); }

Test(cli_transcripts, what_crosses_links) { run_transcript("docs/reshard.md", 3); }

Test(cli_transcripts, why_a_kernel) { run_transcript("docs/cli.md", 3); }

/* Every form of the language once. */
Test(cli_transcripts, every_form) { run_transcript("tests/data/cli/language.md", 60); }
