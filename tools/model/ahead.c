#include "tools/model/ahead.h"

#include <fcntl.h>

static void *ask(void *data) {
  const model_ahead *ahead = data;
  uint64_t left = ahead->bytes;
  for (int i = 0; i < ahead->n; i++)
    for (int32_t f = 0; f < ahead->of[i].n_files && left > 0; f++) {
      const model_file *file = &ahead->of[i].file[f];
      uint64_t bytes = file->size < left ? file->size : left;
      (void)posix_fadvise(fileno(file->stream), 0, (off_t)bytes, POSIX_FADV_WILLNEED);
      left -= bytes;
    }
  return NULL;
}

void model_ahead_begin(model_ahead *ahead, const model *of, int n, uint64_t bytes) {
  *ahead = (model_ahead){.of = of, .n = n, .bytes = bytes};
  ahead->begun = pthread_create(&ahead->thread, NULL, ask, ahead) == 0;
}

void model_ahead_end(model_ahead *ahead) {
  if (ahead->begun) pthread_join(ahead->thread, NULL);
  ahead->begun = false;
}
