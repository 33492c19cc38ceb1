import { afterAll, beforeAll, expect, it } from 'vitest';
import { SECRET } from '../support/program.ts';
import { attack, startAttacked, type Attacked } from './attacked.ts';
import { ATTACK_SECONDS, MOST_MB, MOST_MS, measureDeliveries, printMeasured } from './measure.ts';

let attacked: Attacked;
beforeAll(async () => {
  // During a rotation a source has several secrets, and the signature is computed with each.
  const secrets = [SECRET, ...['b', 'c', 'd'].map((letter) => letter.repeat(32))];
  attacked = await startAttacked({ WEBHOOK_SECRET: secrets.join(',') });
});
afterAll(() => attacked.stop());

it('large bodies with a wrong signature delay no good delivery', async () => {
  const flood = {
    url: `${attacked.program.url}/ingest/default/AUDIT_LOG_ALL`,
    seconds: ATTACK_SECONDS,
    connections: 8,
  };
  let answers = '';
  const flooding = attack('flood-signatures.ts', flood).then((printed) => (answers = printed));
  const measured = await measureDeliveries(attacked.program, flooding);
  printMeasured(
    `8 connections with bodies of 10 MiB and a wrong signature, answered ${answers}`,
    measured,
    '186 ms of the event loop for each',
  );
  expect(measured.p99).toBeLessThan(MOST_MS);
  expect(measured.memory).toBeLessThan(MOST_MB);
});
