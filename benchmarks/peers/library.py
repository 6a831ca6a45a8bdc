"""libllrt.so on PyTorch's memory: as much of include/llrt as products of matrices need."""

import ctypes

MAX_RANK = 8  # include/llrt/layout.h
STORAGE_BYTES = 1 << 16  # more than an llrt_storage has


class Tensor(ctypes.Structure):
    """llrt_tensor (include/llrt/tensor.h)."""

    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_int64 * MAX_RANK), ("strides", ctypes.c_int64 * MAX_RANK),
                ("storage", ctypes.c_void_p), ("device", ctypes.c_void_p), ("indices", ctypes.c_void_p),
                ("n_indices", ctypes.c_int32), ("extent_ptr", ctypes.c_void_p * MAX_RANK),
                ("reserved", ctypes.c_int64 * 4)]


class Library:
    """A context with one device, until the program ends."""

    def __init__(self, path, device):
        self.lib = ctypes.CDLL(path)
        self.lib.llrt_last_error.restype = ctypes.c_char_p
        context, self.device = ctypes.c_void_p(), ctypes.c_void_p()
        self._must(self.lib.llrt_context_create(None, ctypes.byref(context)))
        self._must(self.lib.llrt_device_open(context, device.encode(), None, ctypes.byref(self.device)))
        self.columns = ctypes.create_string_buffer(STORAGE_BYTES)
        self._must(self.lib.llrt_storage_col_major(2, self.columns))

    def _must(self, status):
        if status:
            raise RuntimeError(self.lib.llrt_last_error().decode())

    def matrix(self, dtype, rows, columns, address, col_major=False):
        """Borrows the memory at `address`."""
        kind = ctypes.c_int()
        self._must(self.lib.llrt_dtype_parse(dtype.encode(), ctypes.byref(kind)))
        tensor = Tensor(data=address, dtype=kind.value, rank=2, device=self.device)
        tensor.shape[:2] = rows, columns
        if col_major:
            tensor.storage = ctypes.addressof(self.columns)
        return tensor

    def dot(self, a, b, d):
        """D = A B, queued on the default stream."""
        self._must(self.lib.llrt_dot_into(ctypes.byref(a), ctypes.byref(b), ctypes.byref(d), None, None))
