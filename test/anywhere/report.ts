import { formatTable } from '../../src/commands/shared/output.ts';

/** What a place came to. */
export interface Row {
  readonly title: string;
  readonly installSeconds?: number;
  /** From the start to the first good answer of `/readyz`; of the slowest of several services. */
  readonly readySeconds?: number;
  /** From the start until the printed lines have stored an event and shown it, in each of several services. */
  readonly firstEventSeconds?: number;
  /** Undefined where `npm test` does not belong to the place, or was not reached. */
  readonly tests?: {
    readonly extent: 'subset' | 'whole';
    readonly hasPassed: boolean;
    readonly seconds: number;
  };
  /** Each with the end of its output. */
  readonly failures: readonly string[];
  /** Why this machine cannot run the place. */
  readonly skipped?: string;
}

/** All rows, one a line. */
export function formatRows(rows: readonly Row[]): string {
  return formatTable(
    ['place', 'install (s)', 'ready (s)', 'event (s)', 'npm test', 'verdict'],
    rows.map((row) => [
      row.title,
      (row.installSeconds?.toFixed(0) ?? '').padStart('install (s)'.length),
      (row.readySeconds?.toFixed(1) ?? '').padStart('ready (s)'.length),
      (row.firstEventSeconds?.toFixed(1) ?? '').padStart('event (s)'.length),
      describeTests(row),
      describeVerdict(row),
    ]),
  );
}

function describeTests({ tests }: Row): string {
  if (tests === undefined) return '';
  const { extent, hasPassed, seconds } = tests;
  return `${extent} ${hasPassed ? 'passed' : 'FAILED'} (${seconds.toFixed(0)} s)`;
}

/** The verdict, and why. */
export function describeVerdict({ failures, skipped }: Row): string {
  if (skipped !== undefined) return `skipped: ${skipped}`;
  if (failures.length === 0) return 'ok';
  return `FAILED: ${failures.map((failure) => failure.split('\n', 1)[0]?.replace(/:$/, '')).join('; ')}`;
}
