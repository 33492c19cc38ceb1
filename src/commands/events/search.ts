import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import { formatPosition } from '../../events/event-position.ts';
import { summarizeEvent } from '../../events/event-summary.ts';
import { titleOfEvent } from '../../events/event-words.ts';
import type { Db } from '../../store/server/database.ts';
import type { EventFilter } from '../../store/events/event-filter.ts';
import type { EventPosition } from '../../store/events/event-pages.ts';
import { readSlice } from '../../store/events/read-events.ts';
import { openLog } from '../../store/log/read-log.ts';
import { searchEvents } from '../../store/events/search-events.ts';
import { viewColumns, viewEvent, type StoredEvent } from '../../events/stored-event.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import { note, print, printJsonLine, printTable } from '../shared/output.ts';

/** Time between two queries while following: new events appear within it. */
const TAIL_INTERVAL_MS = 400;

const TAIL_PAGE = 1_000;

const COLUMNS = ['time', 'event', 'type', 'source', 'user or client', 'code', 'summary'];

/** `events search`: prints one page of events, newest first, as a table or as JSON lines. */
export async function printSearch(
  db: Db,
  filter: EventFilter,
  page: { readonly limit: number; readonly after?: EventPosition | undefined },
  asJson: boolean,
): Promise<void> {
  const { events, next } = await searchEvents(db, ALL_SOURCES, filter, page);
  if (asJson) {
    for (const event of events) printJsonLine(toJson(event));
    return;
  }
  if (events.length === 0) {
    print('no events match');
    return;
  }
  await printTable(COLUMNS, events.map(toCells));
  const last = next ?? (events.length === page.limit ? events.at(-1) : undefined);
  if (last !== undefined) {
    note(`for older events, repeat the command with --after ${formatPosition(last)}`);
  }
}

/** `events tail`: prints events as they are stored, until the signal fires. */
export async function followEvents(db: Db, filter: EventFilter, asJson: boolean, signal: AbortSignal) {
  const log = openLog(db);
  let position = (await log.range()).next;
  while (!signal.aborted) {
    const { events, end, isFull } = await readSlice(log, ALL_SOURCES, position, TAIL_PAGE, filter);
    for (const event of events) {
      if (asJson) printJsonLine(toJson(event));
      else print(toLine(event));
    }
    position = end ?? position;
    if (!isFull) await sleep(TAIL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Of the longest title. */
const TITLE_WIDTH = 28;

const toJson = (event: StoredEvent) => ({ ...viewColumns(event), payload: event.payload });

function toCells(event: StoredEvent): string[] {
  const { user, code, clientMac, apMac } = viewEvent(event);
  const summary = [summarizeEvent(event), apMac === null ? '' : `at ${apMac}`];
  return [
    event.occurredAt,
    titleOfEvent(event),
    event.messageType,
    event.source,
    user ?? clientMac ?? '',
    code ?? '',
    summary.filter((part) => part !== '').join(' · '),
  ];
}

function toLine(event: StoredEvent): string {
  const [time = '', title = '', type = '', ...others] = toCells(event).map(revealOnLine);
  const rest = others.filter((cell) => cell !== '').join('  ');
  return `${styleText('dim', time)}  ${styleText('cyan', title.padEnd(TITLE_WIDTH))}  ${styleText('dim', type.padEnd(23))}  ${rest}`;
}
