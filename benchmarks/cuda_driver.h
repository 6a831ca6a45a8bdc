/* The CUDA driver for what llrt's interface does not have: launches beside llrt's own, graphs.
 * Handles are void *. Every failure ends the program. */
#ifndef LLRT_BENCHMARKS_CUDA_DRIVER_H
#define LLRT_BENCHMARKS_CUDA_DRIVER_H

typedef struct cuda_driver {
  void *library, *context;
  int device;
} cuda_driver;

/* Opens device "cuda:N"; its primary context is current on this thread until cuda_driver_close. */
void cuda_driver_open(const char *device_name, cuda_driver *driver);
void cuda_driver_close(cuda_driver *driver);

/* The driver's function of that name. */
void *cuda_driver_symbol(const cuda_driver *driver, const char *name);

/* Ends the program unless a driver call's result is 0. */
void cuda_driver_must(int result, const char *what);

#endif
