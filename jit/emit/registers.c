/* PLAN_REGISTERS: words are renamed; where bytes change places inside or between words, byte permutes
 * gather each result word from the words that hold its elements, two at a time. */
#include "jit/emit/builder.h"

#include "base/bits.h"

typedef struct gather {
  plan_register_source from[4]; /* of each element of one result word */
  int n_elements, element_bytes;
} gather;

/* Adds the elements that word `source` holds to `so_far`. `done`: elements that so_far has already. */
static LLVMValueRef add_word(emitter *e, const gather *g, LLVMValueRef so_far, unsigned done,
                             int source, LLVMValueRef word) {
  int selector[4] = {0};
  for (int i = 0; i < g->n_elements; i++) {
    for (int b = 0; b < g->element_bytes; b++) {
      int byte = i * g->element_bytes + b;
      if (done >> i & 1) selector[byte] = byte;
      else if (g->from[i].word == source)
        selector[byte] = 4 + g->from[i].element * g->element_bytes + b;
    }
  }
  return e->ops->permute(e, so_far, word, selector);
}

static bool is_whole_word(const gather *g) {
  for (int i = 0; i < g->n_elements; i++)
    if (g->from[i].word != g->from[0].word || g->from[i].element != i) return false;
  return true;
}

static LLVMValueRef gather_word(emitter *e, const gather *g, LLVMValueRef *words) {
  if (is_whole_word(g)) return words[g->from[0].word];
  LLVMValueRef so_far = emit_i32(e, 0);
  unsigned done = 0;
  for (int i = 0; i < g->n_elements; i++) {
    if (done >> i & 1) continue;
    int source = g->from[i].word, partner = -1;
    for (int j = i + 1; done == 0 && j < g->n_elements && partner < 0; j++)
      if (g->from[j].word != source) partner = g->from[j].word;
    if (partner >= 0) {
      /* The first two words meet in one permute: the partner's elements come from the upper four. */
      gather first = *g;
      int selector[4] = {0};
      for (int j = 0; j < g->n_elements; j++) {
        int upper = first.from[j].word == partner ? 4 : first.from[j].word == source ? 0 : -1;
        if (upper < 0) continue;
        done |= 1u << j;
        for (int b = 0; b < g->element_bytes; b++)
          selector[j * g->element_bytes + b] =
              upper + first.from[j].element * g->element_bytes + b;
      }
      so_far = e->ops->permute(e, words[source], words[partner], selector);
      continue;
    }
    so_far = add_word(e, g, so_far, done, source, words[source]);
    for (int j = 0; j < g->n_elements; j++)
      if (g->from[j].word == source) done |= 1u << j;
  }
  return so_far;
}

void emit_registers_step(emitter *e, const plan_step *step) {
  const plan_value *in = &e->kernel->value[step->in], *out = &e->kernel->value[step->out];
  int word = out->word, n_words = 1 << (plan_value_bits(out, PLAN_REGISTER) - word);
  for (int w = 0; w < n_words; w++) {
    gather g = {.n_elements = 1 << word, .element_bytes = out->bits / 8};
    for (int i = 0; i < g.n_elements; i++)
      g.from[i] = plan_register_of(in, out, (w << word) | i);
    e->value[step->out][w] = gather_word(e, &g, e->value[step->in]);
  }
}
