import { execFile } from 'node:child_process';
import { appendFile, readdir, readFile, rename, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { createFileSender, fileOptions } from '../../../src/forward/senders/file.ts';
import { newDirectory } from '../../support/use-directory.ts';
import { message, messages, untilTestEnds } from './messages.ts';

const run = promisify(execFile);

let directory: string;
let file: string;
beforeEach(async () => {
  directory = await newDirectory();
  file = path.join(directory, 'events.jsonl');
});

const senderWith = (more: object = {}) =>
  untilTestEnds(createFileSender(fileOptions.parse({ path: file, ...more })));

const textOf = (name = 'events.jsonl') => readFile(path.join(directory, name), 'utf8');
const lines = (count: number, from?: number) =>
  messages(count, from)
    .map(({ text }) => `${text}\n`)
    .join('');

/** 900,000 bytes or so: one fits under the smallest limit of a file, two do not. */
const large = (number: number) => message(number, 'x'.repeat(900_000));

test('a line for each event, behind what is there', async () => {
  await appendFile(file, 'there before\n');
  const sender = senderWith();
  expect(await sender.send(messages(2))).toEqual([]);
  await sender.send(messages(1, 2));
  expect(await textOf()).toBe(`there before\n${lines(3)}`);
});

test('others may not read it', async () => {
  await senderWith().send(messages(1));
  expect((await stat(file)).mode & 0o007).toBe(0);
});

test('half a line that a killed program left is ended first', async () => {
  await appendFile(file, '{"half":');
  await senderWith().send(messages(1));
  expect(await textOf()).toBe(`{"half":\n${lines(1)}`);
});

test.each([
  ['has renamed is begun anew', async () => undefined],
  ['has renamed and made again is found at its place', () => appendFile(file, '')],
])('a file that logrotate %s', async (_what, makeAgain) => {
  const sender = senderWith();
  await sender.send(messages(1));
  await rename(file, `${file}.old`);
  await makeAgain();
  await sender.send(messages(1, 1));
  expect(await textOf()).toBe(lines(1, 1));
  expect(await textOf('events.jsonl.old')).toBe(lines(1));
});

describe('rotation', () => {
  test('by size keeps so many files, the youngest first', async () => {
    const sender = senderWith({ max_bytes: 1_000_000, keep: 2 });
    for (const number of [0, 1, 2, 3]) await sender.send([large(number)]);
    expect((await readdir(directory)).toSorted()).toEqual([
      'events.jsonl',
      'events.jsonl.1',
      'events.jsonl.2',
    ]);
    expect(await textOf()).toContain(large(3).event.eventId);
    expect(await textOf('events.jsonl.1')).toContain(large(2).event.eventId);
    expect(await textOf('events.jsonl.2')).toContain(large(1).event.eventId);
  });

  test('a batch over the limit is not divided, and leaves no empty file', async () => {
    const sender = senderWith({ max_bytes: 1_000_000 });
    await sender.send([large(0), large(1)]);
    expect(await readdir(directory)).toEqual(['events.jsonl']);
  });

  test('by day goes by the day of the last line', async () => {
    await senderWith({ daily: true }).send(messages(1));
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(file, yesterday, yesterday);
    const sender = senderWith({ daily: true });
    await sender.send(messages(1, 1));
    await sender.send(messages(1, 2));
    expect(await textOf('events.jsonl.1')).toBe(lines(1));
    expect(await textOf()).toBe(lines(2, 1));
  });
});

test('of a batch that does not fit on the disk nothing stays', async () => {
  const script = `
    const { createFileSender, fileOptions } = await import(process.argv[1]);
    const sender = createFileSender(fileOptions.parse({ path: process.argv[2] }));
    const texts = (length) => [{ text: 'x'.repeat(length) }];
    await sender.send(texts(1000));
    await sender.send(texts(10_000_000)).catch((error) => console.log(error.name));
    await sender.send(texts(2000));
  `;
  const module = path.resolve(import.meta.dirname, '../../../src/forward/senders/file.ts');
  // The shell's limit of a file's length, in units of 512 or 1024 bytes, stands for a full disk.
  const command = ['-c', 'ulimit -f 100; exec "$@"', 'sh', process.execPath, '--input-type=module'];
  const { stdout } = await run('sh', [...command, '-e', script, module, file]);
  expect(stdout).toBe('OutageError\n');
  expect((await textOf()).split('\n').map(({ length }) => length)).toEqual([1000, 2000, 0]);
});
