import { styleText } from 'node:util';

/** A line of what a command was asked for, on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** A line beside it, for the person alone: dim, on standard error. */
export function note(text: string): void {
  process.stderr.write(`${styleText('dim', text, { stream: process.stderr })}\n`);
}
