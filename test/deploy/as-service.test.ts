import { execFile, execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { useDirectory } from '../support/use-directory.ts';

const run = promisify(execFile);
const DEPLOY = path.resolve(import.meta.dirname, '../../deploy');

const directory = useDirectory();
let unit: readonly string[];
/** The options for systemd-run, and the command that it is to run. */
let options: readonly string[];
let command: readonly string[];
beforeAll(async () => {
  await writeFile(path.join(directory, 'systemd-run'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
  const env = { PATH: `${directory}:/usr/bin:/bin` };
  const { stdout } = await run(path.join(DEPLOY, 'as-service'), ['sql', 'select 1'], { env });
  const words = stdout.trimEnd().split('\n');
  options = words.slice(0, words.indexOf('--'));
  command = words.slice(words.indexOf('--') + 1);
  unit = (await readFile(path.join(DEPLOY, 'xiq-sink.service'), 'utf8')).split('\n');
});

const valuesOf = (name: string) =>
  options.filter((option) => option.startsWith(name)).map((option) => option.slice(name.length));

it('runs the program of the service with the words of the command as they are', () => {
  expect(command.slice(1)).toEqual(['sql', 'select 1']);
  expect(unit).toContain(`ExecStart=${command[0]} serve`);
});

it('has the user, the settings and the directory of the service', () => {
  const properties = valuesOf('--property=');
  expect(properties.filter((property) => !unit.includes(property))).toEqual([]);
  const names = properties.map((property) => property.split('=')[0]);
  expect(names).toEqual(['User', 'Group', 'UMask', 'EnvironmentFile', 'WorkingDirectory']);
  expect(unit).toContain(`Environment=${valuesOf('--setenv=').join(' ')}`);
});

const help = execFileSync('sh', ['-c', 'systemd-run --help 2>/dev/null || true'], { encoding: 'utf8' });

it.skipIf(help === '')('uses only options that systemd-run has', () => {
  const names = options.map((option) => option.split('=')[0] ?? '');
  expect(names.filter((name) => !help.includes(` ${name}`))).toEqual([]);
});
