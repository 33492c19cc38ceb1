import type { Config } from '../../config/config.ts';
import type { QueueMeasure } from '../../queue/batch-queue.ts';
import type { Db } from '../../store/server/database.ts';
import { listProcesses } from '../../store/server/processes.ts';
import { measureStorage } from '../../store/server/storage-size.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { toAnswer, jsonRoute } from '../api/route.ts';
import { VIEW_WHOLE } from '../access/access.ts';
import type { Area } from '../area.ts';
import { loadParts, partOf } from '../page-parts.ts';
import { html, type Content } from '../html/html.ts';
import { badge, freshnessOf, livePart, sinceOf, timeOf } from '../html/elements.ts';
import {
  processLine,
  sumAnswers,
  sumSpools,
  sumStorage,
  sumStoring,
  processSchema,
  systemSchema,
  type System,
  type ProcessLine,
  type Storage,
} from './system-figures.ts';
import { MAX_DEFAULT_COUNT } from '../../store/partitions/partitioned-tables.ts';
import {
  countOf,
  formatBytes,
  formatCount,
  formatDuration,
  formatMilliseconds,
} from '../../lib/text/units.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
import { factsOf, type Fact } from '../browser/shared/facts.ts';

export interface SystemOptions {
  readonly db: Db;
  /** Throws if the queue does not answer. */
  readonly queue: () => Promise<QueueMeasure>;
  /** Free bytes on the disk of the data directory. */
  readonly freeDisk: () => Promise<number>;
  /** How long events are kept, and when they are archived. */
  readonly keeping: () => Pick<Config, 'retentionMonths'> & {
    readonly archive: Pick<Config['archive'], 'afterMonths'>;
  };
}

export function systemArea(options: SystemOptions): Area {
  return {
    tag: 'system',
    routes: [
      jsonRoute({
        route: 'GET /system',
        summary: 'get the figures of processes, queue, database and disk',
        description:
          'Also answers while components are unavailable: these are null, and `problems` has the reasons.',
        ...VIEW_WHOLE,
        answer: systemSchema,
        work: () => readSystem(options),
      }),
      jsonRoute({
        route: 'GET /processes',
        summary: 'list the processes of the last day, running ones first',
        ...VIEW_WHOLE,
        answer: wholeSchema(processSchema),
        work: async () => whole((await listProcesses(options.db)).map(processLine)),
      }),
    ],
    pages: [
      {
        path: '/system',
        entry: { label: 'System', group: 'Administer', icon: 'system' },
        ...VIEW_WHOLE,
        async render() {
          const system = await readSystem(options);
          return {
            title: 'System',
            modules: ['pages/overview.ts'],
            beside: freshnessOf(system.at),
            content: layOut(system, options.keeping()),
          };
        },
      },
    ],
  };
}

async function readSystem({ db, ...options }: SystemOptions): Promise<System> {
  const at = new Date();
  const { read, problems } = loadParts();
  const [queue, free, processes, storage] = await Promise.all([
    read('queue', options.queue),
    read('disk', options.freeDisk),
    read('processes', () => listProcesses(db)),
    read('storage', () => measureStorage(db)),
  ]);
  return {
    at,
    answers: processes && sumAnswers(processes),
    storing: processes && sumStoring(processes),
    queue: queue && toAnswer(queue),
    spool: processes && sumSpools(processes),
    processes: processes && processes.map(processLine),
    storage: storage && sumStorage(storage),
    free_disk_bytes: free,
    problems: [...problems],
  };
}

const layOut = (system: System, keeping: ReturnType<SystemOptions['keeping']>): Content => html`
  <div class="panels">
    ${livePart('answers', [html`<h2>Ingest</h2>`, answersOf(system)], 'panel')}
    ${livePart('queue', [html`<h2>Queue and spool</h2>`, queueOf(system), spoolOf(system)], 'panel')}
    ${livePart('storing', [html`<h2>Storing</h2>`, storingOf(system)], 'panel')}
  </div>
  ${livePart('processes', processesPanel(system), 'panel')}
  ${livePart('storage', [html`<h2>Database and disk</h2>`, diskOf(system), storageOf(system)], 'panel')}
  ${livePart('keeping', system.storage && keepingPanel(system.storage, keeping), 'panel')}
`;

/** The figure of a panel, and what belongs to it. */
const figureWith = (figure: string, unit: string, facts: readonly Fact[]): Content => html`
  <p class="figure">${figure}<span class="unit"> ${unit}</span></p>
  ${factsOf(facts)}
`;

const answersOf = ({ problems, answers }: System): Content =>
  partOf(
    problems,
    'processes',
    answers,
    (sums) =>
      figureWith(rateOf(sums.per_second), 'deliveries/s', [
        ['latency', latencyOf(sums)],
        ['rejected', `${rateOf(sums.refused_per_second)}/s`],
        ['processes', formatCount(sums.processes)],
      ]),
    'No ingest process has reported.',
  );

const queueOf = ({ problems, queue }: System): Content =>
  partOf(problems, 'queue', queue, ({ oldest_waiting_seconds: oldest, ...jobs }) =>
    figureWith(formatCount(jobs.waiting), 'jobs waiting', [
      ['oldest', oldest === null ? 'queue empty' : formatDuration(oldest)],
      ['active', formatCount(jobs.active)],
      ['delayed', `${formatCount(jobs.delayed)} (to be retried, or being stored by another process)`],
      ['failed', formatCount(jobs.failed)],
    ]),
  );

