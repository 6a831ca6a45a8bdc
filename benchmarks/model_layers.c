/* Shapes follow from each model's published configuration (config.json): of heads H of size d and
 * G heads of keys and values, `qkv` has (H + 2 G) d columns. A shape that an earlier model has is
 * not listed again: Mixtral 8x7B's are those of Llama 3.1 8B, ViT-H's those of Whisper large, and
 * gpt-oss-20b and 120b have the same. */
#include "model_layers.h"

const model_layer model_layers[] = {
    {"gpt-oss", "qkv", 5120, 2880},
    {"gpt-oss", "o", 2880, 4096},
    {"gpt-oss", "expert gate, up", 5760, 2880},
    {"gpt-oss", "expert down", 2880, 2880},
    {"Llama 3.1 8B", "qkv", 6144, 4096},
    {"Llama 3.1 8B", "o", 4096, 4096},
    {"Llama 3.1 8B", "gate, up", 28672, 4096},
    {"Llama 3.1 8B", "down", 4096, 14336},
    {"Llama 3.1 70B", "qkv", 10240, 8192},
    {"Llama 3.1 70B", "o", 8192, 8192},
    {"Llama 3.1 70B", "gate, up", 57344, 8192},
    {"Llama 3.1 70B", "down", 8192, 28672},
    {"Qwen3 32B", "qkv", 10240, 5120},
    {"Qwen3 32B", "o", 5120, 8192},
    {"Qwen3 32B", "gate, up", 51200, 5120},
    {"Qwen3 32B", "down", 5120, 25600},
    {"Qwen3 235B-A22B", "qkv", 9216, 4096},
    {"Qwen3 235B-A22B", "o", 4096, 8192},
    {"Qwen3 235B-A22B", "expert gate, up", 3072, 4096},
    {"Qwen3 235B-A22B", "expert down", 4096, 1536},
    {"DeepSeek-V3", "q_a", 1536, 7168},
    {"DeepSeek-V3", "q_b", 24576, 1536},
    {"DeepSeek-V3", "kv_a", 576, 7168},
    {"DeepSeek-V3", "kv_b", 32768, 512},
    {"DeepSeek-V3", "o", 7168, 16384},
    {"DeepSeek-V3", "gate, up", 36864, 7168},
    {"DeepSeek-V3", "down", 7168, 18432},
    {"DeepSeek-V3", "expert gate, up", 4096, 7168},
    {"DeepSeek-V3", "expert down", 7168, 2048},
    {"Gemma 3 27B", "qkv", 8192, 5376},
    {"Gemma 3 27B", "o", 5376, 4096},
    {"Gemma 3 27B", "gate, up", 43008, 5376},
    {"Gemma 3 27B", "down", 5376, 21504},
    {"Whisper large", "qkv", 3840, 1280},
    {"Whisper large", "o", 1280, 1280},
    {"Whisper large", "fc1", 5120, 1280},
    {"Whisper large", "fc2", 1280, 5120},
};
const int model_layers_count = sizeof model_layers / sizeof model_layers[0];

const model_layer odd_layers[] = {
    {"odd", "pitch of 16 bytes", 4096, 4104}, {"odd", "pitch of 16 bytes", 5120, 2888},
    {"odd", "pitch of 8 bytes", 4096, 4100},  {"odd", "pitch of 4 bytes", 4096, 5762},
    {"odd", "pitch of 2 bytes", 4096, 4097},  {"odd", "columns", 4097, 4096},
    {"odd", "columns and pitch", 2881, 2881},
};
const int odd_layers_count = sizeof odd_layers / sizeof odd_layers[0];

static const int64_t usual_rows[] = {1, 8, 64, 256, 1024, 4096};

int model_rows_asked(const harness_options *options, const int64_t **rows) {
  *rows = options->n_rows ? options->rows : usual_rows;
  return options->n_rows ? options->n_rows : (int)(sizeof usual_rows / sizeof *usual_rows);
}
