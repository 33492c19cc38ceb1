import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { PREFIX } from './metrics.ts';

/** Registers the drift of the subscriptions. Gives what is told after each look at the cloud. */
export function createSubscriptionMetrics(registry: Registry): (source: string, changes: number) => void {
  const drift = new Gauge({
    name: `${PREFIX}subscriptions_drift`,
    help: 'Changes that would bring the webhook subscriptions in the cloud in order, as of the last look (every 10 minutes)',
    labelNames: ['source'],
    registers: [registry],
  });
  return (source, changes) => drift.set({ source }, changes);
}
