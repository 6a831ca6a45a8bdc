/* Runs the built `llrt` in a folder of its own, as a shell would. */
#ifndef LLRT_TESTS_CLI_TOOL_RUN_H
#define LLRT_TESTS_CLI_TOOL_RUN_H

#include "tools/common/array.h"

#include <stddef.h>

typedef struct tool_result {
  int code;
  char *out; /* standard output, zero-terminated; tool_result_fini frees both */
  size_t out_size;
  char *err;
} tool_result;

/* Makes an empty folder and goes there; goes back and removes it with everything inside. */
void tool_folder_enter(void);
void tool_folder_leave(void);

/* Number of files in the folder. */
int tool_folder_count(void);

/* Runs `llrt <line>`; quotes and redirections in the line are the shell's, and without any there is
 * nothing on standard input. What it prints does not stay in the folder. */
tool_result tool_run(const char *line);
void tool_result_fini(tool_result *result);

/* Runs the line and fails the test unless it ends with `code`; when that is not 0, unless it
 * printed nothing on standard output, one line on standard error that contains `why`, and left the
 * folder's files as many as they were. */
void tool_expect_failure(const char *line, int code, const char *why);

typedef struct tool_failure {
  const char *line;
  int code;
  const char *why;
} tool_failure;

/* The same for each of n rows. */
void tool_expect_failures(const tool_failure *rows, size_t n);

/* Runs the line and fails the test unless it ends with 0. */
tool_result tool_expect_success(const char *line);

/* The same where nothing may be printed. */
void tool_run_quietly(const char *line);

/* The array of a file; of the one that a quiet line writes. The caller destroys it. */
array tool_array_read(const char *path);
array tool_array(const char *line, const char *path);

/* Whole files. */
char *tool_read_file(const char *path, size_t *size); /* free it */
void tool_write_file(const char *path, const void *data, size_t size);

#endif
