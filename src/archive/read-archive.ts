import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import { z } from 'zod';
import { UsageError } from '../lib/errors.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';
import { countOf } from '../lib/text/units.ts';
import {
  createArchiveSchema,
  dropAbandonedSchemas,
  dropArchiveSchema,
  emptyArchived,
  loadArchived,
  WEIGHT,
  type ArchiveSchema,
} from '../store/archive/archive-schema.ts';
import { readColumns, type ArchivedColumn } from '../store/archive/archive-tables.ts';
import { hasArchive, listArchivedFiles, type ReadableFile } from '../store/archive/archived-files.ts';
import { neededRows, type NeededRows } from '../store/archive/needed-rows.ts';
import type { Db } from '../store/server/database.ts';
import { createClient, isBehindPooler, type Client } from '../store/server/postgres.ts';
import { withConstants } from './constant-columns.ts';
import { EngineError, literal, READING_THREADS, type Engine } from './engine.ts';
import { filesAsTable, printed } from './file-format.ts';
import { BrokenFileError, type ArchiveFiles } from './files/archive-files.ts';
import { namingFullDisk } from './files/full-disk.ts';
import { filesWithRows } from './files-with-rows.ts';
import { inPieces, type GiveWay } from './give-way.ts';
import { firstRows } from './first-rows.ts';
import { limitOf } from './limit-of.ts';
import type { WholeRange } from '../lib/text/parse-time.ts';
import { longestWindow, overlaps, windowFor } from './read-ahead.ts';
import { summedRows } from './sum-rows.ts';
import {
  allTranslated,
  anyTranslated,
  translate,
  type Evaluate,
  type Translated,
} from './translate-condition.ts';
import { weighStatement, type WeighedStatement } from './weigh-statement.ts';

/** More rows than these are not loaded for one statement: they take about 20 s and 2 GB of disk. */
const MOST_ROWS = 2_000_000;

