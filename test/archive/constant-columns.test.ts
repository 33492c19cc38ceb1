import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { withConstants } from '../../src/archive/constant-columns.ts';
import { Engine, literal } from '../../src/archive/engine.ts';
import { DirectoryFiles } from '../../src/archive/files/directory-files.ts';

const LONG = 'x'.repeat(1_000);

/** Two row groups of a file. */
const COLUMNS = {
  same: `'it''s'`,
  empty: `''`,
  different: `if(n = 1, 'a', 'b')`,
  different_between_groups: `if(n < 2048, 'a', 'b')`,
  null_once: `if(n = 3000, null, 'a')`,
  always_null: 'null::varchar',
  // The statistics have the first bytes of it.
  same_at_first: `${literal(LONG)} || n`,
  number: '7',
};

it('knows which texts all rows of a file have', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'xiq-sink-constants-'));
  await using engine = new Engine(directory);
  const files = new DirectoryFiles(directory);
  const target = path.join(directory, 'a.parquet');
  const values = Object.entries(COLUMNS).map(([name, value]) => `${value} as ${name}`);
  await engine.run(
    `copy (select ${values.join(', ')} from range(4096) as numbers (n)) to ${literal(target)} (format parquet, row_group_size 2048)`,
  );
  const file = {
    path: 'a.parquet',
    table: 'audit_events',
    source: 'main',
    messageType: 'AUDIT_LOG_ALL',
    rows: 4096,
    bytes: (await stat(target)).size,
    sha256: '',
    firstAt: new Date(0),
    lastAt: new Date(0),
  } as const;
  const gone = { ...file, path: 'gone.parquet' };
  expect(await withConstants({ files, engine }, [file, gone])).toMatchObject([
    { constants: undefined },
    { constants: undefined },
  ]);
  const [known] = await withConstants({ files, engine }, [file]);
  expect(known?.constants).toEqual({ same: literal(`it's`), empty: literal('') });
  await rm(target);
  expect(await withConstants({ files, engine }, [file])).toEqual([known]);
  await rm(directory, { recursive: true });
});
