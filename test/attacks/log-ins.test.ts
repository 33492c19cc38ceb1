import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { addAccount } from '../../src/store/access/accounts.ts';
import { hashPassword } from '../../src/access/passwords.ts';
import { ask, formOf } from '../support/ask.ts';
import type { Answer } from '../support/ask.ts';
import { startAttacked } from './attacked.ts';
import type { Attacked } from './attacked.ts';
import { ATTACK_SECONDS, IS_SHORT, MOST_MB, MOST_MS, measureDeliveries, printMeasured } from './measure.ts';

const PASSWORD = 'correct horse battery staple';
const CONNECTIONS = 16;

let attacked: Attacked;
beforeAll(async () => {
  attacked = await startAttacked({ TRUST_PROXY: 'loopback' });
  const passwordHash = await hashPassword(PASSWORD);
  for (const name of ['ada', 'grace']) {
    await addAccount(attacked.database.db, { name, role: 'viewer', password_hash: passwordHash });
  }
});
afterAll(() => attacked.stop());

function logIn(forwarded: string, fields: Record<string, string>, cookie = ''): Promise<Answer> {
  const question = formOf({ password: PASSWORD, ...fields });
  const headers = { ...question.headers, 'X-Forwarded-For': forwarded, Cookie: cookie };
  return ask(attacked.program.adminUrl, { ...question, headers });
}

it('wrong passwords through the proxy, from one address and from many, lock nobody out and delay no delivery', async () => {
  const first = await logIn('192.0.2.1', { name: 'ada' });
  const known = first.headers['set-cookie']?.map((cookie) => cookie.split(';')[0]).join('; ') ?? '';
  const ends = performance.now() + ATTACK_SECONDS * 1_000;
  const answers: Record<string, number> = {};
  let sent = 0;
  const guess = async () => {
    while (performance.now() < ends) {
      // Every second one is of the same address, the others of one each.
      const address = sent % 2 === 0 ? '198.51.100.1' : `203.0.113.${sent % 256}`;
      sent += 1;
      const { status } = await logIn(address, { name: 'ada', password: `wrong ${sent}` });
      answers[status] = (answers[status] ?? 0) + 1;
    }
  };
  const times = new Map<string, number>();
  const timed = async (who: string, ...attempt: Parameters<typeof logIn>) => {
    const began = performance.now();
    expect((await logIn(...attempt)).status).toBe(303);
    times.set(who, performance.now() - began);
  };
  const people = async () => {
    await setTimeout(ATTACK_SECONDS * 500);
    await Promise.all([
      timed('another person, new browser', '192.0.2.2', { name: 'grace' }),
      timed('the owner, known browser', '192.0.2.3', { name: 'ada' }, known),
      timed('the owner, new browser', '192.0.2.4', { name: 'ada' }),
    ]);
  };
  const flood = Promise.all([...Array.from({ length: CONNECTIONS }, guess), people()]);
  const measured = await measureDeliveries(attacked.program, flood);
  const shown = [...times].map(([who, ms]) => `${who} ${ms.toFixed(0)} ms`).join(', ');
  printMeasured(`wrong passwords, answered ${JSON.stringify(answers)}`, measured, 'the same');
  process.stdout.write(
    `log-ins with the right password: ${shown} (before: all 429 after 20 wrong ones in a minute)\n`,
  );
  expect(times.get('the owner, known browser')).toBeLessThan(IS_SHORT ? 60_000 : 5_000);
  expect(times.get('the owner, new browser')).toBeLessThan(IS_SHORT ? 60_000 : 25_000);
  expect(measured.p99).toBeLessThan(MOST_MS);
  expect(measured.memory).toBeLessThan(MOST_MB);
}, 120_000);
