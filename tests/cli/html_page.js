// Runs the script of a page that `llrt layout --html` wrote, with as much of a browser as it uses, and prints
// what it shows: the owners under the pointer for every element, and for every position that can be
// stepped to, how many elements are drawn as held.
'use strict';
const text = require('fs').readFileSync(process.argv[2], 'utf8');
const script = text.slice(text.indexOf('<script>') + 8, text.indexOf('</script>'));

const shaded = [];
const ink = new Proxy({scale() {}, strokeRect() {}, clearRect() { shaded.length = 0; }, fillText() {},
                       fillRect() { shaded.push(this.fillStyle); }}, {});
const elements = {
  grid: {getContext: () => ink, style: {}},
  owners: {},
  steps: {labels: [], append(label) { this.labels.push(label); }},
};
global.window = {devicePixelRatio: 1};
global.document = {
  getElementById: id => elements[id],
  createElement() {
    const inputs = [{checked: false}, {value: '0'}];
    return {inputs, querySelectorAll: () => inputs};
  },
};
const layout = new Function(script + '\nreturn layout;')();

const width = 30, height = 30, left = 46, top = 34, gap = 30;
const rows = 1 << layout.rowBits, columns = 1 << layout.columnBits;
const pageHeight = rows * height + gap + top;
for (let page = 0; page < layout.pages.length; page++)
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      elements.grid.onmousemove({offsetX: left + column * width + 5,
                                 offsetY: page * pageHeight + top + row * height + 5});
      console.log(elements.owners.textContent.replace(/\n/g, ' | '));
    }
const dims = layout.ins.filter(d => d.bits);
dims.forEach((dim, i) => {
  const [fixed, at] = elements.steps.labels[i].inputs;
  for (let v = 0; v < 1 << dim.bits; v++) {
    at.value = String(v);
    at.oninput();
    console.log(`${dim.name} ${v}: ${shaded.filter(s => s !== 'hsl(210,8%,95%)').length} held`);
  }
  fixed.checked = false;
  fixed.onchange();
});
