import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** The names of all metrics of xiq-sink start with this. */
export const PREFIX = 'xiq_sink_';

/** The metrics of this process. */
export interface Metrics {
  /** The parts that this process runs register their metrics here. */
  readonly registry: Registry;
  /** All metrics in the text format of Prometheus, except those that can't be read in time. It does not reject for those. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Opens a registry that contains the usual metrics of a Node.js process. */
export function createMetrics({ version, role }: { version: string; role: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: `${PREFIX}build_info`,
    help: 'Always 1; the labels name the running version and role',
    labelNames: ['version', 'role'],
    registers: [registry],
  }).set({ version, role }, 1);
  return {
    registry,
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

/** In addition to the configured sources, this many get time series of their own. */
const MAX_OTHER_SOURCES = 100;

/**
 * Creates a function that maps the name of a source to a label. The configured sources and the first hundred others keep
 * their names: a worker may receive others from ingest processes with different settings. All further sources become
 * `other`, so the number of time series stays bounded.
 */
export function createSourceLabel(configured: () => readonly string[]): (source: string) => string {
  const known = new Set<string>();
  let others = 0;
  return (source) => {
    if (known.has(source)) return source;
    if (!configured().includes(source)) {
      if (others === MAX_OTHER_SOURCES) return 'other';
      others += 1;
    }
    known.add(source);
    return source;
  };
}
