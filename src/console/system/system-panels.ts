import { MAX_DEFAULT_COUNT } from '../../store/partitioned-tables.ts';
import { countOf, formatBytes, formatCount, formatDuration, formatMilliseconds } from '../../units.ts';
import { html, type Content } from '../html/html.ts';
import { badge, sinceOf, timeOf } from '../html/elements.ts';
import { tableOf, type Column } from '../browser/table.js';
import { factsOf } from '../browser/facts.js';
import { partOf } from '../gather.ts';
import type { ProcessLine, Storage, System } from './system-schemas.ts';

/** The rate and latency of answers to deliveries. */
export function answersPanel(system: System): Content {
  return html`
    <h2>Ingest</h2>
    ${partOf(
      system.problems,
      'processes',
      system.answers,
      (answers) => html`
        <p class="figure">${rateOf(answers.per_second)}<span class="unit"> deliveries/s</span></p>
        ${factsOf([
          ['latency', latencyOf(answers)],
          ['rejected', `${rateOf(answers.refused_per_second)}/s`],
          ['processes', formatCount(answers.processes)],
        ])}
      `,
      'No ingest process has reported.',
    )}
  `;
}

/** The jobs in the queue, and the deliveries in the spool. */
export function queuePanel(system: System): Content {
  return html`
    <h2>Queue and spool</h2>
    ${partOf(
      system.problems,
      'queue',
      system.queue,
      (queue) => html`
        <p class="figure">${formatCount(queue.waiting)}<span class="unit"> jobs waiting</span></p>
        ${factsOf([
          [
            'oldest',
            queue.oldest_waiting_seconds === null
              ? 'queue empty'
              : formatDuration(queue.oldest_waiting_seconds),
          ],
          ['active', formatCount(queue.active)],
          ['after errors', `${formatCount(queue.delayed)} delayed, ${formatCount(queue.failed)} failed`],
        ])}
      `,
    )}
    ${partOf(
      system.problems,
      'processes',
      system.spool,
      ({ bytes, segments, oldest_seconds: oldest }) =>
        factsOf([
          [
            'spool',
            segments === 0
              ? 'empty'
              : `${formatBytes(bytes)} in ${countOf(segments, 'file')}, oldest ${formatDuration(oldest)}`,
          ],
        ]),
      'No process has a spool.',
    )}
  `;
}

/** The rate and latency of storing events. */
export function storingPanel(system: System): Content {
  return html`
    <h2>Storing</h2>
    ${partOf(
      system.problems,
      'processes',
      system.storing,
      (storing) => html`
        <p class="figure">${rateOf(storing.events_per_second)}<span class="unit"> events/s</span></p>
        ${factsOf([
          ['transactions', latencyOf(storing)],
          ['processes', formatCount(storing.processes)],
        ])}
      `,
      'No worker process has reported.',
    )}
  `;
}

/** The processes of the last day. */
export function processesPanel(system: System): Content {
  const columns: Column<ProcessLine>[] = [
    {
      heading: 'Process',
      kind: 'nowrap',
      cell: ({ role, host, pid }) => html`${role} <span class="dim">${host} ${pid}</span>`,
    },
    {
      heading: 'State',
      cell: ({ is_alive: isAlive }) => (isAlive ? badge('good', 'running') : badge('bad', 'not reporting')),
    },
    { heading: 'Version', cell: ({ version }) => version },
    { heading: 'Memory', kind: 'number', cell: (line) => known(line.memory_bytes, formatBytes) },
    {
      heading: 'CPU',
      kind: 'number',
      cell: (line) => known(line.cpu_percent, (cpu) => `${Math.round(cpu)} %`),
    },
    {
      heading: 'Event loop p99',
      kind: 'number',
      cell: (line) => known(line.event_loop_delay_p99_ms, formatMilliseconds),
    },
    { heading: { time: 'Started' }, cell: (line) => timeOf(line.started_at) },
    { heading: { time: 'Last report' }, cell: (line) => sinceOf(system.at, line.seen_at) },
  ];
  return html`
    <h2>Processes</h2>
    ${partOf(system.problems, 'processes', system.processes, (processes) =>
      processes.length === 0
        ? html`<p class="dim">No process has reported in the last day.</p>`
        : tableOf('Processes of the last day', columns, processes),
    )}
  `;
}

const known = (value: number | null, show: (value: number) => string): Content =>
  value === null ? html`<span class="dim">unknown</span>` : show(value);

const rateOf = (perSecond: number) => formatCount(Number(perSecond.toPrecision(perSecond >= 100 ? 3 : 2)));

const latencyOf = ({ p50_ms: p50, p99_ms: p99 }: { readonly p50_ms: number; readonly p99_ms: number }) =>
  `p50 ${formatMilliseconds(p50)}, p99 ${formatMilliseconds(p99)}`;

/** The size of the database and its partitions, and the free disk space. */
export function storagePanel(system: System): Content {
  return html`
    <h2>Database and disk</h2>
    ${partOf(system.problems, 'disk', system.free_disk_bytes, (free) =>
      factsOf([['free disk space', formatBytes(free)]]),
    )}
    ${partOf(system.problems, 'storage', system.storage, describeStorage)}
  `;
}

function describeStorage(storage: Storage): Content {
  const { database_bytes: bytes, default_rows: outside, partitions } = storage;
  return html`
    ${factsOf([
      ['database', formatBytes(bytes)],
      ['default partition', outside === 0 ? 'empty' : outsideOf(outside)],
    ])}
    ${tableOf(
      'Partitions',
      [
        { heading: 'Family', cell: ({ family }) => family },
        { heading: 'Month', cell: ({ month }) => month ?? 'default' },
        { heading: 'Partition', cell: ({ partition }) => partition },
        { heading: 'Rows (estimate)', kind: 'number', cell: ({ rows }) => rowsOf(rows) },
        { heading: 'Size', kind: 'number', cell: (line) => formatBytes(line.bytes) },
      ],
      partitions,
    )}
  `;
}

const rowsOf = (rows: number | null) => (rows === null ? 'unknown yet' : formatCount(rows));

const outsideOf = (rows: number) =>
  rows > MAX_DEFAULT_COUNT ? `over ${countOf(MAX_DEFAULT_COUNT, 'event')}` : countOf(rows, 'event');
