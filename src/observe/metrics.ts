import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, type LabelValues } from 'prom-client';

const PREFIX = 'xiq_sink_';

export type Metrics = ReturnType<typeof createMetrics>;

/** Opens a registry that contains the usual metrics of a Node.js process. */
export function createMetrics({ version, role }: { version: string; role: string }) {
  const registry = new Registry();
  // Each sample wakes the process.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const help = 'Always 1; the labels name the running version and role';
  metersOf(registry).gauge('build_info', help, () => [[{ version, role }, 1]], 'version', 'role');
  return {
    /** The parts that this process runs register their metrics here. */
    registry,
    /** All metrics in the text format of Prometheus, except those that can't be read in time. It does not reject for those. */
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}

/** The values of a gauge by their labels, or its only value. Undefined: it has none now. */
type Reading = undefined | number | Iterable<readonly [LabelValues<string>, number]>;

/** Creates the metrics of a part in a registry, by name and help text. */
export function metersOf(registry: Registry) {
  const named = (name: string, help: string) => ({ name: PREFIX + name, help, registers: [registry] });
  return {
    counter: <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ ...named(name, help), labelNames }),
    histogram: (name: string, help: string, buckets: number[]) =>
      new Histogram({ ...named(name, help), buckets }),
    /** Each scrape reads all values. */
    gauge: (name: string, help: string, read: () => Reading | Promise<Reading>, ...labelNames: string[]) => {
      const gauge = new Gauge({
        ...named(name, help),
        labelNames,
        async collect() {
          const reading = (await read()) ?? [];
          gauge.reset();
          for (const [labels, value] of typeof reading === 'number' ? [[{}, reading] as const] : reading) {
            gauge.set(labels, value);
          }
        },
      });
    },
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
