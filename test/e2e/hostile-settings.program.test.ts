import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { auditRecord } from '../support/deliveries.ts';
import { setHostile } from '../support/hostile-settings.ts';
import { endOfProgram, postDelivery, SECRET } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest, directoryForTest, serveForTest, settingsFile } from '../support/for-one-test.ts';

it('a server whose settings are meant for other programs takes, seals, finds, forwards and proves all', async () => {
  const test = await databaseForTest();
  // Settings that give names another meaning are what `verify` reports.
  await setHostile(test.db, ['search_path', 'row_security']);
  const directory = await directoryForTest();
  const file = path.join(directory, 'events.jsonl');
  const destinations = [{ name: 'file', type: 'file', path: file }];
  const settings = {
    DATABASE_URL: test.databaseUrl,
    READER_DATABASE_URL: test.readerUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    XIQ_SINK_CONFIG: await settingsFile({ destinations }),
  };
  const program = await serveForTest(settings);
  const records = Array.from({ length: 8 }, (_, code) => auditRecord({ code, userName: 'Łódź – 5 €' }));
  const response = await postDelivery(program, 'AUDIT_LOG_ALL', records);
  expect(response.status).toBe(200);
  const sent = await waitFor(async () => {
    const lines = (await readFile(file, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line.includes('Łódź'));
    return lines.length >= 8 ? lines : undefined;
  });
  expect(sent).toHaveLength(8);
  const verified = await waitFor(async () => {
    const ended = await endOfProgram(settings, 'verify', '--full');
    return /\b(?:9|1\d) intact/.test(ended.stdout.toString()) ? ended : undefined;
  });
  expect(verified.code).toBe(0);
  for (const command of [
    ['migrate'],
    ['events', 'search', 'Łódź'],
    ['events', 'export', '--format', 'csv'],
    ['erase', '--user', 'Łódź – 5 €', '--dry-run'],
    ['report', 'administration'],
  ]) {
    const { code, stderr } = await endOfProgram(settings, ...command);
    expect(code, `${command.join(' ')}: ${stderr}`).toBe(0);
  }
});
