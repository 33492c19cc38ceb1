import { statusOfDestination, statusOfSeal, statusAs } from './status.ts';
import type { DestinationFacts, SealFacts, Status } from './status.ts';
import type { ArrivalSum } from '../store/counts/read-arrivals.ts';
import { MAX_OPEN_COUNT, type OpenQuarantine } from '../store/quarantine/search-quarantine.ts';
import { countOf, formatCount, formatDuration } from '../lib/text/units.ts';
import { isProblem } from './readiness.ts';

/** The four questions of an operator: do deliveries arrive, are events stored, forwarded, and proven to be unchanged. */
export const QUESTIONS = ['arriving', 'stored', 'forwarded', 'proven'] as const;

export type Question = (typeof QUESTIONS)[number];

/** A line of the readiness of a process: a state, which is `ok`, `unknown` or a problem, and its reason. */
export interface CheckLine {
  readonly name: string;
  readonly state: string;
  readonly why: string;
}

interface SilenceFacts {
  readonly source: string;
  readonly messageType: string;
  readonly lastReceivedAt: Date | undefined;
  readonly state: string;
  readonly sentence: string;
}

/** What the statuses are computed from; null: it could not be read. */
export interface ServiceFacts {
  readonly now: Date;
  readonly checks: readonly CheckLine[];
  readonly sums: readonly ArrivalSum[] | null;
  readonly silences: readonly SilenceFacts[] | null;
  readonly quarantine: OpenQuarantine | null;
  readonly destinations: readonly DestinationFacts[] | null;
  readonly seal: SealFacts | null;
  /** What arrived in the last 24 hours. */
  readonly lastDay: { readonly deliveries: number; readonly events: number } | null;
  /** Paths of the pages about processes, queue and database, and about the seal. */
  readonly systemPage: string;
  readonly sealPage: string;
}

/** The status of one question, its most telling number, and everything that needs attention, the worst first. */
interface Answer {
  readonly status: Status;
  /** A number, followed by what it counts; null: not known. */
  readonly figure: string | null;
  readonly needs: Status[];
}

/** Answers the four questions. A question has the status of its worst problem. */
export function answerQuestions(facts: ServiceFacts): Readonly<Record<Question, Answer>> {
  const { lastDay } = facts;
  return {
    arriving: answer(
      [...checkProblems(facts, 'arriving'), ...silenceProblems(facts.silences ?? [])],
      whenArriving(facts),
      lastDay && `${countOf(lastDay.deliveries, 'delivery', 'deliveries')} in 24 h`,
    ),
    stored: answer(
      [...checkProblems(facts, 'stored'), ...sumProblems(facts), ...quarantineProblems(facts)],
      facts.sums === null ? unknown(facts.systemPage) : good('stored', 'nothing lost', '/events'),
      lastDay && `${countOf(lastDay.events, 'event')} in 24 h`,
    ),
    forwarded: forwarded(facts),
    proven: proven(facts),
  };
}

const SEVERITY = { bad: 0, warn: 1, plain: 2, good: 3 } as const;

function answer(problems: readonly Status[], otherwise: Status, figure: string | null): Answer {
  const needs = problems.toSorted((a, b) => SEVERITY[a.level] - SEVERITY[b.level]);
  return { status: needs[0] ?? otherwise, figure, needs };
}

const good = (word: string, what: string, page: string) => statusAs('good', word, what, page);

const unknown = (page: string) => statusAs('plain', 'unknown', 'the database does not answer', page);

/** The checks that concern arrival. Those of destinations and silences are computed from the facts themselves. */
const OF_ARRIVAL = /^(?:queue|spool|subscriptions)\b/;
const COMPUTED = /^(?:forwarding|silence)\b/;

function checkProblems({ checks, systemPage }: ServiceFacts, question: 'arriving' | 'stored'): Status[] {
  const wanted = withoutSums(checks).filter(
    ({ name, state }) =>
      isProblem({ state }) && !COMPUTED.test(name) && OF_ARRIVAL.test(name) === (question === 'arriving'),
  );
  return wanted.map(({ name, state, why }) =>
    statusAs(
      NOT_WORKING.has(state) ? 'bad' : 'warn',
      `${name.replace(/[:(].*/s, '').trim()} ${state}`,
      why === '' ? `${name}: ${state}` : `${name}: ${why}`,
      name.startsWith('subscriptions') ? '/subscriptions' : systemPage,
      { remedy: remedyOf(name) },
    ),
  );
}

/** The states in which a part does no work. */
const NOT_WORKING: ReadonlySet<string> = new Set(['away', 'full', 'read-only', 'starting', 'stuck']);

/** Leaves out a check whose parts are listed: they are more specific. */
const withoutSums = (checks: readonly CheckLine[]) =>
  checks.filter(({ name }) => !checks.some((other) => other.name.startsWith(`${name}: `)));

