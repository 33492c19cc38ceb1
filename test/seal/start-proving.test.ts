import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { startProving } from '../../src/seal/start-proving.ts';
import { STORED } from '../store/events/varied-events.ts';
import { freely } from '../support/tamper.ts';
import { openSealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';

const test = useDatabase({ isVaried: true });

it('seals, keeps checkpoints elsewhere, and reports rows and a database that differ, from the start on', async () => {
  const log = await openSealedLog(test.service);
  const { note } = await log.seal();
  await freely(
    test.db,
    sql`update audit_events set source = 'x' where id = (select min(id) from audit_events)`,
  );
  await writeFile(path.join(log.directory, 'log-checkpoint'), note.replace(log.key.name, 'xiq-sink/another'));
  const errors: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => errors.push(line) });
  const file = path.join(log.directory, 'checkpoints.txt');
  const anchors = { file, url: undefined, timestampUrl: undefined, witnesses: [] };
  const config = { dataDir: log.directory, logKeyFile: log.keyFile, anchors, destinations: [] };
  await using started = new AsyncDisposableStack();
  startProving({ db: test.service, config: { ...config, erasureKeyFile: log.keyFile }, logger }, started);
  await waitFor(async () => errors.length > 1 && (await readFile(file, 'utf8').catch(() => '')) !== '');
  expect(await readFile(file, 'utf8')).toContain(note);
  const lines = errors.map((line) => z.looseObject({ msg: z.string() }).parse(JSON.parse(line)));
  expect(lines).toHaveLength(2);
  expect(lines).toContainEqual(expect.objectContaining({ altered: 1, missing: 0 }));
  expect(lines.map(({ msg }) => msg)).toContainEqual(
    expect.stringContaining('belongs to another installation'),
  );
  expect(await test.query`select leaves, altered from log_verifications`).toEqual([
    { leaves: STORED, altered: 1 },
  ]);
});
