import { styleText } from 'node:util';
import type { Secrets } from '../../secrets.ts';
import { escapeHiddenInJson, revealOnLine } from '../../hidden-characters.ts';
import { print } from '../shared/output.ts';
import type { Finding, Running, Status } from './check.ts';

/** Number of checks by result. */
export type Counts = Readonly<Record<Status, number>>;

const COLOUR = { ok: 'green', warn: 'yellow', fail: 'red', skipped: 'dim' } as const;

const STATUS_WIDTH = 'skipped'.length;

/**
 * Prints each finding as soon as it and those before it are known, as JSON objects or as text with a summary; coloured
 * on a terminal. Secrets are hidden.
 */
export async function printReport(
  checks: readonly Running[],
  asJson: boolean,
  secrets: Secrets,
): Promise<Counts> {
  const counts = { ok: 0, warn: 0, fail: 0, skipped: 0 };
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, finding } of checks) {
    const found = await finding;
    counts[found.status] += 1;
    const lines = asJson ? [toJson(name, found)] : toLines(name.padEnd(width), found);
    for (const line of lines) print(secrets.hide(line));
  }
  if (!asJson) print(`\n${summary(counts)}`);
  return counts;
}

function toJson(check: string, { status, message, remedy }: Finding): string {
  return escapeHiddenInJson(JSON.stringify({ check, status, message, remedy: remedy ?? null }));
}

function toLines(name: string, { status, message, remedy }: Finding): string[] {
  const label = styleText(COLOUR[status], status.padEnd(STATUS_WIDTH));
  const text = status === 'skipped' ? styleText('dim', revealOnLine(message)) : revealOnLine(message);
  const indent = ' '.repeat(STATUS_WIDTH + name.length + 4);
  return [
    `${label}  ${name}  ${text}`,
    ...(remedy === undefined || status === 'ok'
      ? []
      : [`${indent}${styleText('dim', `-> ${revealOnLine(remedy)}`)}`]),
  ];
}

function summary(counts: Counts): string {
  const parts = (['ok', 'warn', 'fail', 'skipped'] as const)
    .filter((status) => counts[status] > 0)
    .map((status) => styleText(COLOUR[status], `${counts[status]} ${status}`));
  return parts.join(', ');
}
