import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** Every metric of our own begins so. */
export const PREFIX = 'xiq_sink_';

/** The metrics of this process. */
export interface Metrics {
  /** Where the parts that this process runs register theirs. */
  readonly registry: Registry;
  /** All of them in the text format of Prometheus. What cannot be asked in time is left out; it never rejects for that. */
  render(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Opens a registry of this service's own, with the usual figures of a Node.js process in it. */
export function createMetrics({ version, role }: { version: string; role: string }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: `${PREFIX}build_info`,
    help: 'Always 1; the labels say what runs',
    labelNames: ['version', 'role'],
    registers: [registry],
  }).set({ version, role }, 1);
  return {
    registry,
    render: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  };
}
