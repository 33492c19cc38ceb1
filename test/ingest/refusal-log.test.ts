import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createRefusalLog } from '../../src/ingest/refusal-log.ts';
import { AUDIT, serve } from './serve.ts';

/** The level in a line of pino. */
const INFO = 30;

const Line = z.looseObject({ level: z.number(), msg: z.string() });
const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Line.parse(JSON.parse(line)))
    // Debug lines are for those who ask for each refusal.
    .filter(({ level }) => level >= INFO);

describe('the log of refusals', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  function create() {
    let text = '';
    const logger = pino({ level: 'info' }, { write: (line) => void (text += line) });
    const refusals = createRefusalLog(logger);
    const refuse = (remote: string, status = 401, path = '/') =>
      refusals.add({ remote, status, method: 'GET', path }, 'refused');
    return { refuse, flush: () => refusals.flush(), lines: () => linesOf(text), text: () => text };
  }

  it('has a line for the first of an address, and one with the count of the others of a minute', async () => {
    const { refuse, lines } = create();
    for (const status of [401, 401, 404, 401, 429]) refuse('192.0.2.1', status);
    refuse('192.0.2.2');
    expect(lines()).toMatchObject([
      { remote: '192.0.2.1', status: 401, msg: 'refused' },
      { remote: '192.0.2.2', status: 401, msg: 'refused' },
    ]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(lines().slice(2)).toMatchObject([
      {
        remote: '192.0.2.1',
        refused: 4,
        statuses: { 401: 2, 404: 1, 429: 1 },
        msg: 'refused 4 more requests without a proven secret in the last minute',
      },
    ]);
    refuse('192.0.2.1');
    expect(lines().slice(3)).toMatchObject([{ remote: '192.0.2.1', msg: 'refused' }]);
  });

  it('counts a /64 of IPv6 as one', () => {
    const { refuse, flush, lines } = create();
    for (let n = 0; n < 50; n += 1) refuse(`2001:db8:0:1::${n.toString(16)}`);
    flush();
    expect(lines()).toMatchObject([
      { remote: '2001:db8:0:1::0' },
      { remote: '2001:db8:0:1::/64', refused: 49 },
    ]);
  });

  it('has a bounded number of lines, however many addresses come and however long their paths are', () => {
    const { refuse, flush, lines, text } = create();
    for (let n = 0; n < 10_000; n += 1) {
      refuse(`2001:db8:0:${n.toString(16)}::1`, 404, `/begin/${'x'.repeat(16_000)}`);
    }
    flush();
    expect(lines()).toHaveLength(101);
    expect(lines()[0]?.['path']).toMatch(/^\/begin\/x+$/);
    expect(lines().at(-1)).toMatchObject({ remote: 'other addresses', refused: 9_900 });
    expect(text().length).toBeLessThan(60_000);
  });

  it('keeps no timer once it is flushed', () => {
    const { refuse, flush } = create();
    refuse('192.0.2.1');
    expect(vi.getTimerCount()).toBe(1);
    flush();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the listener', () => {
  it('counts refusals of strangers, logs those of proven senders one by one, and measures all', async () => {
    const refused: number[] = [];
    const observer = {
      refused: (status: number) => void refused.push(status),
    };
    const { server, request, post, log } = await serve({ observer });
    for (let n = 0; n < 10; n += 1) {
      await request('/nowhere', {});
      await request(AUDIT, {});
      await request(AUDIT, { method: 'POST' });
      await post('{}', { authorization: 'Bearer wrong-wrong-wrong-wrong' });
      await post('{}', { authorization: '', 'x-hub-signature-256': 'sha256=x', 'content-encoding': 'x' });
    }
    for (let n = 0; n < 3; n += 1) {
      await post('not JSON');
      await post('{}', { 'content-encoding': 'x' });
    }
    await server.close();
    expect(refused).toHaveLength(56);
    const lines = linesOf(log());
    const strangers = lines.filter(({ status }) => status === 404 || status === undefined);
    expect(strangers).toMatchObject([
      { status: 404, path: '/nowhere' },
      { refused: 49, statuses: { 401: 20, 404: 9, 405: 10, 415: 10 } },
    ]);
    expect(lines.filter(({ status }) => status === 400)).toHaveLength(3);
    expect(lines.filter(({ status }) => status === 415)).toHaveLength(3);
    expect(lines).toHaveLength(8);
  });
});
