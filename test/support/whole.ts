import { InvalidArgumentError } from '@commander-js/extra-typings';

/** Reads an option of a command that is a whole number. */
export function whole(text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
