import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/exact-json.ts';
import { EVENT_OVERHEAD, splitObservations } from '../../src/handlers/families.ts';
import type { JsonObject } from '../../src/exact-json.ts';

const split = (record: JsonObject, room: number) => [...splitObservations(record, room)];

const ROOM = 1_000_000;

describe('splitObservations', () => {
  it('makes each observation a record with that observation alone, in order', () => {
    const lists = fc.constantFrom('observations', 'deviceObservers', 'device_observers');
    const observations = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(lists, observations, (list, all) => {
        const record = { apMac: 'aabbccddeeff', [list]: all, z: 1 };
        expect(split(record, ROOM)).toEqual(
          all.map((one) => ({
            content: { apMac: 'aabbccddeeff', [list]: [one], z: 1 },
            columns: [one, record],
          })),
        );
      }),
    );
  });

  it.each([
    [{}],
    [{ apMac: 'aabbccddeeff' }],
    [{ observations: [] }],
    [{ observations: null, device_observers: {} }],
    [{ observations: 'many' }],
    [{ observations: { 0: {} } }],
  ])('leaves %o, without observations, one event', (record) => {
    expect(split(record, ROOM)).toEqual([{ content: record, columns: [record] }]);
  });

  it('finds the list that is filled beside one that is null or empty', () => {
    const record = { observations: null, deviceObservers: [{ rssi: 1 }, { rssi: 2 }] };
    expect(split(record, ROOM)).toHaveLength(2);
    expect(split({ ...record, observations: [] }, ROOM)).toHaveLength(2);
  });

  it('makes an event of an observation that is no object', () => {
    const record = { observations: [null, 7, 'x', [1], { rssi: -1 }] };
    const parts = split(record, ROOM);
    expect(parts.map(({ content }) => canonicalJson(content))).toEqual(
      ['null', '7', '"x"', '[1]', '{"rssi":-1}'].map((text) => `{"observations":[${text}]}`),
    );
    expect(parts.map(({ columns }) => columns.length)).toEqual([1, 1, 1, 1, 2]);
  });

  it('keeps a __proto__ of the record and of the observation a member', () => {
    const withProto = (member: string, value: unknown) =>
      Object.fromEntries([
        ['__proto__', { [member]: 1 }],
        ['observations', value],
      ]);
    const record = withProto('a', [withProto('b', null)]);
    const [part] = split(record, ROOM);
    expect(canonicalJson(part?.content)).toBe(
      '{"__proto__":{"a":1},"observations":[{"__proto__":{"b":1},"observations":null}]}',
    );
  });

  it('refuses a record exactly when its parts together need more than the room', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 500 }), (count, length) => {
        const record = { shared: 'x'.repeat(length), observations: Array(count).fill(0) };
        const needed = (canonicalJson({ ...record, observations: [] }).length + EVENT_OVERHEAD) * count;
        expect(split(record, needed)).toHaveLength(count);
        expect(() => split(record, needed - 1)).toThrow(`${count} observations that share`);
      }),
    );
  });
});
