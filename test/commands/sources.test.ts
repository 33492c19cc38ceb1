import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { endOfCommand } from '../support/command.ts';
import { SECRET } from '../support/program.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';

const test = useDatabase();
const directory = useDirectory();

it('lists a source with the secret that was generated for it', async () => {
  const settings = { DATABASE_URL: test.databaseUrl, DATA_DIR: directory };
  const secrets = async () =>
    JSON.parse((await endOfCommand(settings, 'sources', 'list', '--json')).stdout) as unknown;
  expect(await secrets()).toMatchObject({ name: 'default', secrets: 0 });
  await writeFile(path.join(directory, 'webhook-secret'), SECRET);
  expect(await secrets()).toMatchObject({ name: 'default', secrets: 1 });
});
