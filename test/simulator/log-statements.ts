import { FAMILIES } from '../../src/events/domain.ts';
import { TABLE_OF } from '../../src/events/message-types.ts';
import type { Row } from './statements.ts';

export const EVENT_TABLES = FAMILIES.map((family) => TABLE_OF[family]);

/** A transaction of the database. */
type Transaction = object;

/** What the statements need of the database: see `SimulatedDatabase`. */
interface LogDatabase {
  readonly now: number;
  readonly lastId: number;
  readonly timeline: string;
  readonly xids: { readonly storing: readonly number[]; readonly next: number };
  readonly sessions: ReadonlySet<{ readonly owner: string }>;
  rowsOf(table: string): Map<string, Row>;
  eventsFrom(xid: number): readonly Row[];
  lock(own: Transaction, table: string, key: string): Promise<void>;
  holderOf(table: string, key: string): Transaction | undefined;
  put(own: Transaction, table: string, key: string, row: Row | undefined): void;
}

const valueOf = (text: string, values: readonly unknown[], pattern: RegExp): unknown => {
  const number = pattern.exec(text)?.[1];
  return number === undefined ? undefined : values[Number(number) - 1];
};

/** The parameter that a pattern captures, as text; undefined: the text has no such part. */
const given = (text: string, values: readonly unknown[], pattern: RegExp): string | undefined => {
  const value = valueOf(text, values, pattern);
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : undefined;
};

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

const numberOf = (row: Row | undefined, name: string) => Number(row?.[name] ?? 0);

/** The statements of the sequencer, of those who read the log, and of forwarding. */
export class LogStatements {
  readonly #database: LogDatabase;
  /** Who forwarded when a cursor went back: its batch may be of before, until it tries to save it. */
  readonly #stale = new Set<string>();
  readonly #kinds = new Map<
    string,
    { readonly kind: number; readonly source: string; readonly messageType: string }
  >();
  readonly failures: string[] = [];
  /** Called with a destination whose cursor went back, where it is, and since when nothing counts, if commits were lost. */
  onRewind: (name: string, position: number, lostSince?: number) => void = () => undefined;

  constructor(database: LogDatabase, destinations: readonly string[]) {
    this.#database = database;
    database.rowsOf('log_state').set('', { next_position: '0', next_xid: '1', held_xid: '1', last_id: '0' });
    for (const name of destinations) database.rowsOf('destinations').set(name, { name, state: 'running' });
  }

  get state(): Row {
    return this.#database.rowsOf('log_state').get('') ?? {};
  }

  get next(): number {
    return numberOf(this.state, 'next_position');
  }

  /** The events of the log by their positions. */
  get entries(): ReadonlyMap<string, Row> {
    return this.#database.rowsOf('log_tiles');
  }

  destination(name: string): Row | undefined {
    return this.#database.rowsOf('destinations').get(name);
  }

  cursorOf = (name: string) => numberOf(this.destination(name), 'cursor_position');

  isStale = (owner: string, name: string) => this.#stale.has(`${owner} ${name}`);

