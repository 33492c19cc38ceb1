import { sql } from 'kysely';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';
import { flood, startAttacked, type Attacked } from './attacked.ts';
import { HOSTILE_BODIES } from './hostile-bodies.ts';
import { ATTACK_SECONDS, IS_SHORT, MOST_MB, MOST_MS, measureDeliveries, printMeasured } from './measure.ts';

/** An attack ends when all of its bodies are answered. The short form has a quarter of them. */
const CONNECTIONS = IS_SHORT ? 16 : 64;
/** Of a body that becomes tens of thousands of rows: as many as are stored within the test. */
const STORED_REQUESTS = IS_SHORT ? 2 : 4;

/** A program of its own for each attack; in the short form, one for all. */
let attacked: Attacked | undefined;
const target = async () => (attacked ??= await startAttacked());

async function stopWhenAllIsAccountedFor(): Promise<void> {
  if (attacked === undefined) return;
  const { program, database } = attacked;
  await waitFor(async () => {
    const metrics = await (await fetch(`${program.adminUrl}/metrics`)).text();
    return (
      /^xiq_sink_queue_jobs\{state="waiting"\} 0$/m.test(metrics) &&
      /^xiq_sink_queue_jobs\{state="active"\} 0$/m.test(metrics)
    );
  }, 200_000);
  const { rows } = await sql`select from conservation where not adds_up`.execute(database.db);
  await attacked.stop();
  attacked = undefined;
  expect(rows).toEqual([]);
}
if (!IS_SHORT) afterEach(stopWhenAllIsAccountedFor, 300_000);
afterAll(stopWhenAllIsAccountedFor, 300_000);

function send({ program }: Attacked, name: string): Promise<Record<string, number>> {
  const requests = HOSTILE_BODIES[name]?.().isStored === true ? STORED_REQUESTS : null;
  return flood(
    `${program.url}/ingest/default/LOCATION_AP_CENTRIC`,
    { bodies: [name], connections: CONNECTIONS, requests },
    ATTACK_SECONDS,
  );
}

describe('hostile bodies of a sender with the secret cost other deliveries little', () => {
  it.each(Object.keys(HOSTILE_BODIES))(
    '%s',
    async (name) => {
      let answers: Record<string, number> = {};
      const attackedNow = await target();
      const measured = await measureDeliveries(
        attackedNow.program,
        send(attackedNow, name).then((all) => (answers = all)),
      );
      printMeasured(`${name}, answered ${JSON.stringify(answers)}`, measured, 'up to 5.1 s and 1.88 GB');
      expect(measured.p99).toBeLessThan(MOST_MS);
      expect(measured.memory).toBeLessThan(MOST_MB);
    },
    300_000,
  );
});
