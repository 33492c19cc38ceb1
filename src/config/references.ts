import { readFileSync } from 'node:fs';
import { describeError } from '../lib/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Opens an encrypted text, or throws an error that says why it cannot be opened. */
type Open = (sealed: string) => string;

/** Reports that the text of a reference is not to be had: where the reference is, and why. */
type OnMissing = (path: readonly PropertyKey[], reason: string) => void;

/**
 * A value in which every `{ env: NAME }` and `{ file: path }`, at any depth, is replaced by the text that it refers to;
 * by an empty one if that is missing, which is reported. The last line break of a file does not count. With `open`, the
 * same is true of `{ sealed: text }`.
 */
export function resolveReferences(
  value: unknown,
  env: Environment,
  onMissing: OnMissing,
  path: readonly PropertyKey[] = [],
  open?: Open,
): unknown {
  const resolveAt = (inner: unknown, key: PropertyKey) =>
    resolveReferences(inner, env, onMissing, [...path, key], open);
  if (Array.isArray(value)) return value.map(resolveAt);
  if (typeof value !== 'object' || value === null) return value;
  const members: [string, unknown][] = Object.entries(value);
  const [[kind, name] = ['', undefined], second] = members;
  if (second === undefined && typeof name === 'string') {
    const report = (reason: string) => onMissing(path, reason);
    if (kind === 'env') return readVariable(name, env, report);
    if (kind === 'file') return readText(name, report);
    if (kind === 'sealed' && open !== undefined) return readSealed(name, open, report);
  }
  return Object.fromEntries(members.map(([member, inner]) => [member, resolveAt(inner, member)]));
}

function readVariable(name: string, env: Environment, report: (reason: string) => void): string {
  const value = env[name] ?? '';
  if (value === '') report(`the environment variable ${name} is not set`);
  return value;
}

function readSealed(sealed: string, open: Open, report: (reason: string) => void): string {
  try {
    return open(sealed);
  } catch (error) {
    report(describeError(error));
    return '';
  }
}

function readText(file: string, report: (reason: string) => void): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    report(`${file} cannot be read: ${code}`);
    return '';
  }
}
