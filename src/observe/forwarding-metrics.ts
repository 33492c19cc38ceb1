import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { DestinationStatus } from '../store/destinations.ts';
import { PREFIX } from './metrics.ts';

/** What forwarding tells. */
export interface ForwardingMetrics {
  sent(destination: string, events: number): void;
  failed(destination: string): void;
}

/** How the destinations are; undefined while that cannot be found out. */
export type AskDestinations = () => Promise<readonly DestinationStatus[] | undefined>;

const STATES = ['running', 'paused', 'refused'] as const;

/** Registers the metrics of a forwarder; how far the destinations are is asked when they are. */
export function createForwardingMetrics(registry: Registry, ask: AskDestinations): ForwardingMetrics {
  const registers = [registry];
  const labelNames = ['destination'] as const;
  const gauge = (name: string, help: string, value: (status: DestinationStatus) => number) =>
    new Gauge({
      name: PREFIX + name,
      help,
      labelNames,
      registers,
      async collect() {
        this.reset();
        for (const status of (await ask()) ?? []) this.set({ destination: status.name }, value(status));
      },
    });
  gauge(
    'forward_behind_seconds',
    'Age of the oldest event that a destination has not had yet; 0 when it has all',
    ({ behind_since: since }) => (since === null ? 0 : Math.max(0, Date.now() - since.getTime()) / 1000),
  );
  gauge(
    'forward_behind_events',
    'Events that a destination has not had yet, counted up to 100,001',
    ({ behind_count: count }) => count,
  );
  gauge(
    'forward_rejected',
    'Events that a destination has refused and that nobody has sent again',
    ({ rejected_count: count }) => count,
  );
  registry.registerMetric(
    new Gauge({
      name: `${PREFIX}forward_state`,
      help: '1 for the state that a destination is in: running, paused (by a person), refused (it does not want us)',
      labelNames: ['destination', 'state'],
      registers: [],
      async collect() {
        this.reset();
        for (const { name: destination, state: now } of (await ask()) ?? []) {
          for (const state of STATES) this.set({ destination, state }, state === now ? 1 : 0);
        }
      },
    }),
  );
  const sent = new Counter({
    name: `${PREFIX}forward_sent_total`,
    help: 'Events that a destination has taken from this process',
    labelNames,
    registers,
  });
  const failures = new Counter({
    name: `${PREFIX}forward_failures_total`,
    help: 'Attempts to forward that failed and came again',
    labelNames,
    registers,
  });
  return {
    sent: (destination, events) => sent.inc({ destination }, events),
    failed: (destination) => failures.inc({ destination }),
  };
}
