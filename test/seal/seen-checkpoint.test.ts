import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { compareWithSeen, keepSeen } from '../../src/seal/seen-checkpoint.ts';
import { recordEnded } from '../../src/store/access/operator-log.ts';
import { unguarded } from '../support/database.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { knowing } from '../support/trust.ts';
import { readSeen } from '../../src/seal/trust.ts';

const test = useDatabase();
let log: SealedLog;
let seen: string;
beforeAll(async () => {
  log = await openSealedLog(test.service);
  seen = path.join(log.directory, 'log-checkpoint');
});

const trust = async () => ({ ...knowing(log.key), seen: await readSeen(seen) });

async function seal(leaves: number): Promise<void> {
  for (let n = 0; n < leaves; n += 1) {
    await recordEnded(test.service, { operator: { name: 'test', via: 'system' }, action: 'settings.reload' });
  }
  await log.seal();
}

it('a log that is as it was seen, or has grown, is right; one that lacks leaves or has others is not', async () => {
  await seal(3);
  expect(await keepSeen(test.service, seen, await trust())).toBeUndefined();
  expect(await compareWithSeen(test.service, await trust())).toBeUndefined();
  const three = await readFile(seen, 'utf8');

  await seal(2);
  expect(await compareWithSeen(test.service, await trust())).toBeUndefined();
  expect(await keepSeen(test.service, seen, await trust())).toBeUndefined();
  const five = await readFile(seen, 'utf8');
  expect(five).not.toBe(three);

  await writeFile(seen, five.replace(log.key.name, 'xiq-sink/of another'));
  expect(await keepSeen(test.service, seen, await trust())).toContain('belongs to another installation');
  await writeFile(seen, five.replace(/\n\d+\n/, '\n6\n'));
  expect(await compareWithSeen(test.service, await trust())).toContain('its log has 5 of 6 leaves');
  expect(await keepSeen(test.service, seen, await trust())).toContain('its log has 5 of 6 leaves');
  expect(await readFile(seen, 'utf8')).toContain('\n6\n');
  await writeFile(seen, five.replace(/\n5\n..../, '\n5\nAAAA'));
  expect(await compareWithSeen(test.service, await trust())).toContain('The database was older');

  await writeFile(seen, five);
  await unguarded(
    test.db,
    sql`update log_hashes set hashes = set_byte(hashes, 4, 255 - get_byte(hashes, 4)) where level = 0`,
  );
  expect(await compareWithSeen(test.service, await trust())).toContain('The log was rebuilt');
});
