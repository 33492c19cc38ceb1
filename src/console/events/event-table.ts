import type { VNode } from 'preact';
import type { MessageType } from '../../domain.ts';
import { viewEvent } from '../../store/event-view.ts';
import type { StoredEvent } from '../../store/read-events.ts';
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

const GENERAL: readonly Column<StoredEvent>[] = [
  TIME,
  { heading: 'Type', cell: ({ messageType }) => messageType },
  {
    heading: 'User',
    cell: ({ columns }) => cellOf('user_name', columns['user_name'] ?? columns['username']),
  },
  { heading: 'Client', kind: 'nowrap', cell: (event) => cellOf('client_mac', viewEvent(event).clientMac) },
  { heading: 'Access point', kind: 'nowrap', cell: (event) => cellOf('ap_mac', viewEvent(event).apMac) },
  { heading: 'Summary', kind: 'wrap', cell: summaryOf },
  { heading: 'Source', cell: ({ source }) => source },
];

/** Events as a table, each with a link to its page: of one message type its own columns, else what all have. */
export function eventTable(events: readonly StoredEvent[], type: MessageType | undefined): VNode {
  return tableOf('Events, newest first', type === undefined ? GENERAL : columnsOf(type), events);
}

const columnsOf = (type: MessageType): readonly Column<StoredEvent>[] => [
  TIME,
  ...LEADING_COLUMNS[type].map((column): Column<StoredEvent> => ({
    heading: column,
    cell: ({ columns }) => cellOf(column, columns[column]),
    ...kindOf(column),
  })),
  { heading: 'source', cell: ({ source }) => source },
];

function kindOf(column: string): Pick<Column<StoredEvent>, 'kind'> {
  if (isNumber(column)) return { kind: 'number' };
  return column === 'description' ? { kind: 'wrap' } : {};
}
