import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import type { ActualSubscription } from '../../src/subscribe/actual.ts';
import {
  createOwnership,
  desiredSubscriptions,
  digestOf,
  type DesiredSubscription,
} from '../../src/subscribe/desired.ts';
import { changesOf, planSubscriptions, type Change } from '../../src/subscribe/plan.ts';

const PUBLIC_URL = 'https://sink.test';
const isOurs = createOwnership({ publicUrl: PUBLIC_URL, otherSources: ['south'] });
const wanted: DesiredSubscription = {
  application: 'xiq-sink',
  url: `${PUBLIC_URL}/ingest/default/AUDIT_LOG_ALL`,
  secret: 'new-secret',
  messageType: 'AUDIT_LOG_ALL',
  status: 'ENABLED',
};

/** The subscription that a desired one becomes under an id. */
function held(id: string | undefined, { secret, ...members } = wanted): ActualSubscription {
  return { id, ...members, secretDigest: digestOf(secret) };
}

const plan = (...actual: ActualSubscription[]) => planSubscriptions([wanted], actual, isOurs);

it('desired is one subscription for each message type, enabled, at the address of its deliveries', () => {
  const messageTypes = ['AUDIT_LOG_ALL', 'SMS_LOG_ALL'] as const;
  const options = { source: 'default', publicUrl: PUBLIC_URL, secret: 'new-secret', messageTypes };
  expect(desiredSubscriptions(options)).toEqual([
    wanted,
    { ...wanted, messageType: 'SMS_LOG_ALL', url: `${PUBLIC_URL}/ingest/default/SMS_LOG_ALL` },
  ]);
});

describe('a plan', () => {
  it.each([
    ['disabled', { status: 'DISABLED' }, [{ member: 'status', from: 'DISABLED', to: 'ENABLED' }]],
    ['without a status', { status: '' }, [{ member: 'status', from: '', to: 'ENABLED' }]],
    [
      'elsewhere',
      { url: 'https://old.test/x' },
      [{ member: 'url', from: 'https://old.test/x', to: wanted.url }],
    ],
    [
      'under another name',
      { application: 'by hand' },
      [{ member: 'application', from: 'by hand', to: 'xiq-sink' }],
    ],
    ['with another secret', { secretDigest: digestOf('old-secret') }, [{ member: 'secret' }]],
    ['with a secret that nobody knows', { secretDigest: undefined }, [{ member: 'secret' }]],
  ])('updates one that is %s', (_how, difference, differences) => {
    const actual = { ...held('1'), ...difference };
    expect(plan(actual)).toEqual([{ action: 'update', actual, desired: wanted, differences }]);
  });

  it('does not show a secret, old or new', () => {
    const [step] = plan({ ...held('1'), secretDigest: digestOf('old-secret') });
    const shown = step?.action === 'update' ? JSON.stringify(step.differences) : '';
    expect(shown).toContain('secret');
    expect(shown).not.toMatch(/new-secret|old-secret|[0-9a-f]{64}/);
  });

  it('keeps the nearest of several, the oldest of equals, and deletes the rest when that one is right', () => {
    const far = { ...held('2'), status: 'DISABLED', application: 'by hand' };
    const near = { ...held('10'), status: 'DISABLED' };
    const younger = { ...held('11'), status: 'DISABLED' };
    expect(
      plan(far, younger, near).map(({ action, ...step }) => [action, 'actual' in step && step.actual.id]),
    ).toEqual([
      ['update', '10'],
      ['delete', '2'],
      ['delete', '11'],
    ]);
  });

  it('tells the age of ids that no number holds', () => {
    const [kept] = plan(held('9223372036854775807'), held('9223372036854775806'));
    expect(kept).toMatchObject({ action: 'keep', actual: { id: '9223372036854775806' } });
  });

  it('rather keeps one whose id is known', () => {
    expect(plan(held(undefined), held('5'))[0]).toMatchObject({ action: 'keep', actual: { id: '5' } });
  });
});

const anySecret = fc.constantFrom('new-secret', 'old-secret');

