import { expect, it } from 'vitest';
import { pino } from 'pino';
import { createSequencer } from '../../src/seal/sequencer.ts';
import { insertAudits } from '../support/stored-rows.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';

const test = useDatabase();

it('the sequencer looks at its own pace once it has found nothing, however long the look before took', async () => {
  const sequencer = createSequencer(test.db, pino({ level: 'silent' }), 1);
  await insertAudits(test.db, {});
  await waitFor(async () => (await sequencer.extend()) === 'idle');
  await insertAudits(test.db, {});
  await sequencer.extend();
  expect(sequencer.pauseMs()).toBeGreaterThan(1);
  await waitFor(async () => (await sequencer.extend()) === 'idle');
  expect(sequencer.pauseMs()).toBe(1);
});
