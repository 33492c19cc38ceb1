import type { Registry } from 'prom-client';
import type { DestinationStatus } from '../store/destinations/destinations.ts';
import { metersOf } from './metrics.ts';

/** Reads the state of the destinations; undefined while the database does not answer. */
export type AskDestinations = () => Promise<readonly DestinationStatus[] | undefined>;

const STATES = ['running', 'paused', 'refused'] as const;

/** Registers the metrics of a forwarder. Each scrape reads the state of the destinations. */
export function createForwardingMetrics(registry: Registry, ask: AskDestinations) {
  const { counter, gauge } = metersOf(registry);
  const perDestination = (name: string, help: string, valueOf: (status: DestinationStatus) => number) =>
    gauge(
      name,
      help,
      async () =>
        ((await ask()) ?? []).map((status) => [{ destination: status.name }, valueOf(status)] as const),
      'destination',
    );
  perDestination(
    'forward_behind_seconds',
    'Age of the oldest event not yet sent to a destination; 0 when all are sent',
    ({ behind_since: since }) => (since === null ? 0 : Math.max(0, Date.now() - since.getTime()) / 1000),
  );
  perDestination(
    'forward_behind_events',
    'Events not yet sent to a destination',
    ({ behind_count: count }) => count,
  );
  perDestination(
    'forward_rejected',
    'Events that a destination rejected and that have not been resent',
    ({ rejected_count: count }) => count,
  );
  gauge(
    'forward_state',
    '1 for the current state of a destination: running, paused (by an operator), refused (the destination denies access or rejects every event)',
    async () =>
      ((await ask()) ?? []).flatMap(({ name: destination, state: now }) =>
        STATES.map((state) => [{ destination, state }, state === now ? 1 : 0] as const),
      ),
    'destination',
    'state',
  );
  const sent = counter(
    'forward_sent_total',
    'Events that a destination accepted from this process',
    'destination',
  );
  const failures = counter(
    'forward_failures_total',
    'Attempts to forward that failed and are retried',
    'destination',
  );
  const alerts = counter('alerts_total', 'Alerts that a rule raised in this process', 'rule');
  return {
    sent: (destination: string, events: number) => sent.inc({ destination }, events),
    failed: (destination: string) => failures.inc({ destination }),
    alert: (rule: string) => alerts.inc({ rule }),
  };
}
