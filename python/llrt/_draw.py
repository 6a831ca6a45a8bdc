"""Layouts and storages as SVG: a grid of elements, each cell with where it lies."""
import html

CELL, HEIGHT, LEFT, TOP, MOST = 40, 24, 36, 40, 4096


def _colour(group):
    """Hue goes round by the golden angle, so that neighbouring groups differ."""
    return f"hsl({(210 + 137.5 * group) % 360:.0f},70%,85%)"


def _cell(column, row, text, group, hint):
    x, y = LEFT + column * CELL, TOP + row * HEIGHT
    return (f'<g><title>{html.escape(hint)}</title><rect x="{x}" y="{y}" width="{CELL}" height="{HEIGHT}" '
            f'fill="{_colour(group)}" stroke="#fff"/><text x="{x + CELL / 2}" y="{y + 16}" text-anchor="middle">{text}</text></g>')


def _page(title, rows, columns, cells):
    width, height = LEFT + columns * CELL + 8, TOP + rows * HEIGHT + 8
    heads = [f'<text x="{LEFT + c * CELL + CELL / 2}" y="{TOP - 6}" text-anchor="middle" fill="#666">{c}</text>'
             for c in range(columns)]
    heads += [f'<text x="{LEFT - 6}" y="{TOP + r * HEIGHT + 16}" text-anchor="end" fill="#666">{r}</text>' for r in range(rows)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="monospace" font-size="11"><text x="4" y="14">{html.escape(title)}</text>'
            + "".join(heads) + "".join(cells) + "</svg>")


def _grid(shape):
    """Rows and columns: the last axis and the product of the others."""
    columns = shape[-1] if shape else 1
    rows = 1
    for extent in shape[:-1]:
        rows *= extent
    return rows, columns


def _points(shape):
    points = [()]
    for extent in shape:
        points = [p + (i,) for p in points for i in range(extent)]
    return points


def _storage(storage):
    if storage.shape is None:
        return _page(f"{storage.text} (no shape)", 0, 8, [])
    rows, columns = _grid(storage.shape)
    if rows * columns > MOST:
        return _page(f"{storage.text} on {storage.shape}: more than {MOST} elements", 0, 8, [])
    cells = []
    for at, point in enumerate(_points(storage.shape)):
        place = storage.offset(*point)
        cells.append(_cell(at % columns, at // columns, place, place // 32, f"{point}: place {place}"))
    return _page(f"{storage.text} on {storage.shape}", rows, columns, cells)


def _inputs(dims):
    points = [{}]
    for name, size in dims.items():
        points = [{**p, name: i} for i in range(size) for p in points]
    return points


def _layout(layout):
    out, names = layout.out_dims, list(layout.out_dims)
    axes = sorted(names, key=lambda name: (name[:3] != "dim", name))
    shape = tuple(out[name] for name in axes)
    total = 1
    for size in layout.in_dims.values():
        total *= size
    rows, columns = _grid(shape)
    if total > MOST or rows * columns > MOST:
        return _page(f"{layout}: too large to draw", 0, 8, [])
    group = next((n for n in ("lane", "warp", "block") if n in layout.in_dims), None)
    number = next(iter(layout.in_dims), None)
    cells, seen = [], set()
    for point in _inputs(layout.in_dims):
        image = dict(zip(names, layout(**point)))
        at = 0
        for axis, extent in zip(axes, shape):
            at = at * extent + image[axis]
        if at in seen:
            continue  # a copy
        seen.add(at)
        text = point.get(number, 0) if group is None else f"{point[group]}:{point.get(number, 0)}"
        cells.append(_cell(at % columns, at // columns, text, point.get(group, 0) if group else point.get(number, 0) // 8,
                           f"{image}: {point}"))
    return _page(str(layout), rows, columns, cells)


def svg(what):
    """The picture of an llrt.Layout or llrt.Storage. Storages need a shape; of layouts copies are left out."""
    return _storage(what) if hasattr(what, "offset") else _layout(what)
