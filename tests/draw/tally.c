#include "tally.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message with N for every number. */
static void strip_numbers(const char *why, char *text, size_t size) {
  size_t n = 0;
  for (const char *at = why; *at && n + 2 < size;) {
    bool word = at > why && (isalpha((unsigned char)at[-1]) || at[-1] == '_');
    if (!isdigit((unsigned char)*at) || word) {
      text[n++] = *at++;
      continue;
    }
    text[n++] = 'N';
    while (isalnum((unsigned char)*at)) at++;
  }
  text[n] = 0;
}

static void add_reason(draw_tally *to, uint64_t number, const draw_reply *reply) {
  char text[sizeof to->reasons->text];
  strip_numbers(reply->why, text, sizeof text);
  for (int i = 0; i < to->n_reasons; i++) {
    draw_reason *known = &to->reasons[i];
    if (known->verdict != reply->verdict || known->operation != reply->operation ||
        strcmp(known->text, text) != 0)
      continue;
    known->count++;
    return;
  }
  if (to->n_reasons == to->room) {
    to->room = 2 * to->room + 16;
    to->reasons = realloc(to->reasons, sizeof *to->reasons * (size_t)to->room);
    if (!to->reasons) abort();
  }
  draw_reason *made = &to->reasons[to->n_reasons++];
  *made = (draw_reason){
      .count = 1, .first = number, .verdict = reply->verdict, .operation = reply->operation};
  memcpy(made->text, text, sizeof text);
}

void tally_add(draw_tally *to, int device, uint64_t number, const draw_reply *reply) {
  to->count[device][reply->operation][reply->verdict]++;
  if (reply->verdict >= VERDICT_REFUSED) add_reason(to, number, reply);
}

uint64_t tally_findings(const draw_tally *of) {
  uint64_t n = 0;
  for (int d = 0; d < MOST_DEVICES; d++)
    for (int o = 0; o < OPERATION_COUNT; o++)
      for (int v = 0; v < VERDICT_COUNT; v++)
        n += verdict_is_finding((verdict)v) ? of->count[d][o][v] : 0;
  return n;
}

static void print_row(const char *name, const uint64_t count[VERDICT_COUNT]) {
  uint64_t full = 0, any = 0;
  for (int v = 0; v < VERDICT_COUNT; v++) {
    full += v < VERDICT_REFUSED ? count[v] : 0;
    any += count[v];
  }
  if (any == 0) return;
  printf("%-28s %8llu %8llu", name, (unsigned long long)full,
         (unsigned long long)count[VERDICT_RIGHT]);
  for (int v = VERDICT_WRONG; v < VERDICT_COUNT; v++)
    printf(" %7llu", (unsigned long long)count[v]);
  printf("\n");
}

static int compare_reasons(const void *a, const void *b) {
  const draw_reason *x = a, *y = b;
  return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

void tally_print(const draw_tally *of, int n_devices, const char *const *devices) {
  char name[96];
  printf("%-28s %8s %8s", "", "cases", "right");
  for (int v = VERDICT_WRONG; v < VERDICT_COUNT; v++) printf(" %7.7s", verdict_name((verdict)v));
  printf("\n");
  for (int d = 0; d < n_devices; d++)
    for (int o = 0; o < OPERATION_COUNT; o++) {
      snprintf(name, sizeof name, "%s %s", devices[d], draw_operation_at(o)->name);
      print_row(name, of->count[d][o]);
    }
  for (int o = 0; o < OPERATION_COUNT; o++) {
    uint64_t all[VERDICT_COUNT] = {0};
    for (int d = 0; d < n_devices; d++)
      for (int v = 0; v < VERDICT_COUNT; v++) all[v] += of->count[d][o][v];
    snprintf(name, sizeof name, "all %s", draw_operation_at(o)->name);
    print_row(name, all);
  }
  qsort(of->reasons, (size_t)of->n_reasons, sizeof *of->reasons, compare_reasons);
  for (int i = 0; i < of->n_reasons; i++) {
    const draw_reason *r = &of->reasons[i];
    printf("%7llu %s %s (case %llu): %s\n", (unsigned long long)r->count,
           verdict_name((verdict)r->verdict), draw_operation_at(r->operation)->name,
           (unsigned long long)r->first, r->text);
  }
}

void tally_free(draw_tally *of) { free(of->reasons); }
