import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import type { Scope } from '../../../src/store/server/scope.ts';
import { addWithToken } from '../../support/accounts.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { startAdmin } from '../../support/admin.ts';
import type { RunningAdmin } from '../../support/admin.ts';
import { createTestDatabase } from '../../support/database.ts';
import type { TestDatabase } from '../../support/database.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { NUMBERS, QUESTIONS, questionsOfWhole } from './questions.ts';
import type { Question } from './questions.ts';
import { areasOf, cursorsOf, deliveriesOf, namesOf, seedSource, WHOLE } from './two-sources.ts';
import type { Known } from './two-sources.ts';

const AMBER = namesOf('amber', 'a');
const BIRCH = namesOf('birch', 'b');
const ONLY_AMBER: readonly string[] = [AMBER.source];
/** An account has at least one source, which may be one that does not exist. */
const NO_SOURCES: readonly string[] = ['nowhere'];
const ADMIN_TOKEN = 'the-admin-token-0123456789';

let test: TestDatabase;
const directory = useDirectory();
let admin: RunningAdmin;
/** API tokens of accounts with the role admin, by their sources. */
let tokens: ReadonlyMap<Scope, string>;
let amber: Known;
let birch: Known;
/** In the place of `birch`: nothing of these names exists. */
let nobody: Known;
/** The answers to a person of `amber` before anything of `birch` was stored. */
let before: Map<string, string>;
const pages: string[] = [];
let routes: string[] = [];
let whole: ReturnType<typeof questionsOfWhole>;

const openApi = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

