import { gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { discardChosen, replayChosen } from '../../src/commands/quarantine/resolve.ts';
import { printQuarantine, printQuarantined } from '../../src/commands/quarantine/list.ts';
import { UsageError } from '../../src/lib/errors.ts';
import { emptyTables } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { endOfCommand } from '../support/command.ts';
import { printedBy } from '../support/printed.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();
beforeEach(() => emptyTables(test.db));

const forever = new AbortController().signal;
const ALL = { ids: [], filter: {}, all: true };
const only = (id: string) => ({ ids: [id], filter: {}, all: false });
const context = () => ({
  db: test.db,
  logger: pino({ level: 'silent' }),
  maxBodyBytes: 1024 * 1024,
  giveUp: forever,
});

const printed = async (command: () => Promise<unknown>) => {
  const { out, err } = await printedBy(command);
  return out + err;
};

const show = (id: string, format: 'text' | 'json' = 'text') =>
  printed(() => printQuarantined(test.db, id, format));

/** Sets a body aside as a worker does, and gives its id in quarantine. */
async function setAside(body: Buffer, encoding?: string): Promise<string> {
  const unreadable = [
    { reason: 'the body is not JSON', content: body.toString('base64'), ...(encoding && { encoding }) },
  ];
  await storeDeliveries(test.db, unreadableDelivery(body, { unreadable }));
  const { quarantine_id: id } = await test.db
    .selectFrom('quarantine')
    .select('quarantine_id')
    .where('content', '=', body)
    .executeTakeFirstOrThrow();
  return id;
}

const addsUp = async () =>
  (await sql<{ adds_up: boolean }>`select adds_up from conservation`.execute(test.db)).rows.every(
    (row) => row.adds_up,
  );

describe('the command', () => {
  it('lists, shows and replays a broken body, whose replay fails visibly', async () => {
    const quarantine = (...args: string[]) =>
      endOfCommand({ DATABASE_URL: test.databaseUrl }, 'quarantine', ...args);
    const body = Buffer.from('[{"code":1}\u001b[2J');
    const id = await setAside(body);
    const listed = await quarantine('list', '--reason', 'json');
    expect(listed.stdout).toMatch(
      new RegExp(`${id}.*default +AUDIT_LOG_ALL +15 +open +the body is not JSON`),
    );
    expect(listed.stderr).toContain('(1 of 1 open)');
    expect((await quarantine('show', id, '--raw')).stdout).toBe(body.toString());

    const replayed = await quarantine('replay', id);
    expect(replayed.code).toBe(1);
    expect(replayed.stdout).toBe(`${id}  not replayed: the body is not JSON\n`);
    expect(await show(id)).toMatch(/state +open/);
    expect((await quarantine('replay')).code).toBe(2);
    expect(await addsUp()).toBe(true);
  });
});

describe('a body', () => {
  it('of another encoding is shown in digits, its encoding is known, and its replay undoes it', async () => {
    const body = gzipSync('not JSON');
    const id = await setAside(body, 'gzip');
    expect(await show(id)).toMatch(/encoding +gzip\n[^]*00000000  1f 8b 08/);
    const json: unknown = JSON.parse(await show(id, 'json'));
    expect(json).toMatchObject({ quarantine_id: id, encoding: 'gzip', base64: body.toString('base64') });
    expect(await printed(() => replayChosen(context(), ALL))).toContain('not replayed: the body is not JSON');
    expect(await addsUp()).toBe(true);
  });

  it('is shown without what could steer the terminal', async () => {
    const id = await setAside(Buffer.from('[\n\t\u001b[2J\r\u009b'));
    expect(await show(id)).toContain('[\n\t\\u001b[2J\\u000d\\u009b\n');
  });

  it('is discarded only with --yes, and remembered', async () => {
    const id = await setAside(Buffer.from('private'));
    const filter = { messageType: 'AUDIT_LOG_ALL' as const };
    const preview = await printed(() =>
      discardChosen(test.db, { ids: [], filter, all: false }, false, forever),
    );
    expect(preview).toContain(id);
    expect(preview).toContain('--yes');
    expect(await printed(() => discardChosen(test.db, only(id), false, forever))).toContain('7 bytes');
    expect(await show(id)).toContain('private');

    expect(await printed(() => discardChosen(test.db, only(id), true, forever))).toBe('discarded 1 item\n');
    const shown = await show(id);
    expect(shown).not.toContain('private');
    expect(shown).toMatch(/bytes +7\n/);
    expect(shown).toMatch(/state +discarded 2/);
    const again = await printed(() => discardChosen(test.db, only(id), true, forever));
    expect(again).toMatch(/already discarded at 2.*\ndiscarded 0 items/);
    const list = (state: 'open' | 'discarded') =>
      printed(() => printQuarantine(test.db, {}, { state, limit: 9 }, true));
    expect(await list('open')).toContain('no open items');
    const listed: unknown = JSON.parse((await list('discarded')).split('\n')[0] ?? '');
    expect(listed).toMatchObject({ quarantine_id: id, bytes: 7, resolution: 'discarded' });
    expect(await addsUp()).toBe(true);
  });
});

describe('a poisoned record', () => {
  it('is stored by a replay once the database takes it', async () => {
    await sql`alter table audit_events add constraint poison check (code <> 666)`.execute(test.db);
    await storeDeliveries(
      test.db,
      queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ code: 1 }), auditRecord({ code: 666 })]),
    );
    const chosen = { ids: [], filter: { reason: 'check constraint' }, all: false };
    const failed = await printed(() => replayChosen(context(), chosen));
    const [, id = '', delivery = '', again = ''] =
      /(\S+) {2}replayed as delivery (\S+): 0 events, 0 duplicates; quarantined again as (\S+) \(.*poison/.exec(
        failed,
      ) ?? [];
    expect(await show(id)).toMatch(
      new RegExp(`state +replayed .*\nreplayed as +${delivery}\nquarantined again as +${again}`),
    );
    expect(await show(again)).toMatch(new RegExp(`replay of +${id}`));
    expect(await printed(() => replayChosen(context(), only(id)))).toMatch(
      new RegExp(`already replayed at .* as delivery ${delivery}`),
    );
    await sql`alter table audit_events drop constraint poison`.execute(test.db);
    const output = await printed(() => replayChosen(context(), chosen));
    expect(output).toMatch(/: 1 event, 0 duplicates\n/);
    expect(output).toContain('(1 replayed: 1 event, 0 duplicates, 0 quarantined again)');
    const { rows } = await sql`select code from audit_log order by code`.execute(test.db);
    expect(rows).toEqual([{ code: '1' }, { code: '666' }]);
    expect(await addsUp()).toBe(true);
  });
});

describe('a mistake', () => {
  const ID = '00000000-0000-8000-8000-000000000000';
  const none = { ids: [], filter: { source: undefined }, all: false };

  it.each([
    ['nothing chosen', () => replayChosen(context(), none)],
    ['nothing chosen to discard', () => discardChosen(test.db, none, true, forever)],
    ['ids and all', () => replayChosen(context(), { ...ALL, ids: [ID] })],
    ['ids and a filter', () => replayChosen(context(), { ...only(ID), filter: { source: 'x' } })],
    ['no id', () => replayChosen(context(), only('x'))],
    ['no id to show', () => printQuarantined(test.db, 'x', 'text')],
  ])('is wrong usage: %s', async (_, command) => {
    await expect(command()).rejects.toThrow(UsageError);
  });

  it('is told: an id that is not there', async () => {
    await expect(printQuarantined(test.db, ID, 'text')).rejects.toThrow(`there is no quarantined item ${ID}`);
    await expect(discardChosen(test.db, only(ID), true, forever)).rejects.toThrow(
      `there is no quarantined item ${ID}`,
    );
    expect(await printed(() => replayChosen(context(), only(ID)))).toContain(`${ID}  does not exist`);
  });
});
