import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { exactTerms, parseSearch, type SearchKey, type SearchTerm } from '../src/events/search-query.ts';
import type { Db } from '../src/store/server/database.ts';
import type { EventFilter } from '../src/store/events/event-filter.ts';
import { eventHistogram, type RangeFilter } from '../src/store/events/event-histogram.ts';
import { countFacet, FACETS, type Facet } from '../src/store/events/facets.ts';
import type { EventPosition } from '../src/store/events/event-pages.ts';
import { findEvents } from '../test/support/find-events.ts';
import { summarizeClient, summarizeUser } from '../src/store/events/timeline.ts';
import { ALL_SOURCES } from '../src/store/server/scope.ts';
import type { Seeded } from './seed-events.ts';
import { SEEDED_DAYS } from './seed-events.ts';

/** A query that runs many times, each time with other values. */
export interface Question {
  readonly name: string;
  readonly ask: (time: number) => Promise<{ readonly milliseconds: number; readonly isFound: boolean }>;
}

const PAGE = 50;
const FAR_PAGE = 20;
const BARS = 120;
const FACET_VALUES = 10;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A search for the beginning of a value. */
const prefix = (key: SearchKey, text: string): readonly SearchTerm[] =>
  parseSearch(`${key}:"${text}"*`).terms ?? [];

/** Words that occur in many of the events. */
const COMMON = ['samsung', 'ACCESS-ACCEPT', 'emil.adler', 'user-request', 'guest'];

