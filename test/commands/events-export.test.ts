import { exactTerms } from '../../src/events/search-query.ts';
import { hash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { exportEvents } from '../../src/commands/events/export.ts';
import { commandOperator } from '../../src/commands/shared/process.ts';
import { endOfCommand } from '../support/command.ts';
import { parseCsv } from '../store/events/parse-csv.ts';
import { useDirectory } from '../support/use-directory.ts';
import { useDatabase } from '../support/use-database.ts';
import { lastAction } from '../support/actions.ts';

const WithId = z.object({ id: z.string() });

const test = useDatabase({ isVaried: true });
const directory = useDirectory();
beforeEach(() => void vi.spyOn(process.stderr, 'write').mockReturnValue(true));

const forever = new AbortController().signal;
describe('events export', () => {
  it('writes a file for its owner alone, and the operator log keeps who did it and how many events it were', async () => {
    const output = path.join(directory, 'audit.csv');
    const filter = { terms: exactTerms({ type: 'AUDIT_LOG_ALL', source: 'branch' }) };
    await exportEvents(test.db, filter, { format: 'csv', output, bom: true }, forever);
    const text = await readFile(output, 'utf8');
    expect(text).toMatch(/^\uFEFFid,/);
    expect(parseCsv(text)).toHaveLength(41);
    expect((await stat(output)).mode & 0o777).toBe(0o600);
    expect(await lastAction(test.db)).toMatchObject({
      operator: commandOperator().name,
      via: 'command',
      action: 'events.export',
      details: { format: 'csv', output, bom: true, filter },
      outcome: 'done',
      result: { events: 40, isWhole: true, sha256: hash('sha256', await readFile(output)) },
    });
  });

  it('that is stopped leaves no file of that name, and says so', async () => {
    const output = path.join(directory, 'stopped.ndjson');
    await exportEvents(test.db, {}, { format: 'ndjson', output }, AbortSignal.abort());
    expect(await readdir(directory)).not.toContain('stopped.ndjson');
    expect(await lastAction(test.db)).toMatchObject({ outcome: 'done', result: { isWhole: false } });
  });

  it('that cannot write fails, and the operator log keeps why', async () => {
    const output = path.join(directory, 'missing', 'all.csv');
    await expect(exportEvents(test.db, {}, { format: 'csv', output }, forever)).rejects.toThrow('ENOENT');
    expect(await lastAction(test.db)).toMatchObject({ outcome: 'failed' });
  });

  it('and search take every condition on the command line', async () => {
    const conditions = ['--type', 'AUDIT_LOG_ALL', '--type', 'GDPR_LOG_ALL', '--device', '17', '--org', '5'];
    const found = await run('search', '--json', '--limit', '1000', ...conditions);
    const exported = await run('export', '--format', 'ndjson', ...conditions);
    expect(toIds(found)).not.toHaveLength(0);
    expect(toIds(exported)).toEqual(toIds(found));
    const heard = await run('search', '--json', '--ap', '00-11-22-33-44-55');
    expect(heard).toContain('"ap_mac":"00:11:22:33:44:55"');
  });
});

async function run(...words: string[]): Promise<string> {
  const env = { DATABASE_URL: test.databaseUrl, DATA_DIR: directory };
  return (await endOfCommand(env, 'events', ...words)).stdout;
}

const toIds = (lines: string) =>
  lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => WithId.parse(JSON.parse(line)).id);
