import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Stored } from '../observe/sum-stored.ts';
import type { QueueLocation } from '../queue/engine.ts';
import type { Identity } from '../queue/installation.ts';
import type { Lane } from '../queue/lanes.ts';
import { closing } from './closing.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Observation } from './observation.ts';
import type { Role } from './roles.ts';

/** What the thread of a lane needs to know. */
export interface LaneSettings {
  readonly lane: Lane;
  readonly role: Role;
  readonly databaseUrl: string;
  readonly location: QueueLocation;
  /** The installation that the queues in Redis belong to. */
  readonly installation: ReturnType<Identity['known']>;
  readonly dataDir: string;
  readonly traces: Config['traces'];
  readonly logLevel: string;
}

/** A message to the thread, `start` first. Each `probe` is answered with `probed`: whether the database answers. */
export type LaneRequest =
  | { readonly kind: 'start'; readonly settings: LaneSettings }
  | { readonly kind: 'level'; readonly level: string }
  | { readonly kind: 'probe' }
  | { readonly kind: 'stop' };

/** A message of the thread: first `ready` or `failed`, then what it does. */
export type LaneReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string | undefined }
  /** A batch is to be stored, and no longer. */
  | { readonly kind: 'began' | 'ended' }
  /** A transaction was committed after so many seconds. */
  | { readonly kind: 'stored'; readonly stored: Stored; readonly seconds: number }
  | { readonly kind: 'waiting'; readonly reason: string }
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'probed'; readonly problem: string | undefined };

export interface LaneOptions {
  readonly live: Pick<LiveSettings, 'config' | 'follow'>;
  readonly role: Role;
  readonly databaseUrl: string;
  readonly queueLocation: QueueLocation;
  readonly observation: Pick<Observation, 'storing' | 'onStored' | 'addPool'>;
  readonly logger: Logger;
}

const THREAD = new URL('lane-thread.ts', import.meta.url);

/**
 * Starts to store the deliveries of a lane, in a thread: ingest never waits for the work of storing, nor a lane for the
 * other. Resolves once the thread works. Throws the error of the first connection if the queue is in Postgres; in Redis the
 * thread waits for it. A defect in the thread ends the process, as one elsewhere does.
 */
export async function startLane(
  lane: Lane,
  { live, role, databaseUrl, queueLocation, observation, logger }: LaneOptions,
  started: AsyncDisposableStack,
): Promise<void> {
  const { config } = live;
  const { identity, ...location } = { identity: undefined, ...queueLocation };
  const settings: LaneSettings = {
    lane,
    role,
    databaseUrl,
    location,
    installation: identity?.known(),
    dataDir: config.dataDir,
    traces: config.traces,
    logLevel: config.logLevel,
  };
  const thread = new Worker(THREAD);
  const ask = (request: LaneRequest) => thread.postMessage(request);
  const ended = once(thread, 'exit');
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  const probes: ((problem: string | undefined) => void)[] = [];
  // Readiness follows ordinary deliveries: a transaction of the bulk lane may take long without anything being wrong.
  const progress = lane === 'ordinary' ? observation.storing : undefined;
  const batches: (() => void)[] = [];

  thread.on('message', (message: LaneReport) => {
    switch (message.kind) {
      case 'ready':
        return resolve();
      case 'failed':
        return reject(Object.assign(new Error(message.message), { code: message.code }));
      case 'began':
        if (progress !== undefined) batches.push(progress.began());
        return;
      case 'ended':
        return batches.shift()?.();
      case 'stored':
        progress?.stored();
        return observation.onStored(message.stored, message.seconds);
      case 'waiting':
        return progress?.waiting(message.reason);
      case 'newer':
        return observation.storing.tooNew(message.version);
      case 'probed':
        return probes.shift()?.(message.problem);
    }
  });
  thread.on('error', (error) => {
    throw new Error(`the thread that stores deliveries (${lane}) has failed`, { cause: error });
  });

  const probe = async () => {
    const problem = await new Promise<string | undefined>((settle) => {
      probes.push(settle);
      ask({ kind: 'probe' });
    });
    if (problem !== undefined) throw new Error(problem);
  };
  observation.addPool(lane === 'ordinary' ? 'storing' : 'storing (bulk)', probe, started);
  const unfollow = live.follow(`log of the ${lane} lane`, () =>
    ask({ kind: 'level', level: config.logLevel }),
  );
  const close = async () => {
    unfollow();
    ask({ kind: 'stop' });
    await ended;
  };
  started.defer(closing(logger, `worker (${lane})`, close));
  ask({ kind: 'start', settings });
  await ready;
}
