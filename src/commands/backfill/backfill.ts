import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { systemClock } from '../../lib/clock.ts';
import { clientOf } from '../../cloud/client.ts';
import type { SourceConfig } from '../../config/config.ts';
import { describeError } from '../../lib/errors.ts';
import {
  compareHistory,
  QUARTER_MS,
  sumQuarters,
  type ComparedQuarter,
  type HistoryContext,
} from '../../reconcile/compare-history.ts';
import { recordCoverage } from '../../reconcile/coverage.ts';
import { loggedAmong, type LoggedType } from '../../reconcile/log-kinds.ts';
import { COMPARING_MS, comparingLease } from '../../reconcile/sweep.ts';
import { createMissingStore } from '../../reconcile/start-history-sweep.ts';
import { joinSources, readStoredSources } from '../../sources/join-sources.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import { withStore } from '../../serve/open-store.ts';
import { readSecrets } from '../../sources/webhook-secret.ts';
import { endLease, takeLease, type HistoryRange } from '../../store/reconcile/history.ts';
import { formatCount } from '../../lib/text/units.ts';
import { note, printRows, type Columns } from '../shared/output.ts';
import { createProgress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';
import { sourcesWithApi } from '../../sources/cloud-sources.ts';

interface Chosen {
  readonly since: Date;
  readonly until: Date;
  /** Undefined: those that a source subscribes to. */
  readonly types: readonly LoggedType[] | undefined;
  /** Undefined: all sources with an API. */
  readonly source: string | undefined;
  readonly isDryRun: boolean;
}

interface BackfillContext {
  readonly config: ServiceConfig;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

type Sums = Awaited<ReturnType<typeof backfillType>>;

const COLUMNS = (isDryRun: boolean): Columns<Sums> => ({
  source: (sums) => sums.source,
  type: (sums) => sums.message_type,
  matched: (sums) => formatCount(sums.matched),
  'only webhook': (sums) => formatCount(sums.only_webhook),
  [isDryRun ? 'only log' : 'only log (fetched)']: (sums) => formatCount(sums.only_log),
  ambiguous: (sums) => formatCount(sums.ambiguous),
  error: (sums) => sums.error,
});

/** All of a range is in memory while it is compared. */
const LONGEST_MS = 6 * 60 * 60 * 1000;

/**
 * After the command has stored records for a second, it pauses for so many seconds. The p99 of the answers to 500
 * deliveries a second was 0.9 to 1.03 times as long beside it, and 1.3 times without pauses (bench/backfill.ts).
 */
const PAUSE_SHARE = 2;

/** Another process that compares the source is waited for. */
const LEASE_RETRY_MS = 1_000;

/** `backfill`: compares the range and prints the result of each source and type. Resolves with false if one failed. */
export async function backfill(
  { config, logger, signal }: BackfillContext,
  chosen: Chosen,
  asJson: boolean,
): Promise<boolean> {
  const results: Sums[] = [];
  await withStore(config, logger, async ({ db }) => {
    const { sources } = joinSources(await readSecrets(config), await readStoredSources(db), config);
    const storeMissing = withPauses(createMissingStore(db, logger, signal, config), signal);
    const { toleranceMs } = config.history;
    const { isDryRun } = chosen;
    const onCompared = recordCoverage(db);
    const context = { db, clock: systemClock, toleranceMs, storeMissing, onCompared, isDryRun, signal };
    const todo = chooseSources(sources, chosen);
    using progress = createProgress('compared', countQuarters(todo, chosen));
    const compare = async () => {
      let done = 0;
      const onQuarters = (count: number) => progress.show((done += count));
      for (const one of todo)
        results.push(...(await backfillSource(one, { context, chosen, onQuarters, logger })));
      return results;
    };
    if (isDryRun) await compare();
    else {
      const { since, until, types = null, source: subject } = chosen;
      const details = { since, until, types };
      const action = { action: 'events.backfill', subject, details } as const;
      await recordCommand(db, action, compare, (sums) => ({ sums }));
    }
  });
  await printRows(results, COLUMNS(chosen.isDryRun), asJson);
  if (chosen.isDryRun)
    note('nothing was stored: repeat the command without --dry-run to fetch missing events');
  return results.every(({ error }) => error === null);
}

/** Leaves the processor and the disk to deliveries for most of the time. */
function withPauses(store: HistoryContext['storeMissing'], signal: AbortSignal): typeof store {
  return async (...missing) => {
    const began = performance.now();
    await store(...missing);
    await sleep(PAUSE_SHARE * (performance.now() - began), undefined, { signal });
  };
}

type Todo = ReturnType<typeof chooseSources>[number];

/** Throws a UsageError if the source has no API, or no source has. */
const chooseSources = (sources: readonly SourceConfig[], { source, types }: Chosen) =>
  sourcesWithApi(sources, source).map(({ name, cloud, messageTypes }) => ({
    source: name,
    cloud,
    messageTypes: types ?? loggedAmong(messageTypes),
  }));

const countQuarters = (todo: readonly Todo[], { since, until }: Chosen) =>
  todo.reduce((sum, { messageTypes }) => sum + messageTypes.length, 0) *
  [...rangesOf(since, until)].reduce((sum, range) => sum + quartersIn(range), 0);

const quartersIn = ({ from, to }: Range) => Math.ceil((to.getTime() - from.getTime()) / QUARTER_MS);

interface Work {
  readonly context: Omit<HistoryContext, 'logs' | 'restrictedTo'>;
  readonly chosen: Chosen;
  readonly onQuarters: (count: number) => void;
  readonly logger: Logger;
}

async function backfillSource({ source, cloud, messageTypes }: Todo, work: Work): Promise<Sums[]> {
  const { context, logger } = work;
  const client = clientOf(context.db, { name: source, cloud }, { logger });
  const holder = randomUUID();
  const sums: Sums[] = [];
  try {
    for (const messageType of messageTypes) {
      if (context.isDryRun !== true) await waitForLease(context, source, holder);
      sums.push(
        await backfillType({ ...context, logs: client.logs, ...client.hiq }, { source, messageType }, work),
      );
    }
  } finally {
    await endLease(context.db, comparingLease(source), holder);
    await client.logout();
  }
  return sums;
}

/** Compares the range from its end, because the oldest records may be gone from the log soon. */
async function backfillType(
  context: HistoryContext,
  { source, messageType }: { readonly source: string; readonly messageType: LoggedType },
  { chosen: { since, until }, onQuarters }: Work,
) {
  const quarters: ComparedQuarter[] = [];
  let error: string | null = null;
  try {
    for (const range of rangesOf(since, until)) {
      quarters.push(...(await compareHistory(context, { source, messageType, ...range })));
      onQuarters(quartersIn(range));
    }
  } catch (cause) {
    error = context.signal?.aborted === true ? 'stopped' : describeError(cause);
  }
  const { matched, onlyWebhook: only_webhook, onlyLog: only_log, ambiguous } = sumQuarters(quarters);
  return { source, message_type: messageType, matched, only_webhook, only_log, ambiguous, error };
}

type Range = Pick<HistoryRange, 'from' | 'to'>;

/** Parts of a range that begin with whole quarters of an hour, the newest first. */
function* rangesOf(since: Date, until: Date): Generator<Range> {
  const begin = Math.floor(since.getTime() / QUARTER_MS) * QUARTER_MS;
  for (let to = until.getTime(); to > begin;) {
    const from = Math.max(begin, Math.floor((to - 1) / LONGEST_MS) * LONGEST_MS);
    yield { from: new Date(from), to: new Date(to) };
    to = from;
  }
}

async function waitForLease(
  { db, signal }: Pick<HistoryContext, 'db' | 'signal'>,
  source: string,
  holder: string,
): Promise<void> {
  for (let waits = 0; !(await takeLease(db, comparingLease(source), holder, COMPARING_MS)); waits += 1) {
    if (waits === 0) note(`waiting for another process that is comparing ${source}`);
    await sleep(LEASE_RETRY_MS, undefined, { signal });
  }
}