beforeAll(async () => {
  test = await createTestDatabase({ logs: true });
  tokens = new Map<Scope, string>([
    [ALL_SOURCES, await addWithToken(test.db, { name: 'ada', role: 'admin', sources: undefined })],
    [ONLY_AMBER, await addWithToken(test.db, { name: 'grace', role: 'admin', sources: ONLY_AMBER })],
    [NO_SOURCES, await addWithToken(test.db, { name: 'mary', role: 'admin', sources: NO_SOURCES })],
  ]);
  amber = await seedSource(test.db, AMBER);
  admin = await startAdmin(areasOf(test.db, directory, [AMBER]), test.db, { token: ADMIN_TOKEN });
  await exportOf(amber, ONLY_AMBER);
  before = new Map();
  for (const question of questionsBefore()) {
    before.set(question.path, normalized((await ask(question, ONLY_AMBER)).text));
  }
  await admin.close();

  birch = await seedSource(test.db, BIRCH, AMBER);
  nobody = unknownLike(birch);
  const areas = areasOf(test.db, directory, [AMBER, BIRCH]);
  whole = questionsOfWhole(areas);
  pages.push(...areas.flatMap((area) => area.pages.map(({ path }) => path)), '/metrics');
  const metrics = async () => ({ contentType: 'text/plain', text: WHOLE });
  admin = await startAdmin(areas, test.db, { metrics, token: ADMIN_TOKEN });
  await exportOf(amber, ONLY_AMBER);
  await exportOf(birch, ALL_SOURCES);
  const { text } = await ask({ path: '/api/openapi.json' }, ALL_SOURCES);
  routes = Object.entries(openApi.parse(JSON.parse(text)).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
});
afterAll(async () => {
  await admin.close();
  await test.drop();
});

const ask = ({ path, body }: Question, scope: Scope) => admin.ask(tokens.get(scope), path, body);

const exportOf = ({ exportId, mark }: Known, scope: Scope) =>
  ask({ path: `/api/v1/events/export?text=${mark}&export_id=${exportId}` }, scope);

/** The same question about another source, as often as there is one. */
const everyQuestion = (kind: 'one' | 'after') => Object.values(QUESTIONS).flatMap((all) => all[kind] ?? []);

const questionsBefore = (): readonly Question[] => [
  ...[...NUMBERS, ...Object.values(QUESTIONS).flatMap(({ all = [] }) => all)].map((path) => ({ path })),
  ...everyQuestion('one').flatMap((of) => of(amber).filter(({ body }) => body === undefined)),
];

/** Names like those of a source that exists: of the same form, with the same time. */
function unknownLike(known: Known): Known {
  const other = (id: string) => `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`;
  const { eventId, deliveryId, openId, discardedId, replayedId, replayId } = known;
  return {
    ...namesOf('nobody', 'c'),
    at: known.at,
    eventId: other(eventId),
    deliveryId: other(deliveryId),
    openId: other(openId),
    discardedId: other(discardedId),
    replayedId: other(replayedId),
    replayId: other(replayId),
  };
}

/** An answer without what differs each time. */
const normalized = (text: string) =>
  text
    .replaceAll(/"error_id":"[^"]*"/g, '"error_id":""')
    .replaceAll(/"at":"[^"]*"/g, '"at":""')
    .replaceAll(/data-[0-9a-f-]{36}/g, 'data-')
    // The time before a period that has not ended ends as long before now.
    .replaceAll(/(Before: <time[^>]*>[^<]*<\/time> to) <time [^>]*>[^<]*<\/time>/g, '$1 now')
    .replaceAll(/As of <time datetime=\\?"[^"]*">[\d:]+<\/time> UTC/g, 'As of now')
    .replaceAll(/>[^<>]* ago</g, '>ago<');

/** An answer without the names that the question contains, so that answers about two sources can be compared. */
function withoutNames(text: string, known: Known): string {
  const names = [...Object.entries(known), ...Object.entries(cursorsOf(known))].flatMap(
    ([name, value]: [string, string]) =>
      [value, encodeURIComponent(value)].map((form) => [name, form] as const),
  );
  return names
    .toSorted(([, one], [, other]) => other.length - one.length)
    .reduce((rest, [name, form]) => rest.replaceAll(form, `<${name}>`), normalized(text));
}

/** The names of a source that are in an answer. */
const namesIn = (text: string, { at: _at, ...known }: Known) =>
  Object.entries(known).flatMap(([name, value]) => (text.includes(value) ? [name] : []));

async function answerAbout(known: Known, scope: Scope, [of, index]: Cell): Promise<Answered | undefined> {
  const question = of(known)[index];
  if (question === undefined) return undefined;
  const { status, text } = await ask(question, scope);
  return { question, status, text: withoutNames(text, known) };
}

interface Answered {
  readonly question: Question;
  readonly status: number;
  readonly text: string;
}

type Cell = readonly [of: (known: Known) => readonly Question[], index: number];

const cells = (kind: 'one' | 'after'): Cell[] =>
  everyQuestion(kind).flatMap((of) => of(amber).map((_question, index): Cell => [of, index]));

const readAll = async () => {
  const read = (table: 'quarantine' | 'rejected_events' | 'destinations' | 'subscriptions') =>
    test.db.selectFrom(table).selectAll().execute();
  return [
    await read('quarantine'),
    await read('rejected_events'),
    await read('destinations'),
    await read('subscriptions'),
  ];
};

describe('a person who may see one of two sources', () => {
  it('is asked about at every route of the OpenAPI document and at every page', () => {
    expect(routes.length).toBeGreaterThan(30);
    expect([...Object.keys(QUESTIONS), ...whole.keys()].toSorted()).toEqual([...routes, ...pages].toSorted());
  });

  it('gets everywhere the same bytes as before anything of the other was stored', async () => {
    expect(before.size).toBeGreaterThan(50);
    for (const question of questionsBefore()) {
      const { status, text } = await ask(question, ONLY_AMBER);
      expect({ ...question, status, names: namesIn(text, birch) }).toEqual({
        ...question,
        status: 200,
        names: [],
      });
      expect(text).not.toContain(WHOLE);
      expect({ ...question, text: normalized(text) }).toEqual({
        ...question,
        text: before.get(question.path),
      });
    }
  });

  it('gets an own answer also at the same moment as others', async () => {
    const path = '/api/v1/overview';
    const answers = await Promise.all(
      [ALL_SOURCES, ONLY_AMBER, NO_SOURCES].map((scope) => ask({ path }, scope)),
    );
    const [all = '', own = '', none = ''] = answers.map(({ text }) => text);
    expect(namesIn(all, birch)).not.toEqual([]);
    expect(normalized(own)).toBe(before.get(path));
    expect(namesIn(none, amber)).toEqual([]);
  });

  it('gets for the other what is answered for a source that does not exist, and changes nothing of it', async () => {
    const stored = await readAll();
    const asked = [...cells('one'), ...cells('after')];
    for (const cell of asked) {
      const about = await answerAbout(birch, ONLY_AMBER, cell);
      const like = await answerAbout(nobody, ONLY_AMBER, cell);
      // The question of the answer that differs is shown.
      expect({ ...like, ...about }).toEqual({ ...about, status: like?.status, text: like?.text });
    }
    expect(await readAll()).toEqual(stored);
    process.stdout.write(
      `sources: ${routes.length} routes and ${pages.length} pages, ${before.size} answers unchanged, ` +
        `${asked.length} questions about the other source answered as about none\n`,
    );
  });

  it('sees the own one, and who may see all sees both', async () => {
    for (const path of Object.values(QUESTIONS).flatMap(({ all = [] }) => all)) {
      const own = (await ask({ path }, ONLY_AMBER)).text;
      expect({ path, ofAmber: namesIn(own, amber).length > 0 }).toEqual({ path, ofAmber: true });
      const both = (await ask({ path }, ALL_SOURCES)).text;
      expect({ path, ofBirch: namesIn(both, birch).length > 0 }).toEqual({ path, ofBirch: true });
    }
    for (const [known, scope] of [
      [amber, ONLY_AMBER],
      [birch, ALL_SOURCES],
    ] as const) {
      for (const cell of cells('one')) {
        const about = await answerAbout(known, scope, cell);
        const like = await answerAbout(nobody, scope, cell);
        expect({ ...about, scope, differs: about?.text !== like?.text }).toMatchObject({ differs: true });
      }
    }
  });

  it('is what a person who may see all sees of the source in the address', async () => {
    for (const path of [...Object.values(QUESTIONS).flatMap(({ all = [] }) => all), ...NUMBERS]) {
      const chosen = `${path}${path.includes('?') ? '&' : '?'}source=${amber.source}`;
      const { status, text } = await ask({ path: chosen }, ALL_SOURCES);
      // The choice itself lists all sources.
      const names = namesIn(text.replaceAll(/data-sources="[^"]*"/g, ''), birch);
      expect({ chosen, status, names }).toEqual({ chosen, status: 200, names: [] });
    }
  });

  it('has no access to what concerns all sources, not even to know what exists', async () => {
    expect(whole.size).toBeGreaterThan(10);
    const answers = new Set<string>();
    for (const question of whole.values()) {
      const { status, text } = await ask(question, ONLY_AMBER);
      expect({ question, status }).toEqual({ question, status: 403 });
      if (question.path.startsWith('/api/')) answers.add(normalized(text));
      expect(text).not.toContain(WHOLE);
      expect((await ask(question, ALL_SOURCES)).status).not.toBe(403);
    }
    expect(answers.size).toBe(1);
    const { text: page } = await ask({ path: '/events' }, ONLY_AMBER);
    for (const path of ['/settings', '/operator-log']) expect(page).not.toContain(`href="${path}"`);
  });

  it('sees nothing at all when nothing of the own source is stored', async () => {
    for (const { path } of questionsBefore()) {
      const { text } = await ask({ path }, NO_SOURCES);
      // An answer may repeat what is asked for, also in small letters, as the SQL of a search does.
      const asked = namesIn(`${path} ${path.toLowerCase()}`, amber);
      const more = namesIn(text, amber).filter((name) => !asked.includes(name));
      expect({ path, more }).toEqual({ path, more: [] });
      expect(namesIn(text, birch)).toEqual([]);
    }
  });
});

/** Follows the stream until this text is in it; resolves with all of it. */
async function follow(scope: Scope, text: string, then: () => Promise<void>): Promise<string> {
  const stop = new AbortController();
  const response = await fetch(`${admin.url}/api/v1/events/stream?after=0`, {
    headers: { Authorization: `Bearer ${tokens.get(scope)}` },
    signal: stop.signal,
  });
  let seen = '';
  let isListening = false;
  for await (const chunk of response.body ?? []) {
    seen += Buffer.from(chunk).toString();
    // What was stored before comes first: from then on, events come from the reader that all streams share.
    if (!isListening && seen.includes(amber.eventId)) {
      isListening = true;
      await then();
    }
    if (seen.includes(text)) break;
  }
  stop.abort();
  return seen;
}

it('the stream of new events has the events of the own sources alone, those stored before and the new ones', async () => {
  for (const [scope, seesBirch] of [
    [ONLY_AMBER, false],
    [ALL_SOURCES, true],
  ] as const) {
    const last = `last-${seesBirch}`;
    const seen = await follow(scope, last, async () => {
      await storeDeliveries(test.db, ...deliveriesOf({ ...BIRCH, user: `birch-${seesBirch}` }));
      await storeDeliveries(test.db, ...deliveriesOf({ ...AMBER, user: last }));
    });
    expect(namesIn(seen, amber)).toContain('eventId');
    expect(seen.includes(`birch-${seesBirch}`)).toBe(seesBirch);
    expect(namesIn(seen, birch).length > 0).toBe(seesBirch);
  }
});
