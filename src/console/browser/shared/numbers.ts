const numbers = new Intl.NumberFormat('en');

/** A number as `1,234`. */
export const formatCount = (count: number) => numbers.format(count);

/** A number of things: `1 event`, `1,234 events`. */
export const countOf = (count: number, noun: string) =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