/** All measured queries. Their values are drawn from the events, so frequent values are queried more often. */
export async function createQuestions(db: Db, seeded: Seeded, times: number): Promise<readonly Question[]> {
  const end = seeded.until.getTime();
  const range = (longest: number) => {
    const length = longest * Math.random();
    const since = end - SEEDED_DAYS * DAY_MS + Math.random() * (SEEDED_DAYS * DAY_MS - length);
    return { since: new Date(since), until: new Date(since + length) };
  };
  const day = () => {
    const since = end - (1 + Math.random() * (SEEDED_DAYS - 1)) * DAY_MS;
    return { since: new Date(since), until: new Date(since + DAY_MS) };
  };
  const drawn = {
    users: await draw(db, 'username', 'log_entries', seeded.events, times),
    codes: await draw(db, 'code', 'audit_events', seeded.events, times),
    clients: await draw(db, 'client_mac', 'location_observations', seeded.events, times),
    networks: await draw(db, 'ssid', 'location_observations', seeded.events, times),
    accessPoints: await draw(db, 'ap_mac', 'location_observations', seeded.events, times),
    sessions: await drawSessions(db, seeded.events, times),
  };
  const everything = { since: new Date(end - SEEDED_DAYS * DAY_MS), until: new Date(end) };
  const firstPage = (name: string, filter: (time: number) => EventFilter): Question => ({
    name: `first page: ${name}`,
    ask: (time) =>
      timed(async () => (await findEvents(db, ALL_SOURCES, filter(time), { limit: PAGE })).length > 0),
  });
  const user = (time: number) => drawn.users[time] ?? '';
  const client = (time: number) => drawn.clients[time] ?? '';
  return [
    firstPage('time range', () => range(30 * DAY_MS)),
    firstPage('no condition', () => ({})),
    firstPage('user', (time) => ({ terms: exactTerms({ user: user(time) }) })),
    firstPage('code', (time) => ({ terms: exactTerms({ code: drawn.codes[time] }) })),
    firstPage('MAC of a client', (time) => ({ terms: exactTerms({ mac: client(time) }) })),
    firstPage('MAC of an access point', (time) => ({ terms: exactTerms({ mac: drawn.accessPoints[time] }) })),
    firstPage('user within a day', (time) => ({ ...day(), terms: exactTerms({ user: user(time) }) })),
    firstPage('text in a day, common', (time) => ({
      ...day(),
      terms: exactTerms({ text: COMMON[time % COMMON.length] }),
    })),
    firstPage('text in a day, once', (time) => drawn.sessions[time] ?? {}),
    firstPage('text in a day, nowhere', () => ({
      ...day(),
      terms: exactTerms({ text: randomBytes(8).toString('hex') }),
    })),
    firstPage('a prefix of users', (time) => ({ terms: prefix('user', user(time).slice(0, 3)) })),
    firstPage('a prefix of networks', (time) => ({
      terms: prefix('ssid', drawn.networks[time]?.slice(0, 3) ?? ''),
    })),
    firstPage('a prefix of clients', (time) => ({ terms: prefix('client', client(time).slice(0, 8)) })),
    firstPage('a prefix without a match', () => ({ terms: prefix('user', randomBytes(4).toString('hex')) })),
    ...FACETS.map((one) => facet(one, day)),
    farPage('time range', () => range(30 * DAY_MS)),
    farPage('code', (time) => ({ terms: exactTerms({ code: drawn.codes[time] }) })),
    histogram('up to a day', () => range(DAY_MS)),
    histogram('up to a year', () => range(SEEDED_DAYS * DAY_MS)),
    histogram('up to a year, a user', (time) => ({
      ...range(SEEDED_DAYS * DAY_MS),
      terms: exactTerms({ user: user(time) }),
    })),
    {
      name: 'timeline of a user, a year',
      ask: (time) =>
        timed(
          async () =>
            (await summarizeUser(db, ALL_SOURCES, user(time), everything.since, everything.until))
              .firstSeen !== undefined,
        ),
    },
    {
      name: 'timeline of a client, a year',
      ask: (time) =>
        timed(
          async () =>
            (await summarizeClient(db, ALL_SOURCES, client(time), everything.since, everything.until))
              .firstSeen !== undefined,
        ),
    },
  ];

  function farPage(name: string, filter: (time: number) => EventFilter): Question {
    return {
      name: `page ${FAR_PAGE}: ${name}`,
      async ask(time) {
        const asked = filter(time);
        const [last] = (await findEvents(db, ALL_SOURCES, asked, { limit: PAGE * (FAR_PAGE - 1) })).slice(-1);
        const after: EventPosition | undefined = last && {
          occurredAt: new Date(last.occurredAt),
          eventId: last.eventId,
        };
        return timed(
          async () => (await findEvents(db, ALL_SOURCES, asked, { limit: PAGE, after })).length > 0,
        );
      },
    };
  }

  function facet(name: Facet, filter: () => RangeFilter): Question {
    return {
      name: `facet of a day: ${name}`,
      ask: () =>
        timed(async () => (await countFacet(db, ALL_SOURCES, filter(), name, FACET_VALUES)).isComplete),
    };
  }

  function histogram(
    name: string,
    filter: (time: number) => EventFilter & { since: Date; until: Date },
  ): Question {
    return {
      name: `histogram: ${name}`,
      ask: (time) =>
        timed(async () => (await eventHistogram(db, ALL_SOURCES, filter(time), BARS)).isComplete),
    };
  }
}

async function timed(work: () => Promise<boolean>): Promise<{ milliseconds: number; isFound: boolean }> {
  const started = performance.now();
  const isFound = await work();
  return { milliseconds: performance.now() - started, isFound };
}

/** The share of a table that is large enough to draw from. */
const samplePercent = (events: number) => Math.min(100, 2_000_000 / events);

/** Values of a column, as often as they occur. */
async function draw(
  db: Db,
  column: string,
  table: string,
  events: number,
  count: number,
): Promise<readonly string[]> {
  const { rows } = await sql<{ value: string }>`
    select ${sql.ref(column)}::text as value from ${sql.table(table)} tablesample system (${samplePercent(events)}::float8)
    where ${sql.ref(column)} is not null order by random() limit ${count}`.execute(db);
  return rows.map(({ value }) => value);
}

/** Texts that occur in one event each, with the day around it. */
async function drawSessions(db: Db, events: number, count: number): Promise<readonly EventFilter[]> {
  const { rows } = await sql<{ text: string; at: Date }>`
    select acct_session_id as text, occurred_at as at from log_entries tablesample system (${samplePercent(events)}::float8)
    where acct_session_id is not null order by random() limit ${count}`.execute(db);
  return rows.map(({ text, at }) => {
    const since = at.getTime() - Math.random() * DAY_MS;
    return { terms: exactTerms({ text }), since: new Date(since), until: new Date(since + DAY_MS) };
  });
}
