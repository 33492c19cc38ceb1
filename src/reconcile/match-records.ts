/** A record of either side, among those with the same natural key. */
export interface Candidate {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** A text of which the other side may have only the beginning. */
  readonly text: string;
}

/** A webhook's row and a log record that are the same event. */
export interface Match {
  readonly webhook: string;
  readonly logged: string;
  /** Whether others fit as well: the pair counts, but which row belongs to which record is open. */
  readonly isAmbiguous: boolean;
}

/** Candidates of one side that nothing distinguishes. */
interface Group {
  readonly at: number;
  readonly text: string;
  readonly ids: readonly string[];
  readonly edges: Edge[];
  /** How many of them have no partner yet. */
  free: number;
}

/** Two groups that may be the same events, and how many of them are. */
interface Edge {
  readonly webhook: Group;
  readonly logged: Group;
  /** 0 if the texts are equal, 1 if one is the beginning of the other. */
  readonly rank: number;
  readonly distance: number;
  count: number;
}

/**
 * Pairs the rows of webhooks with log records by counting: as many pairs as possible, so that together there are never
 * more events than the larger side has. Two fit if their times differ by at most the tolerance and one text is the
 * beginning of the other. The nearest are paired first. A pair is changed only where that makes one more, also a pair of
 * an earlier comparison (`known`: the row of a record, which must fit): both of its sides keep a partner. The order of
 * the input does not matter. Yields now and then, so that the caller can let others have the event loop.
 */
export function* matchRecords(
  webhooks: readonly Candidate[],
  logged: readonly Candidate[],
  toleranceMs: number,
  known: ReadonlyMap<string, string> = new Map(),
): Generator<void, Match[], void> {
  const taken = new Set(logged.flatMap(({ id }) => (known.has(id) ? [id, known.get(id)] : [])));
  const rows = groupsOf(webhooks, taken);
  const records = groupsOf(logged, taken);
  const edges = yield* joinGroups(rows, records, toleranceMs);
  keepPairs(known, rows, records);
  edges.sort(byNearness);
  for (const edge of edges) {
    const count = Math.min(edge.webhook.free, edge.logged.free);
    edge.webhook.free -= count;
    edge.logged.free -= count;
    edge.count += count;
  }
  for (const record of records) {
    while (record.free > 0 && addPair(record)) yield;
  }
  return pairsOf(records);
}

/** Candidates of an earlier pair come first, so that they are the ones that keep a partner. */
function groupsOf(candidates: readonly Candidate[], taken: ReadonlySet<string | undefined>): Group[] {
  const isOpen = (id: string) => Number(!taken.has(id));
  const byContent = Map.groupBy(candidates, ({ at, text }) => `${at} ${text}`);
  return [...byContent.values()]
    .flatMap((same): Group[] => {
      const [first] = same;
      if (first === undefined) return [];
      const ids = same.map(({ id }) => id).sort((a, b) => isOpen(a) - isOpen(b) || (a < b ? -1 : 1));
      return [{ at: first.at, text: first.text, ids, edges: [], free: ids.length }];
    })
    .sort((a, b) => a.at - b.at || (a.text < b.text ? -1 : 1));
}

/** Begins with the pairs of earlier comparisons. */
function keepPairs(known: ReadonlyMap<string, string>, rows: readonly Group[], records: readonly Group[]) {
  const rowOf = new Map(rows.flatMap((row) => row.ids.map((id) => [id, row])));
  for (const record of records) {
    for (const id of record.ids) {
      const row = rowOf.get(known.get(id) ?? '');
      const edge = record.edges.find(({ webhook }) => webhook === row);
      // A record outside of an earlier range may name a row that another one has got since.
      if (edge === undefined || edge.webhook.free === 0) continue;
      edge.count += 1;
      edge.webhook.free -= 1;
      record.free -= 1;
    }
  }
}

/** The pairs of groups that fit. */
function* joinGroups(
  rows: readonly Group[],
  records: readonly Group[],
  toleranceMs: number,
): Generator<void, Edge[], void> {
  const edges: Edge[] = [];
  let first = 0;
  for (const logged of records) {
    while ((rows[first]?.at ?? Infinity) < logged.at - toleranceMs) first += 1;
    for (let index = first; index < rows.length; index += 1) {
      const webhook = rows[index];
      if (webhook === undefined || webhook.at > logged.at + toleranceMs) break;
      const rank = compareTexts(webhook.text, logged.text);
      if (rank === undefined) continue;
      const edge = { webhook, logged, rank, distance: Math.abs(webhook.at - logged.at), count: 0 };
      edges.push(edge);
      webhook.edges.push(edge);
      logged.edges.push(edge);
    }
    yield;
  }
  return edges;
}

/** Whether two candidates with the same natural key may be the same event. */
export const fits = (a: Candidate, b: Candidate, toleranceMs: number): boolean =>
  Math.abs(a.at - b.at) <= toleranceMs && compareTexts(a.text, b.text) !== undefined;

function compareTexts(a: string, b: string): number | undefined {
  if (a === b) return 0;
  return a.startsWith(b) || b.startsWith(a) ? 1 : undefined;
}

const byNearness = (a: Edge, b: Edge) =>
  a.rank - b.rank || a.distance - b.distance || a.logged.at - b.logged.at || a.webhook.at - b.webhook.at;

/** Finds one more pair for a group of log records, if others must change their partners for it (an augmenting path). */
function addPair(start: Group): boolean {
  const forwards = new Map<Group, Edge>();
  const backwards = new Map<Group, Edge | undefined>([[start, undefined]]);
  // The loop also visits the groups that it adds.
  for (const record of backwards.keys()) {
    for (const edge of record.edges) {
      const row = edge.webhook;
      if (forwards.has(row)) continue;
      forwards.set(row, edge);
      if (row.free > 0) {
        row.free -= 1;
        start.free -= 1;
        changePartners(row, forwards, backwards);
        return true;
      }
      for (const used of row.edges) {
        if (used.count > 0 && !backwards.has(used.logged)) backwards.set(used.logged, used);
      }
    }
  }
  return false;
}

function changePartners(
  end: Group,
  forwards: ReadonlyMap<Group, Edge>,
  backwards: ReadonlyMap<Group, Edge | undefined>,
): void {
  let gained = forwards.get(end);
  while (gained !== undefined) {
    gained.count += 1;
    const lost = backwards.get(gained.logged);
    if (lost === undefined) return;
    lost.count -= 1;
    gained = forwards.get(lost.webhook);
  }
}

/** The pairs, each group's candidates in the order of their ids. */
function pairsOf(records: readonly Group[]): Match[] {
  const used = new Map<Group, number>();
  const pairs: Match[] = [];
  for (const record of records) {
    let next = 0;
    for (const { webhook, count, rank, distance } of record.edges) {
      if (count === 0) continue;
      const begin = used.get(webhook) ?? 0;
      used.set(webhook, begin + count);
      const alike = record.edges
        .filter((edge) => edge.rank === rank && edge.distance === distance)
        .reduce((sum, edge) => sum + edge.webhook.ids.length, 0);
      const isAmbiguous = alike > 1 || record.ids.length > 1;
      for (let index = 0; index < count; index += 1) {
        const row = webhook.ids[begin + index];
        const logId = record.ids[next];
        next += 1;
        if (row !== undefined && logId !== undefined)
          pairs.push({ webhook: row, logged: logId, isAmbiguous });
      }
    }
  }
  return pairs;
}
