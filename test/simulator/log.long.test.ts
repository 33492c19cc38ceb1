import * as fc from 'fast-check';
import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { createSealer, type Sealer } from '../../src/seal/sealer.ts';
import { generateLogKey, parseLogKey } from '../../src/seal/signed-note.ts';
import {
  addDestination,
  checkpoint,
  moveCursor,
  readCursors,
  recordFailure,
  releaseLease,
  setState,
  takeLeases,
} from '../../src/store/destinations/destinations.ts';
import { openSharedEvents } from '../../src/store/events/shared-events.ts';
import { assignPositions } from '../../src/store/log/extend-log.ts';
import { openLog } from '../../src/store/log/read-log.ts';
import { latestCheckpoint, readSealState, readTile } from '../../src/store/seal/seal-log.ts';
import type { Db } from '../../src/store/server/database.ts';
import { freely } from '../support/tamper.ts';
import { knowing } from '../support/trust.ts';
import { useDatabase } from '../support/use-database.ts';
import { SimulatedDatabase } from './database.ts';
import { deliveriesOf, jobs, openModel, refuseMarked } from './model-histories.ts';
import { DESTINATIONS } from './receivers.ts';

const real = useDatabase();
const silent = pino({ level: 'silent' });
const key = parseLogKey(generateLogKey('test'));

/** The server, or its model. */
interface Side {
  readonly db: Db;
  readonly history: number;
  readonly store: BatchStore;
  readonly sealer: Sealer;
}

/** What the sequencer, the sealer, a forwarder or an operator does. */
interface Step {
  readonly does: string;
  readonly run: (side: Side) => Promise<unknown>;
}

const name = fc.constantFrom(...DESTINATIONS);
const holder = fc.constantFrom(
  '00000000-0000-7000-8000-000000000001',
  '00000000-0000-7000-8000-000000000002',
);

const step = <T>(does: string, given: fc.Arbitrary<T>, run: (side: Side, given: T) => Promise<unknown>) =>
  given.map((one): Step => ({ does: `${does} ${JSON.stringify(one)}`, run: (side) => run(side, one) }));

const steps = fc.array(
  fc.oneof(
    step('store', jobs, async ({ store, history }, drawn) => {
      for (const job of drawn) await store.add({ deliveries: deliveriesOf(job, history) });
    }),
    step('assign', fc.constantFrom(undefined, 0, 2), async ({ db }, most) => {
      return (await assignPositions(db, 0, most))?.added;
    }),
    step('seal', fc.nat(0), async ({ db, sealer }) => {
      // The model seals events alone.
      if (db === real.service)
        await freely(real.db, (trx) => sql`truncate log_queue, log_delivery_queue`.execute(trx));
      return sealer.seal();
    }),
    step('sign', fc.nat(0), async ({ db, sealer }) => {
      await sealer.checkpoint();
      return (await latestCheckpoint(db))?.size;
    }),
    step(
      'lease',
      fc.tuple(fc.uniqueArray(name, { minLength: 1 }), holder, fc.constantFrom(0, 3_600)),
      async ({ db }, [names, by, seconds]) => {
        const leases = await takeLeases(
          db,
          names.map((each) => ({ name: each, holder: by })),
          seconds,
        );
        return [...leases].toSorted(([one], [other]) => (one < other ? -1 : 1));
      },
    ),
    step('release', fc.record({ name, holder }), ({ db }, given) => releaseLease(db, given)),
    step(
      'fail',
      fc.tuple(fc.record({ name, holder }), fc.constantFrom('running' as const, 'refused' as const)),
      ({ db }, [given, state]) => recordFailure(db, given, 'no', state),
    ),
    step(
      'set',
      fc.tuple(name, fc.constantFrom('running' as const, 'paused' as const)),
      async ({ db }, [of, state]) => void (await setState(db, of, state)),
    ),
    step('move', fc.tuple(name, fc.nat(5)), async ({ db }, [of, to]) => void (await moveCursor(db, of, to))),
    step(
      'save',
      fc.record({
        name,
        holder,
        generation: fc.nat(1),
        beside: fc.nat(1),
        isOfOldServer: fc.boolean(),
        sent: fc.nat(3),
        refused: fc.nat(2),
      }),
      async ({ db }, { beside, isOfOldServer, generation, sent, refused, ...given }) => {
        const cursor = (await readCursors(db)).find((one) => one.name === given.name);
        const { timeline } = await openLog(db).range();
        const start = (cursor?.position ?? 0) + beside;
        const rejected = Array.from({ length: refused }, (_, at) => ({
          eventId: `00000000-0000-8000-8000-00000000000${at}`,
          occurredAt: '2026-01-15T12:00:00.000Z',
          messageType: 'AUDIT_LOG_ALL' as const,
          reason: 'no',
        }));
        const saved = await checkpoint(db, [
          {
            ...given,
            generation: String(generation),
            timeline: isOfOldServer ? 'FFFFFFFF' : timeline,
            start,
            position: start + sent + refused,
            sent,
            rejected,
            rejectedInRow: refused,
          },
        ]);
        return [...saved].map(([of, { state, rejectedInRow }]) => [of, state, rejectedInRow]);
      },
    ),
  ),
  { minLength: 5, maxLength: 25 },
);

it('answers the sequencer, the sealer and forwarders as Postgres does', async () => {
  await refuseMarked(real.db);
  let history = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      history += 1;
      await empty();
      let now = 0;
      const model = openModel(new SimulatedDatabase(() => (now += 1), DESTINATIONS));
      const sides = [real.service, model].map((db): Side => ({
        db,
        history,
        store: new BatchStore(db, silent, new AbortController().signal),
        sealer: createSealer(db, key, async () => knowing(key)),
      }));
      for (const { does, run } of drawn) {
        const seen: unknown[] = [];
        for (const side of sides) seen.push({ does, result: await run(side), ...(await look(side.db)) });
        const [server, simulated] = seen;
        expect(simulated).toEqual(server);
      }
    }),
    { numRuns: 25 },
  );
});

/** Empties the server's tables: the model begins with empty ones. */
async function empty(): Promise<void> {
  await freely(real.db, async (trx) => {
    await sql`truncate deliveries, audit_events, quarantine, log_tiles, log_seals, log_hashes, log_salts, log_checkpoints,
      log_queue, log_delivery_queue, log_statements, destinations, rejected_events`.execute(trx);
    await sql`update log_state set first_position = 0, next_position = 0, last_received = '-infinity'`.execute(
      trx,
    );
    await sql`update log_seal_state set size = 0, first_position = 0, next_position = 0`.execute(trx);
  });
  for (const destination of DESTINATIONS) await addDestination(real.service, destination, 0);
}

/** What readers see. */
async function look(db: Db) {
  const log = openLog(db);
  const { events, end } = await openSharedEvents(log).read(0, 1_000, new Set(['AUDIT_LOG_ALL']));
  const { next } = await log.range();
  const cursors = await readCursors(db);
  return {
    next,
    end,
    events: [...events].map(({ position, eventId, source }) => `${position} ${eventId} ${source}`),
    cursors: cursors.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    sealed: (await readSealState(db)).sealed,
    leafBytes: (await readTile(db, 0, 0)).length,
  };
}
