import { formatBytes, formatCount, formatDuration } from '../../units.ts';
import { MAX_DEFAULT_COUNT } from '../../store/storage-size.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { badge, timeOf } from '../html/values.ts';
import type { Overview, ProcessLine, Storage } from './overview-schemas.ts';
import { facts, partOf, sinceOf } from './part.ts';

/** How fast deliveries are answered. */
export function answersPanel(overview: Overview): Content {
  return html`
    <h2>Answers to senders</h2>
    ${partOf(
      overview,
      'processes',
      overview.answers,
      (answers) => html`
        <p class="figure">${rateOf(answers.per_second)}<span class="unit"> deliveries/s</span></p>
        ${facts([
          ['half within', millisecondsOf(answers.p50_ms)],
          ['99 % within', millisecondsOf(answers.p99_ms)],
          ['refused', `${rateOf(answers.refused_per_second)}/s`],
          ['processes', formatCount(answers.processes)],
        ])}
      `,
      'No process that takes deliveries has reported.',
    )}
  `;
}

/** What waits to be stored, in the queue and on disks. */
export function queuePanel(overview: Overview): Content {
  return html`
    <h2>Queue and spool</h2>
    ${partOf(
      overview,
      'queue',
      overview.queue,
      (queue) => html`
        <p class="figure">${formatCount(queue.waiting)}<span class="unit"> jobs waiting</span></p>
        ${facts([
          ['oldest', secondsOf(queue.oldest_waiting_seconds, 'none waits')],
          ['being stored', formatCount(queue.active)],
          ['after a failure', `${formatCount(queue.delayed)} rest, ${formatCount(queue.failed)} given up`],
        ])}
      `,
    )}
    ${partOf(
      overview,
      'processes',
      overview.spool,
      ({ bytes, segments, oldest_seconds: oldest }) =>
        facts([
          [
            'in the spool',
            segments === 0
              ? 'nothing'
              : `${formatBytes(bytes)} in ${formatCount(segments)} files, the oldest for ${formatDuration(oldest)}`,
          ],
        ]),
      'No process has a spool.',
    )}
  `;
}

/** How fast events are stored. */
export function storingPanel(overview: Overview): Content {
  return html`
    <h2>Storing</h2>
    ${partOf(
      overview,
      'processes',
      overview.storing,
      (storing) => html`
        <p class="figure">${rateOf(storing.events_per_second)}<span class="unit"> events/s</span></p>
        ${facts([
          [
            'transactions',
            `half within ${millisecondsOf(storing.p50_ms)}, 99 % within ${millisecondsOf(storing.p99_ms)}`,
          ],
          ['processes', formatCount(storing.processes)],
        ])}
      `,
      'No process that stores has reported.',
    )}
  `;
}

/** The processes of the last day. */
export function processesPanel(overview: Overview): Content {
  const columns: Column<ProcessLine>[] = [
    {
      heading: 'Process',
      kind: 'nowrap',
      cell: ({ role, host, pid }) => html`${role} <span class="dim">${host} ${pid}</span>`,
    },
    {
      heading: 'State',
      cell: ({ is_alive: isAlive }) => (isAlive ? badge('good', 'alive') : badge('bad', 'no sign of life')),
    },
    { heading: 'Version', cell: ({ version }) => version },
    { heading: 'Memory', kind: 'number', cell: (line) => known(line.memory_bytes, formatBytes) },
    {
      heading: 'CPU',
      kind: 'number',
      cell: (line) => known(line.cpu_percent, (cpu) => `${Math.round(cpu)} %`),
    },
    { heading: 'Lag', kind: 'number', cell: (line) => known(line.event_loop_delay_p99_ms, millisecondsOf) },
    { heading: 'Started (UTC)', cell: (line) => timeOf(line.started_at) },
    { heading: 'Last sign of life (UTC)', cell: (line) => sinceOf(overview, line.seen_at) },
  ];
  return html`
    <h2>Processes</h2>
    ${partOf(overview, 'processes', overview.processes, (processes) =>
      processes.length === 0
        ? html`<p class="dim">No process has reported in the last day.</p>`
        : tableOf('Processes of the last day', columns, processes),
    )}
  `;
}

const known = (value: number | null, show: (value: number) => string): Content =>
  value === null ? html`<span class="dim">not known</span>` : show(value);

const rateOf = (perSecond: number) => formatCount(Number(perSecond.toPrecision(perSecond >= 100 ? 3 : 2)));

const millisecondsOf = (ms: number) => `${formatCount(Number(ms.toPrecision(ms >= 100 ? 3 : 2)))} ms`;

const secondsOf = (seconds: number | null, none: string) => (seconds === null ? none : formatDuration(seconds));

/** What the database takes, by family and by month, and what the disk has left. */
export function storagePanel(overview: Overview): Content {
  return html`
    <h2>Database and disk</h2>
    ${partOf(overview, 'disk', overview.free_disk_bytes, (free) =>
      facts([['free on the disk', formatBytes(free)]]),
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
      ['database', formatBytes(bytes)],
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
        { heading: 'Size', kind: 'number', cell: (line) => formatBytes(line.bytes) },
        { heading: 'Oldest month', cell: (line) => line.oldest_month ?? 'none' },
        { heading: 'Newest month', cell: (line) => line.newest_month ?? 'none' },
      ],
      families,
    )}
    <details>
      <summary>${formatCount(partitions.length)} partitions</summary>
      ${tableOf(
        'Partitions',
        [
          { heading: 'Partition', cell: ({ partition }) => partition },
          {
            heading: 'Rows, about',
            kind: 'number',
            cell: ({ rows }) => rowsOf(rows),
          },
          { heading: 'Size', kind: 'number', cell: (line) => formatBytes(line.bytes) },
        ],
        partitions,
      )}
    </details>
  `;
}

const rowsOf = (rows: number | null) => (rows === null ? 'not known yet' : formatCount(rows));

const outsideOf = (rows: number) =>
  rows > MAX_DEFAULT_COUNT ? `more than ${formatCount(MAX_DEFAULT_COUNT)}` : formatCount(rows);
