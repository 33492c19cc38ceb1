import { DatabaseError } from 'pg';
import { CopyData } from '../../src/store/server/postgres-copy.ts';
import { EVENT_TABLES, LogStatements } from './log-statements.ts';
import { SealStatements } from './seal-statements.ts';
import { parseArray, readCopy, readInsert, type Row } from './statements.ts';

/** The tables, each with its rows by primary key. */
type Tables = Map<string, Map<string, Row>>;

/** A row that is written; undefined: it is not there. */
interface Write {
  readonly table: string;
  readonly key: string;
  readonly row: Row | undefined;
}

interface Commit {
  readonly at: number;
  readonly walBytes: number;
  /** What the rows were before, the last first. */
  readonly undo: readonly Write[];
  readonly loggedId: number;
}

/** A transaction: rows that it has inserted and not committed, on which others with the same keys wait. */
export class Transaction {
  /** Of one that stores. */
  xid: number | undefined;
  writes: Write[] = [];
  readonly savepoints: { readonly name: string; readonly writes: number }[] = [];
  /** A statement failed: all further ones do, until the transaction or a savepoint is rolled back. */
  isAborted = false;
  waitsFor: Transaction | undefined;
  readonly #ended = Promise.withResolvers<void>();
  isOver = false;

  get ended(): Promise<void> {
    return this.#ended.promise;
  }
  end(): void {
    this.isOver = true;
    this.#ended.resolve();
  }
}

/** A connection as the server has it. */
export interface Session {
  transaction: Transaction | undefined;
  isOver: boolean;
  /** Whose it is. */
  readonly owner: string;
  /** Tells the client, if it can be told. */
  onBreak: (error: Error) => void;
}

export interface StatementResult {
  readonly command: string;
  readonly rowCount: number;
  readonly rows: readonly object[];
}

const SAVEPOINT = /^(savepoint|release savepoint|rollback to savepoint) (\w+)$/;

/** A record with this in it is refused by the tables. */
export const REFUSED_MARK = 'no table takes this';

const DONE: StatementResult = { command: 'SELECT', rowCount: 0, rows: [] };

/** How many ids of a sequence Postgres logs at once (SEQ_LOG_VALS in its `sequence.c`). */
const LOGGED_AHEAD = 32;

/** What a failover can lose is kept for so long, in milliseconds. */
const KEEP_COMMITS_MS = 60_000;

/**
 * Postgres, as far as the storing path speaks to it: transactions at READ COMMITTED, unique keys with inserts that wait for
 * those of open transactions, deadlocks, savepoints, COPY, and the log that replicas follow.
 */
export class SimulatedDatabase {
  readonly tables: Tables = new Map();
  /** Statements that the model does not know. */
  readonly unknown: string[] = [];
  readonly sessions = new Set<Session>();
  /** Deliveries that a failover has lost. */
  readonly lostDeliveries = new Set<string>();
  readonly #locks = new Map<string, Transaction>();
  readonly #now: () => number;
  readonly #storing = new Set<Transaction>();
  readonly #log: LogStatements;
  readonly #seal: SealStatements;
  #unlogged: Row[] = [];
  #nextXid = 1;
  #lastId = 0;
  /** A sequence is written to the log of the server ahead of its use. */
  #loggedId = 0;
  #commits: Commit[] = [];
  #timeline = 1;
  #walBytes = 1_000;

  constructor(now: () => number, destinations: readonly string[] = []) {
    this.#now = now;
    this.#log = new LogStatements(this, destinations);
    this.#seal = new SealStatements(this);
  }

