/* A layout as a page to explore: the layout as data, and a script that draws it. */
#include "tools/layout_draw.h"
#include "tools/layout_picture.h"

#include <inttypes.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>";

static const char style[] = "</title>\n<style>\n"
                            "body{font:14px sans-serif;margin:1.5em}\n"
                            "h1{font:15px monospace}\n"
                            "#owners{min-height:3em;white-space:pre-line}\n"
                            "label{display:inline-block;margin:0 1.5em .5em 0}\n"
                            "input[type=number]{width:5em}\n"
                            "canvas{cursor:crosshair}\n"
                            "</style></head><body>\n<h1>";

static const char controls[] =
    "</h1>\n<p>Rest on an element to see every place that holds it, and where else that thread's\n"
    "elements lie. Tick a dim to keep only one of its positions, and step through them.</p>\n"
    "<form id=\"steps\"></form>\n<p id=\"owners\"></p>\n<canvas id=\"grid\"></canvas>\n"
    "<h2>Matrix over F2</h2>\n"
    "<p>One row for each bit of a logical coordinate, one column for each bit of a hardware\n"
    "coordinate, low bits first.</p>\n<pre>";

static const char script[] =
    "\"use strict\";\n{\n"
    "/* Places are numbers with the in-dims' coordinates end to end, elements likewise. */\n"
    "const inBits = layout.ins.reduce((n, d) => n + d.bits, 0);\n"
    "const rows = 1 << layout.rowBits, columns = 1 << layout.columnBits;\n"
    "const apply = x => layout.columns.reduce((y, c, i) => x >> i & 1 ? y ^ c : y, 0);\n"
    "const part = (d, x) => x >> d.shift & (1 << d.bits) - 1;\n"
    "const owners = Array.from({length: 1 << layout.outBits}, () => []);\n"
    "for (let x = 0; x < 1 << inBits; x++) owners[apply(x)].push(x);\n"
    "const words = (dims, x) => dims.map(d => d.name + ' ' + part(d, x)).join(', ');\n"
    "const number = layout.ins[layout.number], shade = layout.ins[layout.shade];\n"
    "const others = layout.ins.filter(d => d !== number && d !== shade);\n"
    "const same = (x, z) => layout.ins.every(d => d === number || part(d, x) === part(d, z));\n"
    "\n"
    "/* One control an in-dim: whether it is fixed, and at what. */\n"
    "const steps = layout.ins.filter(d => d.bits).map(d => {\n"
    "  const label = document.createElement('label');\n"
    "  label.innerHTML = `<input type=\"checkbox\"> ${d.name} <input type=\"number\" min=\"0\""
    " value=\"0\" max=\"${(1 << d.bits) - 1}\">`;\n"
    "  const [fixed, at] = label.querySelectorAll('input');\n"
    "  at.oninput = () => { fixed.checked = true; draw(); };\n"
    "  fixed.onchange = () => draw();\n"
    "  document.getElementById('steps').append(label);\n"
    "  return {dim: d, fixed, at};\n"
    "});\n"
    "const chosen = x => steps.every(s => !s.fixed.checked || part(s.dim, x) === +s.at.value);\n"
    "\n"
    "const width = 30, height = 30, left = 46, top = 34, gap = 30;\n"
    "const pages = owners.length / rows / columns, pageHeight = rows * height + gap + top;\n"
    "const canvas = document.getElementById('grid'), ink = canvas.getContext('2d');\n"
    "const scale = Math.min(window.devicePixelRatio || 1, 16000 / (left + columns * width),\n"
    "                       16000 / (pages * pageHeight));\n"
    "canvas.width = (left + columns * width + 2) * scale;\n"
    "canvas.height = pages * pageHeight * scale;\n"
    "canvas.style.width = canvas.width / scale + 'px';\n"
    "ink.scale(scale, scale);\n"
    "ink.textAlign = 'center';\n"
    "const element = (page, row, column) => layout.pages[page] | row << layout.rowShift |\n"
    "  column << layout.columnShift;\n"
    "\n"
    "function cell(page, row, column, under) {\n"
    "  const y = element(page, row, column), all = owners[y], x = all.find(chosen);\n"
    "  const at = [left + column * width, top + page * pageHeight + row * height];\n"
    "  const shown = x ?? all[0];\n"
    "  let hue = 0, light = 97;\n"
    "  if (shown !== undefined) {\n"
    "    const group = others.reduceRight((g, d) => g << d.bits | part(d, shown), 0);\n"
    "    hue = (210 + 137.5 * group) % 360;\n"
    "    light = 91;\n"
    "    if (shade && shade.bits) light -= 28 * part(shade, shown) / ((1 << shade.bits) - 1);\n"
    "  }\n"
    "  ink.fillStyle = x === undefined ? 'hsl(210,8%,95%)' : `hsl(${hue},70%,${light}%)`;\n"
    "  ink.fillRect(at[0], at[1], width - .6, height - .6);\n"
    "  if (under !== undefined && all.some(z => owners[under].some(o => same(o, z)))) {\n"
    "    ink.strokeStyle = y === under ? '#000' : '#777';\n"
    "    ink.lineWidth = 2;\n"
    "    ink.strokeRect(at[0] + 1, at[1] + 1, width - 2.6, height - 2.6);\n"
    "  }\n"
    "  if (x === undefined) return;\n"
    "  ink.fillStyle = '#333';\n"
    "  ink.font = '9px sans-serif';\n"
    "  if (shade && shade.bits) ink.fillText(part(shade, x), at[0] + width / 2, at[1] + 11);\n"
    "  ink.fillStyle = '#000';\n"
    "  ink.font = '12px sans-serif';\n"
    "  if (number && number.bits) ink.fillText(part(number, x), at[0] + width / 2, at[1] + 25);\n"
    "}\n"
    "\n"
    "function draw(under) {\n"
    "  ink.clearRect(0, 0, canvas.width, canvas.height);\n"
    "  for (let page = 0; page < pages; page++) {\n"
    "    for (let r = 0; r < rows; r++)\n"
    "      for (let c = 0; c < columns; c++) cell(page, r, c, under);\n"
    "    ink.fillStyle = '#555';\n"
    "    ink.font = '11px sans-serif';\n"
    "    for (let c = 0; c < columns; c++)\n"
    "      ink.fillText(c, left + c * width + width / 2, top + page * pageHeight - 5);\n"
    "    for (let r = 0; r < rows; r++)\n"
    "      ink.fillText(r, left - 14, top + page * pageHeight + r * height + 19);\n"
    "  }\n"
    "}\n"
    "\n"
    "let last;\n"
    "canvas.onmousemove = event => {\n"
    "  const page = Math.floor(event.offsetY / pageHeight);\n"
    "  const row = Math.floor((event.offsetY - page * pageHeight - top) / height);\n"
    "  const column = Math.floor((event.offsetX - left) / width);\n"
    "  if (page >= pages || row < 0 || row >= rows || column < 0 || column >= columns) return;\n"
    "  const y = element(page, row, column);\n"
    "  if (y === last) return;\n"
    "  last = y;\n"
    "  const held = owners[y];\n"
    "  document.getElementById('owners').textContent = words(layout.outs, y) + ': ' +\n"
    "    (held.length === 0 ? 'nobody' : held.length > 1 ? held.length + ' copies' : '') +\n"
    "    '\\n' +\n"
    "    held.slice(0, 64).map(x => words(layout.ins.slice().reverse(), x)).join('\\n') +\n"
    "    (held.length > 64 ? '\\n\\u2026' : '');\n"
    "  draw(y);\n"
    "};\n"
    "draw();\n}\n"
    "</script>\n</body></html>\n";

