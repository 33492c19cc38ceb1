import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { DatabaseError } from 'pg';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createFailureLog, failuresIn } from '../../src/lib/failure-log.ts';

const MINUTE = 60_000;

const Line = z.object({ msg: z.string(), err: z.looseObject({}).optional() });

function start() {
  const lines: string[] = [];
  let now = 0;
  const write = (line: string) => {
    const { msg, err } = Line.parse(JSON.parse(line));
    lines.push(err === undefined ? msg : `${msg} with its stack`);
  };
  const log = createFailureLog(pino({}, { write }), () => now);
  return { log, lines, pass: (ms: number) => (now += ms) };
}

function readOnly(statement: string): Error {
  const error = new DatabaseError(`cannot execute ${statement} in a read-only transaction`, 0, 'error');
  return Object.assign(error, { code: '25006', severity: 'ERROR' });
}

describe('a failure that lasts', () => {
  it('is logged at once with its stack, each minute with its count, and at its end', () => {
    const { log, lines, pass } = start();
    for (let n = 0; n <= 120; n += 1) {
      log.report('sealer', new Error('away'), 'the log was not sealed');
      pass(1_000);
    }
    log.clear('sealer');
    log.clear('sealer');
    expect(lines).toEqual([
      'the log was not sealed: away with its stack',
      'the log was not sealed: away (61 times in 1 min)',
      'the log was not sealed: away (121 times in 2 min)',
      'no longer fails: away (121 times in 2 min 1 s)',
    ]);
  });

  it('is not logged again before its end if once is enough', () => {
    const { log, lines, pass } = start();
    for (const end of ['first', 'second']) {
      for (let n = 0; n < 3; n += 1) {
        log.report('people', new Error(`403, error ${randomUUID()}`), `${end} time`, { once: true });
        pass(10 * MINUTE);
      }
      log.clear('people');
    }
    expect(lines.map((line) => line.replace(/error [\da-f-]{36}/, 'error X'))).toEqual([
      'first time: 403, error X with its stack',
      'no longer fails: 403, error X (3 times in 30 min)',
      'second time: 403, error X with its stack',
      'no longer fails: 403, error X (3 times in 30 min)',
    ]);
  });

  it('is one reason for all parts if it is an outage, and one for each part if not', () => {
    const { log, lines } = start();
    log.report('sealer', readOnly('INSERT'), 'the log was not sealed');
    log.report('counting', readOnly('UPDATE'), 'arrivals were not counted');
    log.report('worker', new Error('not stored', { cause: readOnly('COPY') }), 'waiting');
    log.report('devices', new Error('403'), 'devices were not read');
    log.report('people', new Error('403'), 'people were not read');
    expect(lines).toEqual([
      'the log was not sealed: cannot execute INSERT in a read-only transaction with its stack',
      'devices were not read: 403 with its stack',
      'people were not read: 403 with its stack',
    ]);
  });

  it('begins anew with its stack when it comes back after a minute', () => {
    const { log, lines, pass } = start();
    for (let n = 0; n < 2; n += 1) {
      log.report('sealer', new Error('away'), 'failed');
      log.clear('sealer');
      pass(MINUTE);
    }
    const spell = ['failed: away with its stack', 'no longer fails: away (1 times in 0 s)'];
    expect(lines).toEqual([...spell, ...spell]);
  });

  it('costs three lines a minute at most, in whatever order parts fail and work', () => {
    const step = fc.record({
      ms: fc.nat(5_000),
      part: fc.constantFrom('a', 'b', 'c'),
      fails: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { log, lines, pass } = start();
        let passed = 0;
        for (const { ms, part, fails } of steps) {
          passed += ms;
          pass(ms);
          if (fails) log.report(part, readOnly(part), part);
          else log.clear(part);
        }
        expect(lines.length).toBeLessThanOrEqual(3 * (Math.floor(passed / MINUTE) + 1));
      }),
    );
  });
});

it('all parts of a process share the failures in its log', () => {
  const logger = pino({ level: 'silent' });
  expect(failuresIn(logger)).toBe(failuresIn(logger));
  expect(failuresIn(logger)).not.toBe(failuresIn(pino({ level: 'silent' })));
});
