/**
 * @typedef {{
 *   hidden: ReadonlySet<string>,
 *   colours(): string[],
 *   show(values: readonly (readonly number[])[], times: ArrayLike<number>, index: number | undefined): void,
 * }} Legend
 */

const numbers = new Intl.NumberFormat('en');

/**
 * The types as buttons, each with its colour and its number, and their sum: of all that is shown, or of the moment that
 * the pointer rests on. A button hides its type, or shows it again.
 *
 * @param {Element | null} element
 * @param {readonly string[]} types
 * @param {() => void} onToggle
 * @returns {Legend}
 */
export function createLegend(element, types, onToggle) {
  /** @type {Set<string>} */
  const hidden = new Set();
  const moment = document.createElement('span');
  moment.className = 'moment';
  const entries = types.map((type, index) => createEntry(type, index));
  for (const { button, type } of entries) {
    button.addEventListener('click', () => {
      if (!hidden.delete(type)) hidden.add(type);
      button.setAttribute('aria-pressed', String(!hidden.has(type)));
      onToggle();
    });
  }
  element?.replaceChildren(...entries.map(({ button }) => button), moment);
  return {
    hidden,
    colours: () => entries.map(({ swatch }) => getComputedStyle(swatch).backgroundColor),
    show(values, times, index) {
      const counts = entries.map(({ value }, type) => {
        const line = values[type] ?? [];
        const count = index === undefined ? sumOf(line) : (line[index] ?? 0);
        value.textContent = numbers.format(count);
        return count;
      });
      const time = index === undefined ? undefined : times[index];
      const when = time === undefined ? 'in all' : `from ${timeOf(time)} UTC`;
      moment.textContent = `${numbers.format(sumOf(counts))} ${when}`;
    },
  };
}

/**
 * @param {string} type
 * @param {number} index
 */
function createEntry(type, index) {
  const button = document.createElement('button');
  const swatch = document.createElement('span');
  const value = document.createElement('span');
  button.type = 'button';
  button.className = 'quiet';
  button.setAttribute('aria-pressed', 'true');
  swatch.className = `swatch type-${index + 1}`;
  value.className = 'value';
  button.append(swatch, type, ' ', value);
  return { type, button, swatch, value };
}

/** @param {readonly number[]} counts */
const sumOf = (counts) => counts.reduce((sum, one) => sum + one, 0);

/** @param {number} seconds */
const timeOf = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
