#include "tests/recipe/codes.h"

#include <math.h>
#include <stdlib.h>

float codes_of_bf16(uint16_t code) {
  uint32_t bits = (uint32_t)code << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Of e4m3 (3 bits of fraction) or e2m1 (1 bit): the magnitude of a code without its sign. */
static float magnitude(int code, int fraction_bits, int bias) {
  int exponent = code >> fraction_bits, fraction = code & ((1 << fraction_bits) - 1);
  float scale = ldexpf(1, (exponent ? exponent : 1) - bias - fraction_bits);
  return scale * (float)(fraction + (exponent ? 1 << fraction_bits : 0));
}

/* The code of the nearest number, of two the even one; what is too large becomes the largest. */
static uint8_t nearest(float x, int fraction_bits, int bias, int largest, int sign) {
  int low = 0, high = largest; /* the last code whose number is not above |x| */
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (magnitude(middle, fraction_bits, bias) <= fabsf(x)) low = middle;
    else high = middle - 1;
  }
  if (low < largest) {
    float below = fabsf(x) - magnitude(low, fraction_bits, bias),
          above = magnitude(low + 1, fraction_bits, bias) - fabsf(x);
    if (above < below || (above == below && low % 2)) low++;
  }
  return (uint8_t)(low | (signbit(x) ? sign : 0));
}

uint8_t codes_e4m3(float x) { return nearest(x, 3, 7, 0x7e, 0x80); }
uint8_t codes_e2m1(float x) { return nearest(x, 1, 1, 7, 8); }

float codes_of_e4m3(uint8_t code) {
  float value = magnitude(code & 0x7f, 3, 7);
  return code & 0x80 ? -value : value;
}

/* The power of two that is not below x: its e8m0 code. */
uint8_t codes_e8m0_up(float x) {
  int exponent;
  float fraction = frexpf(x, &exponent);
  return (uint8_t)((fraction > 0.5F ? exponent : exponent - 1) + 127);
}

float codes_amax(const float *x, int rows, int columns, int pitch) {
  float most = 0;
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < columns; c++) most = fmaxf(most, fabsf(x[r * pitch + c]));
  return most;
}

float *codes_add_weight(model *in, uint64_t *state, const char *name, int rows, int columns,
                        int block) {
  uint16_t *code = model_add(in, state, name, LLRT_BF16, 2, rows, columns);
  float *value = malloc((size_t)rows * columns * sizeof *value);
  for (int i = 0; i < rows * columns; i++) {
    int exponent = 110 + (int)model_random(state, 14);
    bool zero = i / columns < block && i % columns < block && rows > block;
    code[i] = zero ? 0 : (uint16_t)((code[i] & 0x807f) | exponent << 7);
    value[i] = codes_of_bf16(code[i]);
  }
  return value;
}