/** Runs a statement in the session that reads, and resolves with its rows. */
export type RunInSession = (
  text: string,
  values?: unknown[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** What reads the archive: a database, and the place of its files. */
export interface ArchiveAccess {
  readonly db: Db;
  readonly databaseUrl: string;
  readonly files: ArchiveFiles;
  readonly engine: Engine;
  /**
   * Receives files that are missing or damaged, and their rows are missing then. Without it, a statement that needs such a file
   * fails.
   */
  readonly onBroken?: ((path: string, error: Error) => void) | undefined;
  /**
   * The statements go through the events in about the order of their times, as `verify` does. All sessions share what is loaded:
   * with loads of its own for each of three, a pass took twice as long.
   */
  readonly readsOn?: boolean | undefined;
  /** Nobody waits for the rows: they are loaded as slowly as this allows. */
  readonly giveWay?: GiveWay | undefined;
  /** Only these files are read, and neither live rows nor the rest of the archive. They may change between two statements. */
  readonly instead?: { files: readonly ReadableFile[] } | undefined;
}

/** A statement that can run, with the number of archived rows that were loaded for it. */
interface PreparedStatement {
  readonly text: string;
  readonly rows: number;
}

/** A table of a session's schema, with what was loaded into it. */
interface Loaded {
  readonly schema: string;
  readonly columns: readonly ArchivedColumn[];
  /** Which rows: the condition, the columns and the files. */
  rows: string;
  count: number;
  /** All rows of this time are loaded. */
  window?: WholeRange | undefined;
}

/**
 * Lets sessions of the database read archived events by the statements that they run anyway. Before a statement, the plan of
 * Postgres says which archived rows it needs; DuckDB finds those in the files, and they are loaded where the statement looks
 * for them. Postgres applies its conditions to all of them again, so that only its own meaning of a statement counts.
 */
export class ArchiveReader implements AsyncDisposable {
  readonly #access: ArchiveAccess;
  readonly #loader: Client;
  readonly #schema: string;
  readonly #readsEvents: RegExp;
  #weighedSchema: string | undefined;
  readonly #tables = new Map<string, Loaded>();
  readonly #inTurn = pLimit(1);
  /** Of the statements that run on what is loaded. */
  readonly #answers = new Set<Promise<unknown>>();

  private constructor(access: ArchiveAccess, loader: Client, { schema, names }: ArchiveSchema) {
    this.#access = access;
    this.#loader = loader;
    this.#schema = schema;
    this.#readsEvents = new RegExp(
      `^[\\s(]*(?:select|with|table|declare)\\b.*\\b(?:${names.join('|')})\\b`,
      'is',
    );
  }

  /** For one session, or for several that read on. Undefined while nothing is archived: they need no help then. */
  static async open(access: ArchiveAccess): Promise<ArchiveReader | undefined> {
    if (access.instead === undefined && !(await hasArchive(access.db))) return undefined;
    const loader = createClient(access.databaseUrl, { application_name: 'xiq-sink archive' });
    loader.on('error', () => undefined);
    await loader.connect();
    try {
      if (await isBehindPooler(loader)) throw new UsageError(POOLED);
      await loader.query(`set timezone = 'UTC'; set search_path = public`);
      await dropAbandonedSchemas(loader);
      return new ArchiveReader(
        access,
        loader,
        await createArchiveSchema(loader, { withLive: access.instead === undefined }),
      );
    } catch (error) {
      await loader.end();
      throw error;
    }
  }

  /** The statement that makes a session, or the rest of its transaction, read the archive. */
  searchPath(until: 'session' | 'transaction'): string {
    return `set ${until === 'session' ? 'session' : 'local'} search_path = ${this.#schema}, public`;
  }

  /**
   * Loads what a statement needs, before it runs, and returns the statement that is to run in its place. Throws a UsageError if
   * it needs too many rows.
   */
  prepare(run: RunInSession, text: string, values: unknown[] = []): Promise<PreparedStatement> {
    return this.#inTurn(() => this.#prepare(run, text, values));
  }

  /** Prepares a statement and starts it. What is loaded stays at least until its answer. */
  async start<Answer>(
    run: RunInSession,
    text: string,
    values: unknown[] | undefined,
    send: (text: string) => Promise<Answer>,
  ): Promise<Answer> {
    if (!this.#readsEvents.test(text)) return send(text);
    const started = await this.#inTurn(async () => {
      const answer = send((await this.#prepare(run, text, values)).text);
      this.#answers.add(answer);
      return { answer };
    });
    return started.answer.finally(() => this.#answers.delete(started.answer));
  }

  async #prepare(run: RunInSession, text: string, values: unknown[] = []): Promise<PreparedStatement> {
    if (!this.#readsEvents.test(text)) return { text, rows: 0 };
    const weighed = await this.#prepareWeighed(run, text, values);
    if (weighed !== undefined) return weighed;
    let rows = 0;
    const [explained] = await run(`explain (format json, verbose) ${text}`, values);
    const needed = Map.groupBy(neededRows(explained?.['QUERY PLAN']), ({ table }) => table);
    const limit = needed.size === 0 ? undefined : await limitOf(text, values);
    for (const [table, scans] of needed) rows += await this.#load(table, scans, limit, evaluateIn(run));
    return { text, rows };
  }

  /** Undefined: it needs single rows. */
  async #prepareWeighed(
    run: RunInSession,
    text: string,
    values: unknown[],
  ): Promise<PreparedStatement | undefined> {
    if (this.#access.instead !== undefined || this.#access.readsOn === true) return undefined;
    if (!/\b(?:count|group)\b/i.test(text)) return undefined;
    const [session] = await run(
      `select current_setting('timezone') as zone, now() < statement_timestamp() as "isNowKnown"`,
    );
    const weighed = await weighStatement(text, { ...Session.parse(session), values });
    if (weighed === undefined) return undefined;
    this.#weighedSchema ??= await this.#createWeighedSchema();
    const statement = weighed.textIn(this.#weighedSchema);
    const [explained] = await run(`explain (format json, verbose) ${statement}`, values);
    const scans = neededRows(explained?.['QUERY PLAN']);
    const isOnce = new Set(scans.map(({ table }) => table)).size === scans.length;
    const areSummed = scans.every((scan) => scan.areSummed && !scan.passedOn.has('*'));
    if (!isOnce || !areSummed) return undefined;
    let rows = 0;
    for (const scan of scans) rows += await this.#loadSummed(scan, weighed, evaluateIn(run));
    return { text: statement, rows };
  }

  async #createWeighedSchema(): Promise<string> {
    const { schema } = await createArchiveSchema(this.#loader, { withLive: true, isWeighed: true });
    return schema;
  }

  async #loadSummed(scan: NeededRows, weighed: WeighedStatement, evaluate: Evaluate): Promise<number> {
    const loaded = await this.#tableOf(scan.table, this.#weighedSchema);
    const meets = await translateAll(scan, loaded.columns, evaluate);
    const columns = readColumnsOf(loaded, [scan]);
    const files = await withConstants(this.#access, await this.#filesOf(scan.table, meets));
    const summed = { all: loaded.columns, columns, kept: scan.passedOn, meets, weighed };
    return this.#fill(scan.table, loaded, files, {
      columns: [...columns.map(({ name }) => name), WEIGHT],
      select: (some) => summedRows(some, summed),
    });
  }

  async #load(
    table: string,
    scans: readonly NeededRows[],
    limit: number | undefined,
    evaluate: Evaluate,
  ): Promise<number> {
    const loaded = await this.#tableOf(table);
    const wanted = await Promise.all(
      scans.map(async (scan) => {
        const meets = await translateAll(scan, loaded.columns, evaluate);
        return scan.order === undefined || limit === undefined
          ? meets
          : this.#first(table, meets, scan.order, limit);
      }),
    );
    const meets = anyTranslated(wanted);
    const { since, until } = meets.within;
    if (this.#access.readsOn === true && since !== undefined && until !== undefined)
      return this.#loadOn(table, loaded, { since, until });
    const files = await this.#filesOf(table, meets);
    return this.#fill(table, loaded, files, selected(loaded, readColumnsOf(loaded, scans), meets.may));
  }

  /** Loads what is selected of the rows of files, if it is not what the table has. */
  async #fill(
    table: string,
    loaded: Loaded,
    files: readonly ReadableFile[],
    selection: Selection,
  ): Promise<number> {
    const rows = selection.select(files);
    if (rows === loaded.rows) return loaded.count;
    await this.#empty(table, loaded);
    const { condition } = selection;
    const used =
      condition === undefined ? files : await filesWithRows(this.#access, files, loaded, condition);
    loaded.count = used.length === 0 ? 0 : await this.#copy(table, loaded, used, selection);
    loaded.rows = rows;
    return loaded.count;
  }

  /** Removes what is loaded, once no statement runs on it any more. */
  async #empty(table: string, loaded: Loaded): Promise<void> {
    await Promise.allSettled(this.#answers);
    if (loaded.count > 0) await emptyArchived(this.#loader, loaded.schema, table);
    // What a failure leaves is removed before the next rows come.
    Object.assign(loaded, { rows: '', count: 1, window: undefined });
  }

  /** Loads all rows of a time, and of the time after it, which the next statements read: each load decompresses whole files. */
  async #loadOn(table: string, loaded: Loaded, { since, until }: WholeRange): Promise<number> {
    const { window } = loaded;
    if (window !== undefined && window.since <= since && until <= window.until) return loaded.count;
    const files = await this.#filesOf(table, { within: longestWindow({ since, until }) });
    const chosen = windowFor({ since, until }, files);
    await this.#empty(table, loaded);
    const used = files.filter((file) => overlaps(file, chosen));
    const [from, to] = [chosen.since, chosen.until].map(
      (time) => `${literal(time.toISOString())}::TIMESTAMPTZ`,
    );
    const condition = `occurred_at between ${from} and ${to}`;
    const selection = selected(loaded, loaded.columns, condition);
    loaded.count = used.length === 0 ? 0 : await this.#copy(table, loaded, used, selection);
    loaded.window = chosen;
    return loaded.count;
  }

  async #first(table: string, meets: Translated, order: 'asc' | 'desc', limit: number): Promise<Translated> {
    const files = await this.#filesOf(table, meets);
    const { columns } = await this.#tableOf(table);
    return firstRows(this.#access, { files, columns }, meets, order, limit);
  }

  /** Loads the rows of files. Of files that are missing or damaged, the others are loaded, if damaged ones are reported. */
  async #copy(
    table: string,
    loaded: Loaded,
    files: readonly ReadableFile[],
    selection: Selection,
  ): Promise<number> {
    const directory = path.join(this.#access.files.directory, '.reading');
    const csv = path.join(directory, `${this.#schema.replaceAll('"', '')}.csv`);
    await makePrivateDirectory(directory);
    try {
      await this.#writeCsv(csv, files, selection);
      const { giveWay } = this.#access;
      const data = createReadStream(csv);
      const lines = giveWay === undefined ? data : inPieces(data, giveWay);
      return await loadArchived(this.#loader, loaded.schema, table, selection.columns, lines);
    } catch (error) {
      const problem = problemOf(error);
      if (problem === undefined) throw error;
      const [file] = files;
      if (this.#access.onBroken === undefined || file === undefined) throw problem;
      if (files.length === 1) {
        this.#access.onBroken(file.path, problem);
        return 0;
      }
      const half = Math.ceil(files.length / 2);
      const first = await this.#copy(table, loaded, files.slice(0, half), selection);
      return first + (await this.#copy(table, loaded, files.slice(half), selection));
    } finally {
      await rm(csv, { force: true });
    }
  }

  async #writeCsv(csv: string, files: readonly ReadableFile[], { select }: Selection): Promise<void> {
    const isBounded = this.#access.instead === undefined && this.#access.readsOn !== true;
    const limit = isBounded ? `limit ${MOST_ROWS + 1}` : '';
    await using used = await this.#access.files.use(files);
    const located = files.map((file, index) => ({ ...file, path: used.paths[index] ?? file.path }));
    const [result] = await namingFullDisk(this.#access.files.directory, () =>
      this.#access.engine.run(
        `copy (${select(located)} ${limit}) to ${literal(csv)} (format csv, header false, force_quote *)`,
        READING_THREADS,
      ),
    );
    if (limit !== '' && Copied.parse(result).Count > MOST_ROWS) throw tooMany(files);
  }

  /** The files that can have such rows. */
  async #filesOf(table: string, { within }: Pick<Translated, 'within'>): Promise<readonly ReadableFile[]> {
    const { instead, db } = this.#access;
    return instead === undefined
      ? listArchivedFiles(db, table, within)
      : instead.files.filter((file) => file.table === table && overlaps(file, within));
  }

  async #tableOf(table: string, schema = this.#schema): Promise<Loaded> {
    const name = `${schema}.${table}`;
    const known = this.#tables.get(name) ?? {
      schema,
      columns: await readColumns(this.#access.db, table),
      rows: '',
      count: 0,
    };
    this.#tables.set(name, known);
    return known;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Its session has ended meanwhile, perhaps because the server is silent: nobody waits for what is being loaded.
    if (this.#inTurn.activeCount + this.#inTurn.pendingCount > 0) this.#loader.connection.stream.destroy();
    await this.#inTurn(async () => {
      for (const schema of [this.#schema, this.#weighedSchema])
        if (schema !== undefined) await dropArchiveSchema(this.#loader, schema).catch(() => undefined);
      await this.#loader.end();
    });
  }
}

/** What is loaded into a table: its columns, and the statement that selects them from the rows of files. */
interface Selection {
  readonly columns: readonly string[];
  /** Which rows, of those of any file. */
  readonly condition?: string;
  readonly select: (files: readonly ReadableFile[]) => string;
}

function selected(
  { columns: all }: Loaded,
  columns: readonly ArchivedColumn[],
  condition: string,
): Selection {
  const values = columns.length === 0 ? 'null' : printed(columns).join(', ');
  const rowsOf = (files: readonly ReadableFile[]) =>
    filesAsTable(
      files.map((file) => file.path),
      all,
    );
  return {
    columns: columns.length === 0 ? ['id'] : columns.map(({ name }) => name),
    condition,
    select: (files) => `select ${values} from ${rowsOf(files)} where ${condition}`,
  };
}

function readColumnsOf({ columns }: Loaded, scans: readonly NeededRows[]): readonly ArchivedColumn[] {
  const read = new Set(scans.flatMap((scan) => [...scan.columns]));
  return columns.filter(({ name }) => read.has(name) || read.has('*'));
}

async function translateAll(
  { alias, filters }: NeededRows,
  columns: readonly ArchivedColumn[],
  evaluate: Evaluate,
): Promise<Translated> {
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  return allTranslated(
    await Promise.all(filters.map((filter) => translate(filter, { alias, types }, evaluate))),
  );
}

/** What is wrong with one of the files that could not be read; undefined if the error is another one. */
function problemOf(error: unknown): Error | undefined {
  if (error instanceof BrokenFileError) return error;
  if (!(error instanceof EngineError)) return undefined;
  const message = `the archive cannot be read (${error.message}): xiq-sink verify names the file`;
  return new Error(message, { cause: error });
}

const POOLED =
  'The archive is read in its own session, but a pooler may give each transaction a different one. Set DATABASE_DIRECT_URL to the address of the database itself.';

const Session = z.object({ zone: z.string(), isNowKnown: z.boolean() });

const Copied = z.object({ Count: z.coerce.number() });

/** Values are those of this moment in the session, so that `now()` is that of its transaction. */
const evaluateIn =
  (run: RunInSession): Evaluate =>
  async (expression) => {
    const [row] = await run(`select (${expression})::text as text, pg_typeof(${expression})::text as type`);
    const found = z.object({ text: z.string(), type: z.string() }).safeParse(row);
    return found.success ? found.data : undefined;
  };

function tooMany(files: readonly ReadableFile[]): UsageError {
  const [first, last] = [files[0]?.firstAt, files.at(-1)?.lastAt].map((time) =>
    time?.toISOString().slice(0, 10),
  );
  return new UsageError(
    `This reads more than ${countOf(MOST_ROWS, 'archived row')} from ${first} to ${last}. Restrict the query to a shorter time, a source, a client or a person; only aggregate the rows (docs/archive.md#reading); or bring months back with xiq-sink unarchive.`,
  );
}
