/* llrt: the command line over the library. */
#include "tools/tool.h"

#include <llrt/llrt.h>

#include <stdio.h>
#include <string.h>

static const command *const commands[] = {
    &cmd_layout, &cmd_convert, &cmd_gather, &cmd_reduce,  &cmd_scan,  &cmd_dot,    &cmd_compute,
    &cmd_repack, &cmd_explain, &cmd_tune,   &cmd_compile, &cmd_cache, &cmd_devices};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_overview(FILE *stream) {
  fprintf(stream,
          "usage: llrt COMMAND [options]\n\n"
          "llrt moves tensors between layouts with kernels that it makes for the pair at hand.\n\n"
          "commands:\n");
  for (int i = 0; i < COMMAND_COUNT; i++)
    fprintf(stream, "  %-10s%s\n", commands[i]->name, commands[i]->summary);
  fprintf(stream,
          "\n  llrt COMMAND --help   what a command does, its options, an example\n"
          "  llrt --version        the library's version\n\n"
          "exit codes: 0 done; 1 the request was refused, one line says why; 2 wrong options\n");
}

static int run_command(const command *c, int argc, char *const argv[]) {
  options given;
  bool help;
  if (!options_parse(c, argc, argv, &given, &help)) return TOOL_WRONG;
  if (help) {
    options_print_help(c);
    return TOOL_DONE;
  }
  if (given.n_words < c->min_words)
    return tool_wrong(c->name, "too few words: usage is llrt %s %s", c->name, c->synopsis);
  return c->run(&given);
}

static int run(int argc, char *const argv[]) {
  if (argc < 2) {
    print_overview(stderr);
    return TOOL_WRONG;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("llrt %s\n", llrt_version());
    return TOOL_DONE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    print_overview(stdout);
    return TOOL_DONE;
  }
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(argv[1], commands[i]->name) == 0)
      return run_command(commands[i], argc - 2, argv + 2);
  fprintf(stderr, "llrt: there is no command '%s' (see llrt --help)\n", argv[1]);
  return TOOL_WRONG;
}

int main(int argc, char *argv[]) {
  int code = run(argc, argv);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    if (code == TOOL_DONE) code = tool_refuse("standard output cannot be written");
  }
  return code;
}