static void print_dims(FILE *stream, const char *name, const llrt_dim *dims, int n,
                       const int *order) {
  fprintf(stream, "  %s: [", name);
  for (int i = 0; i < n; i++) {
    int index = order ? order[i] : i, shift = 0;
    for (int k = 0; k < index; k++) shift += dims[k].bits;
    fprintf(stream, "%s{name: \"%s\", bits: %d, shift: %d}", i ? ", " : "", dims[index].name,
            dims[index].bits, shift);
  }
  fputs("],\n", stream);
}

static int axis_shift(const picture *p, int which) {
  int axis = p->layout->n_out - 1 - which;
  return axis < 0 ? 0 : llrt_layout_out_shift(p->layout, p->axis[axis]);
}

/* The layout as the script reads it. `pages` has the first element of each. */
static void print_data(FILE *stream, const picture *p) {
  const llrt_layout *layout = p->layout;
  int in_bits = llrt_layout_in_bits(layout);
  fputs("const layout = {\n", stream);
  print_dims(stream, "ins", layout->in, layout->n_in, NULL);
  print_dims(stream, "outs", layout->out, layout->n_out, p->axis);
  fputs("  columns: [", stream);
  for (int i = 0; i < in_bits; i++) fprintf(stream, "%s%" PRIu64, i ? "," : "", layout->column[i]);
  fputs("],\n  pages: [", stream);
  for (int i = 0; i < 1 << p->page_bits; i++)
    fprintf(stream, "%s%" PRIu64, i ? "," : "", picture_output(p, (uint64_t)i, 0, 0));
  fprintf(stream,
          "],\n  outBits: %d, rowBits: %d, rowShift: %d, columnBits: %d, columnShift: %d,\n"
          "  number: %d, shade: %d,\n};\n",
          llrt_layout_out_bits(layout), p->row_bits, axis_shift(p, 1), p->column_bits,
          axis_shift(p, 0), p->number, p->shade);
}

void layout_draw_html(FILE *stream, const char *expression, const llrt_layout *layout) {
  picture p;
  picture_init(&p, layout);
  fputs(head, stream);
  picture_print_escaped(stream, expression);
  fputs(style, stream);
  picture_print_escaped(stream, expression);
  fputs(controls, stream);
  layout_draw_matrix(stream, layout);
  fputs("</pre>\n<script>\n", stream);
  print_data(stream, &p);
  fputs(script, stream);
}
