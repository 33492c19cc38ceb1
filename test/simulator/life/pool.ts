/** The pool of connections to Postgres of one life of a process. */
import { connectionLost, sqlError, type Session, type StatementResult } from '../database.ts';
import { startingProcess } from '../simulated-process.ts';

const self = startingProcess();
const { clockwork, database, receivers, troubles } = self.surroundings;

/** One way to the server, in milliseconds. */
const WAY_MS = 0.2;

/** A connection that hears nothing is given up after so long: see `openLimited`. */
const SILENCE_MS = 60_000;
const CONNECT_MS = 10_000;

const refused = () =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });

class Client {
  readonly #session: Session;
  readonly #asked = new Set<(error: Error) => void>();
  /** How often cursors had gone back when the server ran the last statement. */
  #goings = 0;
  #written: readonly object[] = [];
  #isInTransaction = false;
  isBroken = false;

  constructor() {
    this.#session = database.connect((error) => self.after(WAY_MS, () => this.#break(error)), self.name);
    self.connections.add(this.#session);
  }

  query(text: string, values: readonly unknown[]): Promise<StatementResult> {
    if (this.isBroken) return Promise.reject(new Error('Connection terminated'));
    const { promise, resolve, reject } = Promise.withResolvers<StatementResult>();
    this.#asked.add(reject);
    const timer = self.after(SILENCE_MS, () => {
      this.#break(new Error('Connection terminated: the database sent nothing'));
    });
    const settled = () => {
      clockwork.cancel(timer);
      this.#asked.delete(reject);
    };
    const way = WAY_MS * troubles.slowness('database', self.nextRandom());
    self
      .ask(way, () => this.#execute(text, values), way)
      .then((result) => {
        this.#learn(text, result);
        return result;
      })
      .then(resolve, (error: Error) => {
        if (this.#session.isOver) this.isBroken = true;
        reject(error);
      })
      .finally(settled);
    return promise;
  }

  /** The process learns where the cursors are that it has written, once that is committed. */
  #learn(text: string, { command, rows }: StatementResult): void {
    if (text === 'begin') this.#isInTransaction = true;
    if (text.includes('update destinations set')) this.#written = rows;
    if (this.#isInTransaction && text !== 'commit' && text !== 'rollback') return;
    this.#isInTransaction = false;
    for (const row of this.#written) {
      const isKnown = text !== 'rollback' && command !== 'ROLLBACK' && this.#goings === receivers.goings;
      if (isKnown && 'name' in row && 'position' in row)
        receivers.confirm(self.name, String(row.name), Number(row.position));
    }
    this.#written = [];
  }

  async #execute(text: string, values: readonly unknown[]): Promise<StatementResult> {
    const trouble = troubles.ofStatement(text);
    if (trouble === 'unheard') return new Promise(() => undefined);
    if (trouble === 'broken before') database.disconnect(this.#session, connectionLost());
    if (typeof trouble === 'object' && !text.startsWith('rollback')) {
      database.failStatement(this.#session, text, sqlError(trouble.code, trouble.kind));
    }
    const result = await database.execute(this.#session, text, values);
    this.#goings = receivers.goings;
    if (trouble === 'broken after') {
      database.disconnect(this.#session, connectionLost());
      throw connectionLost();
    }
    if (trouble === 'unanswered') return new Promise(() => undefined);
    return result;
  }

  #break(error: Error): void {
    this.isBroken = true;
    self.connections.delete(this.#session);
    // The server hears of it as late as the client, or when its own limit is over.
    if (!this.#session.isOver) database.disconnect(this.#session);
    for (const reject of this.#asked) reject(error);
    this.#asked.clear();
  }

  close(): void {
    this.isBroken = true;
    self.connections.delete(this.#session);
    if (!this.#session.isOver)
      self.ask(WAY_MS, () => database.disconnect(this.#session)).catch(() => undefined);
  }
}

export function createPool({ max }: { readonly max: number }) {
  const idle: Client[] = [];
  const waiting: PromiseWithResolvers<Client>[] = [];
  let count = 0;

  async function open(): Promise<Client> {
    count += 1;
    try {
      const trouble = troubles.ofConnection();
      if (trouble === 'unheard') await self.ask(CONNECT_MS, () => undefined);
      else await self.ask(WAY_MS, () => undefined, 2 * WAY_MS);
      if (trouble === 'unheard') throw new Error('timeout exceeded when trying to connect');
      if (trouble === 'refused') throw refused();
      if (trouble !== undefined) throw sqlError(trouble.code, trouble.kind);
      return new Client();
    } catch (error) {
      count -= 1;
      next();
      throw error;
    }
  }

  function next(): void {
    const first = count < max ? waiting.shift() : undefined;
    if (first !== undefined) open().then(first.resolve, first.reject);
  }

  function giveBack(client: Client): void {
    if (client.isBroken) {
      client.close();
      count -= 1;
      next();
      return;
    }
    const first = waiting.shift();
    if (first === undefined) idle.push(client);
    else first.resolve(client);
  }

  async function acquire(): Promise<Client> {
    for (let client = idle.pop(); client !== undefined; client = idle.pop()) {
      if (!client.isBroken) return client;
      count -= 1;
    }
    if (count < max) return open();
    const turn = Promise.withResolvers<Client>();
    waiting.push(turn);
    return turn.promise;
  }

  return {
    async connect() {
      const client = await acquire();
      return {
        query: (text: string, values: readonly unknown[]) => client.query(text, values),
        release: () => giveBack(client),
      };
    },
    async end() {
      for (const client of idle) client.close();
    },
    options: { max },
  };
}
