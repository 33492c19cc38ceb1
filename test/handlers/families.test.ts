import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type JsonObject } from '../../src/events/exact-json.ts';
import { EVENT_OVERHEAD, HANDLERS, splitObservations } from '../../src/handlers/delivery-to-events.ts';
import type { FieldKind } from '../../src/events/message-types.ts';

const ROOM = 1_000_000;

const split = (record: JsonObject, room = ROOM) => [...splitObservations(record, room)];

/** A field that is read from these members. */
const fieldOf = (kind: FieldKind, ...members: string[]) => ({ column: 'x', kind, members });

describe('splitObservations', () => {
  it('makes each observation a record with that observation alone, in order', () => {
    const lists = fc.constantFrom('observations', 'deviceObservers', 'device_observers');
    const observations = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), {
      minLength: 1,
      maxLength: 20,
    });
    const others = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true });
    fc.assert(
      fc.property(lists, observations, others, (list, all, other) => {
        const record = { ...other, apMac: 'aabbccddeeff', [list]: all, z: 1 };
        expect(split(record).map(({ payload }) => payload)).toEqual(
          all.map((one) => canonicalJson({ ...record, [list]: [one] })),
        );
      }),
    );
  });

  it.each([
    [{ apMac: 'aabbccddeeff' }],
    [{ observations: [] }],
    [{ observations: null, device_observers: {} }],
    [{ observations: 'many' }],
    [{ observations: { 0: {} } }],
    [{ '': [1, 2] }],
  ])('leaves %o, without observations, one event', (record) => {
    const parts = split(record);
    expect(parts.map(({ payload }) => payload)).toEqual([canonicalJson(record)]);
    expect(parts.map(({ read }) => read(fieldOf('text', 'apMac')))).toEqual([
      'apMac' in record ? record.apMac : null,
    ]);
  });

  it('finds the list that is filled beside one that is null or empty', () => {
    const record = { observations: null, deviceObservers: [{ rssi: 1 }, { rssi: 2 }] };
    expect(split(record)).toHaveLength(2);
    expect(split({ ...record, observations: [] })).toHaveLength(2);
  });

  it('makes an event of an observation that is no object, with the fields of its record', () => {
    const parts = split({ apMac: 'x', observations: [null, 7, 'x', [1], { rssi: -1 }] });
    expect(parts.map(({ payload }) => payload)).toEqual(
      ['null', '7', '"x"', '[1]', '{"rssi":-1}'].map((text) => `{"apMac":"x","observations":[${text}]}`),
    );
    expect(parts.map(({ read }) => read(fieldOf('text', 'apMac')))).toEqual(Array(5).fill('x'));
    expect(parts.map(({ read }) => read(fieldOf('bigint', 'rssi', '0', 'length')))).toEqual([
      null,
      null,
      null,
      null,
      '-1',
    ]);
  });

  it('reads a field from the nearer object first, whatever the member is called there', () => {
    const field = fieldOf('text', 'userName', 'user_name', 'username');
    const parts = split({
      userName: 'far',
      observations: [{ username: 'near' }, { userName: null }, {}, { user_name: ['no text'] }],
    });
    expect(parts.map(({ read }) => read(field))).toEqual(['near', 'far', 'far', 'far']);
  });

  it('reads each field of the record, one after the other and again', () => {
    const parts = split({ a: 'one', b: 'two', observations: [0, 1] });
    const fields = ['a', 'b', 'c'].map((member) => fieldOf('text', member));
    const read = parts.map((part) => [...fields, ...fields].map((field) => part.read(field)));
    const expected = ['one', 'two', null, 'one', 'two', null];
    expect(read).toEqual([expected, expected]);
  });

  it('keeps a __proto__ of the record and of the observation a member', () => {
    const withProto = (member: string, value: unknown) =>
      Object.fromEntries([
        ['__proto__', { [member]: 1 }],
        ['observations', value],
      ]);
    const record = withProto('a', [withProto('b', null)]);
    expect(split(record).map(({ payload }) => payload)).toEqual([
      '{"__proto__":{"a":1},"observations":[{"__proto__":{"b":1},"observations":null}]}',
    ]);
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

it.each(['audit', 'log', 'alerts', 'other'] as const)(
  'a record of the family %s is one event, read from itself',
  (family) => {
    const record = { b: 2, a: [{ c: 1 }], observations: [{ b: 3 }, {}] };
    const parts = [...HANDLERS[family](record, 0)];
    expect(parts.map(({ payload }) => payload)).toEqual([canonicalJson(record)]);
    expect(parts.map(({ read }) => read(fieldOf('bigint', 'b')))).toEqual(['2']);
  },
);
