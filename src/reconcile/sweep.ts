import type { Logger } from 'pino';
import { failuresIn } from '../lib/failure-log.ts';
import { endLease, readComparedUntil, saveComparedUntil, takeLease } from '../store/reconcile/history.ts';
import { BudgetSpentError, type CallBudget } from './call-budget.ts';
import { compareHistory, QUARTER_MS, sumQuarters, type HistoryContext } from './compare-history.ts';
import { historyOf, type LoggedType } from './log-kinds.ts';
import { createSchedule, GRACE_MS, LATENESS_MS, ROUND_MS, type Schedule } from './schedule.ts';
import { DAY_MS, HOUR_MS } from '../lib/clock.ts';

/** A source whose history is compared by itself. */
export interface SweptSource {
  readonly source: string;
  /** Those with a history that the source subscribes to. */
  readonly messageTypes: readonly LoggedType[];
  readonly logs: HistoryContext['logs'];
  readonly restrictedTo?: HistoryContext['restrictedTo'];
  readonly budget: CallBudget;
}

interface SweepOptions {
  readonly context: Omit<HistoryContext, 'logs' | 'restrictedTo' | 'onRecord' | 'mayDescribe' | 'isDryRun'>;
  /** Identifies this process. */
  readonly holder: string;
  readonly logger: Logger;
}

/** The log of a type whose retention is not published is compared no further back than this. */
const USUAL_REACH_MS = 30 * DAY_MS;

/** A range of fewer records than this doubles the next one: ten calls. */
const FEW_RECORDS = 1_000;

/** Whoever compares a source has its lease; a process that died keeps it for so long. */
export const COMPARING_MS = 30 * 60 * 1000;
const SWEEPING_MS = 3 * ROUND_MS;

/** The lease of whoever compares a source now: a process that sweeps, or a command. */
export const comparingLease = (source: string) => `compare ${source}`;

/** Those about all quarters of a list. */
const DOUBTS_OF_LISTS = ['restricted context', 'incomplete list', 'record without time'] as const;

const NOT_COMPARABLE = "quarters of an hour are not comparable with the cloud's logs";

/** Creates a sweep. Its first round compares the last day of each source, and what was not compared before that. */
export function createSweep({ context, holder, logger }: SweepOptions) {
  const { db, clock, signal } = context;
  /** The schedule of each source and message type, and the longest range that a comparison may have. */
  const states = new Map<string, { readonly schedule: Schedule; longestMs: number }>();

  /** Where the next round of a source begins: behind the type that used up the calls. */
  const firstTypes = new Map<string, number>();
  const failures = failuresIn(logger);

  /** The first schedule begins where comparisons ended, perhaps of a process that went down long ago. */
  async function stateOf(source: string, messageType: LoggedType) {
    const key = `${messageType} ${source}`;
    const known = states.get(key);
    if (known !== undefined) return known;
    const now = clock.now();
    const until = (await readComparedUntil(db, source, messageType))?.getTime() ?? now;
    const earliest = now - (historyOf(messageType).reachMs ?? USUAL_REACH_MS) + HOUR_MS;
    const schedule = createSchedule(Math.max(earliest, until - LATENESS_MS));
    const state = { schedule, longestMs: HOUR_MS };
    states.set(key, state);
    return state;
  }

  async function sweepType(swept: SweptSource, messageType: LoggedType): Promise<void> {
    const { source, logs, budget, restrictedTo } = swept;
    const state = await stateOf(source, messageType);
    for (;;) {
      const at = clock.now();
      const span = state.schedule.next(at, state.longestMs);
      if (signal?.aborted === true) return;
      if (span === undefined) {
        await saveComparedUntil(db, source, messageType, new Date(at - GRACE_MS));
        return;
      }
      budget.check();
      try {
        const quarters = await compareHistory(
          {
            ...context,
            logs,
            restrictedTo,
            onRecord: () => budget.check(),
            mayDescribe: () => budget.isAmple(),
          },
          { source, messageType, from: new Date(span.from), to: new Date(span.to) },
        );
        const doubt = DOUBTS_OF_LISTS.find((one) => quarters.some(({ doubt }) => doubt === one));
        if (doubt !== undefined && doubt !== 'restricted context' && state.longestMs > QUARTER_MS) {
          // A shorter list has fewer pages, and fewer quarters are in doubt.
          state.longestMs = Math.max(state.longestMs / 2, QUARTER_MS);
          continue;
        }
        const part = `doubt ${messageType} ${source}`;
        if (doubt === undefined) failures.clear(part);
        else failures.report(part, new Error(doubt), NOT_COMPARABLE, { fields: { source, messageType } });
        state.schedule.compared(span, at);
        const { matched, onlyLog: missing } = sumQuarters(quarters);
        if (matched + missing < FEW_RECORDS) state.longestMs = Math.min(2 * state.longestMs, DAY_MS);
        if (missing > 0)
          logger.warn({ source, messageType, missing }, 'missing events fetched from the cloud');
      } catch (error) {
        if (error instanceof BudgetSpentError) state.longestMs = Math.max(state.longestMs / 2, QUARTER_MS);
        throw error;
      }
    }
  }

  return {
    /** Compares what is due of a source, as far as its budget goes. Call it every ten minutes. Failures are logged. */
    async round(swept: SweptSource): Promise<void> {
      const { source } = swept;
      if (!(await takeLease(db, `sweep ${source}`, holder, SWEEPING_MS))) return;
      if (!(await takeLease(db, comparingLease(source), holder, COMPARING_MS))) return;
      try {
        const first = firstTypes.get(source) ?? 0;
        const types = [...swept.messageTypes.slice(first), ...swept.messageTypes.slice(0, first)];
        for (const messageType of types) {
          try {
            await sweepType(swept, messageType);
            failures.clear(`${messageType} ${source}`);
          } catch (error) {
            if (signal?.aborted === true) return;
            if (error instanceof BudgetSpentError) {
              logger.debug({ source, messageType }, error.message);
              firstTypes.set(source, swept.messageTypes.indexOf(messageType) + 1);
              return;
            }
            const what = `can't compare with the cloud's logs (permission ${historyOf(messageType).permission})`;
            failures.report(`${messageType} ${source}`, error, what, { fields: { source, messageType } });
          }
        }
      } finally {
        await endLease(db, comparingLease(source), holder);
      }
    },
    /** Lets another process compare the source. */
    async leave(source: string): Promise<void> {
      await endLease(db, `sweep ${source}`, holder);
    },
  };
}
