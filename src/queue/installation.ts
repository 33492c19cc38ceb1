import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { OutageError, UsageError } from '../errors.ts';

/** An installation: one database, and all processes that store there. */
const Installation = z.object({
  /** Stays the same in a restored database. */
  id: z.uuid(),
  /** The database as Postgres identifies it: another one in a restored dump. Null if that is not allowed. */
  system: z.string().nullable(),
  /** The name of the database, for people. */
  database: z.string(),
});

type Installation = z.infer<typeof Installation>;

/** What a process knows about the installation that it belongs to. */
export interface Identity {
  readonly file: string;
  /** Whether the process must know its installation from a database, and may not believe the queue. */
  readonly hasDatabase: boolean;
  known(): Installation | undefined;
  /** Whether it was learned from the database. */
  readonly isCertain: () => boolean;
  /** Learns the installation, and remembers it in the file. */
  learn(installation: Installation, source: 'database' | 'queue'): void;
}

/** Creates the identity of a process, which remembers in a file what it was told before. */
export function createIdentity(dataDir: string, hasDatabase: boolean): Identity {
  const file = path.join(dataDir, 'installation.json');
  let known = recall(file);
  let certain = false;
  return {
    file,
    hasDatabase,
    known: () => known,
    isCertain: () => certain,
    learn(installation, source) {
      certain ||= source === 'database';
      const text = JSON.stringify(installation);
      if (JSON.stringify(known) === text) return;
      known = installation;
      mkdirSync(dataDir, { recursive: true });
      writeFileSync(file, `${text}\n`);
    },
  };
}

function recall(file: string): Installation | undefined {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function parse(text: string): Installation | undefined {
  try {
    return Installation.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The key with the installation that the queues of a prefix belong to. */
const markOf = (prefix: string) => `${prefix}:installation`;

/**
 * Makes sure that the queues of this prefix belong to the installation of this process. A process that knows its database
 * marks queues without an owner; a process without a database believes the mark that it sees first. Throws a UsageError
 * that names both installations, and an OutageError while the process does not know its own yet. With `claims` false it
 * changes nothing in Redis.
 */
export async function checkInstallation(
  client: Pick<Redis, 'get' | 'setnx'>,
  prefix: string,
  identity: Identity,
  claims = true,
): Promise<void> {
  const own = identity.known();
  if (own === undefined && identity.hasDatabase) {
    throw new OutageError('the database has not said yet which installation this is');
  }
  if (claims && own !== undefined && identity.isCertain())
    await client.setnx(markOf(prefix), JSON.stringify(own));
  const text = await client.get(markOf(prefix));
  if (text === null) return;
  const owner = parse(text);
  const isOwner = owner !== undefined && (own === undefined || isSame(owner, own, identity.isCertain()));
  if (!isOwner) throw new UsageError(describeConflict(prefix, owner, own, identity));
  if (!identity.isCertain()) identity.learn(owner, 'queue');
}

/** A restored copy has the id of the original. Only a process that knows its database can tell them apart. */
const isSame = (owner: Installation, own: Installation, isCertain: boolean) =>
  owner.id === own.id && (!isCertain || owner.system === own.system);

function describeConflict(
  prefix: string,
  owner: Installation | undefined,
  own: Installation | undefined,
  { isCertain, file }: Identity,
): string {
  const forget = isCertain() ? '' : `, and delete ${file}`;
  return (
    `The queue in Redis belongs to ${describe(owner)}, but this is ${describe(own)}. ` +
    `Set QUEUE_PREFIX to a name of its own (now "${prefix}"). ` +
    `If this installation has replaced the other one, stop that one and run: redis-cli DEL ${markOf(prefix)}${forget}.`
  );
}

function describe(installation: Installation | undefined): string {
  if (installation === undefined) return 'an unknown installation';
  const { id, database, system } = installation;
  return `installation ${id} (database ${database}${system === null ? '' : `, system ${system}`})`;
}

/** The installation that a job is for, in addition to its data. */
export const stamp = (identity: Identity | undefined) => {
  const id = identity?.known()?.id;
  return id === undefined ? {} : { installation: id };
};

const Stamped = z.object({ installation: z.string() });

/** The other installation that a job is for; undefined if it is for this one, or for any. */
export function foreignOwner(data: unknown, identity: Identity | undefined): string | undefined {
  const { installation } = Stamped.safeParse(data).data ?? {};
  return installation === identity?.known()?.id ? undefined : installation;
}
