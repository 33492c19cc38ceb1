import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createReadiness, type Finding } from '../../src/observe/readiness.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();

it('runs each check once for all simultaneous requests, and again for later ones', async () => {
  const { promise, resolve } = Promise.withResolvers<Finding>();
  let runs = 0;
  const ask = () => {
    runs += 1;
    return promise;
  };
  const readiness = createReadiness({ queue: { ask, isNeeded: true } }, pino({ level: 'silent' }));
  const answers = Array.from({ length: 20 }, () => readiness.ask());
  resolve({ state: 'ok' });
  for (const answer of await Promise.all(answers)) {
    expect(answer).toEqual({ status: 'ok', checks: { queue: 'ok' } });
  }
  expect(runs).toBe(1);
  await readiness.ask();
  expect(runs).toBe(2);
});

it('says that a check waits for its tables, and warns of nothing, until the first start has made them', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  const ask = () => sql`select from not_there_yet`.execute(test.db).then(() => ({ state: 'ok' as const }));
  const readiness = createReadiness({ seal: { ask, isNeeded: false } }, logger);
  expect(await readiness.ask()).toEqual({ status: 'degraded', checks: { seal: 'starting' } });
  expect(lines).toEqual([]);
});
