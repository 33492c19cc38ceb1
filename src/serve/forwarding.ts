import pLimit from 'p-limit';
import { startForwarding } from '../forward/forward-events.ts';
import { openForwardingSource } from '../forward/forwarding-source.ts';
import { checkDatabase, openForwardingDatabase } from '../store/database.ts';
import { addDestination } from '../store/destinations.ts';
import { readRange } from '../store/read-log.ts';
import { openFor, repeatInBackground, type PartOptions } from './background.ts';
import { closing } from './closing.ts';

/** A change that could not be made is tried again after so long. */
const RETRY_INTERVAL_MS = 5_000;

interface Running {
  readonly fingerprint: string;
  stop(): Promise<void>;
}

/**
 * Forwards to every destination of the settings in force, independently of the others. A new one begins with the events
 * stored from now on; a changed one continues at its position, as one does that was removed before. The tables must be
 * up to date.
 */
export async function startForwardings(options: PartOptions, started: AsyncDisposableStack): Promise<void> {
  const { live, observation, logger } = options;
  const { config } = live;
  const db = openFor('the forwarder', openForwardingDatabase, options, started);
  observation.addPool('forwarding', () => checkDatabase(db), started);
  const source = openForwardingSource(db);
  const running = new Map<string, Running>();
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
      const started = startForwarding(forwarding, source, logger, observation.forwarding);
      running.set(name, { fingerprint, stop: () => started.stop() });
    }
    if (ended.length + added.length > 0) logger.info({ destinations: [...running.keys()] }, 'forwarding');
    await stopped;
  }

  const applyInTurn = () => oneAtATime(apply);
  started.defer(closing(logger, 'forwarding', () => oneAtATime(() => stop([...running.keys()]))));
  await applyInTurn();
  if (running.size === 0) logger.info('no destinations are configured: nothing is forwarded');
  started.defer(live.follow('forwarding', applyInTurn));
  const failure = 'destinations were not changed as the settings say';
  repeatInBackground(
    { part: 'changes of destinations', failure, pauseMs: RETRY_INTERVAL_MS, work: applyInTurn },
    logger,
    started,
  );
}