const anyActual: fc.Arbitrary<Omit<ActualSubscription, 'id'>> = fc.record({
  application: fc.constantFrom('xiq-sink', 'siem', ''),
  url: fc
    .tuple(
      fc.constantFrom(PUBLIC_URL, 'https://old.test', 'https://siem.test'),
      fc.constantFrom('default', 'south', 'gone'),
      fc.constantFrom(...CLOUD_TYPES),
    )
    .map(([host, source, type]) => `${host}/ingest/${source}/${type}`),
  messageType: fc.constantFrom(...CLOUD_TYPES, 'SOMETHING_NEW'),
  status: fc.constantFrom('ENABLED', 'DISABLED', ''),
  secretDigest: fc.option(anySecret.map(digestOf), { nil: undefined }),
});

/** A cloud with anything in it, ids in no order. */
const anyCloud = fc
  .array(anyActual, { maxLength: 30 })
  .chain((held) =>
    fc
      .uniqueArray(fc.bigInt(1n, 2n ** 63n - 1n), { minLength: held.length, maxLength: held.length })
      .map((ids) => held.map((one, index): ActualSubscription => ({ ...one, id: String(ids[index]) }))),
  );

const anyDesired = fc
  .tuple(fc.subarray([...CLOUD_TYPES]), anySecret)
  .map(([messageTypes, secret]) =>
    desiredSubscriptions({ source: 'default', publicUrl: PUBLIC_URL, secret, messageTypes }),
  );

/** What the cloud holds once it has done these changes, as the specification describes the calls. */
function carryOut(cloud: readonly ActualSubscription[], changes: readonly Change[]): ActualSubscription[] {
  let next = cloud.length;
  return changes.reduce<ActualSubscription[]>(
    (state, change) => {
      if (change.action === 'create') return [...state, held(`new-${(next += 1)}`, change.desired)];
      const { id } = change.actual;
      if (change.action === 'delete') return state.filter((one) => one.id !== id);
      return state.map((one) => (one.id === id ? held(id, change.desired) : one));
    },
    [...cloud],
  );
}

describe('for any cloud and any settings', () => {
  test('a plan carried out ends with exactly what is desired, leaves what is not ours as it was, and needs no other', () => {
    fc.assert(
      fc.property(anyCloud, anyDesired, (cloud, desired) => {
        const after = carryOut(cloud, changesOf(planSubscriptions(desired, cloud, isOurs)));
        const ours = after.filter(isOurs).map(({ id: _id, ...members }) => members);
        const expected = desired.map((one) => held(undefined, one)).map(({ id: _id, ...members }) => members);
        expect(new Set(ours.map((one) => JSON.stringify(one)))).toEqual(
          new Set(expected.map((one) => JSON.stringify(one))),
        );
        expect(ours).toHaveLength(expected.length);
        expect(after.filter((one) => !isOurs(one))).toEqual(cloud.filter((one) => !isOurs(one)));
        expect(changesOf(planSubscriptions(desired, after, isOurs))).toEqual([]);
      }),
    );
  });

  test('whichever part of a plan was carried out, the next plan finishes it without duplicates', () => {
    fc.assert(
      fc.property(anyCloud, anyDesired, fc.infiniteStream(fc.boolean()), (cloud, desired, done) => {
        const isDone = () => done.next().value === true;
        const some = carryOut(cloud, changesOf(planSubscriptions(desired, cloud, isOurs)).filter(isDone));
        const after = carryOut(some, changesOf(planSubscriptions(desired, some, isOurs)));
        expect(
          after
            .filter(isOurs)
            .map(({ messageType }) => messageType)
            .sort(),
        ).toEqual(desired.map(({ messageType }) => messageType).sort());
      }),
    );
  });

  test('a type that was served by a right subscription before is served by it all the time', () => {
    fc.assert(
      fc.property(anyCloud, anyDesired, (cloud, desired) => {
        let state = cloud;
        const served = (state: readonly ActualSubscription[]) =>
          desired.filter((one) =>
            state.some(
              (held) =>
                isOurs(held) &&
                held.url === one.url &&
                held.messageType === one.messageType &&
                held.status === 'ENABLED' &&
                held.secretDigest === digestOf(one.secret),
            ),
          );
        const before = served(cloud);
        for (const change of changesOf(planSubscriptions(desired, cloud, isOurs))) {
          state = carryOut(state, [change]);
          expect(served(state)).toEqual(expect.arrayContaining(before));
        }
      }),
    );
  });
});
