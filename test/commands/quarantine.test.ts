import { gzipSync } from 'node:zlib';
import os from 'node:os';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { commandOperator } from '../../src/commands/shared/process.ts';
import { emptyTables } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { lastAction, storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { endOfCommand } from '../support/command.ts';
import { useDatabase } from '../support/use-database.ts';

const ID = '00000000-0000-8000-8000-000000000000';

const test = useDatabase({ logs: true });
beforeEach(() => emptyTables(test.db));

const quarantine = (...words: string[]) =>
  endOfCommand({ DATABASE_URL: test.databaseUrl }, 'quarantine', ...words);

/** What the command prints on both streams. */
async function printed(...words: string[]): Promise<string> {
  const { stdout, stderr } = await quarantine(...words);
  return stdout + stderr;
}

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

describe('a body', () => {
  it('that is broken is listed and shown as it is, and its replay fails visibly', async () => {
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
    expect(await printed('show', id)).toMatch(/state +open/);
    expect(await lastAction(test.db)).toMatchObject({
      operator: commandOperator().name,
      via: 'command',
      action: 'quarantine.replay',
      details: { ids: [id], id_count: 1 },
      outcome: 'done',
      result: { replayed: 0, events: 0, duplicates: 0, again: 0, left: 1 },
    });
    expect(await addsUp()).toBe(true);
  });

  it('of another encoding is shown in digits, its encoding is known, and its replay undoes it', async () => {
    const body = gzipSync('not JSON');
    const id = await setAside(body, 'gzip');
    expect(await printed('show', id)).toMatch(/encoding +gzip\n[^]*00000000  1f 8b 08/);
    const json: unknown = JSON.parse((await quarantine('show', id, '--json')).stdout);
    expect(json).toMatchObject({ quarantine_id: id, encoding: 'gzip', base64: body.toString('base64') });
    expect(await printed('replay', '--all')).toContain('not replayed: the body is not JSON');
    expect(await addsUp()).toBe(true);
  });

  it('is shown without what could steer the terminal', async () => {
    const id = await setAside(Buffer.from('[\n\t\u001b[2J\r\u009b'));
    expect(await printed('show', id)).toContain('[\n\t\\u001b[2J\\u000d\\u009b\n');
  });

  it('is discarded only with --yes, and remembered', async () => {
    const id = await setAside(Buffer.from('private'));
    const preview = await printed('discard', '--type', 'AUDIT_LOG_ALL');
    expect(preview).toContain(id);
    expect(preview).toContain('--yes');
    expect(await printed('discard', id)).toContain('7 bytes');
    expect(await printed('show', id)).toContain('private');
    expect(await lastAction(test.db)).not.toMatchObject({ action: 'quarantine.discard' });

    const filter = ['--reason', 'JSON', '--since', '2020-01-01T00:00:00Z'];
    expect(await printed('discard', ...filter, '--yes')).toBe('discarded 1 item\n');
    expect(await lastAction(test.db)).toMatchObject({
      action: 'quarantine.discard',
      details: { filter: { reason: 'JSON', since: '2020-01-01T00:00:00.000Z' } },
      outcome: 'done',
      result: { discarded: 1 },
    });
    const shown = await printed('show', id);
    expect(shown).not.toContain('private');
    expect(shown).toMatch(/bytes +7\n/);
    expect(shown).toMatch(/state +discarded 2/);
    expect(await printed('discard', id.toUpperCase(), '--yes')).toMatch(
      /already discarded at 2.*\ndiscarded 0 items/,
    );
    expect(await printed('list', '--json')).toContain('no open items');
    const listed: unknown = JSON.parse((await quarantine('list', '--state', 'discarded', '--json')).stdout);
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
    const chosen = ['--reason', 'check constraint'];
    const failed = await printed('replay', ...chosen);
    const [, id = '', delivery = '', again = ''] =
      /(\S+) {2}replayed as delivery (\S+): 0 events, 0 duplicates; quarantined again as (\S+) \(.*poison/.exec(
        failed,
      ) ?? [];
    expect(await printed('show', id)).toMatch(
      new RegExp(`state +replayed .*\nreplayed as +${delivery}\nquarantined again as +${again}`),
    );
    expect(await printed('show', again)).toMatch(new RegExp(`replay of +${id}`));
    expect(await printed('replay', id)).toMatch(new RegExp(`already replayed at .* as delivery ${delivery}`));
    await sql`alter table audit_events drop constraint poison`.execute(test.db);
    const output = await printed('replay', ...chosen);
    expect(output).toMatch(/: 1 event, 0 duplicates\n/);
    expect(output).toContain('(1 replayed: 1 event, 0 duplicates, 0 quarantined again)');
    const { rows } = await sql`select code from audit_log order by code`.execute(test.db);
    expect(rows).toEqual([{ code: '1' }, { code: '666' }]);
    expect(await addsUp()).toBe(true);
  });
});

describe('a mistake', () => {
  it.each([
    [['replay'], 2, ''],
    [['discard', '--yes'], 2, ''],
    [['replay', ID, '--all'], 2, ''],
    [['replay', ID, '--source', 'x'], 2, ''],
    [['replay', 'x'], 2, ''],
    [['show', 'x'], 2, ''],
    [['show', ID], 2, `there is no quarantined item ${ID}`],
    [['discard', ID, '--yes'], 2, `there is no quarantined item ${ID}`],
    [['replay', ID], 1, `${ID}  does not exist`],
  ])('is told: %j', async (words, code, told) => {
    const ended = await quarantine(...words);
    expect(ended.code).toBe(code);
    expect(ended.stdout + ended.stderr).toContain(told);
  });
});

describe('the operator log', () => {
  it('names the user at this machine, also where the system does not know the name', () => {
    expect(commandOperator()).toEqual({ name: `${os.userInfo().username}@${os.hostname()}`, via: 'command' });
    using _ = vi.spyOn(os, 'userInfo').mockImplementation(() => {
      throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
    });
    expect(commandOperator().name).toBe(`uid ${process.getuid?.()}@${os.hostname()}`);
  });
});
