import type { VNode } from 'preact';
import type { MessageType } from '../../domain.ts';
import { viewEvent } from '../../store/stored-event.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { eventAddress } from '../addresses.ts';
import { html } from '../html/html.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { timeOf } from '../html/time.ts';
import { cellOf, isNumber, LEADING_COLUMNS, summaryOf } from './event-cells.ts';

const TIME: Column<StoredEvent> = {
  heading: 'Time (UTC)',
  cell: (event) => html`<a href=${eventAddress(event)}>${timeOf(event.occurredAt)}</a>`,
};

/** What all types have: who, where, what. */
export const GENERAL_COLUMNS: readonly Column<StoredEvent>[] = [
  { heading: 'Type', cell: ({ messageType }) => messageType },
  {
    heading: 'User',
    cell: ({ columns }) => cellOf('user_name', columns['user_name'] ?? columns['username']),
  },
  { heading: 'Client', kind: 'nowrap', cell: (event) => cellOf('client_mac', viewEvent(event).clientMac) },
  { heading: 'Access point', kind: 'nowrap', cell: (event) => cellOf('ap_mac', viewEvent(event).apMac) },
  { heading: 'Summary', kind: 'wrap', cell: (event) => shorten(summaryOf(event)) },
];

/** Events as a table, each with a link to its page: of one message type its own columns, else what all have. */
export function eventTable(events: readonly StoredEvent[], type: MessageType | undefined): VNode {
  const columns = type === undefined ? GENERAL_COLUMNS : LEADING_COLUMNS[type].map(typedColumn);
  return tableOf('Events, newest first', [TIME, ...columns, SOURCE], events);
}

const SOURCE: Column<StoredEvent> = { heading: 'Source', cell: ({ source }) => source };

const typedColumn = (column: string): Column<StoredEvent> => ({
  heading: column,
  cell: ({ columns }) => cellOf(column, shorten(columns[column])),
  ...kindOf(column),
});

function kindOf(column: string): Pick<Column<StoredEvent>, 'kind'> {
  if (isNumber(column)) return { kind: 'number' };
  return column === 'description' ? { kind: 'wrap' } : {};
}

/** More characters than these are read on the event's own page. */
const LONGEST = 300;

function shorten<T>(value: T): T | string {
  return typeof value === 'string' && value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value;
}
