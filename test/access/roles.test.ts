import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Area } from '../../src/console/area.ts';
import { ACCOUNT_ROLES, type AccountRole } from '../../src/store/access/permissions.ts';
import { addWithToken } from '../support/accounts.ts';
import { useConsole } from '../support/use-console.ts';
import { useDirectory } from '../support/use-directory.ts';
import { QUESTIONS, type Question } from '../console/sources/questions.ts';
import { areasOf, namesOf, seedSource, type Known } from '../console/sources/two-sources.ts';

const DOCUMENT = path.resolve(import.meta.dirname, '../../docs/access.md');

/** The table of docs/access.md: whether a role has access, by route (`get /api/v1/events`) or page (`/events`). */
function readTable(): Map<string, ReadonlyMap<AccountRole, boolean>> {
  const rows = readFileSync(DOCUMENT, 'utf8').matchAll(/^\| `(?:(GET|POST) )?(\/\S*)` *\|(.*)\|$/gm);
  return new Map(
    [...rows].map(([, method = '', address = '', cells = '']) => {
      const values = cells.split('|').map((cell) => cell.trim());
      expect(values.every((value) => value === 'yes' || value === 'no')).toBe(true);
      const key = `${method.toLowerCase()} ${address}`.trim();
      return [key, new Map(ACCOUNT_ROLES.map((role, index) => [role, values[index] === 'yes']))];
    }),
  );
}

const openApi = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

const NAMES = namesOf('amber', 'a');
const directory = useDirectory();
let areas: readonly Area[];
let known: Known;
const tokens = new Map<AccountRole, string>();
const served: string[] = ['get /api/openapi.json'];
const admin = useConsole((db) => (areas = areasOf(db, directory, [NAMES])), {
  token: 'the-admin-token-0123456789',
  seed: async (db) => {
    known = await seedSource(db, NAMES);
    for (const role of ACCOUNT_ROLES) tokens.set(role, await addWithToken(db, { name: role, role }));
  },
});
beforeAll(async () => {
  served.push(...areas.flatMap((area) => area.pages.map((page) => page.path)), '/metrics');
  const { text } = await send({ path: '/api/openapi.json' }, 'admin');
  for (const [address, methods] of Object.entries(openApi.parse(JSON.parse(text)).paths)) {
    served.push(...Object.keys(methods).map((method) => `${method} ${address}`));
  }
});

/** Sends a request as a role, or without a token. A stream is left after its first bytes. */
async function send({ path, body }: Question, role?: AccountRole): Promise<{ status: number; text: string }> {
  const gone = new AbortController();
  const response = await fetch(`${admin.url}${path}`, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      ...(role !== undefined && { Authorization: `Bearer ${tokens.get(role)}` }),
      'Content-Type': 'application/json',
    },
    signal: gone.signal,
  });
  const { status } = response;
  const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const text = isEndless ? '' : await response.text();
  if (isEndless) gone.abort();
  return { status, text };
}

/** A request that a route or page answers, if the role may send it. */
function questionOf(key: string): Question {
  if (key === 'get /api/v1/events/stream') return { path: '/api/v1/events/stream' };
  if (key === 'get /api/openapi.json') return { path: '/api/openapi.json' };
  const { all, one, after } = QUESTIONS[key] ?? {};
  const question =
    one?.(known)[0] ?? after?.(known)[0] ?? (all?.[0] === undefined ? undefined : { path: all[0] });
  if (question !== undefined) return question;
  // An answer of no source, or of all together. A change with an empty body is allowed, and then invalid.
  const path = key.slice(key.indexOf('/')).replaceAll(/\{\w+\}|:\w+/g, '404');
  return key.startsWith('post ') ? { path, body: {} } : { path };
}

describe('the table of roles in docs/access.md', () => {
  it('has every route of the OpenAPI document and every page, and nothing else', () => {
    expect(served.length).toBeGreaterThan(45);
    expect([...readTable().keys()].toSorted()).toEqual(served.toSorted());
  });

  it('is what the listener does: each cell is tried', async () => {
    const table = readTable();
    let tried = 0;
    let refused = 0;
    for (const key of served) {
      const question = questionOf(key);
      expect(question.path).not.toMatch(/[{}]|\/:/);
      expect({ key, status: (await send(question)).status }).toEqual({ key, status: 401 });
      const answers = ACCOUNT_ROLES.map(async (role) => ({ role, ...(await send(question, role)) }));
      for (const { role, status, text } of await Promise.all(answers)) {
        const isRefused = status === 403 && text.includes('FORBIDDEN');
        const isAllowed = ![401, 403].includes(status) && status < 500;
        expect({ key, role, isKnown: isRefused || isAllowed, status }).toMatchObject({ isKnown: true });
        const cell = { key, role, isAllowed: table.get(key)?.get(role) };
        expect({ key, role, isAllowed }).toEqual(cell);
        tried += 1;
        refused += isAllowed ? 0 : 1;
      }
    }
    process.stdout.write(
      `roles: ${served.length} routes and pages, ${tried} cells tried, ${refused} refused with 403`,
    );
  });
});

/** What pages show of what a visitor may not do. */
describe('the pages of a viewer', () => {
  const page = async (address: string, role: AccountRole) => (await send({ path: address }, role)).text;

  it('have no entry in the navigation that leads to a refusal', async () => {
    const entries = (text: string) => [...text.matchAll(/<li><a href="([^"]*)"/g)];
    const addresses = entries(await page('/', 'viewer')).map(([, address = '']) => address);
    expect(addresses).toContain('/events');
    for (const address of addresses) expect((await send({ path: address }, 'viewer')).status).toBe(200);
    expect((await page('/', 'viewer')).includes('href="/settings"')).toBe(false);
    expect((await page('/', 'auditor')).includes('href="/operator-log"')).toBe(true);
  });

  it.each([
    ['/destinations/archive', /data-action/, 'operator'],
    ['/destinations', /data-action/, 'operator'],
    ['/quarantine?state=all', /type="checkbox"|name="replay"/, 'operator'],
    ['/events', /data-export/, 'auditor'],
    ['/integrity', /data-action="\/integrity\/verify"/, 'auditor'],
    ['/subscriptions', /data-action="\/subscriptions\/[^"]+\/ask-again"/, 'operator'],
  ] as const)('%s has no button that the visitor may not press', async (address, button, other) => {
    await seedSource(admin.db, namesOf(`again-${address.replaceAll(/\W/g, '')}`, 'b'));
    // In the list, those that run have no actions.
    await admin.db.updateTable('destinations').set({ state: 'paused' }).execute();
    expect([address, button.test(await page(address, 'viewer'))]).toEqual([address, false]);
    expect([address, button.test(await page(address, other))]).toEqual([address, true]);
  });

  it('show a quarantined item without its content', async () => {
    const { openId, mark } = await seedSource(admin.db, namesOf('shown', 'b'));
    const [viewer, auditor] = await Promise.all(
      (['viewer', 'auditor'] as const).map((role) => page(`/quarantine/${openId}`, role)),
    );
    expect(viewer).toContain('Item ID');
    expect([viewer, auditor].map((text) => text?.includes(`{ open ${mark}`))).toEqual([false, true]);
  });
});
