import type { DestinationStatus } from '../store/destinations/destinations.ts';
import type { Verification } from '../store/seal/verifications.ts';
import { countOf, formatCount, formatDuration } from '../lib/text/units.ts';

/** `plain`: nothing to judge, because it is not set up, has no data yet, or is unknown. */
type Level = 'good' | 'warn' | 'bad' | 'plain';

/** The state of something: console, API, readiness and doctor show the same one. */
export interface Status<Word extends string = string> {
  readonly level: Level;
  /** The state in a word or two. */
  readonly word: Word;
  /** The state in a sentence, without its full stop. */
  readonly what: string;
  /** Since when it needs attention. */
  readonly since: Date | null;
  /** What to do; null if nothing is to be done. */
  readonly remedy: string | null;
  /** Path of the console's page about it. */
  readonly page: string;
}

export const statusAs = <Word extends string>(
  level: Level,
  word: Word,
  what: string,
  page: string,
  details: Partial<Pick<Status, 'since' | 'remedy'>> = {},
): Status<Word> => ({ level, word, what, page, since: null, remedy: null, ...details });

/** A destination with a longer lag does not keep up, or is unreachable: polls and retries are over by then. */
const BEHIND_AFTER_MS = 5 * 60 * 1000;

/** The state of a destination, and what is known of its backlog; null if unknown. */
export interface DestinationFacts {
  readonly name: string;
  readonly state: DestinationStatus['state'] | 'not configured' | 'not started';
  readonly behind: number | null;
  readonly behind_since: Date | null;
  readonly rejected: number | null;
  readonly last_error: string | null;
  readonly last_error_at: Date | null;
}

export type DestinationWord = DestinationFacts['state'] | 'behind' | 'failing' | 'events rejected';

export function statusOfDestination(facts: DestinationFacts, now: Date): Status<DestinationWord> {
  const { name, state, behind_since: since, rejected, last_error: error, last_error_at: errorAt } = facts;
  const page = `/destinations/${encodeURIComponent(name)}`;
  const lag = lagOf(facts, now);
  const told = `${state}${lag}${error === null ? '' : `: ${error}`}`;
  const of = (level: Level, word: DestinationWord, remedy: string | null = null, from: Date | null = null) =>
    statusAs(level, word, told, page, { since: from, remedy });
  switch (state) {
    case 'refused':
      return of('bad', state, 'Fix the cause, then resume the destination.', errorAt);
    case 'paused':
      return of('warn', state, 'Resume it when it can receive events again.', since);
    case 'not started':
      return of('warn', state, 'Run serve with the role all or forward.');
    case 'not configured':
      return of('plain', state, 'Delete its state, or configure it again.');
    case 'running':
      if (since !== null && now.getTime() - since.getTime() > BEHIND_AFTER_MS) {
        return of('warn', 'behind', 'Check that the destination is reachable and keeps up.', since);
      }
      // An accepted batch clears the error.
      if (error !== null)
        return of('warn', 'failing', 'Forwarding retries automatically. Send a test event.', errorAt);
      if (rejected !== null && rejected > 0) {
        const what = `${told}, ${countOf(rejected, 'rejected event')}`;
        return { ...of('warn', 'events rejected', 'Check the reasons, then resend the events.'), what };
      }
      return of('good', state);
  }
}

function lagOf({ behind, behind_since: since }: DestinationFacts, now: Date): string {
  if (behind === null) return '';
  if (behind === 0) return ', up to date';
  const age = since === null ? 0 : (now.getTime() - since.getTime()) / 1000;
  return `, ${countOf(behind, 'event')} behind (${formatDuration(age)})`;
}

export const factsOfDestination = (status: DestinationStatus): DestinationFacts => ({
  ...status,
  behind: status.behind_count,
  rejected: status.rejected_count,
});

/** How far the log is sealed, and what comparing it with the rows found. */
export interface SealFacts {
  /** The latest checkpoint; undefined if there is none. */
  readonly checkpoint: { readonly madeAt: Date } | undefined;
  /** What was stored since then is in no checkpoint; undefined: all of it is. */
  readonly unsignedSince: Date | undefined;
  readonly verified: Pick<Verification, 'altered' | 'missing' | 'leaves'> & {
    /** All leaves were compared with their rows after this time, and some of them at `last`. */
    readonly since: Date | undefined;
    readonly last: Date | undefined;
  };
  /** The places outside of the database that keep checkpoints. */
  readonly anchors: readonly { readonly anchor: string; readonly error: string | null }[];
}

export type SealWord = 'not sealed' | 'altered' | 'missing' | 'not anchored' | 'behind' | 'sealed';

/** While more events arrive than can be sealed, sealing waits for a minute at most. */
const SEAL_LATE_MS = 10 * 60 * 1000;

/** Rows are compared all the time, unless storing needs the processor for so long. */
const COMPARED_LATE_MS = 60 * 60 * 1000;

/** The status of the seal: whether what is stored is proven to be what was received. */
export function statusOfSeal(
  { checkpoint, unsignedSince, verified, anchors }: SealFacts,
  now: Date,
): Status<SealWord> {
  const page = '/integrity';
  const { altered, missing, leaves, since, last } = verified;
  if (altered + missing > 0) {
    const what = `${countOf(missing, 'row')} missing and ${formatCount(altered)} altered of ${countOf(leaves, 'leaf', 'leaves')}`;
    const word = missing > 0 ? 'missing' : 'altered';
    return statusAs('bad', word, what, page, { since: since ?? null, remedy: 'Verify now to see which.' });
  }
  const remedyOfBehind = 'Check that a process is storing events, and check its log.';
  // Not by the time of the checkpoint: the clock that it was made by may have been ahead.
  if (unsignedSince !== undefined && now.getTime() - unsignedSince.getTime() > SEAL_LATE_MS) {
    const what = `events stored since ${unsignedSince.toISOString()} are in no checkpoint`;
    return statusAs('warn', 'behind', what, page, { since: unsignedSince, remedy: remedyOfBehind });
  }
  if (checkpoint === undefined) {
    const remedy = 'Run serve with the role all or worker.';
    return statusAs('plain', 'not sealed', 'the log is not sealed yet', page, { remedy });
  }
  const { madeAt } = checkpoint;
  const sealed = `sealed up to ${madeAt.toISOString()}`;
  if (last !== undefined && now.getTime() - last.getTime() > COMPARED_LATE_MS) {
    const what = `${sealed}; no row was compared with the seal since ${last.toISOString()}`;
    return statusAs('warn', 'behind', what, page, { since: last, remedy: remedyOfBehind });
  }
  const failing = anchors.filter(({ error }) => error !== null);
  if (failing.length > 0) {
    const what = [sealed, ...failing.map(({ anchor, error }) => `${anchor}: ${error}`)].join('; ');
    const remedy = 'Checkpoints are not kept there. Sending is retried every minute.';
    return statusAs('warn', 'not anchored', what, page, { remedy });
  }
  const compared = since === undefined ? '' : `; events and deliveries compared since ${since.toISOString()}`;
  return statusAs('good', 'sealed', `${sealed}${compared}`, page);
}
