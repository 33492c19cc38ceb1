interface Panel {
  readonly title: string;
  readonly unit: string;
  /** The expressions, each with the text of its legend. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
}

/** The samples of a metric in the chosen job. */
const of = (metric: string, labels = '') => `${metric}{job="$job"${labels}}`;

const rateOf = (metric: string, by: string) => `sum by (${by}) (rate(${of(metric)}[$__rate_interval]))`;

/** What every process exports for the whole service, once. */
const maxOf = (metric: string, by: string, labels = '') => `max by (${by}) (${of(metric, labels)})`;

const p99 = (metric: string) =>
  `histogram_quantile(0.99, sum by (le, instance) (rate(${of(`${metric}_bucket`)}[$__rate_interval])))`;

const TYPE = '{{source}} {{message_type}}';

/** The panels by row. docs/metrics.md explains every metric. */
const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Receiving: [
    {
      title: 'Deliveries',
      unit: 'reqps',
      queries: [[rateOf('xiq_sink_deliveries_total', 'source, message_type'), TYPE]],
    },
    {
      title: 'Rejected requests',
      unit: 'reqps',
      queries: [[rateOf('xiq_sink_refused_total', 'status'), '{{status}}']],
    },
    {
      title: 'Answer time, p99',
      unit: 's',
      queries: [[p99('xiq_sink_answer_duration_seconds'), '{{instance}}']],
    },
    {
      title: 'Unusually quiet',
      unit: 'short',
      queries: [[maxOf('xiq_sink_silence_unusual', 'source, message_type'), TYPE]],
    },
  ],
  Storing: [
    {
      title: 'Stored events',
      unit: 'cps',
      queries: [[rateOf('xiq_sink_events_stored_total', 'message_type'), '{{message_type}}']],
    },
    {
      title: 'Jobs in the queue',
      unit: 'short',
      queries: [[maxOf('xiq_sink_queue_jobs', 'state'), '{{state}}']],
    },
    {
      title: 'Oldest job, and transaction p99',
      unit: 's',
      queries: [
        [`max(${of('xiq_sink_queue_oldest_job_age_seconds')})`, 'oldest job'],
        [p99('xiq_sink_store_duration_seconds'), 'p99 {{instance}}'],
      ],
    },
    {
      title: 'Duplicates and quarantine',
      unit: 'cps',
      queries: [
        [rateOf('xiq_sink_duplicates_total', 'source'), 'duplicates {{source}}'],
        [rateOf('xiq_sink_quarantined_total', 'source'), 'quarantined {{source}}'],
      ],
    },
  ],
  Forwarding: [
    {
      title: 'Sent events',
      unit: 'cps',
      queries: [[rateOf('xiq_sink_forward_sent_total', 'destination'), '{{destination}}']],
    },
    {
      title: 'Lag',
      unit: 's',
      queries: [[maxOf('xiq_sink_forward_behind_seconds', 'destination'), '{{destination}}']],
    },
    {
      title: 'Backlog',
      unit: 'short',
      queries: [[maxOf('xiq_sink_forward_behind_events', 'destination'), '{{destination}}']],
    },
    {
      title: 'Failed attempts, rejected events, refused',
      unit: 'short',
      queries: [
        [rateOf('xiq_sink_forward_failures_total', 'destination'), 'failures per second {{destination}}'],
        [maxOf('xiq_sink_forward_rejected', 'destination'), 'rejected {{destination}}'],
        [maxOf('xiq_sink_forward_state', 'destination', ',state="refused"'), 'refused {{destination}}'],
      ],
    },
  ],
  Sealing: [
    {
      title: 'Age of what is not sealed',
      unit: 's',
      queries: [[`max(${of('xiq_sink_seal_behind_seconds')})`, 'age']],
    },
    {
      title: 'Events not sealed',
      unit: 'short',
      queries: [[`max(${of('xiq_sink_seal_behind_events')})`, 'events']],
    },
    {
      title: 'Rows that differ from the seal',
      unit: 'short',
      queries: [[maxOf('xiq_sink_verify_findings', 'state'), '{{state}}']],
    },
    {
      title: 'Since all rows were verified',
      unit: 's',
      queries: [[`max(${of('xiq_sink_verify_age_seconds')})`, 'age']],
    },
  ],
  Coverage: [
    {
      title: 'Quarters of an hour, last 24 h',
      unit: 'short',
      queries: [
        [
          `sum by (state) (max by (source, message_type, state) (${of('xiq_sink_coverage_quarters')}))`,
          '{{state}}',
        ],
      ],
    },
    {
      title: 'Does not add up',
      unit: 'short',
      queries: [[`max(${of('xiq_sink_conservation_unbalanced')})`, 'sources and types']],
    },
    {
      title: 'Differences of subscriptions',
      unit: 'short',
      queries: [[maxOf('xiq_sink_subscriptions_drift', 'source'), '{{source}}']],
    },
    {
      title: 'Events from the future',
      unit: 'short',
      queries: [[maxOf('xiq_sink_events_ahead', 'source, message_type'), TYPE]],
    },
  ],
  Disk: [
    {
      title: 'Free space for DATA_DIR',
      unit: 'bytes',
      queries: [[of('xiq_sink_data_dir_free_bytes'), '{{instance}}']],
    },
    { title: 'Spool', unit: 'bytes', queries: [[of('xiq_sink_spool_bytes'), '{{instance}}']] },
    {
      title: 'Oldest file in the spool',
      unit: 's',
      queries: [[of('xiq_sink_spool_oldest_age_seconds'), '{{instance}}']],
    },
    {
      title: 'Age of the backup',
      unit: 's',
      queries: [[`max(${of('xiq_sink_backup_age_seconds')})`, 'age']],
    },
  ],
};

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
/** The grid has 24 columns. */
const WIDTH = 6;
const HEIGHT = 7;

/** A dashboard for Grafana 10 or newer, with a row for each part of the path of an event. */
export function grafanaDashboard(): object {
  const panels = Object.entries(ROWS).flatMap(([row, inRow], index) => {
    const y = index * (HEIGHT + 1);
    const heading = {
      type: 'row',
      title: row,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
      panels: [],
    };
    return [heading, ...inRow.map((panel, at) => panelOf(panel, at * WIDTH, y + 1))];
  });
  return {
    uid: 'xiq-sink',
    title: 'xiq-sink',
    tags: ['xiq-sink'],
    schemaVersion: 39,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        {
          name: 'job',
          label: 'Job',
          type: 'query',
          datasource: DATASOURCE,
          query: 'label_values(xiq_sink_build_info, job)',
          refresh: 1,
        },
      ],
    },
    panels: panels.map((panel, index) => ({ id: index + 1, ...panel })),
  };
}

const panelOf = ({ title, unit, queries }: Panel, x: number, y: number) => ({
  type: 'timeseries',
  title,
  datasource: DATASOURCE,
  gridPos: { x, y, w: WIDTH, h: HEIGHT },
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  targets: queries.map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    expr,
    legendFormat,
  })),
});
