import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { CloudApiError } from '../../src/cloud/cloud-api-error.ts';
import { BudgetSpentError, createCallBudget, type CallBudget } from '../../src/reconcile/call-budget.ts';
import type { HistoryContext } from '../../src/reconcile/compare-history.ts';
import { recordCoverage } from '../../src/reconcile/coverage.ts';
import { createSweep, type SweptSource } from '../../src/reconcile/sweep.ts';
import { createMissingStore, startHistorySweep } from '../../src/reconcile/start-history-sweep.ts';
import { storeDeliveries } from '../support/actions.ts';
import { emptyTables } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { writtenLog, type WrittenLog } from './stand-in.ts';
import { useDatabase } from '../support/use-database.ts';

const logger = pino({ level: 'silent' });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const test = useDatabase();
let log: WrittenLog;
let now: number;
let warnings: string[];
beforeEach(async () => {
  await emptyTables(test.db);
  await test.query`truncate history_records, history_progress, history_leases`;
  await test.query`delete from coverage`;
  warnings = [];
  log = writtenLog();
  now = Date.parse('2026-11-20T12:07:00Z');
});

const clock = { now: () => now, sleep: async () => undefined };
const plenty: CallBudget = { fetch, check: () => undefined, isAmple: () => true };

/** A process that sweeps. */
function startProcess(source: Partial<SweptSource> = {}, context: Partial<HistoryContext> = {}) {
  const storeMissing = createMissingStore(test.service, logger, new AbortController().signal);
  const sweep = createSweep({
    context: {
      db: test.service,
      clock,
      toleranceMs: 2_000,
      storeMissing,
      onCompared: recordCoverage(test.db),
      ...context,
    },
    holder: randomUUID(),
    logger: pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) }),
  });
  const swept: SweptSource = {
    source: 'default',
    messageTypes: ['CREDENTIAL_LOG_ALL'],
    logs: log,
    budget: plenty,
    ...source,
  };
  return { round: () => sweep.round(swept), leave: () => sweep.leave(swept.source) };
}

const credential = (id: number, timestamp: number) => ({
  id,
  timestamp,
  username: `user ${id}`,
  vhm_id: '1',
});

async function fetched(): Promise<string[]> {
  const rows = await test.query<{ id: string }>`select record_id as id from credential_log order by 1`;
  return rows.map(({ id }) => id);
}

