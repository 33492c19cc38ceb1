import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { recordCoverage } from '../../src/reconcile/coverage.ts';
import { endOfCommand } from '../support/command.ts';
import { useDatabase } from '../support/use-database.ts';

const HOUR = 3_600_000;
const SINCE = new Date(Math.floor(Date.now() / HOUR) * HOUR - 24 * HOUR);
const PROVEN = new Date(SINCE.getTime() + 4 * HOUR);

const test = useDatabase();
beforeAll(async () => {
  for (const hours of [1, 8]) {
    const at = new Date(PROVEN.getTime() + hours * HOUR);
    await recordCoverage(test.db)('branch', 'AUDIT_LOG_ALL', [], { from: SINCE, to: PROVEN, at });
  }
  await sql`
    insert into gaps (began_at, ended_at, reason) values (${SINCE}, ${PROVEN}, 'downtime')`.execute(test.db);
});

const coverage = (...args: string[]) =>
  endOfCommand({ DATABASE_URL: test.databaseUrl }, 'coverage', '--since', SINCE.toISOString(), ...args);

describe('the command coverage', () => {
  it('succeeds if everything in the range is proven, and lists gaps', async () => {
    const { code, stdout } = await coverage('--until', PROVEN.toISOString());
    expect(stdout).toMatch(/branch +AUDIT_LOG_ALL +\d+ +0 +0 +0 +0 +0 +0 *\n/);
    expect(stdout).toMatch(/\nPeriods in which events may have been missed:\n[^]*all +all +downtime/);
    expect(code).toBe(0);
  });

  it('fails if a quarter is pending', async () => {
    const { code } = await coverage('--until', new Date(PROVEN.getTime() + 1).toISOString());
    expect(code).toBe(1);
  });

  it('prints days and gaps as JSON lines', async () => {
    const { stdout } = await coverage('--until', PROVEN.toISOString(), '--json');
    const lines = stdout
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(lines).toContainEqual(expect.objectContaining({ source: 'branch', pending: 0 }));
    expect(lines.at(-1)).toEqual({
      source: null,
      message_type: null,
      reason: 'downtime',
      began_at: SINCE.toISOString(),
      ended_at: PROVEN.toISOString(),
      detail: {},
    });
  });

  it('reads one source', async () => {
    const { code, stdout, stderr } = await coverage('--until', PROVEN.toISOString(), '--source', 'other');
    expect(stdout).not.toContain('branch');
    expect(stderr).toContain('No source was configured in this range');
    expect(code).toBe(0);
  });
});
