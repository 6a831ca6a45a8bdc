/* The command line of one subcommand, read by a table. Options may stand before, between and after
 * the other words; "--" ends them. `--name VALUE`, `--name=VALUE` and `-o VALUE` are all accepted.
 */
#ifndef LLRT_TOOLS_COMMON_OPTIONS_H
#define LLRT_TOOLS_COMMON_OPTIONS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_MAX 40         /* of one command */
#define OPTIONS_MAX_WORDS 32   /* arguments that are no options */
#define OPTIONS_MAX_REPEATS 16 /* of the option that may be repeated */
#define OPTIONS_FEW_REPEATS 4  /* unless the command says more */

typedef struct option_spec {
  const char *name;     /* without its dashes */
  char letter;          /* the short form; 0: none */
  const char *argument; /* what the help calls its value; NULL: a flag */
  const char *help;     /* may have several lines */
} option_spec;

typedef struct options {
  const char
      *value[OPTIONS_MAX]; /* by place in the command's table: NULL where not given, "" a flag */
  const char *word[OPTIONS_MAX_WORDS];
  int n_words;
  const char
      *repeated[OPTIONS_MAX_REPEATS]; /* all values of command.repeated; value has the first */
  int n_repeated;
} options;

/* One subcommand. Its table ends with an entry without a name. */
typedef struct command {
  const char *program; /* whose subcommand it is; NULL: llrt */
  const char *name;
  const char *summary;  /* one line, for the list of commands */
  const char *synopsis; /* what follows the name: "EXPR [options]" */
  const char *text;     /* what it does and what its output means */
  const char *example;  /* one or more whole lines */
  const option_spec *option;
  const char *repeated; /* the name of the one option that may be given several times; NULL: none */
  int most_repeats;     /* 0: OPTIONS_FEW_REPEATS */
  int min_words, max_words;
  int (*run)(const options *given); /* returns the exit code */
} command;

/* Fills *given. Returns false after a line on stderr when the options are wrong. *help: --help
 * stands among them; nothing else was then checked. */
bool options_parse(const command *c, int argc, char *const argv[], options *given, bool *help);

void options_print_help(const command *c);

/* Prints "LEAD: MESSAGE TAIL" to stderr as one line whatever the message holds: what is not
 * printable or no UTF-8 becomes \xNN. */
void options_print_line(const char *lead, const char *format, va_list arguments, const char *tail)
    __attribute__((format(printf, 2, 0)));

/* The same for wrong options: "PROGRAM NAME: message (see PROGRAM NAME --help)". */
void options_wrong(const char *program, const char *name, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* "128x64" (separator 'x') or "0,8" (','): at most `max` numbers, each >= 0. False for anything
 * else. */
bool options_parse_numbers(const char *text, char separator, int max, int64_t *numbers, int *count);

#endif
