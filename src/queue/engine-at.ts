import type { Engine, QueueLocation } from './engine.ts';
import { createPostgresEngine } from './postgres-engine.ts';
import { createRedisEngine } from './redis-engine.ts';

/** The engine for a location. */
export function engineAt(location: QueueLocation): Engine {
  return location.kind === 'redis' ? createRedisEngine(location) : createPostgresEngine(location);
}