const spoolOf = ({ problems, spool }: System): Content =>
  partOf(
    problems,
    'processes',
    spool,
    ({ bytes, segments, oldest_seconds: oldest }) => {
      const files = `${formatBytes(bytes)} in ${countOf(segments, 'file')}, oldest ${formatDuration(oldest)}`;
      return factsOf([['spool', segments === 0 ? 'empty' : files]]);
    },
    'No process has a spool.',
  );

const storingOf = ({ problems, storing }: System): Content =>
  partOf(
    problems,
    'processes',
    storing,
    (sums) =>
      figureWith(rateOf(sums.events_per_second), 'events/s', [
        ['transactions', latencyOf(sums)],
        ['processes', formatCount(sums.processes)],
      ]),
    'No worker process has reported.',
  );

function processesPanel(system: System): Content {
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
    numberColumn('Memory', (line) => known(line.memory_bytes, formatBytes)),
    numberColumn('CPU', (line) => known(line.cpu_percent, (cpu) => `${Math.round(cpu)} %`)),
    numberColumn('Event loop p99', (line) => known(line.event_loop_delay_p99_ms, formatMilliseconds)),
    { heading: { time: 'Started' }, cell: (line) => timeOf(line.started_at) },
    { heading: { time: 'Last report' }, cell: (line) => sinceOf(system.at, line.seen_at) },
  ];
  return html`
    <h2>Processes</h2>
    ${partOf(system.problems, 'processes', system.processes, (processes) =>
      tableOf('Processes of the last day', columns, processes, 'No process has reported in the last day.'),
    )}
  `;
}

const known = (value: number | null, show: (value: number) => string): Content =>
  value === null ? html`<span class="dim">unknown</span>` : show(value);

const rateOf = (perSecond: number) => formatCount(Number(perSecond.toPrecision(perSecond >= 100 ? 3 : 2)));

const latencyOf = ({ p50_ms: p50, p99_ms: p99 }: { readonly p50_ms: number; readonly p99_ms: number }) =>
  `p50 ${formatMilliseconds(p50)}, p99 ${formatMilliseconds(p99)}`;

const diskOf = ({ problems, free_disk_bytes: bytes }: System): Content =>
  partOf(problems, 'disk', bytes, (free) => factsOf([['free disk space', formatBytes(free)]]));

/** How long events are kept, and what the archive would take out of the database, by the names of the settings. */
function keepingPanel(
  { partitions }: Storage,
  { retentionMonths, archive: { afterMonths: after } }: ReturnType<SystemOptions['keeping']>,
): Content {
  const end = new Date();
  end.setUTCMonth(end.getUTCMonth() - (after ?? 1), 1);
  const before = end.toISOString().slice(0, 'YYYY-MM'.length);
  const bytes = partitions
    .filter(({ month }) => month !== null && month < before)
    .reduce((sum, partition) => sum + partition.bytes, 0);
  const facts: readonly Fact[] = [
    ...Object.entries(retentionMonths).map(([name, months]): Fact => [
      html`<code>RETENTION_${name.toUpperCase()}_MONTHS</code>`,
      months === undefined ? 'not set: everything is kept' : countOf(months, 'month'),
    ]),
    [
      html`<code>ARCHIVE_AFTER_MONTHS</code>`,
      `${after === undefined ? 'not set' : countOf(after, 'month')}. The months before ${before} take ${formatBytes(bytes)} in the database, and would take about a tenth in the archive.`,
    ],
    ['To change them', 'set them in the environment or .env, and reload'],
  ];
  return html`<h2>Retention and archive</h2>
    ${factsOf(facts)}`;
}

const ARCHIVED_COLUMNS: readonly Column<Storage['archived_months'][number]>[] = [
  { heading: 'Table', cell: ({ table }) => table },
  { heading: 'Archived month', cell: ({ month }) => month },
  numberColumn('Events', ({ rows }) => formatCount(rows)),
  numberColumn('Files', ({ bytes }) => formatBytes(bytes)),
  numberColumn('In the database', (line) => formatBytes(line.table_bytes)),
];

const PARTITION_COLUMNS: readonly Column<Storage['partitions'][number]>[] = [
  { heading: 'Family', cell: ({ family }) => family },
  { heading: 'Month', cell: ({ month }) => month ?? 'default' },
  { heading: 'Partition', cell: ({ partition }) => partition },
  numberColumn('Rows (estimate)', ({ rows }) => (rows === null ? 'unknown yet' : formatCount(rows))),
  numberColumn('Size', ({ bytes }) => formatBytes(bytes)),
];

const storageOf = ({ problems, storage }: System): Content =>
  partOf(problems, 'storage', storage, ({ archived_months: archived, ...database }) => [
    factsOf([
      ['database', formatBytes(database.database_bytes)],
      ['default partition', outsideOf(database.default_rows)],
    ]),
    tableOf('Partitions', PARTITION_COLUMNS, database.partitions),
    archived.length > 0 && tableOf('Archived months', ARCHIVED_COLUMNS, archived),
  ]);

function outsideOf(rows: number): string {
  if (rows === 0) return 'empty';
  return rows > MAX_DEFAULT_COUNT ? `over ${countOf(MAX_DEFAULT_COUNT, 'event')}` : countOf(rows, 'event');
}
