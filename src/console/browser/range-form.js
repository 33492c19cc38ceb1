/** @typedef {import('./histogram.js').Range} Range */

/**
 * Two sliders over the edges, the first always before the second.
 *
 * @param {Date[]} edges
 * @param {(range: Range) => void} changed
 */
export function rangeForm(edges, changed) {
  const last = edges.length - 1;
  const form = document.createElement('form');
  form.className = 'row range';
  const from = slider('From', 0, last - 1, 0);
  const to = slider('To', 1, last, last);
  const button = document.createElement('button');
  button.className = 'quiet';
  button.textContent = 'Search this range';
  form.append(from.label, to.label, button);

  /** @param {Range} [range] */
  function choose(range) {
    const chosen = range ?? { from: from.input.valueAsNumber, to: to.input.valueAsNumber };
    for (const [{ input, output }, at] of /** @type {const} */ ([
      [from, chosen.from],
      [to, chosen.to],
    ])) {
      const time = timeText(edges[at]);
      input.valueAsNumber = at;
      input.setAttribute('aria-valuetext', time);
      output.textContent = time;
    }
    return chosen;
  }

  form.addEventListener('input', ({ target }) => {
    const { from: start, to: end } = choose();
    const isFrom = target === from.input;
    const range = isFrom
      ? { from: start, to: Math.max(end, start + 1) }
      : { from: Math.min(start, end - 1), to: end };
    choose(range);
    changed(range);
  });
  choose();
  form.hidden = last < 2;
  return { form, choose };
}

/**
 * @param {string} name
 * @param {number} min
 * @param {number} max
 * @param {number} value
 */
function slider(name, min, max, value) {
  const label = document.createElement('label');
  const input = document.createElement('input');
  const output = document.createElement('span');
  Object.assign(input, { type: 'range', min: String(min), max: String(max), value: String(value) });
  input.setAttribute('aria-label', name);
  output.setAttribute('aria-hidden', 'true');
  label.append(`${name} `, output, input);
  return { label, input, output };
}

/** @param {Date | undefined} time */
const timeText = (time) => time?.toISOString().slice(0, 19).replace('T', ' ') ?? '';
