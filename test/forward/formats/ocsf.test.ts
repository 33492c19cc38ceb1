import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { formatOcsf, OCSF_VERSIONS } from '../../../src/forward/formats/ocsf.ts';
import { problemsInOcsf } from './ocsf-schema.ts';
import { EVENT_OF_KIND, EVENTS, eventsOfAnyText } from './stored-events.ts';

const parse = (text: string) => z.looseObject({ metadata: z.looseObject({}) }).parse(JSON.parse(text));

test('is of the release that was asked for, and otherwise the same', () => {
  for (const version of OCSF_VERSIONS) {
    const { metadata, ...rest } = parse(formatOcsf(EVENT_OF_KIND.login, version));
    const usual = parse(formatOcsf(EVENT_OF_KIND.login));
    expect({ ...rest, metadata }).toEqual({ ...usual, metadata: { ...usual.metadata, version } });
  }
});

test('what the schema does not allow is a problem', () => {
  const document = parse(formatOcsf(EVENT_OF_KIND.authentication));
  const wrong = {
    ...document,
    activity_id: 7,
    status: 'Good',
    session: {},
    time: '2026-01-31T08:00:00Z',
    user: { email_addr: 'nobody' },
    metadata: { ...document.metadata, profiles: [], version: undefined },
    observables: [{ name: 'user.name', type_id: 3, type: 'User Name', value: 'eve' }],
  };
  expect(problemsInOcsf(JSON.parse(JSON.stringify(wrong))).toSorted()).toEqual([
    'activity_id has no value 7',
    'activity_name is Logon instead of undefined',
    'cloud is unknown',
    'metadata.version is required',
    'observables.type is User Name instead of MAC Address',
    'session is unknown',
    'status is Good instead of Success',
    'the observable user.name is not eve of type 3',
    'time is no integer',
    'type_name is "Authentication: Logon" instead of Authentication: undefined',
    'type_uid is 300201 instead of 300207',
    'user.: none of account,name,uid',
    'user.email_addr is no email_t: nobody',
  ]);
});

test('whatever stands in the columns, an event is one of its class', () => {
  fc.assert(
    fc.property(eventsOfAnyText(), (event) => {
      expect(problemsInOcsf(JSON.parse(formatOcsf(event)))).toEqual([]);
    }),
    { examples: EVENTS.map((event) => [event]), numRuns: 2 * EVENTS.length },
  );
});
