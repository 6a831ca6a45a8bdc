#!/usr/bin/env python3
"""Compares llrt_struct_get_info of a library with the structs of tests/abi/llrt.abi, which debug information says.

  structs.py LIBLLRT"""

import ctypes
import sys

from planted import load_script


class Field(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("offset", ctypes.c_size_t), ("bytes", ctypes.c_size_t),
                ("reserved", ctypes.c_int64 * 1)]


class Info(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("bytes", ctypes.c_size_t),
                ("alignment", ctypes.c_size_t), ("n_fields", ctypes.c_int32), ("reserved", ctypes.c_int32),
                ("fields", ctypes.POINTER(Field))]


def told_structs(library):
    structs, number = {}, 0
    library.llrt_struct_name.restype = ctypes.c_char_p
    while name := library.llrt_struct_name(number):
        info = Info()
        if library.llrt_struct_get_info(name, ctypes.byref(info)) or info.name != name or info.size != ctypes.sizeof(Info):
            sys.exit(f"{name.decode()}: no info")
        fields = [info.fields[i] for i in range(info.n_fields)]
        ends = [field.offset for field in fields[1:]] + [info.bytes]
        for field, end in zip(fields, ends):
            if not 0 < field.bytes <= end - field.offset or end - field.offset - field.bytes >= info.alignment:
                sys.exit(f"{name.decode()}.{field.name.decode()} has {field.bytes} bytes at {field.offset}, then comes {end}")
        structs[name.decode()] = (info.bytes, [(field.name.decode(), field.offset) for field in fields])
        number += 1
    return structs


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.llrt_last_error.restype = ctypes.c_char_p
    abi = load_script()
    told, promised = told_structs(library), abi.structs_of(abi.PROMISED)
    differing = [name for name in sorted(told.keys() | promised.keys()) if told.get(name) != promised.get(name)]
    for name in differing:
        print(f"{name}: the library tells {told.get(name)}, debug information {promised.get(name)}")
    if list(told) != sorted(told):
        sys.exit("not in alphabetical order")
    if library.llrt_struct_get_info(b"llrt_\xff", ctypes.byref(Info())) != 10 or \
            library.llrt_last_error() != b"llrt_struct_get_info: there is no struct 'llrt_\\xff'":
        sys.exit(f"of an unknown struct: {library.llrt_last_error()}")
    print(f"{len(told)} structs, {len(differing)} differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