function remedyOf(check: string): string {
  if (check.startsWith('queue')) return "Check the queue's server. Meanwhile, deliveries go to the spool.";
  if (check.startsWith('spool')) return 'Make the queue available, or free disk space.';
  if (check.startsWith('subscriptions')) return 'Compare the subscriptions, and apply the changes.';
  if (check.startsWith('database')) return 'Check DATABASE_URL, and that the server accepts connections.';
  if (check.startsWith('locks')) return 'End that transaction, or its session.';
  return "Run doctor, and check the process's log.";
}

function silenceProblems(silences: readonly SilenceFacts[]): Status[] {
  return silences
    .filter(({ state }) => state === 'unusual')
    .map(({ source, messageType, lastReceivedAt, sentence }) =>
      statusAs('warn', 'unusually quiet', `${messageType} from ${source}: ${sentence}`, '/subscriptions', {
        since: lastReceivedAt ?? null,
        remedy: 'Check the subscription in the cloud.',
      }),
    );
}

function whenArriving({ sums, now, systemPage }: ServiceFacts): Status {
  if (sums === null) return unknown(systemPage);
  const times = sums.flatMap(({ lastReceivedAt }) => lastReceivedAt?.getTime() ?? []);
  if (times.length === 0) {
    const remedy = 'Send a first delivery, or subscribe in the cloud.';
    return statusAs('plain', 'nothing yet', 'nothing has arrived yet', '/subscriptions', { remedy });
  }
  const age = formatDuration((now.getTime() - Math.max(...times)) / 1000);
  return good('arriving', `as usual, last delivery ${age} ago`, '/deliveries');
}

function sumProblems({ sums, sealPage }: ServiceFacts): Status[] {
  return (sums ?? [])
    .filter(({ addsUp }) => !addsUp)
    .map(({ source, messageType, unbalanced, missing, altered }) => {
      const differences = [
        unbalanced > 0 &&
          `${countOf(unbalanced, 'delivery', 'deliveries')} with records that are neither stored nor in quarantine`,
        missing > 0 && `${countOf(missing, 'event')} deleted without a recorded reason`,
        altered > 0 && `${countOf(altered, 'event')} changed after being stored`,
      ].filter((difference) => difference !== false);
      const isChanged = missing + altered > 0;
      const what = differences.length === 0 ? 'rows differ from the seal' : differences.join(', ');
      const remedy = isChanged ? 'Verify to see which.' : 'Check quarantine, then run doctor.';
      const page = isChanged ? sealPage : '/quarantine';
      return statusAs('bad', 'does not add up', `${source} ${messageType}: ${what}`, page, { remedy });
    });
}

function quarantineProblems({ quarantine }: ServiceFacts): Status[] {
  if (quarantine === null || quarantine.count === 0) return [];
  const { count, oldestReceivedAt } = quarantine;
  const open = count > MAX_OPEN_COUNT ? `over ${formatCount(MAX_OPEN_COUNT)} items` : countOf(count, 'item');
  return [
    statusAs('warn', 'in quarantine', `${open} open in quarantine`, '/quarantine', {
      since: oldestReceivedAt,
      remedy: 'Replay or discard the open items.',
    }),
  ];
}

function forwarded({ destinations, now, systemPage }: ServiceFacts): Answer {
  if (destinations === null) return answer([], unknown(systemPage), null);
  const configured = destinations.filter(({ state }) => state !== 'not configured');
  const problems = destinations.flatMap((one) => {
    const status = statusOfDestination(one, now);
    return isNeed(status) ? [{ ...status, what: `${one.name}: ${status.what}` }] : [];
  });
  const all = configured.length;
  const figure = `${formatCount(all - problems.length)} of ${countOf(all, 'destination')}`;
  return answer(problems, whenForwarded(all), figure);
}

function whenForwarded(configured: number): Status {
  const page = '/destinations';
  if (configured > 0) return good('forwarding', 'up to date', page);
  const remedy = 'Set FORWARD_TO to forward every event to a SIEM.';
  return statusAs('plain', 'not set up', 'no destination is configured', page, { remedy });
}

function proven({ seal, now, systemPage, sealPage }: ServiceFacts): Answer {
  if (seal === null) return answer([], unknown(systemPage), null);
  const status = { ...statusOfSeal(seal, now), page: sealPage };
  const { leaves, last } = seal.verified;
  // Readers of some sources are told how many rows theirs are, but not when any were compared.
  const figure = last === undefined ? null : `${countOf(leaves, 'row')} compared`;
  return answer(isNeed(status) ? [status] : [], status, figure);
}

const isNeed = ({ level }: Status) => level === 'warn' || level === 'bad';
