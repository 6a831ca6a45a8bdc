#include "tools/common/options.h"

#include "base/escape.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *program_of(const command *c) { return c->program ? c->program : "llrt"; }

void options_print_line(const char *lead, const char *format, va_list arguments, const char *tail) {
  char text[2048], shown[4 * sizeof text];
  vsnprintf(text, sizeof text, format, arguments);
  llrt_escape(text, shown, sizeof shown);
  fprintf(stderr, "%s: %s%s\n", lead, shown, tail);
}

void options_wrong(const char *program, const char *name, const char *format, va_list arguments) {
  char lead[64], tail[96];
  snprintf(lead, sizeof lead, "%s %s", program, name);
  snprintf(tail, sizeof tail, " (see %s %s --help)", program, name);
  options_print_line(lead, format, arguments, tail);
}

/* Complains about the options and returns false. */
static bool wrong(const command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(const command *c, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  options_wrong(program_of(c), c->name, format, arguments);
  va_end(arguments);
  return false;
}

/* The place in the table of --name (of `length` characters) or -letter; -1 when there is none. */
static int find_option(const command *c, const char *name, size_t length, char letter) {
  for (int i = 0; c->option[i].name; i++) {
    const option_spec *o = &c->option[i];
    if (letter ? o->letter == letter : strlen(o->name) == length && !memcmp(o->name, name, length))
      return i;
  }
  return -1;
}

/* Keeps a value of the option that may be repeated. */
static bool take_repeated(const command *c, const char *value, options *given) {
  int most = c->most_repeats ? c->most_repeats : OPTIONS_FEW_REPEATS;
  if (given->n_repeated == most)
    return wrong(c, "--%s is given more than %d times", c->repeated, most);
  given->repeated[given->n_repeated++] = value;
  return true;
}

/* Takes the option at argv[*at]; *at moves to its last word. */
static bool take_option(const command *c, int argc, char *const argv[], int *at, options *given) {
  const char *text = argv[*at];
  bool is_long = text[1] == '-';
  const char *equals = is_long ? strchr(text, '=') : NULL;
  size_t length = equals ? (size_t)(equals - text - 2) : strlen(text) - 2;
  const char *value = equals ? equals + 1 : NULL;
  if (!is_long && text[2]) value = text + 2;
  int index = find_option(c, text + 2, length, is_long ? 0 : text[1]);
  if (index < 0) return wrong(c, "there is no option %s", text);
  const option_spec *o = &c->option[index];
  bool repeats = c->repeated && strcmp(o->name, c->repeated) == 0;
  if (given->value[index] && !repeats) return wrong(c, "--%s is given twice", o->name);
  if (!o->argument) {
    if (value) return wrong(c, "--%s takes no value", o->name);
    value = "";
  } else if (!value) {
    if (*at + 1 >= argc) return wrong(c, "--%s needs %s", o->name, o->argument);
    value = argv[++*at];
  }
  if (!given->value[index]) given->value[index] = value;
  return !repeats || take_repeated(c, value, given);
}

static bool asks_for_help(int argc, char *const argv[]) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  return false;
}

bool options_parse(const command *c, int argc, char *const argv[], options *given, bool *help) {
  bool only_words = false;
  *given = (options){0};
  *help = asks_for_help(argc, argv);
  if (*help) return true;
  for (int i = 0; i < argc; i++) {
    if (!only_words && strcmp(argv[i], "--") == 0) {
      only_words = true;
    } else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
      if (!take_option(c, argc, argv, &i, given)) return false;
    } else {
      if (given->n_words == c->max_words) return wrong(c, "'%s' is one word too many", argv[i]);
      given->word[given->n_words++] = argv[i];
    }
  }
  return true;
}

enum { HELP_COLUMN = 26 };

/* Characters of UTF-8 text. */
static int width_of(const char *text) {
  int width = 0;
  for (; *text; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
  return width;
}

/* The help stands in a column of its own, on the next line where the option reaches into that. */
static void print_option(const char *name, char letter, const char *argument, const char *help) {
  char left[64];
  char dash[8] = "    ";
  if (letter) snprintf(dash, sizeof dash, "-%c, ", letter);
  snprintf(left, sizeof left, "  %s--%s%s%s", dash, name, argument ? " " : "",
           argument ? argument : "");
  int room = HELP_COLUMN - width_of(left);
  if (room > 0) printf("%s%*s", left, room, "");
  else printf("%s\n%*s", left, HELP_COLUMN, "");
  for (const char *line = help; line;) {
    const char *end = strchr(line, '\n');
    printf("%.*s\n", end ? (int)(end - line) : (int)strlen(line), line);
    line = end ? end + 1 : NULL;
    if (line) printf("%*s", HELP_COLUMN, "");
  }
}

void options_print_help(const command *c) {
  printf("usage: %s %s%s%s\n\n%s\n\noptions:\n", program_of(c), c->name, *c->synopsis ? " " : "",
         c->synopsis, c->text);
  for (const option_spec *o = c->option; o->name; o++)
    print_option(o->name, o->letter, o->argument, o->help);
  print_option("help", 'h', NULL, "this text");
  printf("\nexample:\n%s\n", c->example);
}

bool options_parse_numbers(const char *text, char separator, int max, int64_t *numbers,
                           int *count) {
  *count = 0;
  for (const char *at = text;; at++) {
    int64_t number = 0;
    if (!isdigit((unsigned char)*at) || *count == max) return false;
    for (; isdigit((unsigned char)*at); at++) {
      int digit = *at - '0';
      if (number > (INT64_MAX - digit) / 10) return false;
      number = number * 10 + digit;
    }
    numbers[(*count)++] = number;
    if (*at == '\0') return true;
    if (*at != separator) return false;
  }
}
