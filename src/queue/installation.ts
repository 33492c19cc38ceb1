import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { OutageError, UsageError } from '../lib/errors.ts';

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

/** The installation that a process belongs to, remembered in a file of its data directory, if it has one. */
export class InstallationMemory {
  readonly file: string | undefined;
  /** Whether the process must know its installation from a database, and may not believe the queue. */
  readonly hasDatabase: boolean;
  #installation: Installation | undefined;
  #isCertain = false;

  constructor(dataDir: string | undefined, hasDatabase: boolean) {
    this.file = dataDir === undefined ? undefined : path.join(dataDir, 'installation.json');
    this.hasDatabase = hasDatabase;
    this.#installation = this.file === undefined ? undefined : readMemory(this.file);
  }

  get(): Installation | undefined {
    return this.#installation;
  }

  /** Whether the installation was read from the database in this process. */
  get isCertain(): boolean {
    return this.#isCertain;
  }

  set(installation: Installation, source: 'database' | 'queue'): void {
    this.#isCertain ||= source === 'database';
    const text = JSON.stringify(installation);
    if (JSON.stringify(this.#installation) === text) return;
    this.#installation = installation;
    if (this.file === undefined) return;
    mkdirSync(path.dirname(this.file), { recursive: true });
    writeFileSync(this.file, `${text}\n`);
  }
}

function readMemory(file: string): Installation | undefined {
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
  memory: InstallationMemory,
  claims = true,
): Promise<void> {
  const own = memory.get();
  if (own === undefined && memory.hasDatabase) {
    throw new OutageError('the installation id has not been read from the database yet');
  }
  if (claims && own !== undefined && memory.isCertain)
    await client.setnx(markOf(prefix), JSON.stringify(own));
  const text = await client.get(markOf(prefix));
  if (text === null) return;
  const owner = parse(text);
  const isOwner = owner !== undefined && (own === undefined || isSame(owner, own, memory.isCertain));
  if (!isOwner) throw new UsageError(describeConflict(prefix, owner, own, memory));
  if (!memory.isCertain) memory.set(owner, 'queue');
}

/** A restored copy has the id of the original. Only a process that knows its database can distinguish them. */
const isSame = (owner: Installation, own: Installation, isCertain: boolean) =>
  owner.id === own.id && (!isCertain || owner.system === own.system);

function describeConflict(
  prefix: string,
  owner: Installation | undefined,
  own: Installation | undefined,
  { isCertain, file }: InstallationMemory,
): string {
  const forget = isCertain ? '' : `, and delete ${file}`;
  return (
    `The queue in Redis belongs to ${describe(owner)}, but this is ${describe(own)}. ` +
    `Set QUEUE_PREFIX to a name of its own (now "${prefix}"). ` +
    `If this installation has replaced the other one, stop the other one and run: redis-cli DEL ${markOf(prefix)}${forget}.`
  );
}

function describe(installation: Installation | undefined): string {
  if (installation === undefined) return 'an unknown installation';
  const { id, database, system } = installation;
  return `installation ${id} (database ${database}${system === null ? '' : `, system ${system}`})`;
}

/** The tag of a job, beside its data: the installation that it is for. */
export const tagJob = (memory: InstallationMemory | undefined) => {
  const id = memory?.get()?.id;
  return id === undefined ? {} : { installation: id };
};

const TaggedJob = z.object({ installation: z.string() });

/** The other installation that a job is for; undefined if it is for this one, or for any. */
export function otherInstallation(data: unknown, memory: InstallationMemory | undefined): string | undefined {
  const { installation } = TaggedJob.safeParse(data).data ?? {};
  return installation === memory?.get()?.id ? undefined : installation;
}