  /** A server took over that does not have the last commits. */
  onLoss(since: number): void {
    for (const name of this.#database.rowsOf('destinations').keys())
      this.#goBack(name, this.cursorOf(name), since);
  }

  #goBack(name: string, position: number, lostSince?: number): void {
    for (const { owner } of this.#database.sessions) this.#stale.add(`${owner} ${name}`);
    for (const owner of this.owners) this.#stale.add(`${owner} ${name}`);
    this.onRewind(name, position, lostSince);
  }

  /** Whoever has a lease, or had one. */
  readonly owners = new Set<string>();

  /** Runs a statement. Resolves with its rows; undefined: it is none of these. */
  async run(
    own: Transaction,
    text: string,
    values: readonly unknown[],
    owner: string,
  ): Promise<readonly object[] | undefined> {
    if (text.startsWith('select case when is_called')) return [{ last: String(this.#database.lastId) }];
    if (text.startsWith('select from log_state for update')) return this.#lockState(own);
    if (text.includes('next_position as next, next_xid')) return [this.#readState(Number(values[0]))];
    if (text.includes('with held as materialized')) return [this.#horizon()];
    if (text.includes('max(received_at) filter')) return [this.#findDue(text, values)];
    if (text.includes('select min(xid::text::numeric)')) return [this.#endOfStep(text, values)];
    if (text.includes('with entries as materialized')) return [this.#append(own, text, values)];
    if (text.startsWith('select pg_notify')) return [];
    if (text.includes('from "log_state"'))
      return [{ first: 0, next: this.next, timeline: this.#database.timeline }];
    if (text.includes('from "log_tiles"')) return this.#readTiles(Number(values[0]), Number(values[1]));
    if (text.includes('from "log_kinds"')) return [...this.#kinds.values()];
    if (text.includes('from "organizations"')) return [];
    if (text.includes('as entry (position, logged_at, logged_id)')) return this.#readEvents(text, values);
    if (/^select .*from "destinations"$/.test(text)) return this.#readCursors();
    if (text.includes('update destinations set lease_holder'))
      return this.#takeLeases(own, text, values, owner);
    if (text.includes('update destinations set\n')) return this.#advance(own, text, values, owner);
    if (text.startsWith('update "destinations" set')) return this.#change(own, text, values);
    return undefined;
  }

  #lockState(own: Transaction): readonly object[] {
    if (this.#database.holderOf('log_state', '') !== undefined) return [];
    this.#database.put(own, 'log_state', '', this.state);
    return [{}];
  }

  #readState(holdMs: number) {
    const { next_position: next, next_xid: xid, held_xid, last_id, last_received } = this.state;
    return {
      next,
      xid,
      held_xid,
      last_id,
      last_received: last_received ?? '-infinity',
      is_held: numberOf(this.state, 'held_since') > this.#database.now - holdMs,
      earlier_id: '0',
      is_new_server: false,
      stored_to: String(this.#database.lastId),
      is_storing: this.#database.xids.storing.length > 0,
    };
  }

  #horizon() {
    const { storing, next } = this.#database.xids;
    return { xid: String(Math.min(next, ...storing)), isEarly: storing.length > 0 };
  }

  /** The events that a condition of the sequencer takes. */
  #taken(text: string, values: readonly unknown[]): readonly Row[] {
    const from = Number(given(text, values, /xid >= \$(\d+)::xid8 and \(/));
    const held = Number(given(text, values, /and \(xid >= \$(\d+)::xid8/));
    const taken = received(given(text, values, /or received_at > \$(\d+)::timestamptz\)/));
    const below = Number(given(text, values, /and xid < \$(\d+)::xid8 and id/) ?? Infinity);
    const last = given(text, values, /and xid <= \$(\d+)::xid8/) ?? Infinity;
    const due = given(text, values, /and received_at <= \$(\d+)::timestamptz/);
    return this.#database.eventsFrom(numberOf(this.state, 'next_xid')).filter((row) => {
      const [xid, at] = [Number(row['xid']), row['received_at'] ?? ''];
      const isNew = xid >= from && (xid >= held || at > taken) && xid < below && xid <= Number(last);
      return isNew && (due === undefined || at <= received(due));
    });
  }

  /** Of each table's new events, the one after so many, in the order of their transactions: the first of these. */
  #endOfStep(text: string, values: readonly unknown[]) {
    const found = this.#taken(text, values);
    const offset = Number(given(text, values, /offset \$(\d+)/));
    const ends = EVENT_TABLES.flatMap((table) => {
      const rows = this.#database.rowsOf(table);
      const xids = found
        .filter((row) => rows.has(`${row['occurred_at']} ${row['event_id']}`))
        .map(({ xid }) => Number(xid));
      return xids.toSorted((a, b) => a - b).slice(offset, offset + 1);
    });
    return { xid: ends.length === 0 ? null : String(Math.min(...ends)) };
  }

  #findDue(text: string, values: readonly unknown[]) {
    const found = this.#taken(text, values);
    const held = Number(given(text, values, /filter \(where xid < \$(\d+)::xid8\)/) ?? Infinity);
    const last = received(given(text, values, /greatest\(\$(\d+)::timestamptz/));
    const times = (rows: readonly Row[]) => rows.map((row) => row['received_at'] ?? '').toSorted();
    const due = [last, ...times(found.filter((row) => Number(row['xid']) < held))].toSorted().at(-1) ?? '';
    return { due: due === '' ? '-infinity' : due, isHeld: (times(found).at(-1) ?? '') > due };
  }

  #append(own: Transaction, text: string, values: readonly unknown[]) {
    const taken = this.#taken(text, values).toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
    const start = Number(given(text, values, /select \*, \$(\d+)::bigint - 1/));
    const database = this.#database;
    for (const [index, row] of taken.entries()) {
      const position = String(start + index);
      if (this.entries.has(position)) this.failures.push(`the log has the position ${position} already`);
      database.put(own, 'log_tiles', position, { ...row, position });
    }
    const next = Number(given(text, values, /next_xid = (?:greatest\(next_xid, )?\$(\d+)::xid8/));
    const held = Number(given(text, values, /held_xid = greatest\(held_xid, \$(\d+)::xid8\)/));
    const isStep = text.includes('last_received = case');
    const lastReceived = isStep
      ? next < numberOf(this.state, 'held_xid') && (this.state['last_received'] ?? '')
      : received(given(text, values, /last_received = \$(\d+)/));
    const ids = taken.map((row) => Number(row['id']));
    database.put(own, 'log_state', '', {
      next_position: String(this.next + taken.length),
      next_xid: String(Math.max(numberOf(this.state, 'next_xid'), next)),
      held_xid: String(Math.max(numberOf(this.state, 'held_xid'), held)),
      held_since: isStep ? this.state['held_since'] : String(database.now),
      last_received: lastReceived || undefined,
      last_id: String(Math.max(numberOf(this.state, 'last_id'), ...ids)),
    });
    return { added: taken.length };
  }

  #readTiles(from: number, to: number): readonly object[] {
    const rows: Row[] = [];
    for (let position = from; position < Math.min(to, this.next); position += 1) {
      const row = this.entries.get(String(position));
      if (row !== undefined) rows.push(row);
    }
    const [first] = rows;
    if (first === undefined) return [];
    return [
      {
        first: Number(first['position']),
        kinds: rows.map((row) => this.#kindOf(row)),
        occurredAt: rows.map((row) => row['occurred_at']),
        eventIds: rows.map((row) => row['event_id']),
      },
    ];
  }

  #kindOf({ source = '', message_type: messageType = '' }: Row): number {
    const key = `${source} ${messageType}`;
    const known = this.#kinds.get(key) ?? { kind: this.#kinds.size + 1, source, messageType };
    this.#kinds.set(key, known);
    return known.kind;
  }

  #readEvents(text: string, values: readonly unknown[]): readonly object[] {
    const [, first = 0, table = ''] =
      /unnest\(\s*\$(\d+)::bigint\[\][^]*from "(\w+)" where occurred_at = logged_at/.exec(text) ?? [];
    const [positions, times, ids] = [0, 1, 2].map((at) => listOf(values[Number(first) - 1 + at]));
    return (positions ?? []).flatMap((position, at) => {
      const row = this.#database.rowsOf(table).get(`${times?.[at]} ${ids?.[at]}`);
      if (row === undefined) return [];
      return [
        {
          next: null,
          id: row['id'],
          position: Number(position),
          eventId: row['event_id'],
          deliveryId: row['delivery_id'],
          source: row['source'],
          messageType: row['message_type'],
          occurredAt: row['occurred_at'],
          receivedAt: row['received_at'],
          ownerId: null,
          orgId: null,
          origin: 'webhook',
          payload: row['payload'],
        },
      ];
    });
  }

  #readCursors(): readonly object[] {
    return [...this.#database.rowsOf('destinations').values()].map((row) => ({
      name: row['name'],
      holder: row['lease_holder'] ?? null,
      ...leaseOf(row),
    }));
  }

  /** Locks rows in the order of their names. */
  async #lockAll(own: Transaction, names: readonly string[]): Promise<void> {
    for (const name of names.toSorted()) await this.#database.lock(own, 'destinations', name);
  }

  async #takeLeases(
    own: Transaction,
    text: string,
    values: readonly unknown[],
    owner: string,
  ): Promise<readonly object[]> {
    const names = listOf(valueOf(text, values, /unnest\(\$(\d+)::text\[\]/));
    const holders = listOf(valueOf(text, values, /, \$(\d+)::uuid\[\]\) as taking/));
    const forMs = Number(given(text, values, /secs => \$(\d+)/)) * 1_000;
    await this.#lockAll(own, names);
    const { now } = this.#database;
    return names.flatMap((name, at) => {
      const row = this.destination(name);
      const { lease_holder: holder } = row ?? {};
      const isFree = holder === undefined || holder === holders[at] || numberOf(row, 'lease_until') < now;
      if (row === undefined || (!isFree && text.includes('lease_until < now()'))) return [];
      if (!isFree) this.failures.push(`${owner} takes the lease of ${name} from another that has it`);
      const taken = { ...row, lease_holder: holders[at], lease_until: String(now + forMs) };
      this.#database.put(own, 'destinations', name, taken);
      this.owners.add(owner);
      return [{ name, ...leaseOf(row) }];
    });
  }

  async #advance(
    own: Transaction,
    text: string,
    values: readonly unknown[],
    owner: string,
  ): Promise<readonly object[]> {
    const columns = /, unnest\(([^)]*)\) as made/.exec(text)?.[1] ?? '';
    const lists = [...columns.matchAll(/\$(\d+)/g)].map(([, at]) => listOf(values[Number(at) - 1]));
    const [names = [], holders = [], generations = [], starts = [], positions = [], sent = [], inRow = []] =
      lists;
    const [, timelines = []] = lists.slice(7);
    await this.#lockAll(own, names);
    return names.flatMap((name, at) => {
      this.#stale.delete(`${owner} ${name}`);
      const row = this.destination(name);
      const isTrue = (condition: string, is: boolean) => is || !text.includes(condition);
      if (
        row === undefined ||
        !isTrue('lease_holder = made.holder', row['lease_holder'] === holders[at]) ||
        !isTrue('generation = made.generation', numberOf(row, 'generation') === Number(generations[at])) ||
        !isTrue('cursor_position = made.start', this.cursorOf(name) === Number(starts[at])) ||
        !isTrue('made.timeline = ', this.#database.timeline === timelines[at])
      )
        return [];
      if (Number(positions[at]) < this.cursorOf(name))
        this.failures.push(`${owner} moves the cursor of ${name} back`);
      const rejected = Number(inRow[at]) + (Number(sent[at]) > 0 ? 0 : numberOf(row, 'rejected_in_row'));
      const saved = { ...row, cursor_position: positions[at], rejected_in_row: String(rejected) };
      this.#database.put(own, 'destinations', name, saved);
      // The position is for those who watch.
      return [{ name, state: row['state'], rejectedInRow: rejected, position: Number(positions[at]) }];
    });
  }

  /** What the query builder writes: the release of a lease, a failure, and what an operator does. */
  async #change(own: Transaction, text: string, values: readonly unknown[]): Promise<readonly object[]> {
    const name = String(given(text, values, /where "name" = \$(\d+)/));
    const holder = given(text, values, /and "lease_holder" = \$(\d+)$/);
    await this.#database.lock(own, 'destinations', name);
    const row = this.destination(name);
    if (row === undefined || (holder !== undefined && row['lease_holder'] !== holder)) return [];
    const position = given(text, values, /"cursor_position" = \$(\d+)/);
    const least = given(text, values, /"cursor_position" >= \$(\d+)/);
    if (least !== undefined && this.cursorOf(name) < Number(least)) return [];
    const failed = given(text, values, /then \$(\d+) else state end/);
    const asked = given(text, values, /"state" = \$(\d+)/);
    const state = row['state'] === 'running' ? (asked ?? failed) : asked;
    const isReleased = text.includes('set "lease_holder" =');
    this.#database.put(own, 'destinations', name, {
      ...row,
      ...(isReleased && { lease_holder: undefined, lease_until: undefined }),
      ...(position !== undefined && {
        cursor_position: position,
        generation: String(numberOf(row, 'generation') + 1),
      }),
      ...(state !== undefined && { state }),
      ...(asked === 'running' && { rejected_in_row: '0' }),
    });
    if (position !== undefined) this.#goBack(name, Number(position));
    return [];
  }
}

const leaseOf = (row: Row) => ({
  state: row['state'],
  position: numberOf(row, 'cursor_position'),
  generation: row['generation'] ?? '0',
  rejectedInRow: numberOf(row, 'rejected_in_row'),
});

/** A time that compares as text. */
const received = (value: string | undefined) => (value === undefined || value === '-infinity' ? '' : value);

const orderOf = (row: Row) =>
  [row['received_at'], row['delivery_id'], row['place']?.padStart(6, '0'), row['id']?.padStart(12, '0')].join(
    ' ',
  );
