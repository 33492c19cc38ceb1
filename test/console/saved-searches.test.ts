import { expect, it } from 'vitest';
import { z } from 'zod';
import { addWithToken } from '../support/accounts.ts';
import { useConsole } from '../support/use-console.ts';
import { eventsForTests } from '../support/events-area.ts';

type Person = 'ada' | 'bea' | 'amy' | 'tom' | 'oscar' | 'root';

const tokens = new Map<Person, string>();
const admin = useConsole((db) => [eventsForTests(db)], {
  token: 'the-admin-token-0123456789',
  seed: async (db) => {
    const scopes = { ada: undefined, bea: undefined, amy: ['amber'], tom: ['amber', 'birch'] } as const;
    for (const name of ['ada', 'bea', 'amy', 'tom'] as const) {
      tokens.set(name, await addWithToken(db, { name, role: 'viewer', sources: scopes[name] }));
    }
    tokens.set('oscar', await addWithToken(db, { name: 'oscar', role: 'operator' }));
    tokens.set('root', await addWithToken(db, { name: 'root', role: 'admin' }));
  },
});

const ask = (person: Person, path: string, body?: unknown) => admin.ask(tokens.get(person), path, body);

const save = (person: Person, name: string, search: object = {}) =>
  ask(person, '/api/v1/saved-searches', { name, ...search });

const SavedList = z.object({
  items: z.array(z.object({ id: z.string(), name: z.string(), line: z.string(), saved_by: z.string() })),
});

async function listFor(person: Person) {
  const { text } = await ask(person, '/api/v1/saved-searches');
  return SavedList.parse(JSON.parse(text)).items;
}

/** The saved searches that a person sees, as name, line and who saved it. */
async function seenBy(person: Person): Promise<readonly string[]> {
  const items = await listFor(person);
  return items.map(({ name, line, saved_by: savedBy }) => `${name} = ${line} (${savedBy})`);
}

async function idOf(name: string): Promise<string> {
  const items = await listFor('ada');
  return items.find((item) => item.name === name)?.id ?? '';
}

it('are seen by those who may see no less than the person who saved them', async () => {
  await save('ada', 'Everything', { line: 'user:dina*' });
  await save('amy', 'Amber', { line: 'outcome:failure', since: '24h' });
  await save('tom', 'Both');
  expect(await seenBy('ada')).toEqual([
    'Amber = outcome:failure (amy)',
    'Both =  (tom)',
    'Everything = user:dina* (ada)',
  ]);
  expect(await seenBy('tom')).toEqual(['Amber = outcome:failure (amy)', 'Both =  (tom)']);
  expect(await seenBy('amy')).toEqual(['Amber = outcome:failure (amy)']);
});

it('are links on the page of the events, which only show what the visitor may see', async () => {
  const { text } = await ask('tom', '/events');
  expect(text).toContain('href="/events?q=outcome%3Afailure&amp;since=24h"');
  expect(text).not.toContain('Everything');
});

it('are replaced by the person who saved them, and by nobody else', async () => {
  await save('ada', 'Mine', { line: 'code:1' });
  expect((await save('ada', 'MINE', { line: 'code:2' })).status).toBe(200);
  const refused = await save('bea', 'mine', { line: 'code:3' });
  expect(refused.status).toBe(409);
  expect(await seenBy('bea')).toContain('MINE = code:2 (ada)');
});

it('are deleted by the person who saved them and by an administrator, and by nobody else', async () => {
  await save('tom', 'Gone');
  const id = await idOf('Gone');
  for (const person of ['amy', 'ada', 'oscar'] as const) {
    expect((await ask(person, `/api/v1/saved-searches/${id}/delete`, {})).status).toBe(404);
  }
  expect(await seenBy('tom')).toContain('Gone =  (tom)');
  expect((await ask('tom', `/api/v1/saved-searches/${id}/delete`, {})).status).toBe(200);
  expect(await seenBy('tom')).not.toContain('Gone =  (tom)');
  await save('tom', 'Gone, too');
  const other = await idOf('Gone, too');
  expect((await ask('root', `/api/v1/saved-searches/${other}/delete`, {})).status).toBe(200);
  expect(await seenBy('tom')).not.toContain('Gone, too =  (tom)');
});

it('that raise alerts are changed and deleted by those alone who may switch alerts', async () => {
  await save('tom', 'Watched', { line: 'outcome:failure' });
  const id = await idOf('Watched');
  const remove = (person: Person) => ask(person, `/api/v1/saved-searches/${id}/delete`, {});
  await ask('oscar', `/api/v1/saved-searches/${id}/alerts`, { state: 'on' });
  for (const refused of [await save('tom', 'watched', { line: 'user:nobody' }), await remove('tom')]) {
    expect(refused).toMatchObject({
      status: 409,
      text: expect.stringContaining('SEARCH_RAISES_ALERTS') as unknown,
    });
  }
  expect(await seenBy('tom')).toContain('Watched = outcome:failure (tom)');
  const { text } = await ask('tom', '/events');
  expect(text).not.toContain(`/saved-searches/${id}/delete`);
  // His own are no more than a search again when their alerts are off.
  await ask('oscar', `/api/v1/saved-searches/${id}/alerts`, { state: 'off' });
  expect((await save('tom', 'watched', { line: 'user:nobody' })).status).toBe(200);
  expect((await remove('tom')).status).toBe(200);
  // Who may switch alerts changes them while they are on.
  await ask('oscar', '/api/v1/saved-searches/alert', { name: 'His', line: 'code:1' });
  expect((await save('oscar', 'his', { line: 'code:2' })).status).toBe(200);
  expect(await seenBy('oscar')).toContain('his = code:2 (oscar)');
});

it('must be searches with a valid range', async () => {
  const wrong = await save('ada', 'wrong', { line: 'user:"' });
  expect(wrong.status).toBe(400);
  expect(wrong.text).toContain('line');
  const never = await save('ada', 'never', { since: 'tomorrow maybe' });
  expect(never.text).toContain('since: must be a time, or how long ago');
  expect((await save('ada', ' ')).status).toBe(400);
  const empty = await ask('ada', '/api/v1/saved-searches', { line: 1 });
  expect(empty.text).toContain('body.name: is missing; body.line: must be a text');
});

it('are recorded in the operator log, with what was refused', async () => {
  const entries = await admin.db
    .selectFrom('operator_log')
    .select(['operator', 'action', 'subject', 'outcome'])
    .where('operator', '=', 'bea')
    .execute();
  expect(entries).toEqual([{ operator: 'bea', action: 'search.save', subject: 'mine', outcome: 'failed' }]);
});

it('can be at most 100 of one person, who fills no place of another', async () => {
  const own = (await seenBy('ada')).filter((search) => search.endsWith('(ada)')).length;
  await admin.query`insert into saved_searches (name, line, saved_by)
    select 'number ' || n, '', 'ada' from generate_series(1, ${99 - own}::int) as n`;
  expect((await save('ada', 'the last')).status).toBe(200);
  expect(await save('ada', 'one more')).toMatchObject({
    status: 409,
    text: expect.stringContaining('You have saved 100 searches') as unknown,
  });
  expect((await save('ada', 'THE LAST', { line: 'code:3' })).status).toBe(200);
  expect((await save('bea', 'hers')).status).toBe(200);
});
