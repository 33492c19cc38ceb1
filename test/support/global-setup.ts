import { chmod, cp, mkdtemp, rm, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { migrateQueue } from '../../src/queue/postgres-engine.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { createRoles } from '../../src/store/server/roles/create-roles.ts';
import { migrateStore } from '../../src/store/server/schema/migrate.ts';
import { maintainPartitions } from '../../src/store/partitions/partitions.ts';
import { hasRedisServer, startRedis } from './redis.ts';
import { READER_ROLE, SERVICE_ROLE, withRole } from './roles.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of the server of each worker, a database with rights to create others. */
    adminUrls: readonly string[];
    /** The migrated database that each test's own is cloned from. */
    templateName: string;
    /** One Redis for all test files, a database number for each worker; undefined: none is to be had. */
    redisUrl: string | undefined;
  }
}

const TEMPLATE = 'xiq_sink_template';

/** Starts what the tests need, once: a real Postgres (DATABASE_URL, else embedded) and Redis (REDIS_URL, else a child). */
export default async function setUp({ provide, config }: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(path.join(await parentDirectory(), 'xiq-sink-test-'));
  // As root, Postgres runs as a user of its own, who must be able to pass through.
  await chmod(directory, 0o711);
  const configured = process.env['DATABASE_URL'];
  if (configured !== undefined) await createTemplate(configured);
  const servers = configured === undefined ? await startServers(directory, config.maxWorkers) : [];
  provide(
    'adminUrls',
    configured === undefined ? servers.map(({ migrationUrl }) => migrationUrl) : [configured],
  );
  provide('templateName', TEMPLATE);

  const configuredRedis = process.env['REDIS_URL'];
  const redis = configuredRedis === undefined && hasRedisServer() ? await startRedis() : undefined;
  provide('redisUrl', configuredRedis ?? redis?.url);

  return async () => {
    await redis?.stop();
    await Promise.all(servers.map((server) => server.stop()));
    await rm(directory, { recursive: true, force: true });
  };
}

/** Linux's file system in memory where it has 4 GB free (a container has 64 MB), else the one for temporary files. */
async function parentDirectory(): Promise<string> {
  // A database is cloned in 75 ms there, and in 400 ms on a disk: each has some 700 files.
  const inMemory = '/dev/shm';
  const { bavail, bsize } = await statfs(inMemory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= 4 * 1024 ** 3 ? inMemory : os.tmpdir();
}

/**
 * Several test files at a time run whole programs, each with its pools: the 100 connections of a new server are too few.
 * Nothing has to outlive the machine: waits for the disk took most of the time of tests (5 s for a database of its own).
 */
const SETTINGS = ['max_connections = 300', 'fsync = off', 'full_page_writes = off'];

/** A server for each worker: an open transaction holds back the log of every database of its server. */
async function startServers(directory: string, count: number): Promise<EmbeddedPostgres[]> {
  const homes = Array.from({ length: count }, (_, index) => path.join(directory, `server-${index}`));
  const [first = '', ...others] = homes;
  const made = await startEmbeddedPostgres(first);
  const admin = new Client({ connectionString: made.migrationUrl });
  await admin.connect();
  for (const setting of SETTINGS) await admin.query(`alter system set ${setting}`);
  await admin.end();
  await createTemplate(made.migrationUrl);
  await made.stop();
  for (const home of others) await cp(first, home, { recursive: true, preserveTimestamps: true });
  const servers: EmbeddedPostgres[] = [];
  for (const home of homes) servers.push(await startEmbeddedPostgres(home));
  // Its start has given each role a password of its own.
  for (const { migrationUrl } of servers) await createTestRoles(migrationUrl);
  return servers;
}

async function createTemplate(adminUrl: string): Promise<void> {
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  for (const name of [TEMPLATE, `${TEMPLATE}_varied`]) {
    await admin.query(`drop database if exists ${name} with (force)`);
  }
  await admin.query(`create database ${TEMPLATE}`);
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = `/${TEMPLATE}`;
  await createTestRoles(url.href);
  const migrating = openDatabase(url.href, () => undefined);
  await migrateStore(migrating, undefined, undefined, SERVICE_ROLE);
  await migrating.destroy();
  const databaseUrl = withRole(url.href, SERVICE_ROLE);
  const db = openDatabase(databaseUrl, () => undefined);
  await migrateQueue(databaseUrl);
  await maintainPartitions(db, new Date(), { audit: undefined, location: undefined, log: undefined });
  await db.destroy();
}

/** The roles, with the passwords that the tests know. */
const createTestRoles = (url: string) =>
  createRoles(url, {
    databaseUrl: withRole(url, SERVICE_ROLE),
    readerUrl: withRole(url, READER_ROLE),
    migrationUrl: url,
  });
