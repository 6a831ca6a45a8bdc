/* Exceptions: one type for each family of status codes, with the message of the C library. */
#include "module.h"

#include <stdarg.h>
#include <stdio.h>

static PyObject *type_of(llrt_status status) {
  PyObject *number = PyLong_FromLong(status);
  PyObject *type =
      number && py_hooks.errors ? PyDict_GetItemWithError(py_hooks.errors, number) : NULL;
  Py_XDECREF(number);
  return type ? type : PyExc_RuntimeError;
}

static void raise(llrt_status status, const char *message, int vendor_code) {
  PyObject *type = type_of(status);
  PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  PyObject *error = text ? PyObject_CallFunctionObjArgs(type, text, NULL) : NULL;
  Py_XDECREF(text);
  if (!error) return;
  PyObject *name = PyUnicode_FromString(llrt_status_name(status)),
           *code = PyLong_FromLong(vendor_code);
  if (!name || !code || PyObject_SetAttrString(error, "status", name) < 0 ||
      PyObject_SetAttrString(error, "vendor_code", code) < 0)
    PyErr_Clear();
  Py_XDECREF(name);
  Py_XDECREF(code);
  PyErr_SetObject(type, error);
  Py_DECREF(error);
}

PyObject *raise_status(llrt_status status) {
  raise(status, llrt_last_error(), llrt_last_vendor_code());
  return NULL;
}

PyObject *with_remedy(PyObject *made, const signature *what, PyObject *const *args, Py_ssize_t n,
                      PyObject *names) {
  if (made || !PyErr_ExceptionMatches(type_of(LLRT_NOT_PREPARED))) return made;
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  Py_ssize_t all = n + (names ? PyTuple_Size(names) : 0);
  PyObject *values = PyTuple_New(all), *done = NULL;
  for (Py_ssize_t i = 0; i < all && values; i++) {
    Py_INCREF(args[i]);
    PyTuple_SetItem(values, i, args[i]);
  }
  PyObject *function = PyUnicode_FromString(what->function);
  if (values && function)
    done = PyObject_CallFunctionObjArgs(py_hooks.remedy, error, function, values,
                                        names ? names : Py_None, NULL);
  if (!done) PyErr_Clear(); /* the message stays what it was */
  Py_XDECREF(done);
  Py_XDECREF(function);
  Py_XDECREF(values);
  PyErr_Restore(type, error, trace);
  return NULL;
}

int refuse(const char *format, ...) {
  char message[512];
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  raise(LLRT_INVALID_ARGUMENT, message, 0);
  return -1;
}
