import { randomBytes, randomInt } from 'node:crypto';
import { cp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { exportProof } from '../../src/seal/export-proof.ts';
import { verifyFolder } from '../../src/seal/verify/verify-folder.ts';
import { recordEnded } from '../../src/store/access/operator-log.ts';
import { STORED, storeVariedEvents } from '../store/events/varied-events.ts';
import { filesOf, mendManifest } from '../support/proof-folder.ts';
import { openSealedLog } from '../support/sealed-log.ts';
import { knowing } from '../support/trust.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();

/** How often the exported folder is changed, in all ways together. */
const CHANGES = Number(process.env['FOLDER_CHANGES'] ?? 250);

const any = <T>(values: readonly T[]): T => {
  const value = values[randomInt(values.length)];
  if (value === undefined) throw new Error('there is nothing to choose from');
  return value;
};

async function edit(file: string, change: (content: Buffer) => Buffer): Promise<void> {
  await writeFile(file, change(await readFile(file)));
}

const lines = (change: (all: string[]) => string[]) => (content: Buffer) =>
  Buffer.from(change(content.toString().split('\n')).join('\n'));

/** Two different places of a list, the second after the first. */
function twoPlaces(length: number): readonly [number, number] {
  const first = randomInt(length - 1);
  return [first, first + 1 + randomInt(length - 1 - first)];
}

/** What somebody does to a folder that has been handed over: each with a file of it that has content. */
const WAYS: Readonly<Record<string, (folder: string, file: string) => Promise<void>>> = {
  'a byte flipped': (_, file) =>
    edit(file, (content) => {
      const at = randomInt(content.length);
      content.writeUInt8(content.readUInt8(at) ^ (1 + randomInt(255)), at);
      return content;
    }),
  'a file cut short': (_, file) => edit(file, (content) => content.subarray(0, randomInt(content.length))),
  'bytes taken out of the middle': (_, file) =>
    edit(file, (content) => {
      const at = randomInt(content.length);
      return Buffer.concat([content.subarray(0, at), content.subarray(at + 1 + randomInt(40))]);
    }),
  'bytes added': (_, file) =>
    edit(file, (content) => {
      const at = randomInt(content.length + 1);
      return Buffer.concat([content.subarray(0, at), randomBytes(1 + randomInt(40)), content.subarray(at)]);
    }),
  'a file removed': (_, file) => rm(file),
  'a file added': (_, file) =>
    cp(file, path.join(path.dirname(file), `${path.basename(file)}.${randomInt(1_000)}`)),
  'a file renamed': (_, file) => rename(file, `${file}.old`),
  'rows in another order': (folder) =>
    edit(
      path.join(folder, 'rows.txt'),
      lines((all) => {
        const [first, second] = twoPlaces(all.length - 1);
        return all.with(first, all[second] ?? '').with(second, all[first] ?? '');
      }),
    ),
  'the texts of two rows exchanged, manifest mended': async (folder) => {
    await edit(
      path.join(folder, 'rows.txt'),
      lines((all) => {
        const [first, second] = twoPlaces(all.length - 1);
        const [one = '', other = ''] = [all[first], all[second]];
        const textOf = (line: string) => line.replace(/^\d+ /, '');
        return all
          .with(
            first,
            one.replace(textOf(one), () => textOf(other)),
          )
          .with(
            second,
            other.replace(textOf(other), () => textOf(one)),
          );
      }),
    );
    await mendManifest(folder);
  },
  'a byte flipped, manifest mended': async (folder, file) => {
    await WAYS['a byte flipped']?.(folder, file);
    if (path.basename(file) !== 'manifest.json') await mendManifest(folder);
  },
  'a row removed, manifest mended': async (folder) => {
    const at = randomInt(STORED);
    await edit(
      path.join(folder, 'rows.txt'),
      lines((all) => all.toSpliced(at, 1)),
    );
    await mendManifest(folder, (manifest) => {
      manifest.leaves = [
        [0, at],
        [at + 1, manifest.size],
      ];
    });
  },
  'a row made absent with a reason, manifest mended': async (folder) => {
    const at = randomInt(STORED);
    await edit(
      path.join(folder, 'rows.txt'),
      lines((all) => all.with(at, `${at} - -`)),
    );
    await writeFile(path.join(folder, 'absent.txt'), `${at} ERASED erased on request 7 by jane\n`);
    await mendManifest(folder);
  },
  'a file removed, manifest mended': async (folder, file) => {
    await rm(file);
    if (path.basename(file) === 'manifest.json') return;
    await mendManifest(folder, (manifest) => {
      manifest.files = manifest.files.filter((named) => path.join(folder, named.path) !== file);
    });
  },
  'the tree cut to fewer leaves, manifest mended': async (folder) =>
    mendManifest(folder, (manifest) => {
      manifest.size -= 1 + randomInt(manifest.size - 1);
      manifest.leaves = [[0, manifest.size]];
    }),
};

it(`finds each of ${CHANGES} changes to a proof that was handed over`, async () => {
  const log = await openSealedLog(test.service);
  const joe = { operator: { name: 'joe', via: 'console' as const }, action: 'settings.reload' as const };
  await storeVariedEvents(test.db);
  await log.seal();
  await recordEnded(test.service, joe);
  await log.seal();
  const whole = path.join(log.directory, 'whole');
  await exportProof(test.service, whole, { key: log.key, trust: knowing(log.key) }, () => undefined);
  const folder = path.join(log.directory, 'changed');
  const isFound = async () => {
    let findings = 0;
    const verified = verifyFolder(
      folder,
      { anchors: [] },
      () => (findings += 1),
      () => undefined,
    );
    // A folder that cannot be read at all is refused with an error: the command ends with 2.
    return verified.then(
      () => findings > 0,
      () => true,
    );
  };

  await cp(whole, folder, { recursive: true });
  expect(await isFound()).toBe(false);
  const tried = new Map<string, { changes: number; found: number }>();
  for (let change = 0; change < CHANGES; change += 1) {
    const way = any(Object.keys(WAYS));
    await rm(folder, { recursive: true });
    await cp(whole, folder, { recursive: true });
    const files = await filesOf(folder);
    const sizes = await Promise.all(files.map(async (file) => (await readFile(file)).length));
    await WAYS[way]?.(folder, any(files.filter((_, index) => sizes[index] !== 0)));
    const counts = tried.get(way) ?? { changes: 0, found: 0 };
    counts.changes += 1;
    if (await isFound()) counts.found += 1;
    tried.set(way, counts);
  }
  for (const [way, { changes, found }] of tried)
    process.stdout.write(`${way}: ${found} of ${changes} found\n`);
  expect([...tried.values()].filter(({ changes, found }) => found < changes)).toEqual([]);
}, 600_000);
