import { hash, randomUUID } from 'node:crypto';
import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { archiveMonth } from '../../src/archive/archive-month.ts';
import { monthsBefore } from '../../src/archive/archive-in-turn.ts';
import { literal } from '../../src/archive/engine.ts';
import { restoreFiles } from '../../src/archive/unarchive.ts';
import { archivedEvents } from '../../src/archive/verify-archive.ts';
import { eraseForGood, findErasable } from '../../src/erasure/erase-person.ts';
import { recordAction } from '../../src/store/access/operator-log.ts';
import { dropExpiredFiles } from '../../src/store/archive/expire-files.ts';
import { listArchivedFiles, markExpired } from '../../src/store/archive/archived-files.ts';
import { partitionName, PARTITIONED } from '../../src/store/partitions/partitioned-tables.ts';
import { recordDropped } from '../../src/store/reconcile/gaps.ts';
import { STORED } from '../store/events/varied-events.ts';
import { useDatabase } from '../support/use-database.ts';
import { OPERATOR, useArchive } from './archived-months.ts';

/** Two months are enough here. */
const MARCH = new Date('2026-03-01T00:00:00Z');

const test = useDatabase({ isVaried: true });
const archived = useArchive(test);

/** Everything, with the events of the archive. */
async function verify() {
  await archived.log.seal();
  await using events = archivedEvents(archived.access);
  return await archived.log.verify({ archived: events });
}

const ask = (question: string) => sql.raw(question).execute(archived.events);

const rowsOf = async (table: string) => (await sql.raw(`table ${table}`).execute(test.service)).rows;

const filesOnDisk = async () =>
  (await readdir(archived.access.files.directory, { recursive: true })).filter((name) =>
    name.endsWith('.parquet'),
  );

it('a month that a destination has not received stays, and nothing of the attempt does', async () => {
  const [month] = await monthsBefore(test.service, MARCH);
  if (month === undefined) throw new TypeError('there is no month');
  const rows = await rowsOf(month.partition);
  await test.query`insert into destinations (name, cursor_position) values ('siem', 0)`;
  await expect(archiveMonth(archived.access, month, OPERATOR)).rejects.toThrow(
    'destination siem has not received',
  );
  await test.query`delete from destinations`;
  expect(await rowsOf(month.partition)).toEqual(rows);
  expect(await filesOnDisk()).toEqual([]);
});

