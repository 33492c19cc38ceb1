import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { Engine } from '../../src/archive/engine.ts';
import { newDirectory } from '../support/use-directory.ts';

const ONE = [{ one: 1 }];
const selectOne = (engine: Engine) => engine.run('select 1 as one');

/** Sends a signal to the process of the engine in this directory. */
async function signal(directory: string, name: NodeJS.Signals): Promise<void> {
  const { stdout } = await promisify(execFile)('ps', ['-eo', 'pid=,args=']);
  const lines = stdout.split('\n').filter((line) => line.includes(directory));
  expect(lines).toHaveLength(1);
  process.kill(Number.parseInt(lines[0] ?? '', 10), name);
}

it('fails a statement while no process can be started, and runs the next', async () => {
  await using engine = new Engine(await newDirectory());
  const { execPath } = process;
  onTestFinished(() => void (process.execPath = execPath));
  process.execPath = '/nowhere/node';
  await expect(selectOne(engine)).rejects.toThrow('ENOENT');
  process.execPath = execPath;
  expect(await selectOne(engine)).toEqual(ONE);
});

it('tries again to make its directory', async () => {
  const archive = path.join(await newDirectory(), 'archive');
  await using engine = new Engine(archive);
  await writeFile(archive, 'not a directory');
  await expect(selectOne(engine)).rejects.toThrow(/EEXIST|ENOTDIR/);
  await rm(archive);
  expect(await selectOne(engine)).toEqual(ONE);
});

it('ends a process that is stopped', async () => {
  const directory = await newDirectory();
  const engine = new Engine(directory);
  await selectOne(engine);
  await signal(directory, 'SIGSTOP');
  await expect(engine[Symbol.asyncDispose]()).resolves.toBeUndefined();
});