describe('a sweep', () => {
  it('notices in its next round that the HIQ context hides organizations, and proves nothing meanwhile', async () => {
    let reading: string[] = [];
    const { round } = startProcess({ restrictedTo: async () => reading });
    const states = async () => {
      const rows = await test.query<{ state: string; reason: string | null }>`
        select distinct state, reason from coverage where quarter < ${new Date(now - 7 * HOUR)}
          and quarter >= ${new Date(now - 14 * HOUR)}`;
      return rows;
    };
    log.records = [credential(1, now - HOUR)];
    await round();
    reading = ['5'];
    let firstWarnings: string | undefined;
    for (let rounds = 0; rounds < 7 * 6; rounds += 1) {
      now += 10 * MINUTE;
      await round();
      firstWarnings ??= warnings.join('');
    }
    expect(firstWarnings).toContain('restricted context');
    expect(await states()).toEqual([{ state: 'not comparable', reason: 'restricted context' }]);
  });

  it('fetches what is missing of the last day, and a late record within ten minutes', async () => {
    log.records = [credential(1, now - 25 * HOUR), credential(2, now - 20 * HOUR), credential(3, now - HOUR)];
    const { round } = startProcess();
    await round();
    expect(await fetched()).toEqual(['2', '3']);
    expect(warnings.map((line): unknown => JSON.parse(line))).toMatchObject([
      { source: 'default', messageType: 'CREDENTIAL_LOG_ALL', missing: 1 },
      { missing: 1 },
    ]);
    log.records.push(credential(4, now - 5 * HOUR));
    now += 10 * MINUTE;
    await round();
    expect(await fetched()).toEqual(['2', '3', '4']);
  });

  it('continues where it ended, when it was down for longer than a day', async () => {
    const first = startProcess();
    await first.round();
    await first.leave();
    log.records = [credential(1, now + HOUR), credential(2, now - 2 * DAY)];
    now += 5 * DAY;
    await startProcess().round();
    expect(await fetched()).toEqual(['1']);
  });

  it('does not read what the log does not keep', async () => {
    await startProcess({ messageTypes: ['AUTHENTICATION_LOG_ALL'] }).round();
    now += 60 * DAY;
    log.queries.length = 0;
    await startProcess({ messageTypes: ['AUTHENTICATION_LOG_ALL'] }).round();
    expect(log.queries).toEqual([]);
    await test.query`truncate history_leases`;
    await startProcess({ messageTypes: ['AUTHENTICATION_LOG_ALL'] }).round();
    expect(Math.min(...log.queries.map(({ from }) => from))).toBeGreaterThan(now - 7 * DAY);
  });

  it('is done by one of several processes, until that one leaves', async () => {
    const first = startProcess();
    const second = startProcess();
    await first.round();
    log.queries.length = 0;
    await second.round();
    expect(log.queries).toEqual([]);
    await first.leave();
    await second.round();
    expect(log.queries).not.toEqual([]);
  });

  it('waits when its calls are used up, and asks for a shorter range', async () => {
    const budget = createCallBudget(clock);
    const pages = 120;
    const logs: SweptSource['logs'] = {
      ...log,
      async *read(query) {
        log.queries.push(query);
        // An hour has more pages than the budget has calls.
        const calls = Math.ceil((pages * (query.to - query.from)) / HOUR);
        for (let call = 0; call < calls; call += 1) {
          await budget.fetch('data:,').catch(() => undefined);
          yield credential(query.from + call, query.from + MINUTE);
        }
      },
    };
    const { round } = startProcess({ logs, budget });
    await round();
    expect(await fetched()).toEqual([]);
    now += HOUR;
    await round();
    const lengths = log.queries.map(({ from, to }) => to - from);
    expect(lengths[1]).toBeLessThan(lengths[0] ?? 0);
    expect((await fetched()).length).toBeGreaterThan(0);
  });

  it('asks for nothing while no call is left', async () => {
    const check = () => {
      throw new BudgetSpentError('none is left');
    };
    await startProcess({ budget: { ...plenty, check } }).round();
    expect([log.queries, warnings]).toEqual([[], []]);
  });

  it('asks for a shorter range while a list is incomplete, also if records of it cannot be stored', async () => {
    const logs: SweptSource['logs'] = {
      ...log,
      async *read(query) {
        yield* log.read(query);
        if (query.to - query.from < 20 * MINUTE && query.to < now - 5 * MINUTE) return;
        throw new CloudApiError('not all', { method: 'GET', path: '/logs', isIncomplete: true });
      },
    };
    log.records = [credential(1, now - 10 * MINUTE)];
    await startProcess({ logs }, { storeMissing: async () => undefined }).round();
    const minutes = log.queries.map(({ from, to }) => Math.round((to - from) / MINUTE));
    expect(minutes.slice(0, 6)).toEqual([50, 20, 5, 30, 15, 30]);
    expect(warnings).toEqual([expect.stringContaining('incomplete list')]);
    expect(JSON.parse(warnings.join(''))).toMatchObject({
      source: 'default',
      messageType: 'CREDENTIAL_LOG_ALL',
    });
  });

  it('leaves half of its calls to the comparison: an audit event may keep its summary, but none waits', async () => {
    const budget = createCallBudget(clock);
    let described = 0;
    const logs: SweptSource['logs'] = {
      ...log,
      read: (query) => log.read(query),
      async fullDescription(id) {
        await budget.fetch('data:,');
        described += 1;
        return `summary ${id}`;
      },
    };
    log.records = Array.from({ length: 60 }, (_, id) => ({
      id,
      timestamp: now - HOUR + id * 10_000,
      user_id: 1,
      code: 2,
      description: 'summary',
      full_description_id: id + 1,
    }));
    await startProcess({ logs, budget, messageTypes: ['AUDIT_LOG_ALL'] }).round();
    expect(described).toBeGreaterThan(30);
    expect(described).toBeLessThan(45);
    const rows = await test.query<{ whole: boolean; count: number }>`
      select description <> 'summary' as whole, count(*)::int as count from audit_log group by 1 order by 1`;
    expect(rows).toEqual([
      { whole: false, count: 60 - described },
      { whole: true, count: described },
    ]);
  });

  it('goes on with the next message type when one cannot be read', async () => {
    const logs: SweptSource['logs'] = {
      ...log,
      async *read(query) {
        if (query.kind === 'sms') throw new Error('no permission');
        yield* log.read(query);
      },
    };
    log.records = [credential(1, now - HOUR)];
    await startProcess({ logs, messageTypes: ['SMS_LOG_ALL', 'CREDENTIAL_LOG_ALL'] }).round();
    expect(await fetched()).toEqual(['1']);
    expect(warnings).toContainEqual(expect.stringContaining('no permission'));
  });

  it('warns of nothing when it ends with the process', async () => {
    const stopping = new AbortController();
    const logs: SweptSource['logs'] = {
      ...log,
      async *read() {
        stopping.abort();
        yield credential(1, now - HOUR);
      },
    };
    await startProcess({ logs }, { signal: stopping.signal }).round();
    expect([await fetched(), warnings]).toEqual([[], []]);
  });

  it.each([
    [10, 'waits'],
    [0, 'begins'],
  ])('of webhooks that are stored %d minutes after their arrival %s', async (minutes, does) => {
    const receivedAt = Date.now() - minutes * MINUTE;
    await storeDeliveries(test.service, queuedDelivery('AUDIT_LOG_ALL', [auditRecord()], { receivedAt }));
    let begun = 0;
    const config = {
      get sources() {
        begun += 1;
        return [];
      },
    };
    {
      await using started = new AsyncDisposableStack();
      const sources = { config, knowsStored: () => true, logger };
      startHistorySweep({ db: test.service, sources, toleranceMs: 2_000 }, started);
    }
    expect(begun).toBe(does === 'begins' ? 1 : 0);
  });
});
