import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { FollowSettings } from '../config/follow-settings.ts';
import { startForwarding, type ForwardObserver } from './forward-events.ts';
import { openForwardingSource } from './forwarding-source.ts';
import type { Db } from '../store/server/database.ts';
import { addDestination } from '../store/destinations/destinations.ts';
import { readRange } from '../store/log/read-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';
import type { Destination } from './parse-destinations.ts';
import { closeLogged } from '../lib/close-logged.ts';

/** A change that could not be made is tried again after so long. */
const RETRY_INTERVAL_MS = 5_000;

interface Forwardings {
  readonly db: Db;
  readonly config: { readonly destinations: readonly Destination[] };
  readonly follow: FollowSettings;
  readonly observer: ForwardObserver | undefined;
  readonly logger: Logger;
}

/**
 * Forwards to every destination of the settings in force, independently of the others. A new one begins with the events
 * stored from now on; a changed one continues at its position, as one does that was removed before. The tables must be
 * up to date.
 */
export async function startForwardings(
  { db, config, follow, observer, logger }: Forwardings,
  started: AsyncDisposableStack,
): Promise<void> {
  const stopping = new AbortController();
  const source = openForwardingSource(db, [stopping.signal]);
  const running = new Map<string, { readonly fingerprint: string; stop(): Promise<void> }>();
  const oneAtATime = pLimit(1);

  /** All at the same time, so that each has the whole time to finish its current batch. */
  async function stop(names: readonly string[]): Promise<void> {
    const ends = await Promise.allSettled(names.map(async (name) => running.get(name)?.stop()));
    for (const name of names) running.delete(name);
    const failures = ends.filter((end) => end.status === 'rejected').map(({ reason }): unknown => reason);
    if (failures.length > 0) throw new AggregateError(failures, 'not every destination stopped cleanly');
  }

  async function apply(): Promise<void> {
    const wanted = new Map(config.destinations.map((destination) => [destination.name, destination]));
    const ended = [...running].filter(([name, one]) => wanted.get(name)?.fingerprint !== one.fingerprint);
    const stopped = stop(ended.map(([name]) => name));
    await stopped.catch(() => undefined);
    const added = [...wanted.values()].filter(({ name }) => !running.has(name));
    const start = added.length === 0 ? undefined : (await readRange(db)).next;
    for (const destination of added) {
      const { name, fingerprint } = destination;
      if (start !== undefined) await addDestination(db, name, start);
      const forwarding = { ...destination, sender: destination.createSender() };
      const started = startForwarding(forwarding, source, logger, observer);
      running.set(name, { fingerprint, stop: () => started.stop() });
    }
    if (ended.length + added.length > 0) logger.info({ destinations: [...running.keys()] }, 'forwarding');
    await stopped;
  }

  const applyInTurn = () => oneAtATime(apply);
  const stopAll = () => {
    const stopped = stop([...running.keys()]);
    stopping.abort();
    return stopped;
  };
  started.defer(closeLogged(logger, 'forwarding', () => oneAtATime(stopAll)));
  await applyInTurn();
  if (running.size === 0) logger.debug('no destinations are configured: nothing is forwarded');
  started.defer(follow('forwarding', applyInTurn));
  const failure = 'destinations were not updated to the new settings';
  repeatInBackground(
    { part: 'changes of destinations', failure, pauseMs: RETRY_INTERVAL_MS, work: applyInTurn },
    logger,
    started,
  );
}
