/* The host's copy of a footprint: run by run, in the order of the destination's bytes, by all
 * threads. */
#include "footprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 64 };

typedef struct copier {
  const footprint *side;
} copier;

/* Goes through the runs of one side. */
typedef struct walker {
  const footprint *f;
  char *data;
  int64_t left, run; /* bytes of this run; its number in its group */
  char *group, *at;
} walker;

static walker walk_from(const footprint *f, char *data, int64_t byte) {
  int64_t run = byte / f->run, inside = byte % f->run;
  walker w = {f,   data, f->run - inside, run % f->runs, data + f->first + run / f->runs * f->group,
              NULL};
  w.at = w.group + w.run * f->pitch + inside;
  return w;
}

static void go_on(walker *w, int64_t bytes) {
  w->at += bytes;
  w->left -= bytes;
  if (w->left > 0) return;
  w->left = w->f->run;
  if (++w->run == w->f->runs) {
    w->run = 0;
    w->group += w->f->group;
  }
  w->at = w->group + w->run * w->f->pitch;
}

/* Sizes that are known are moves of registers. */
static void copy_run(char *to, const char *from, int64_t bytes) {
  switch (bytes) {
  case 4: memcpy(to, from, 4); break;
  case 8: memcpy(to, from, 8); break;
  case 16: memcpy(to, from, 16); break;
  case 32: memcpy(to, from, 32); break;
  case 64: memcpy(to, from, 64); break;
  case 128: memcpy(to, from, 128); break;
  default: memcpy(to, from, (size_t)bytes);
  }
}

static void copy_part(const copier *k, char *source, char *destination, int64_t begin,
                      int64_t end) {
  walker from = walk_from(&k->side[0], source, begin),
         to = walk_from(&k->side[1], destination, begin);
  for (int64_t i = begin; i < end;) {
    int64_t bytes = from.left < to.left ? from.left : to.left;
    if (bytes > end - i) bytes = end - i;
    copy_run(to.at, from.at, bytes);
    go_on(&from, bytes);
    go_on(&to, bytes);
    i += bytes;
  }
}

static void launch_copy(harness *h, const timed *t, int slot) {
  const copier *k = t->data;
  char *source = t->a->source + (size_t)slot * t->s.source_step;
  char *destination = t->a->destination + (size_t)slot * t->s.destination_step;
  int64_t run = k->side[1].run, runs = k->side[1].bytes / run;
  (void)h;
#pragma omp parallel for schedule(static)
  for (int part = 0; part < PARTS; part++)
    copy_part(k, source, destination, runs * part / PARTS * run, runs * (part + 1) / PARTS * run);
}

bool footprint_measure_host(harness *h, const arena *a, const timed *of, const footprint side[2],
                            harness_statistic *s) {
  copier k = {.side = side};
  timed t = {.launch = launch_copy, .a = a, .s = of->s, .data = &k};
  harness_statistic copied;
  if (side[0].bytes != side[1].bytes) return false;
  launch_copy(h, &t, 0);
  for (int64_t i = 0; i < side[0].bytes; i++)
    if (a->destination[footprint_byte(&side[1], i)] != a->source[footprint_byte(&side[0], i)]) {
      fprintf(stderr, "the copy of a footprint is wrong at byte %lld\n", (long long)i);
      exit(1);
    }
  *s = h->options.processor_time ? arena_measure_by_turns(h, &t, &copied) : arena_measure(h, &t);
  return true;
}