  /** Milliseconds of the server's clock, which is right. */
  get now(): number {
    return this.#now();
  }
  get log(): LogStatements {
    return this.#log;
  }
  get seal(): SealStatements {
    return this.#seal;
  }
  get lastId(): number {
    return this.#lastId;
  }
  get timeline(): string {
    return this.#timeline.toString(16).padStart(8, '0');
  }
  /** The transaction ids of those who store now, and the next one. */
  get xids(): { readonly storing: readonly number[]; readonly next: number } {
    return { storing: [...this.#storing].map(({ xid = 0 }) => xid), next: this.#nextXid };
  }
  /** Committed events whose transactions are not below this id. */
  eventsFrom(xid: number): readonly Row[] {
    return (this.#unlogged = this.#unlogged.filter((row) => Number(row['xid']) >= xid));
  }

  connect(onBreak: Session['onBreak'], owner = ''): Session {
    const session: Session = { transaction: undefined, isOver: false, owner, onBreak };
    this.sessions.add(session);
    return session;
  }

  /** Ends a session: what it has not committed is gone. */
  disconnect(session: Session, error?: Error): void {
    session.isOver = true;
    this.sessions.delete(session);
    if (session.transaction !== undefined) this.#rollBack(session.transaction);
    session.transaction = undefined;
    if (error !== undefined) session.onBreak(error);
  }

  rowsOf(table: string): Map<string, Row> {
    const rows = this.tables.get(table) ?? new Map<string, Row>();
    this.tables.set(table, rows);
    return rows;
  }

  /** A replica takes over that has only what was committed until then. Returns the number of rows that are lost. */
  failOver(lagMs: number): number {
    for (const session of this.sessions) this.disconnect(session, connectionLost());
    const has = this.#now() - lagMs;
    let lost = 0;
    for (let last = this.#commits.at(-1); last !== undefined && last.at > has; last = this.#commits.at(-1)) {
      for (const write of last.undo) {
        this.#apply(write);
        if (write.table === 'deliveries') this.lostDeliveries.add(write.key);
      }
      lost += last.undo.length;
      this.#loggedId = last.loggedId;
      this.#walBytes = last.walBytes;
      this.#commits.pop();
    }
    this.#timeline += 1;
    this.#lastId = this.#loggedId;
    if (lost > 0) {
      this.#unlogged = EVENT_TABLES.flatMap((table) => [...this.rowsOf(table).values()]);
      this.#log.onLoss(has);
    }
    return lost;
  }

  /** Runs a statement. Throws a DatabaseError. */
  async execute(session: Session, text: string, values: readonly unknown[] = []): Promise<StatementResult> {
    if (session.isOver) throw connectionLost();
    const { transaction } = session;
    if (text === 'begin') {
      session.transaction = new Transaction();
      return DONE;
    }
    if (text === 'commit' || text === 'rollback') {
      session.transaction = undefined;
      if (transaction === undefined) return DONE;
      const isCommitted = text === 'commit' && !transaction.isAborted;
      if (isCommitted) this.#commit(transaction);
      else this.#rollBack(transaction);
      return { ...DONE, command: isCommitted ? 'COMMIT' : 'ROLLBACK' };
    }
    const [, how, name] = SAVEPOINT.exec(text) ?? [];
    if (how !== undefined && name !== undefined && transaction !== undefined) {
      return this.#savepoint(transaction, how, name);
    }
    if (transaction?.isAborted === true) throw sqlError('25P02', 'current transaction is aborted');
    const own = transaction ?? new Transaction();
    if (transaction === undefined) session.transaction = own;
    const before = own.writes.length;
    try {
      const result = await this.#run(own, text, values, session);
      // The session may have been ended while the statement waited.
      if (own.isOver) throw connectionLost();
      if (transaction === undefined) this.#commit(own);
      return result;
    } catch (error) {
      this.#undo(own, before);
      own.isAborted = true;
      if (transaction === undefined) this.#rollBack(own);
      throw error;
    } finally {
      if (transaction === undefined) session.transaction = undefined;
    }
  }

  /** Lets a statement fail. */
  failStatement(session: Session, text: string, error: Error): never {
    const { transaction } = session;
    if (transaction !== undefined) transaction.isAborted = true;
    if (transaction !== undefined && text === 'commit') {
      this.#rollBack(transaction);
      session.transaction = undefined;
    }
    throw error;
  }

  async #run(
    own: Transaction,
    text: string,
    values: readonly unknown[],
    { owner }: Session,
  ): Promise<StatementResult> {
    if (text.startsWith('select begin_storing()') && own.xid === undefined) {
      own.xid = this.#nextXid;
      this.#nextXid += 1;
      this.#storing.add(own);
    }
    if (text === 'select begin_storing()') return DONE;
    if (text.startsWith('select begin_storing(); copy ')) {
      const copies = text.split('; ').slice(1);
      for (const [index, copy] of copies.entries()) {
        const data = values[index];
        if (!(data instanceof CopyData)) throw sqlError('08P01', 'a COPY without data');
        const { table, rows } = readCopy(copy, data.bytes);
        await this.#insert(own, table, rows, 'fail');
      }
      return DONE;
    }
    const sealed = this.#seal.run(own, text, values);
    if (sealed !== undefined) {
      const command = text.includes('update ') ? 'UPDATE' : 'SELECT';
      return { command, rowCount: sealed.length, rows: sealed };
    }
    if (text.startsWith('insert into ')) {
      const { table, rows } = readInsert(text, values);
      const inserted = await this.#insert(own, table, rows, 'skip');
      return { command: 'INSERT', rowCount: inserted.length, rows: inserted };
    }
    if (text.startsWith('select "delivery_id" from "deliveries"')) return this.#findDeliveries(own, values);
    if (text.startsWith('\n    select event_id from ')) {
      const table = /"(\w+)"/.exec(text)?.[1] ?? '';
      const times = parseArray(String(values[1]));
      const found = parseArray(String(values[0])).filter((id, at) =>
        this.#has(own, table, `${times[at]} ${id}`),
      );
      return { ...DONE, rows: found.map((event_id) => ({ event_id })) };
    }
    if (text.includes('from "refused_records"')) return DONE;
    if (text.includes('as file,')) {
      const file = this.#timeline.toString(16).padStart(8, '0').padEnd(24, '0');
      return { ...DONE, rows: [{ file, bytes: String(this.#walBytes), replicated: null }] };
    }
    const rows = await this.#log.run(own, text, values, owner);
    if (rows !== undefined) return { command: 'SELECT', rowCount: rows.length, rows };
    this.unknown.push(text);
    throw sqlError('42601', `the model does not know: ${text}`);
  }

  /** Waits for those who have locked a row, and locks it. */
  async lock(own: Transaction, table: string, key: string): Promise<void> {
    for (let holder = this.holderOf(table, key); ; holder = this.holderOf(table, key)) {
      if (holder === undefined || holder === own) break;
      await this.#waitFor(own, holder);
    }
    this.put(own, table, key, this.rowsOf(table).get(key));
  }

  holderOf(table: string, key: string): Transaction | undefined {
    return this.#locks.get(`${table} ${key}`);
  }

  /** Writes a row that nobody else has locked. */
  put(own: Transaction, table: string, key: string, row: Row | undefined): void {
    this.#locks.set(`${table} ${key}`, own);
    own.writes.push({ table, key, row });
  }

  #findDeliveries(own: Transaction, values: readonly unknown[]): StatementResult {
    const [ids, first, last] = values;
    const isBetween = ({ received_at: at }: Row) =>
      !(first instanceof Date && last instanceof Date) ||
      (Date.parse(at ?? '') >= first.getTime() && Date.parse(at ?? '') <= last.getTime());
    const rows = parseArray(String(ids)).flatMap((id) => {
      const row =
        this.rowsOf('deliveries').get(id ?? '') ??
        own.writes.find(({ key, table }) => table === 'deliveries' && key === id)?.row;
      return row !== undefined && isBetween(row) ? [{ delivery_id: id }] : [];
    });
    return { ...DONE, rowCount: rows.length, rows };
  }

  /** Inserts rows in their order. Resolves with those that were not there. Throws if one is there, or a table refuses one. */
  async #insert(
    own: Transaction,
    table: string,
    rows: readonly Row[],
    conflict: 'skip' | 'fail',
  ): Promise<Row[]> {
    const inserted: Row[] = [];
    const committed = this.rowsOf(table);
    for (const row of rows) {
      if (row['payload']?.includes(REFUSED_MARK) === true) throw sqlError('22003', 'value out of range');
      const key = keyOf(table, row);
      const lock = `${table} ${key}`;
      let holder = this.#locks.get(lock);
      while (!committed.has(key) && holder !== undefined && holder !== own) {
        await this.#waitFor(own, holder);
        holder = this.#locks.get(lock);
      }
      if (committed.has(key) || holder === own) {
        if (conflict === 'fail') throw sqlError('23505', `duplicate key in ${table}: ${key}`);
        continue;
      }
      this.#locks.set(lock, own);
      own.writes.push({ table, key, row: own.xid === undefined ? row : this.#numbered(own.xid, row) });
      inserted.push(row);
    }
    return inserted;
  }

  /** A row of an event has an id of the sequence, and that of the transaction. */
  #numbered(xid: number, row: Row): Row {
    if (row['place'] === undefined) return row;
    this.#lastId += 1;
    if (this.#lastId > this.#loggedId) this.#loggedId = this.#lastId + LOGGED_AHEAD;
    return { ...row, id: String(this.#lastId), xid: String(xid) };
  }

  async #waitFor(own: Transaction, holder: Transaction): Promise<void> {
    for (let next: Transaction | undefined = holder; next !== undefined; next = next.waitsFor) {
      if (next === own) throw sqlError('40P01', 'deadlock detected');
    }
    own.waitsFor = holder;
    await Promise.race([holder.ended, own.ended]);
    own.waitsFor = undefined;
    if (own.isOver) throw connectionLost();
  }

  #has(own: Transaction, table: string, key: string): boolean {
    return this.rowsOf(table).has(key) || this.#locks.get(`${table} ${key}`) === own;
  }

  #savepoint(transaction: Transaction, how: string, name: string): StatementResult {
    if (how === 'savepoint') transaction.savepoints.push({ name, writes: transaction.writes.length });
    const at = transaction.savepoints.findLastIndex((point) => point.name === name);
    const point = transaction.savepoints[at];
    if (point === undefined) throw sqlError('3B001', `savepoint ${name} does not exist`);
    if (how === 'release savepoint') transaction.savepoints.splice(at);
    if (how === 'rollback to savepoint') {
      this.#undo(transaction, point.writes);
      transaction.isAborted = false;
    }
    return DONE;
  }

  #undo(transaction: Transaction, from: number): void {
    for (const { table, key } of transaction.writes.splice(from)) this.#locks.delete(`${table} ${key}`);
  }

  #commit(transaction: Transaction): void {
    const at = this.#now();
    this.#storing.delete(transaction);
    const undo = transaction.writes.map((write) => {
      const { table, key, row } = write;
      const before = { table, key, row: this.rowsOf(table).get(key) };
      this.#locks.delete(`${table} ${key}`);
      this.#apply(write);
      if (row?.['xid'] !== undefined) this.#unlogged.push(row);
      return before;
    });
    if (transaction.writes.length > 0) {
      this.#commits.push({ at, walBytes: this.#walBytes, undo: undo.toReversed(), loggedId: this.#loggedId });
      this.#walBytes += 100 * transaction.writes.length;
      if ((this.#commits[0]?.at ?? at) < at - 2 * KEEP_COMMITS_MS) {
        this.#commits = this.#commits.filter((commit) => commit.at >= at - KEEP_COMMITS_MS);
      }
    }
    transaction.end();
  }

  #apply({ table, key, row }: Write): void {
    if (row === undefined) this.rowsOf(table).delete(key);
    else this.rowsOf(table).set(key, row);
  }

  #rollBack(transaction: Transaction): void {
    this.#storing.delete(transaction);
    this.#undo(transaction, 0);
    transaction.end();
  }
}

function keyOf(table: string, row: Row): string {
  if (table === 'destinations') return row['name'] ?? '';
  if (table === 'rejected_events') return `${row['destination']} ${row['event_id']}`;
  if (table === 'deliveries') return row['delivery_id'] ?? '';
  if (table === 'quarantine') return row['quarantine_id'] ?? '';
  return `${row['occurred_at']} ${row['event_id']}`;
}

export const sqlError = (code: string, message: string) =>
  Object.assign(new DatabaseError(message, message.length, 'error'), { code, severity: 'ERROR' });

export const connectionLost = () =>
  Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
