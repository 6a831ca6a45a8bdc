#include "captured.h"

#include "tests/replay/graph_driver.h"

#include <stdlib.h>
#include <string.h>

/* The driver of the device of the last call, which stays loaded. */
typedef struct graph_streams {
  char device[32];
  graph_driver driver;
  void *captured, *replayed;
} graph_streams;
static graph_streams streams;

static bool is_wanted(void) {
  const char *text = getenv("LLRT_TEST_CAPTURE");
  return text && strcmp(text, "1") == 0;
}

static bool check(captured *at, int result, const char *what) {
  if (result != 0) at->failed = !area_fail(at->owner, "%s: the driver's error %d", what, result);
  return result == 0;
}

static bool open_streams(captured *at) {
  llrt_device_info info = {0};
  const char *why;
  if (llrt_device_get_info(at->owner->device, &info) != LLRT_OK) return false;
  if (strcmp(info.name, streams.device) == 0) return true;
  if (!graph_driver_open(info.name, &streams.driver, &why)) {
    at->failed = !area_fail(at->owner, "%s cannot capture: %s", info.name, why);
    return false;
  }
  memcpy(streams.device, info.name, sizeof streams.device);
  return check(at, streams.driver.stream_create(&streams.captured, GRAPH_STREAM_NON_BLOCKING),
               "a stream") &&
         check(at, streams.driver.stream_create(&streams.replayed, GRAPH_STREAM_NON_BLOCKING),
               "a stream");
}

static bool begin_capture(captured *at) {
  if (llrt_stream_synchronize(at->owner->device, NULL) != LLRT_OK || !area_send_again(at->owner) ||
      llrt_stream_synchronize(at->owner->device, NULL) != LLRT_OK) {
    at->failed = true;
    return false;
  }
  at->stream = streams.captured;
  return check(at, streams.driver.begin(streams.captured, GRAPH_CAPTURE_GLOBAL),
               "begin of capture");
}

static void replay(captured *at) {
  void *exec;
  if (check(at, graph_driver_finish(&streams.driver, streams.captured, &exec), "end of capture") &&
      check(at, streams.driver.launch(exec, streams.replayed), "launch of a graph") &&
      check(at, streams.driver.stream_synchronize(streams.replayed), "a graph"))
    check(at, streams.driver.exec_destroy(exec), "end of a graph");
}

bool captured_next(captured *at) {
  int turn = at->turn++;
  if (turn == 0) return true;
  if (turn == 1 && is_wanted()) return open_streams(at) && begin_capture(at);
  if (turn == 2) replay(at);
  return false;
}

void captured_abandon(captured *at) {
  void *graph = NULL;
  if (at->turn == 2 && streams.driver.end(streams.captured, &graph) == 0 && graph)
    streams.driver.graph_destroy(graph);
}
