import { leafHash, TILE_WIDTH } from '../../src/seal/merkle-tree.ts';
import { generateLogKey, parseLogKey } from '../../src/seal/signed-note.ts';
import { entryAt, saltAt, SALT_BYTES } from '../../src/seal/stored-tree.ts';
import { EVENT_TABLES } from './log-statements.ts';
import type { Row } from './statements.ts';

/** A transaction of the database. */
type Transaction = object;

/** What the statements need of the database: see `SimulatedDatabase`. */
interface SealDatabase {
  readonly timeline: string;
  rowsOf(table: string): Map<string, Row>;
  holderOf(table: string, key: string): Transaction | undefined;
  put(own: Transaction, table: string, key: string, row: Row): void;
}

/** The key that signs what is sealed. */
export const SEAL_KEY = parseLogKey(generateLogKey('simulated'));

const OF_SEAL =
  /log_seal|log_hashes|log_salts|log_checkpoints|enable_hashjoin|select family, min\(at\)|string_agg\(hash/;

/** The statements of the sealer of events (`src/store/seal/`). Rows have a shorter sealed form than on the server. */
export class SealStatements {
  readonly #database: SealDatabase;

  constructor(database: SealDatabase) {
    this.#database = database;
    database.rowsOf('log_seal_state').set('', { size: '0', next_position: '0' });
  }

  /** How many events are sealed. */
  get size(): number {
    return Number(this.#rows('log_seal_state').get('')?.['size']);
  }

  /** Runs a statement. Returns its rows, or one for each row that it changed; undefined: it is none of these. */
  run(own: Transaction, text: string, values: readonly unknown[]): readonly object[] | undefined {
    if (!OF_SEAL.test(text)) return undefined;
    if (text.includes('enable_hashjoin')) return [{}];
    if (text.startsWith('select from log_seal_state')) return this.#lockState(own);
    if (text.includes('as sealed,')) return [this.#readState()];
    if (text.includes('select family, min(at)')) return [{ family: 'audit', from: null, to: null }];
    if (text.includes('string_agg(hash')) return [this.#hashEvents(text, values)];
    if (text.includes('update log_seals set')) return this.#extendLeaves(own, values);
    if (text.includes('insert into log_seals')) return this.#addLeaves(own, values);
    if (text.includes('insert into log_hashes')) return this.#addHashes(own, values);
    if (text.includes('insert into log_salts')) return this.#addSalts(own, values);
    if (text.includes('update log_seal_state set')) {
      this.#database.put(own, 'log_seal_state', '', {
        size: String(values[0]),
        next_position: String(values[2]),
      });
      return [{}];
    }
    if (text.includes('from "log_hashes"'))
      return [{ hashes: this.readTile('log_hashes', values.join(' ')) }];
    if (text.startsWith('insert into "log_checkpoints"')) return this.#addCheckpoint(own, values);
    if (text.includes('from "log_checkpoints"')) return this.#latestCheckpoint();
    return undefined;
  }

  /** The hash of an event's leaf, as its row is now; undefined: the log has no such position. */
  leafHash(position: number, salt: Buffer): Buffer | undefined {
    const entry = this.#rows('log_tiles').get(String(position));
    if (entry === undefined) return undefined;
    const key = `${entry['occurred_at']} ${entry['event_id']}`;
    const row = EVENT_TABLES.map((table) => this.#rows(table).get(key)).find((found) => found !== undefined);
    const record = row && JSON.stringify([row['id'], row['event_id'], row['delivery_id'], row['payload']]);
    return leafHash(entryAt(salt, 0, record ?? null));
  }

  /** The hashes, or the salts, of a tile. */
  readTile(table: 'log_hashes' | 'log_salts', key: string): Buffer {
    return Buffer.from(this.#rows(table).get(key)?.['bytes'] ?? '', 'hex');
  }

  #rows = (table: string) => this.#database.rowsOf(table);

  #lockState(own: Transaction): readonly object[] {
    if (this.#database.holderOf('log_seal_state', '') !== undefined) return [];
    this.#database.put(own, 'log_seal_state', '', this.#rows('log_seal_state').get('') ?? {});
    return [{}];
  }

  #readState() {
    const [signed] = this.#latestCheckpoint();
    const state = this.#rows('log_seal_state').get('');
    const next = Number(this.#rows('log_state').get('')?.['next_position']);
    return {
      size: this.size,
      signed: signed?.size ?? 0,
      sealed: { from: 0, to: Number(state?.['next_position']) },
      logged: { from: 0, to: next },
      timeline: this.#database.timeline,
      queued: false,
      deliveriesQueued: false,
      quartersQueued: false,
    };
  }

  #hashEvents(text: string, values: readonly unknown[]) {
    const valueOf = (pattern: RegExp) => values[Number(pattern.exec(text)?.[1]) - 1];
    const from = Number(valueOf(/first \+ number - 1 >= \$(\d+)/));
    const to = Number(valueOf(/first \+ number - 1 < \$(\d+)/));
    const salts = valueOf(/substring\(\$(\d+)::bytea/);
    const hashes: Buffer[] = [];
    for (let position = from; position < to && Buffer.isBuffer(salts); position += 1) {
      const found = this.leafHash(position, saltAt(salts, position - from));
      if (found !== undefined) hashes.push(found);
    }
    return { hashes: Buffer.concat(hashes), positions: null, count: 0, earliest: null };
  }

  #extendLeaves(own: Transaction, values: readonly unknown[]): readonly object[] {
    const [count, , , firstLeaf, firstPosition] = values.map(Number);
    const last = [...this.#rows('log_seals').values()].at(-1);
    const leaves = Number(last?.['leaves']);
    const follows = (name: string, at: number | undefined) => Number(last?.[name]) + leaves === at;
    if (last === undefined || !follows('first_leaf', firstLeaf) || !follows('first_position', firstPosition))
      return [];
    const extended = { ...last, leaves: String(leaves + Number(count)) };
    this.#database.put(own, 'log_seals', last['first_leaf'] ?? '', extended);
    return [{}];
  }

  #addLeaves(own: Transaction, values: readonly unknown[]): readonly object[] {
    const [firstLeaf = '', leaves, , , firstPosition] = values.map(String);
    this.#database.put(own, 'log_seals', firstLeaf, {
      first_leaf: firstLeaf,
      leaves,
      first_position: firstPosition,
    });
    return [{}];
  }

  #append(own: Transaction, table: 'log_hashes' | 'log_salts', key: string, bytes: Buffer): void {
    const before = this.#rows(table).get(key)?.['bytes'] ?? '';
    this.#database.put(own, table, key, { bytes: before + bytes.toString('hex') });
  }

  #addHashes(own: Transaction, [levels, numbers, hashes]: readonly unknown[]): readonly object[] {
    if (!Array.isArray(levels) || !Array.isArray(numbers) || !Array.isArray(hashes)) return [];
    for (const [at, level] of levels.entries()) {
      const bytes: unknown = hashes[at];
      if (Buffer.isBuffer(bytes)) this.#append(own, 'log_hashes', `${level} ${numbers[at]}`, bytes);
    }
    return [];
  }

  #addSalts(own: Transaction, [first, salts]: readonly unknown[]): readonly object[] {
    if (!Buffer.isBuffer(salts)) return [];
    for (let leaf = Number(first), at = 0; at < salts.length;) {
      const bytes = salts.subarray(at, at + (TILE_WIDTH - (leaf % TILE_WIDTH)) * SALT_BYTES);
      this.#append(own, 'log_salts', `${Math.floor(leaf / TILE_WIDTH)}`, bytes);
      at += bytes.length;
      leaf += bytes.length / SALT_BYTES;
    }
    return [];
  }

  #addCheckpoint(own: Transaction, values: readonly unknown[]): readonly object[] {
    const [size, madeAt, note, publicKey] = values;
    const made = madeAt instanceof Date ? madeAt.toISOString() : undefined;
    const row = { size: String(size), made_at: made, note: String(note), public_key: String(publicKey) };
    if (!this.#rows('log_checkpoints').has(row.size))
      this.#database.put(own, 'log_checkpoints', row.size, row);
    return [{}];
  }

  #latestCheckpoint() {
    const latest = [...this.#rows('log_checkpoints').values()].at(-1);
    if (latest === undefined) return [];
    const { size, made_at: madeAt = '', note, public_key: publicKey } = latest;
    return [{ size: Number(size), madeAt: new Date(madeAt), note, publicKey }];
  }
}
