#include "runtime/disk_entry.h"

#include "runtime/byte_stream.h"

#include <stdio.h>
#include <string.h>

#define MAGIC "llrtcach"
#define FORMAT 1
#define CHECKSUM_BYTES 16
#define MOST_TEXT 4096

void llrt_disk_entry_name(llrt_hash key, char name[DISK_ENTRY_NAME_BYTES]) {
  snprintf(name, DISK_ENTRY_NAME_BYTES, "%016llx%016llx" DISK_ENTRY_SUFFIX,
           (unsigned long long)key.high, (unsigned long long)key.low);
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool llrt_disk_entry_key(const char *name, llrt_hash *key) {
  uint64_t half[2] = {0, 0};
  if (strlen(name) != DISK_ENTRY_NAME_BYTES - 1 || strcmp(name + 32, DISK_ENTRY_SUFFIX) != 0)
    return false;
  for (int i = 0; i < 32; i++) {
    int digit = digit_of(name[i]);
    if (digit < 0) return false;
    half[i / 16] = half[i / 16] << 4 | (uint64_t)digit;
  }
  *key = (llrt_hash){.low = half[1], .high = half[0]};
  return true;
}

static void put_hash(llrt_text *out, llrt_hash hash) {
  put(out, (int64_t)hash.low);
  put(out, (int64_t)hash.high);
}

static llrt_hash get_hash(reader *in) {
  llrt_hash hash;
  hash.low = (uint64_t)get(in);
  hash.high = (uint64_t)get(in);
  return hash;
}

llrt_status llrt_disk_entry_write(const disk_entry *entry, llrt_text *out) {
  size_t begin = out->length, text = entry->text_bytes < MOST_TEXT ? entry->text_bytes : MOST_TEXT;
  put_bytes(out, MAGIC, 8);
  put(out, FORMAT);
  put_hash(out, entry->key);
  put_bytes(out, entry->build, 32);
  put_bytes(out, entry->version, sizeof entry->version);
  put_bytes(out, entry->target, sizeof entry->target);
  put(out, (int64_t)text);
  put(out, (int64_t)entry->kernel_bytes);
  put_bytes(out, entry->text, text);
  put_bytes(out, entry->kernel, entry->kernel_bytes);
  if (llrt_text_status(out) == LLRT_OK)
    put_hash(out, llrt_hash_bytes(out->data + begin, out->length - begin));
  return llrt_text_status(out);
}

/* `size` bytes where they lie. */
static const void *get_view(reader *in, size_t size) {
  const void *at = in->data;
  if (in->bad || in->left < size) {
    in->bad = true;
    return NULL;
  }
  in->data += size;
  in->left -= size;
  return at;
}

static void get_text(reader *in, char *text, size_t size) {
  get_bytes(in, text, size);
  text[size - 1] = 0;
}

const char *llrt_disk_entry_read(const void *bytes, size_t size, disk_entry *entry) {
  reader in = {bytes, size, false};
  char magic[8];
  *entry = (disk_entry){.text = ""};
  get_bytes(&in, magic, sizeof magic);
  if (memcmp(magic, MAGIC, sizeof magic) != 0)
    return in.bad ? "it is truncated" : "it is no file of this cache";
  int64_t format = get(&in);
  if (!in.bad && format != FORMAT) return "it has another format";
  if (in.left < CHECKSUM_BYTES) return "it is truncated";
  reader end = {in.data + in.left - CHECKSUM_BYTES, CHECKSUM_BYTES, false};
  if (!llrt_hash_equal(get_hash(&end), llrt_hash_bytes(bytes, size - CHECKSUM_BYTES)))
    return "it is damaged or truncated: its checksum is wrong";
  in.left -= CHECKSUM_BYTES;
  entry->key = get_hash(&in);
  get_bytes(&in, entry->build, 32);
  get_text(&in, entry->version, sizeof entry->version);
  get_text(&in, entry->target, sizeof entry->target);
  uint64_t text = (uint64_t)get(&in), kernel = (uint64_t)get(&in);
  if (in.bad || text > MOST_TEXT || kernel > in.left) return "it contradicts itself";
  entry->text_bytes = (size_t)text;
  entry->text = get_view(&in, entry->text_bytes);
  entry->kernel_bytes = (size_t)kernel;
  entry->kernel = get_view(&in, entry->kernel_bytes);
  return in.bad || in.left ? "it contradicts itself" : NULL;
}
