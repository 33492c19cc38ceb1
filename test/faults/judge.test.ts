import { expect, test } from 'vitest';
import type { Found } from './found.ts';
import { judge } from './judge.ts';
import type { Obligation } from './ledger.ts';

const audit = (deliveryId: string, ...numbers: number[]): Obligation => ({
  deliveryId,
  payload: { messageType: 'AUDIT_LOG_ALL', body: '[]', numbers, isReadable: true },
});

const unreadable = (deliveryId: string, body: string): Obligation => ({
  deliveryId,
  payload: { messageType: 'AUDIT_LOG_ALL', body, numbers: [9], isReadable: false },
});

function found(
  deliveries: Record<string, number>,
  rows: Record<number, number>,
  quarantine: Record<string, string[]> = {},
): Found {
  return {
    deliveries: new Map(Object.entries(deliveries)),
    rows: new Map(Object.entries(rows).map(([number, times]) => [Number(number), times])),
    quarantine: new Map(Object.entries(quarantine)),
    addsUp: true,
  };
}

test('what was promised and is there once is found', () => {
  const obligations = [audit('a', 1), audit('b', 2, 3), unreadable('c', '{')];
  expect(judge(obligations, found({ a: 1, b: 2, c: 1 }, { 1: 1, 2: 1, 3: 1 }, { c: ['{'] }))).toEqual({
    found: 3,
    lost: 0,
    doubled: 0,
    addsUp: true,
  });
});

test('a body that came again is owed twice and has its rows once', () => {
  expect(judge([audit('a', 1), audit('b', 1)], found({ a: 1, b: 1 }, { 1: 1 }))).toMatchObject({
    found: 2,
    doubled: 0,
  });
});

test.each([
  ['its delivery', found({}, { 1: 1, 2: 1 })],
  ['one of its rows', found({ a: 2 }, { 1: 1 })],
  ['the count that it owes', found({ a: 1 }, { 1: 1, 2: 1 })],
])('a delivery is lost without %s', (_, there) => {
  expect(judge([audit('a', 1, 2)], there)).toMatchObject({ found: 0, lost: 1 });
});

test('an unreadable body is lost when its bytes are not in quarantine', () => {
  expect(judge([unreadable('a', '{')], found({ a: 1 }, {}, { a: ['['] }))).toMatchObject({ lost: 1 });
});

test('one stored delivery does not answer for two receipts', () => {
  expect(judge([audit('a', 1), audit('a', 2)], found({ a: 1 }, { 1: 1, 2: 1 }))).toMatchObject({ lost: 1 });
});

test('a number with two rows and a body twice in quarantine are doubled, acknowledged or not', () => {
  expect(judge([], found({}, { 1: 2, 2: 1 }, { a: ['{', '{'] }))).toMatchObject({ lost: 0, doubled: 2 });
});
