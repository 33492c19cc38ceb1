import { chmod, mkdtempDisposable, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { missingFor } from '../../bench/targets/all.ts';
import { fluentBitVersion } from '../../bench/targets/fluent-bit.ts';

afterEach(() => void vi.unstubAllEnvs());

/** Puts a program on PATH, alone, that prints the version and the help of a Fluent Bit with these plugins. */
async function putOnPath(...plugins: readonly string[]) {
  const directory = await mkdtempDisposable(path.join(os.tmpdir(), 'xiq-sink-fluent-bit-'));
  const program = path.join(directory.path, 'fluent-bit');
  const help = plugins.map((name) => `  ${name}        a plugin`).join('\n');
  await writeFile(
    program,
    `#!/bin/sh\ncase $1 in --version) echo 'Fluent Bit v4.2.0';; --help) echo '${help}';; esac\n`,
  );
  await chmod(program, 0o755);
  vi.stubEnv('PATH', directory.path);
  return directory;
}

test('a fluent-bit with both plugins is measured', async () => {
  await using _directory = await putOnPath('http', 'pgsql');
  const fluentBit = await fluentBitVersion();
  expect(fluentBit).toBe('4.2.0');
  expect(missingFor('fluent-bit', { redis: undefined, fluentBit })).toBeUndefined();
});

test('a fluent-bit without the Postgres plugin is skipped by name', async () => {
  await using _directory = await putOnPath('http', 'stdout');
  const fluentBit = await fluentBitVersion();
  expect(missingFor('fluent-bit', { redis: '8.0', fluentBit })).toBe(
    'no fluent-bit with the plugins http and pgsql is on PATH',
  );
});

test('without redis-server, only targets with Redis are skipped', () => {
  const machine = { redis: undefined, fluentBit: undefined };
  expect(missingFor('redis', machine)).toBe('redis-server is not on PATH');
  expect(missingFor('plain', machine)).toBe('redis-server is not on PATH');
  expect(missingFor('embedded', machine)).toBeUndefined();
});
