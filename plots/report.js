'use strict';
// What a page does beyond being read: tables sort and are filtered, figures are saved as CSV.
document.documentElement.classList.add('js');
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const make = (name, set, ...children) => {
  const e = Object.assign(document.createElement(name), set);
  e.append(...children);
  return e;
};

// value reads a figure of a table, for its order.
const factors = { G: 1e9, M: 1e6, k: 1e3, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, ms: 1e-3, 'µs': 1e-6, ns: 1e-9 };
function value(cell) {
  const text = (cell?.dataset.v ?? cell?.textContent ?? '').trim();
  const m = /^[~±<>]?(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s*(ms|µs|ns|[KMG]i|[kMG])?/.exec(text);
  return m ? +m[1].replaceAll(',', '') * (factors[m[2]] || 1) : text.toLowerCase();
}

// sort orders the rows of a table by a column.
function sort(th) {
  const up = th.getAttribute('aria-sort') !== 'ascending', column = th.cellIndex;
  const body = th.closest('table').tBodies[0], rows = [...body.rows];
  for (const other of th.parentNode.cells) other.removeAttribute('aria-sort');
  th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
  const key = new Map(rows.map(r => [r, value(r.cells[column])]));
  const order = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === 'number' ? -1 : 1;
  rows.sort((a, b) => order(key.get(a), key.get(b)) * (up ? 1 : -1));
  body.append(...rows);
}
if (matchMedia('(max-width: 40rem)').matches) { // on a phone the verdict comes first
  for (const table of all('table')) {
    const at = all('th', table).findIndex(th => th.textContent === 'verdict');
    for (const row of at > 0 ? table.rows : []) row.prepend(row.cells[at]);
  }
}
for (const th of all('th')) {
  th.tabIndex = 0;
  th.addEventListener('click', () => sort(th));
  th.addEventListener('keydown', event => event.key === 'Enter' && sort(th));
}
document.addEventListener('click', event => event.target.closest('td.long div')?.classList.toggle('open'));

// A section that is folded opens when the page goes there.
function unfold() {
  const details = document.getElementById(location.hash.slice(1))?.querySelector('details');
  if (details) details.open = true;
}
addEventListener('hashchange', unfold);
unfold();

// The filter, and the figures as CSV.
const input = make('input', { type: 'search', placeholder: 'filter rows: ndjson 64 KiB', ariaLabel: 'filter rows' });
input.addEventListener('input', () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of all('tbody tr')) {
    const text = (row.textContent + ' ' + (row.closest('table').caption?.textContent ?? '')).toLowerCase();
    row.hidden = !words.every(w => text.includes(w));
  }
  for (const details of all('details:has(tbody)')) details.open ||= words.length > 0;
});
const tools = make('div', { className: 'tools' });
if (all('tbody tr').length > 12) tools.append(input); // fewer rows are read faster than filtered
const csv = document.getElementById('csv');
if (csv) {
  const link = make('a', { href: '', download: 'figures.csv', textContent: 'Figures as CSV' });
  link.addEventListener('click', () => {
    link.href = URL.createObjectURL(new Blob([csv.content.textContent], { type: 'text/csv' }));
  });
  tools.append(link);
}
document.querySelector('nav').after(tools);
