'use strict';
// What a page does beyond being read: marks tell what they show, a name stands out, panels zoom,
// tables sort and are filtered, figures are saved as CSV, a recording is looked at message by message.
document.documentElement.classList.add('js');
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, set = {}, ...children) => {
  const e = Object.assign(document.createElement(name), set);
  e.append(...children);
  return e;
};
const drawIn = (parent, name, attributes) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  parent.append(e);
  return e;
};

// --- units, as the program writes them
const units = {
  B: [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']],
  'B/s': [[1e9, 'GB/s'], [1e6, 'MB/s'], [1e3, 'kB/s'], [1, 'B/s']],
  ns: [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']],
  '': [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']],
};
function format(v, unit, digits = 4) {
  if (v === 0 && units[unit]) return '0';
  const scales = units[unit] || [[1, unit]];
  const [factor, name] = scales.find(([f]) => Math.abs(v) >= f * (1 - 1e-9)) || scales.at(-1);
  return (+(v / factor).toPrecision(digits) + (unit === '×' ? '' : ' ') + name).trim();
}
// value reads a figure of a table, for its order.
const factors = { G: 1e9, M: 1e6, k: 1e3, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, ms: 1e-3, 'µs': 1e-6, ns: 1e-9 };
function value(cell) {
  const text = (cell?.dataset.v ?? cell?.textContent ?? '').trim();
  const m = /^[~±<>]?(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(ms|µs|ns|[KMG]i|[kMG])?/.exec(text);
  return m ? +m[1].replaceAll(',', '') * (factors[m[2]] || 1) : text.toLowerCase();
}

// --- hover
const tip = document.body.appendChild(make('div', { id: 'tip', hidden: true }));
function tell(event, text, command) {
  tip.replaceChildren(text, ...(command ? [make('code', { textContent: command })] : []));
  tip.hidden = false;
  const x = Math.min(event.pageX + 14, scrollX + document.documentElement.clientWidth - tip.offsetWidth - 4);
  tip.style.left = Math.max(scrollX + 4, x) + 'px';
  tip.style.top = event.pageY + 16 + 'px';
}
for (const mark of all('.m')) {
  const title = mark.querySelector('title');
  mark.setAttribute('aria-label', title.textContent);
  title.remove(); // the browser's own would cover this one
}
document.addEventListener('pointerover', event => {
  const mark = event.target.closest?.('.m');
  if (mark) tell(event, mark.getAttribute('aria-label'), mark.closest('figure').dataset.again);
  else if (!event.target.closest?.('.lanes')) tip.hidden = true;
});

// --- a name stands out
function isolate(figure, name) {
  figure.dataset.only = name = figure.dataset.only === name ? '' : name;
  for (const e of all('[data-s]', figure)) e.classList.toggle('faded', name !== '' && e.dataset.s !== name);
}
document.addEventListener('click', event => {
  const named = event.target.closest?.('.legend [data-s], .name[data-s]');
  if (named) isolate(named.closest('figure'), named.dataset.s);
});

// --- zoom
function axis(text) {
  const [scale, unit, min, max, from, to] = text.split('|');
  return { scale, unit, min: +min, max: +max, from: +from, to: +to };
}
// ticks lists values of an axis between two positions, with their places.
function ticks(a, low, high) {
  const log = a.scale.startsWith('log');
  const out = [];
  const linear = (from, to) => {
    const raw = (to - from) / 6, ten = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find(s => s * ten >= raw) * ten;
    for (let v = Math.ceil(from / step) * step; v <= to * (1 + 1e-9); v += step) out.push(v);
  };
  if (!log) linear(low, high);
  else if (high - low < (a.scale === 'log2' ? 0.6 : 1)) linear(10 ** low, 10 ** high);
  else if (a.scale === 'log2') {
    const first = Math.ceil(low / Math.log10(2)), last = Math.floor(high / Math.log10(2)), step = Math.ceil((last - first + 1) / 8);
    for (let k = first; k <= last; k += step) out.push(2 ** k);
  } else {
    const step = Math.ceil((high - low) / 8);
    for (let k = Math.floor(low); k <= high; k += step)
      for (const m of high - low < 3 ? [1, 2, 5] : [1]) out.push(m * 10 ** k);
  }
  return out.map(v => [v, log ? Math.log10(v) : v]).filter(([, at]) => at >= low && at <= high);
}
let clips = 0;
for (const svg of all('svg.plot')) {
  const data = svg.querySelector('.data'), axes = [axis(svg.dataset.x), axis(svg.dataset.y)];
  const own = axes.map(a => a.scale === 'linear' || a.scale.startsWith('log')); // labels can be made anew
  let shown = axes.map(a => [a.min, a.max]), parts;
  const back = (a, px) => a.min + (px - a.from) / (a.to - a.from) * (a.max - a.min);
  const place = (i, at) => axes[i].from + (at - shown[i][0]) / (shown[i][1] - shown[i][0]) * (axes[i].to - axes[i].from);
  const move = (i, px) => place(i, back(axes[i], px));
  const within = (i, px) => px >= Math.min(axes[i].from, axes[i].to) - 1 && px <= Math.max(axes[i].from, axes[i].to) + 1;
  const centre = e => { const b = e.getBBox(); return [b.x + b.width / 2, b.y + b.height / 2]; };
  function prepare() {
    const free = e => !e.closest('.m, .label, .name, .grid, .above');
    parts = {
      lines: all('path', data).filter(free).map(e => [e, e.getAttribute('d')]),
      fixed: all('.m, .label, .name, .above', data).map(e => [e, ...centre(e)]),
      ticks: all('.tick', svg).map(e => [e, ...centre(e)]),
    };
    const [left, right, bottom, top] = [axes[0].from, axes[0].to, axes[1].from, axes[1].to];
    const clip = drawIn(svg, 'clipPath', { id: 'clip' + ++clips });
    drawIn(clip, 'rect', { x: left - 4, y: top - 4, width: right - left + 8, height: bottom - top + 8 });
    data.setAttribute('clip-path', `url(#clip${clips})`);
    svg.append(...all('.above', data)); // where no line of a part that was zoomed reaches
  }
  function redraw() {
    if (!parts) prepare();
    for (const [e, d] of parts.lines)
      e.setAttribute('d', d.replace(/([ML])(-?[\d.]+),(-?[\d.]+)/g, (_, c, x, y) => c + move(0, +x).toFixed(1) + ',' + move(1, +y).toFixed(1)));
    for (const [e, x, y] of parts.fixed) {
      const above = e.matches('.above'), dx = move(0, x) - x, dy = above ? 0 : move(1, y) - y;
      e.setAttribute('transform', `translate(${dx.toFixed(1)} ${dy.toFixed(1)})`);
      e.style.visibility = within(0, x + dx) && (above || within(1, y + dy)) ? '' : 'hidden';
    }
    const whole = shown.every(([low, high], i) => low === axes[i].min && high === axes[i].max);
    svg.querySelector('.grid').style.display = whole ? '' : 'none';
    svg.querySelector('.zoomed')?.remove();
    for (const [e, x, y] of parts.ticks) {
      const i = y > axes[1].from ? 0 : 1, to = i ? move(1, y) : move(0, x);
      e.setAttribute('transform', i ? `translate(0 ${to - y})` : `translate(${to - x} 0)`);
      e.style.visibility = whole || !own[i] && within(i, to) ? '' : 'hidden';
    }
    if (whole) return;
    const g = drawIn(svg, 'g', { class: 'zoomed' });
    svg.insertBefore(g, data);
    axes.forEach((a, i) => {
      for (const [v, at] of own[i] ? ticks(a, ...shown[i]) : []) {
        const p = place(i, at), o = axes[1 - i];
        drawIn(g, 'path', { d: i ? `M${o.from},${p}L${o.to},${p}` : `M${p},${o.from}L${p},${o.to}`, stroke: 'var(--line)', 'stroke-width': 0.7 });
        const text = drawIn(g, 'text', { x: i ? o.from - 4 : p, y: i ? p + 3 : o.from + 12, 'text-anchor': i ? 'end' : 'middle', 'font-size': 8.5, fill: 'currentColor' });
        text.textContent = format(v, a.unit);
      }
    });
  }
  const at = event => {
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [p.x, p.y];
  };
  svg.addEventListener('pointerdown', event => {
    const from = at(event);
    if (event.pointerType === 'touch' || event.button || !within(0, from[0]) || !within(1, from[1]) || event.target.closest('.name')) return;
    event.preventDefault();
    const box = drawIn(svg, 'rect', { class: 'brush' });
    let to = from;
    const range = i => [Math.min(from[i], to[i]), Math.max(from[i], to[i])];
    const drag = e => {
      to = at(e).map((v, i) => Math.max(Math.min(axes[i].from, axes[i].to), Math.min(Math.max(axes[i].from, axes[i].to), v)));
      const [x0, x1] = range(0), [y0, y1] = range(1);
      for (const [k, v] of Object.entries({ x: x0, y: y0, width: x1 - x0, height: y1 - y0 })) box.setAttribute(k, v);
    };
    const done = () => {
      removeEventListener('pointermove', drag);
      box.remove();
      const next = shown.map(([low, high], i) => {
        const [a, b] = range(i);
        if (b - a < 6) return [low, high]; // a brush along the other axis
        const unplace = px => low + (px - axes[i].from) / (axes[i].to - axes[i].from) * (high - low);
        return [unplace(a), unplace(b)].sort((x, y) => x - y);
      });
      if (Math.hypot(to[0] - from[0], to[1] - from[1]) > 8) {
        shown = next;
        redraw();
      }
    };
    addEventListener('pointermove', drag);
    addEventListener('pointerup', done, { once: true });
  });
  svg.addEventListener('dblclick', () => {
    shown = axes.map(a => [a.min, a.max]);
    if (parts) redraw();
  });
}

// --- tables
if (matchMedia('(max-width: 40rem)').matches) {
  for (const table of all('table')) { // on a phone the verdict comes first
    const at = table.querySelector('td.good, td.bad, td.mixed')?.cellIndex;
    for (const row of at ? table.rows : []) if (row.className !== 'warning') row.prepend(row.cells[at]);
  }
}
for (const th of all('th')) {
  th.tabIndex = 0;
  const sort = () => {
    const up = th.getAttribute('aria-sort') !== 'ascending', column = th.cellIndex, body = th.closest('table').tBodies[0];
    for (const other of th.parentNode.cells) other.removeAttribute('aria-sort');
    th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const rows = []; // each with the warnings below it
    for (const row of body.rows) row.className === 'warning' ? rows.at(-1).push(row) : rows.push([row]);
    const key = new Map(rows.map(r => [r, value(r[0].cells[column])]));
    const order = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === 'number' ? -1 : 1;
    rows.sort((a, b) => order(key.get(a), key.get(b)) * (up ? 1 : -1));
    body.append(...rows.flat());
  };
  th.addEventListener('click', sort);
  th.addEventListener('keydown', event => event.key === 'Enter' && sort());
}

document.addEventListener('click', event => event.target.closest?.('td.long div')?.classList.toggle('open'));

// --- the filter, which the address keeps, and the figures
const input = make('input', { type: 'search', placeholder: 'filter rows: ndjson 64 KiB', ariaLabel: 'filter rows' });
function filter() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let kept = true;
  for (const row of all('tbody tr')) {
    if (row.className !== 'warning') {
      const text = row.textContent.toLowerCase() + ' ' + (row.closest('table').caption?.textContent ?? '').toLowerCase();
      kept = words.every(w => text.includes(w));
    }
    row.hidden = !kept;
  }
}
const fragment = () => new URLSearchParams(location.hash.slice(1)).get('filter');
function fromAddress() {
  if (fragment() === null) return;
  input.value = fragment();
  filter();
}
input.addEventListener('input', () => {
  filter();
  history.replaceState(null, '', input.value ? '#filter=' + encodeURIComponent(input.value) : location.pathname + location.search);
});
addEventListener('hashchange', fromAddress);
const tools = make('div', { className: 'tools' });
if (all('tbody tr').length > 1) tools.append(make('label', {}, input));
const csv = document.getElementById('csv');
if (csv) {
  const link = make('a', { href: '', download: 'figures.csv', textContent: 'Figures as CSV' });
  link.addEventListener('click', () => { link.href = URL.createObjectURL(new Blob([csv.content.textContent], { type: 'text/csv' })); });
  tools.append(link);
}
if (all('svg.plot').length) tools.append('Drag over a picture to zoom, double-click to go back; click a name to see it alone.');
document.querySelector('nav')?.after(tools);
fromAddress();
addEventListener('hashchange', () => { const d = document.querySelector(location.hash.replace(/[^#\w-]/g, '') || 'x')?.querySelector('details'); if (d) d.open = true; });

// --- a recording
async function recording(box) {
  const packed = Uint8Array.from(atob(box.querySelector('template').content.textContent.trim()), c => c.charCodeAt(0));
  const bytes = new ReadableStream({ start(to) { to.enqueue(packed); to.close(); } });
  const stream = bytes.pipeThrough(new DecompressionStream('deflate-raw'));
  const r = JSON.parse(await new Response(stream).text()), n = r.length;
  const start = Float64Array.from(r, m => m.t_ns), took = Float64Array.from(r, m => m.cut_ns?.at(-1) || 0);
  const way = Uint8Array.from(r, m => m.dir === 'reply' ? 1 : 0), stalls = r.flatMap((m, i) => m.stall_ns ? [[i, m.stall_ns]] : []);
  let end = 1000, largest = 2, longest = 0;
  for (let i = 0; i < n; i++) {
    end = Math.max(end, start[i] + took[i]);
    largest = Math.max(largest, r[i].size);
    longest = Math.max(longest, took[i]);
  }
  let from = 0, to = end, brush = null, chosen = -1;
  const canvas = make('canvas'), details = make('pre', { hidden: true, tabIndex: 0 });
  const c = canvas.getContext('2d'), left = 64, axisHeight = 22;
  let width, lane;
  const x = t => left + (t - from) / (to - from) * (width - left);
  const time = px => from + (px - left) / (width - left) * (to - from);
  const height = i => Math.max(2, Math.log2(r[i].size + 1) / Math.log2(largest + 1) * (lane - 10));
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const us = t => format(t, 'ns', 5);
  const first = t => { // the first message that begins at t or later
    let a = 0, b = n;
    while (a < b) { const m = (a + b) >> 1; if (start[m] < t) a = m + 1; else b = m; }
    return a;
  };
  function draw() {
    const scale = devicePixelRatio || 1, box = canvas.getBoundingClientRect();
    width = box.width;
    lane = (box.height - axisHeight) / 2;
    canvas.width = width * scale;
    canvas.height = box.height * scale;
    c.scale(scale, scale);
    const ink = ['--plot-0072b2', '--plot-d55e00'].map(colour), text = colour('--text'), bad = colour('--bad'), paper = colour('--page');
    c.fillStyle = text;
    c.font = '12px system-ui, sans-serif';
    ['requests', 'replies'].forEach((name, d) => { c.fillText(name, 4, lane * d + 14); c.fillRect(left, lane * (d + 1), width - left, 0.5); });
    for (const [v] of ticks({ scale: 'linear' }, from, to)) {
      c.fillStyle = colour('--line');
      c.fillRect(x(v), 0, 1, 2 * lane);
      c.fillStyle = text;
      if (x(v) < width - 30) c.fillText(us(v), x(v) + 2, 2 * lane + 15);
    }
    c.save();
    c.beginPath();
    c.rect(left, 0, width - left, 2 * lane);
    c.clip();
    c.fillStyle = colour('--plot-e69f00');
    c.globalAlpha = 0.25;
    const until = [from, from]; // what is shaded already
    for (const [i, took] of stalls) {
      const d = way[i], a = Math.max(start[i], until[d]), b = Math.min(start[i] + took, to);
      if (b <= a) continue;
      c.fillRect(x(a), lane * d, Math.max(1, x(b) - x(a)), lane);
      until[d] = b;
    }
    c.globalAlpha = 1;
    const lastX = [-1, -1], lastHeight = [0, 0];
    for (let i = first(from - longest); i < n && start[i] <= to; i++) {
      const d = way[i], px = x(start[i]), w = Math.max(1, x(start[i] + took[i]) - px), h = height(i);
      if (Math.round(px) === lastX[d] && h <= lastHeight[d] && w <= 1 && i !== chosen) continue; // covered
      lastX[d] = Math.round(px);
      lastHeight[d] = h;
      c.fillStyle = i === chosen ? text : r[i].error ? bad : ink[d];
      c.fillRect(px, lane * (d + 1) - h, w, h);
      c.fillStyle = paper;
      if (w > 8) for (const at of r[i].cut_ns?.slice(0, -1) ?? []) c.fillRect(x(start[i] + at), lane * (d + 1) - h, 1, h);
    }
    if (brush) {
      c.fillStyle = colour('--link');
      c.globalAlpha = 0.2;
      c.fillRect(Math.min(...brush), 0, Math.abs(brush[1] - brush[0]), 2 * lane);
    }
    c.restore();
    canvas.dataset.drawn = n;
  }
  const describe = i => [r[i].dir, r[i].method, 'id' in r[i] ? 'id ' + JSON.stringify(r[i].id) : '', us(start[i]), format(r[i].size, 'B')].filter(Boolean).join(' · ');
  function nearest(px, py) {
    const d = py > lane ? 1 : 0;
    let best = -1, distance = 6;
    for (let i = first(time(px - 6) - longest); i < n && start[i] <= time(px + 6); i++) {
      const gap = px < x(start[i]) ? x(start[i]) - px : Math.max(0, px - x(start[i] + took[i]));
      if (way[i] === d && gap < distance) { best = i; distance = gap; }
    }
    return best;
  }
  function show(i) {
    chosen = i;
    details.hidden = i < 0;
    if (i < 0) return;
    const m = r[i];
    details.textContent = [describe(i) + (m.error ? ', an error' : ''),
      m.cuts ? 'reads: ' + m.cuts.map((bytes, k) => `${bytes} B at +${us(m.cut_ns?.[k] ?? 0)}`).join(', ') : 'one read of ' + m.size + ' B',
      m.stall_ns ? 'not taken for ' + us(m.stall_ns) : '', m.body || 'The page does not hold its bytes.'].filter(Boolean).join('\n');
  }
  const where = event => { const b = canvas.getBoundingClientRect(); return [event.clientX - b.left, event.clientY - b.top]; };
  canvas.addEventListener('pointermove', event => {
    const [px, py] = where(event);
    if (brush) { brush[1] = px; draw(); return; }
    const i = nearest(px, py);
    i < 0 ? tip.hidden = true : tell(event, describe(i));
  });
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('pointerdown', event => {
    if (event.button) return;
    const [px, py] = where(event);
    brush = [px, px];
    canvas.setPointerCapture(event.pointerId);
    canvas.addEventListener('pointerup', () => {
      const [a, b] = brush.map(v => time(Math.max(left, v))).sort((p, q) => p - q);
      if (Math.abs(brush[1] - brush[0]) > 5) [from, to] = [a, Math.max(b, a + 10)];
      else show(nearest(px, py));
      brush = null;
      draw();
    }, { once: true });
  });
  canvas.addEventListener('dblclick', () => { [from, to] = [0, end]; draw(); });
  const zoom = by => () => { const m = (from + to) / 2, h = (to - from) / 2 * by; [from, to] = [Math.max(0, m - h), Math.min(end, m + h)]; draw(); };
  box.append(make('div', { className: 'tools' }, ...[['closer', 0.5], ['farther', 2]].map(([textContent, by]) => make('button', { type: 'button', textContent, onclick: zoom(by) })),
    'Drag to zoom, double-click for all of it; click a message for its bytes. Bars are as high as the logarithm of the size; light lines are cuts, shaded times are stalls.'), canvas, details);
  box.closest('section').querySelector('#plot-traffic-time')?.setAttribute('hidden', '');
  new ResizeObserver(draw).observe(canvas);
  draw();
}
for (const box of all('.lanes')) recording(box);
