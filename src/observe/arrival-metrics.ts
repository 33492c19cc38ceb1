import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { MessageType } from '../domain.ts';
import { PREFIX } from './metrics.ts';

/** When events of one source and message type last came, and whether their silence is unusual. */
export interface Arrival {
  readonly source: string;
  readonly messageType: MessageType;
  readonly lastReceivedAt: Date | undefined;
  readonly state: 'usual' | 'unusual' | 'unknown' | 'never';
}

/** Registers what is known of the arrival of events. */
export function registerArrivalMetrics(registry: Registry, latest: () => readonly Arrival[]): void {
  const labelNames = ['source', 'message_type'] as const;
  registry.registerMetric(
    new Gauge({
      name: `${PREFIX}last_event_timestamp_seconds`,
      help: 'When the last event was received, in seconds since 1970',
      labelNames,
      registers: [],
      collect() {
        this.reset();
        for (const { source, messageType, lastReceivedAt } of latest()) {
          if (lastReceivedAt === undefined) continue;
          this.set({ source, message_type: messageType }, lastReceivedAt.getTime() / 1000);
        }
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: `${PREFIX}silence_unusual`,
      help: '1 while no events come for longer than usual, as learned from the events before',
      labelNames,
      registers: [],
      collect() {
        this.reset();
        for (const { source, messageType, state } of latest()) {
          this.set({ source, message_type: messageType }, state === 'unusual' ? 1 : 0);
        }
      },
    }),
  );
}
