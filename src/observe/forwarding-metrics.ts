import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { DestinationStatus } from '../store/destinations.ts';
import { PREFIX } from './metrics.ts';

/** Counts what a forwarder does. */
export interface ForwardingMetrics {
  sent(destination: string, events: number): void;
  failed(destination: string): void;
}

/** Reads the state of the destinations; undefined while the database does not answer. */
export type AskDestinations = () => Promise<readonly DestinationStatus[] | undefined>;

const STATES = ['running', 'paused', 'refused'] as const;

/** Registers the metrics of a forwarder. Each scrape reads the state of the destinations. */
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
    'Age of the oldest event not yet sent to a destination; 0 when all are sent',
    ({ behind_since: since }) => (since === null ? 0 : Math.max(0, Date.now() - since.getTime()) / 1000),
  );
  gauge(
    'forward_behind_events',
    'Events not yet sent to a destination, counted up to 100,001',
    ({ behind_count: count }) => count,
  );
  gauge(
    'forward_rejected',
    'Events that a destination rejected and that have not been resent',
    ({ rejected_count: count }) => count,
  );
  registry.registerMetric(
    new Gauge({
      name: `${PREFIX}forward_state`,
      help: '1 for the current state of a destination: running, paused (by an operator), refused (the destination denies access)',
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
    help: 'Events that a destination accepted from this process',
    labelNames,
    registers,
  });
  const failures = new Counter({
    name: `${PREFIX}forward_failures_total`,
    help: 'Attempts to forward that failed and are retried',
    labelNames,
    registers,
  });
  return {
    sent: (destination, events) => sent.inc({ destination }, events),
    failed: (destination) => failures.inc({ destination }),
  };
}
