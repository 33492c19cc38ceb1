import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { formatPosition } from '../../event-position.ts';
import type { Db } from '../../store/database.ts';
import type { EventFilter } from '../../store/event-filter.ts';
import type { EventPosition } from '../../store/event-pages.ts';
import { endOfEvents, readStretch } from '../../store/read-events.ts';
import { searchEvents } from '../../store/search-events.ts';
import { viewColumns, viewEvent } from '../../store/stored-event.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { formatTable, oneLine } from '../table.ts';

/** New events appear within this time and that of one query. */
const TAIL_INTERVAL_MS = 400;

/** Stored events read at once, whether they match or not. */
const TAIL_PAGE = 1_000;

const COLUMNS = ['time', 'type', 'source', 'who', 'code', 'what'];

/** `events search`: one page of events, newest first, as a table or as JSON lines. */
export async function printSearch(
  db: Db,
  filter: EventFilter,
  page: { readonly limit: number; readonly after?: EventPosition | undefined },
  asJson: boolean,
): Promise<void> {
  const events = await searchEvents(db, filter, page);
  if (asJson) {
    for (const event of events) process.stdout.write(`${toJson(event)}\n`);
    return;
  }
  if (events.length === 0) {
    process.stdout.write('no events match\n');
    return;
  }
  process.stdout.write(`${formatTable(COLUMNS, events.map(toCells))}\n`);
  const last = events.at(-1);
  if (last !== undefined && events.length === page.limit) {
    const hint = `older events: the same command with --after ${formatPosition(last)}`;
    process.stderr.write(`${styleText('dim', hint, { stream: process.stderr })}\n`);
  }
}

/** `events tail`: prints events as they are stored, until the signal fires. */
export async function followEvents(
  db: Db,
  filter: EventFilter,
  asJson: boolean,
  signal: AbortSignal,
): Promise<void> {
  let position = await endOfEvents(db);
  while (!signal.aborted) {
    const { events, end, isFull } = await readStretch(db, position, TAIL_PAGE, filter);
    for (const event of events) {
      process.stdout.write(`${asJson ? toJson(event) : toLine(event)}\n`);
    }
    position = end ?? position;
    if (!isFull) await sleep(TAIL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

const toJson = (event: StoredEvent) => JSON.stringify({ ...viewColumns(event), payload: event.payload });

function toCells(event: StoredEvent): string[] {
  const { user, code, clientMac, apMac, description } = viewEvent(event);
  return [
    event.occurredAt,
    event.messageType,
    event.source,
    user ?? clientMac ?? '',
    code ?? '',
    description ?? (apMac === null ? '' : `at ${apMac}`),
  ];
}

function toLine(event: StoredEvent): string {
  const [time = '', type = '', ...others] = toCells(event).map(oneLine);
  const rest = others.filter((cell) => cell !== '').join('  ');
  return `${styleText('dim', time)}  ${styleText('cyan', type.padEnd(23))}  ${rest}`;
}
