const numbers = new Intl.NumberFormat('en');

/**
 * A number as `1,234`.
 *
 * @param {number} count
 */
export const formatCount = (count) => numbers.format(count);

/**
 * A number of things: `1 event`, `1,234 events`.
 *
 * @param {number} count
 * @param {string} noun
 */
export const countOf = (count, noun) => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