it('two processes that archive the same month do not have its events twice', async () => {
  await archived.archiveAll(MARCH);
  await restoreFiles(archived.access, await listArchivedFiles(test.service, 'audit_events'));
  const [month] = await monthsBefore(test.service, MARCH);
  if (month === undefined) throw new TypeError('there is no month');
  const rows = (await rowsOf(month.partition)).length;
  // The second one finds what the first one wrote, and gives it up: at most one of them ends.
  const both = [0, 1].map(() => archiveMonth(archived.access, month, OPERATOR));
  const ended = await Promise.allSettled(both);
  expect(ended.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
  const files = (await listArchivedFiles(test.service, 'audit_events')).filter(
    ({ lastAt }) => lastAt < new Date('2026-02-01Z'),
  );
  const stored = files.reduce((sum, file) => sum + file.rows, 0) + (await rowsOf(month.partition)).length;
  expect(stored).toBe(rows);
  await archived.archiveAll(MARCH);
  expect((await verify()).findings).toEqual([]);
});

it.each(['writing', 'comparing', 'sealing'])(
  'what an attempt left that ended while %s is removed by the next one',
  async (last) => {
    const files = await listArchivedFiles(test.service, 'audit_events');
    await restoreFiles(archived.access, files);
    const [month] = await monthsBefore(test.service, MARCH);
    if (month === undefined) throw new TypeError('there is no month');
    const kill = (step: string) => {
      if (step === last) throw new Error('killed');
    };
    await expect(archiveMonth(archived.access, month, OPERATOR, kill)).rejects.toThrow('killed');
    expect(await rowsOf(month.partition)).not.toEqual([]);
    const left = await filesOnDisk();
    await archived.archiveAll(MARCH);
    const now = await filesOnDisk();
    expect(now).toHaveLength((await listArchivedFiles(test.service, undefined)).length);
    expect(left.filter((name) => name.includes(month.table.name) && now.includes(name))).toEqual([]);
  },
);

/** The tampering of files, each by whoever has all rights on the machine, and what `verify` says. */
const TAMPERED: readonly (readonly [
  name: string,
  tamper: (file: string, other: string) => Promise<void>,
  state: string,
])[] = [
  ['a file is gone', async (file) => rm(file), 'MISSING'],
  [
    'a byte is changed',
    async (file) => {
      const bytes = await readFile(file);
      bytes.writeUInt8(bytes.readUInt8(200) ^ 1, 200);
      await writeFile(file, bytes);
    },
    'ALTERED',
  ],
  ['a file is cut', async (file) => writeFile(file, (await readFile(file)).subarray(0, 500)), 'ALTERED'],
  ['another file is in its place', async (file, other) => cp(other, file), 'ALTERED'],
  [
    'a row is written anew',
    async (file) => {
      const rows = `select * replace ('{"forged": true}' as payload) from read_parquet(${literal(file)})`;
      await archived.access.engine.run(
        `copy (${rows}) to ${literal(`${file}.new`)} (format parquet, compression zstd)`,
      );
      await rename(`${file}.new`, file);
    },
    'ALTERED',
  ],
];

it.each(TAMPERED)(
  '%s: verify names the file and the rows, and all others stay proven',
  async (name, tamper, state) => {
    const files = await listArchivedFiles(test.service, undefined);
    const [file, other] = files.filter(({ table }) => table === 'location_observations');
    if (file === undefined || other === undefined) throw new TypeError('there are too few files');
    const [target, copy] = [
      path.join(archived.access.files.directory, file.path),
      path.join(archived.log.directory, 'copy'),
    ];
    await cp(target, copy);
    await tamper(target, path.join(archived.access.files.directory, other.path));
    const { findings, summary } = await verify();
    expect(findings).toContainEqual(expect.objectContaining({ state, subject: 'file', key: file.path }));
    const events = findings.filter(({ subject }) => subject === 'event').length;
    expect(events).toBeGreaterThan(0);
    expect(events).toBeLessThanOrEqual(file.rows);
    expect(summary.intact).toBeGreaterThanOrEqual(STORED - file.rows);
    // Another question than those before, whose rows are loaded.
    const answer = await ask(`select * from location_observations where source <> '${name}'`).then(
      () => 'rows',
      String,
    );
    // Another size shows before any row is read, and is never passed over.
    expect(answer).toContain(name === 'a byte is changed' ? '' : file.path);
    await cp(copy, target);
    expect((await verify()).findings).toEqual([]);
  },
);

it('with all rights on the database, a file cannot be said never to have been there', async () => {
  await test.query`alter table archived_files disable trigger all`;
  await test.query`create table kept as select * from archived_files where removed_at is null order by id limit 1`;
  await test.query`delete from archived_files where id in (select id from kept)`;
  const { findings } = await verify();
  expect(findings).toContainEqual(expect.objectContaining({ state: 'MISSING', subject: 'archived file' }));
  await test.query`insert into archived_files overriding system value select * from kept`;
  await test.query`drop table kept`;
  await test.query`alter table archived_files enable always trigger refuse_change, enable always trigger refuse_delete,
    enable always trigger queue_statement_insert, enable always trigger queue_statement_update`;
});

/** Files that the service's role lists, and that whoever has the directory has written, by a statement of DuckDB over another one. */
const LISTED: readonly (readonly [name: string, rows: (file: string) => string, times: string])[] = [
  [
    'events that never were',
    (file) => `select * replace (uuid() as event_id) from ${file}`,
    'first_at, last_at',
  ],
  ['a copy', (file) => `select * from ${file}`, 'first_at, last_at'],
  [
    'other content of the same event',
    (file) => `select * replace ('joe' as username) from ${file}`,
    'first_at, last_at',
  ],
  [
    'a copy that is listed for another time',
    (file) => `select * from ${file}`,
    `first_at - interval '1 year', last_at - interval '1 year'`,
  ],
];

it.each(LISTED)(
  '%s in a further file, which is listed and sealed: verify names its events',
  async (_name, rows, times) => {
    const [file] = await listArchivedFiles(test.service, 'log_entries');
    if (file === undefined) throw new TypeError('there is no file');
    const { directory } = archived.access.files;
    const added = `${file.path}.${randomUUID()}.parquet`;
    const target = path.join(directory, added);
    await archived.access.engine.run(
      `copy (${rows(`read_parquet(${literal(path.join(directory, file.path))})`)}) to ${literal(target)} (format parquet)`,
    );
    const bytes = await readFile(target);
    await sql`
    insert into archived_files (path, family_table, source, message_type, first_at, last_at, first_received_at, last_received_at,
      row_count, bytes, sha256, table_bytes, archived_at)
    select ${added}, family_table, source, message_type, ${sql.raw(times)}, first_received_at, last_received_at,
      0, ${bytes.length}, ${hash('sha256', bytes)}, 0, now() from archived_files where id = ${file.id}`.execute(
      test.service,
    );
    const inserted = (await verify()).findings.filter(({ state }) => state === 'INSERTED');
    expect(inserted.map(({ subject }) => subject)).toEqual(Array.from({ length: file.rows }, () => 'event'));
    await sql`update archived_files set removed_at = now(), removed_because = 'not completed' where path = ${added}`.execute(
      test.service,
    );
    await rm(target);
    expect((await verify()).findings).toEqual([]);
  },
);

it('an erasure reaches archived events, and proofs of all others stay', async () => {
  const chosen = { person: { users: ['ann'], macs: [], phones: [] }, eventIds: [] };
  const store = { db: test.service, archive: archived.access };
  const found = await findErasable(store, chosen);
  expect(found.events.length).toBeGreaterThan(10);
  const keys = { erasureKeyFile: path.join(archived.access.files.directory, 'erasure-key') };
  const erased = await recordAction(test.service, { operator: OPERATOR, action: 'events.erase' }, () =>
    eraseForGood(store, keys, chosen, { operator: OPERATOR.name, reason: 'request 17' }),
  );
  expect(erased.events).toBe(found.events.length);
  for (const file of found.files) expect(await filesOnDisk()).not.toContain(file.path);
  await archived.archiveAll(MARCH);
  expect((await findErasable(store, chosen)).events).toEqual([]);
  const { findings, summary } = await verify();
  expect(findings.filter(({ state }) => state !== 'ERASED')).toEqual([]);
  expect(summary.erased).toBe(found.events.length);
});

it('retention ends archived months as it drops live ones', async () => {
  const [table] = PARTITIONED;
  if (table === undefined) throw new TypeError('there is no table');
  const expired = await dropExpiredFiles(test.service, table, MARCH);
  expect(expired).toBeGreaterThan(0);
  expect(await listArchivedFiles(test.service, table.name)).toEqual([]);
  const { findings } = await verify();
  expect(findings.filter(({ state }) => state !== 'ERASED' && state !== 'EXPIRED')).toEqual([]);
  expect(findings).toContainEqual(expect.objectContaining({ state: 'EXPIRED', subject: 'event' }));
});

it('a part of a month is not expired', async () => {
  const [file] = await listArchivedFiles(test.service, 'location_observations');
  if (file === undefined) throw new TypeError('there is no file');
  await test.db.transaction().execute(async (trx) => {
    await markExpired(trx, [file.id]);
    const month = PARTITIONED.find(({ name }) => name === file.table);
    if (month === undefined) throw new TypeError('there is no table');
    await recordDropped(trx, month, partitionName(month, file.firstAt));
  });
  const gone = (await verify()).findings.filter(
    ({ messageType, state }) => messageType === file.messageType && state !== 'ERASED',
  );
  expect(gone.map(({ state }) => state)).toEqual(Array.from({ length: file.rows }, () => 'MISSING'));
});
