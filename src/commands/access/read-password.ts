import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import { UsageError } from '../../errors.ts';

const MIN_LENGTH = 12;
const MAX_LENGTH = 1_000;

/**
 * Reads a new password: from standard input, or twice from the person at the terminal. Undefined if the person entered
 * none, or there is no terminal: then one has to be generated. Throws a UsageError if it is too short.
 */
export async function readPassword(from: 'stdin' | 'ask'): Promise<string | undefined> {
  if (from === 'stdin') return checkLength((await text(process.stdin)).replace(/\r?\n$/, ''));
  if (!process.stdin.isTTY) return undefined;
  const entered = await askHidden('New password (empty: generate one): ');
  if (entered === '') return undefined;
  checkLength(entered);
  if ((await askHidden('Repeat the password: ')) !== entered) {
    throw new UsageError('the two passwords differ');
  }
  return entered;
}

function checkLength(password: string): string {
  if (password.length >= MIN_LENGTH && password.length <= MAX_LENGTH) return password;
  throw new UsageError(`a password must have ${MIN_LENGTH} to ${MAX_LENGTH} characters`);
}

/** Asks without showing what is typed. */
async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
