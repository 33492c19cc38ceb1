import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { bytesOf, numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import { MAX_DEFAULT_COUNT } from '../../store/storage-size.ts';
import type { Overview, Storage } from './overview-schemas.ts';
import { facts, partOf } from './part.ts';

/** What the database takes, by family and by month, and what the disk has left. */
export function storagePanel(overview: Overview): Content {
  return html`
    <h2>Database and disk</h2>
    ${partOf(overview, 'disk', overview.free_disk_bytes, (free) =>
      facts([['free on the disk', bytesOf(free)]]),
    )}
    ${partOf(overview, 'storage', overview.storage, describeStorage)}
  `;
}

function describeStorage({
  database_bytes: bytes,
  default_rows: outside,
  families,
  partitions,
}: Storage): Content {
  return html`
    ${facts([
      ['database', bytesOf(bytes)],
      [
        'outside every month',
        outside === 0 ? 'no event' : `${outsideOf(outside)} events, in default partitions`,
      ],
    ])}
    ${tableOf(
      'The tables of events',
      [
        { heading: 'Family', cell: ({ family }) => family },
        { heading: 'Rows, about', kind: 'number', cell: ({ rows }) => rowsOf(rows) },
        { heading: 'Size', kind: 'number', cell: (line) => bytesOf(line.bytes) },
        { heading: 'Oldest month', cell: (line) => line.oldest_month ?? 'none' },
        { heading: 'Newest month', cell: (line) => line.newest_month ?? 'none' },
      ],
      families,
    )}
    <details>
      <summary>${numberOf(partitions.length)} partitions</summary>
      ${tableOf(
        'Partitions',
        [
          { heading: 'Partition', cell: ({ partition }) => partition },
          {
            heading: 'Rows, about',
            kind: 'number',
            cell: ({ rows }) => rowsOf(rows),
          },
          { heading: 'Size', kind: 'number', cell: (line) => bytesOf(line.bytes) },
        ],
        partitions,
      )}
    </details>
  `;
}

const rowsOf = (rows: number | null) => (rows === null ? 'not known yet' : numberOf(rows));

const outsideOf = (rows: number) =>
  rows > MAX_DEFAULT_COUNT ? `more than ${numberOf(MAX_DEFAULT_COUNT)}` : numberOf(rows);
