import type { VNode } from 'preact';
import type { Quarantined } from '../../store/search-quarantine.ts';
import { badge } from '../html/badge.ts';
import { html } from '../html/html.ts';
import { bytesOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { timeOf } from '../html/time.ts';

/** The page of something in quarantine. */
export const quarantinedAddress = (id: string) => `/quarantine/${id}`;

/** What became of something in quarantine. */
export function stateBadge({ resolution }: Pick<Quarantined, 'resolution'>): VNode {
  switch (resolution) {
    case null:
      return badge('warn', 'open');
    case 'replayed':
      return badge('good', 'replayed');
    case 'discarded':
      return badge('plain', 'discarded');
  }
}

const COLUMNS: readonly Column<Quarantined>[] = [
  {
    heading: 'Received (UTC)',
    cell: (item) => html`<a href=${quarantinedAddress(item.quarantine_id)}>${timeOf(item.received_at)}</a>`,
  },
  { heading: 'State', cell: stateBadge },
  { heading: 'Type', cell: (item) => item.message_type },
  { heading: 'Source', cell: (item) => item.source },
  { heading: 'Size', kind: 'number', cell: (item) => bytesOf(item.bytes) },
  { heading: 'Reason', kind: 'wrap', cell: (item) => item.reason },
];

/** What lies in quarantine as a table; `first` is a column before the others. */
export function quarantineTable(
  items: readonly Quarantined[],
  first: readonly Column<Quarantined>[] = [],
): VNode {
  return tableOf('In quarantine, newest first', [...first, ...COLUMNS], items);
}
