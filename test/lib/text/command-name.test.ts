import { mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { commandName, LAUNCHER } from '../../../src/lib/text/command-name.ts';
import { useDirectory } from '../../support/use-directory.ts';

const [installed, other] = [useDirectory(), useDirectory()];
beforeAll(async () => {
  await symlink(LAUNCHER, path.join(installed, 'xiq-sink'));
  await writeFile(path.join(other, 'xiq-sink'), '#!/bin/sh');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it('is the bare name where the PATH leads to this launcher', () => {
  vi.stubEnv('PATH', `/nowhere:${installed}`);
  expect(commandName()).toBe('xiq-sink');
});

it('is the bare name where the PATH leads to what runs it as the service does', async () => {
  const programs = path.join(other, 'service');
  await mkdir(programs);
  const asService = path.resolve(LAUNCHER, '../../deploy/as-service');
  await symlink(asService, path.join(programs, 'xiq-sink'));
  vi.stubEnv('PATH', programs);
  expect(commandName()).toBe('xiq-sink');
});

it('is the path of the launcher where only the programs of npm have it, which another terminal does not find', async () => {
  const programs = path.join(other, 'node_modules', '.bin');
  await mkdir(programs, { recursive: true });
  await symlink(LAUNCHER, path.join(programs, 'xiq-sink'));
  vi.stubEnv('PATH', programs);
  expect(commandName()).not.toBe('xiq-sink');
});

it('is the path of the launcher where the PATH has none, or another program of this name', () => {
  vi.stubEnv('PATH', other);
  const cwd = vi.spyOn(process, 'cwd');
  cwd.mockReturnValue(path.resolve(import.meta.dirname, '../../..'));
  expect(commandName()).toBe('bin/xiq-sink');
  cwd.mockReturnValue(import.meta.dirname);
  expect(commandName()).toBe(LAUNCHER);
});
