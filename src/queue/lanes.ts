import { hash } from 'node:crypto';
import type { QueueLocation } from './engine.ts';

/**
 * Deliveries wait in two lanes, each with its own queues, spool and workers. `bulk` is for large deliveries and for
 * those of sources that send more than their share: whatever waits there, the others are stored soon.
 */
export type Lane = 'ordinary' | 'bulk';

export const LANES = ['ordinary', 'bulk'] as const;

/** The BullMQ queue of ordinary deliveries. It was the only one once, and may contain jobs from that time. */
export const QUEUE_NAME = 'deliveries';

/** Each queue of a Redis Cluster is on one node: several of them share the load. */
const CLUSTER_QUEUES = 4;

export function queueNamesOf(lane: Lane, location: QueueLocation): readonly string[] {
  if (lane === 'bulk') return [`${QUEUE_NAME}-bulk`];
  const isCluster = location.kind === 'redis' && /^rediss?\+cluster:/.test(location.url);
  return Array.from({ length: isCluster ? CLUSTER_QUEUES : 1 }, (_, n) =>
    n === 0 ? QUEUE_NAME : `${QUEUE_NAME}-${n + 1}`,
  );
}

/** The one of a lane's queues that a source's deliveries go to. */
export function chooseQueue(names: readonly string[], source: string): string {
  const index = names.length === 1 ? 0 : hash('sha256', source, 'buffer').readUInt32BE() % names.length;
  return names[index] ?? QUEUE_NAME;
}
