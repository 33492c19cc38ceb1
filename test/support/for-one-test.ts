import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { SECRET, startProgram, temporaryDirectory, type Program } from './program.ts';
import { startRedis, type TestRedis } from './redis.ts';

/** A directory that the user of the embedded Postgres can reach, too, there until the test has ended. */
export async function directoryForTest(): Promise<string> {
  const directory = await temporaryDirectory();
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A file of settings, for XIQ_SINK_CONFIG, there until the test has ended. JSON is YAML. */
export async function settingsFile(settings: object): Promise<string> {
  const file = path.join(await directoryForTest(), 'settings.yaml');
  await writeFile(file, JSON.stringify(settings));
  return file;
}

/** A database that is dropped after the test. */
export async function databaseForTest(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  return database;
}

/** A Redis that is stopped after the test; `more` are the last arguments of redis-server. */
export async function redisForTest(...more: readonly string[]): Promise<TestRedis> {
  const redis = await startRedis(undefined, more);
  onTestFinished(() => redis.stop());
  return redis;
}

/**
 * Starts `xiq-sink serve` with the tests' secret and a data directory of its own unless the settings have others, and
 * kills it after the test.
 */
export async function serveForTest(
  settings: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Program> {
  const DATA_DIR = settings['DATA_DIR'] ?? (await directoryForTest());
  const program = await startProgram({ WEBHOOK_SECRET: SECRET, ...settings, DATA_DIR }, ...args);
  onTestFinished(async () => void (await program.end('SIGKILL')));
  return program;
}
