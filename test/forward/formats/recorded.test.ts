import { expect, test } from 'vitest';
import { createFormat, FORMAT_NAMES } from '../../../src/forward/formats/formats.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { EVENT_OF_KIND, EVENTS, sampleEvent, storedEvent } from './stored-events.ts';

const octets = (...numbers: readonly string[]) =>
  numbers.map((acctInputOctets) => sampleEvent('ACCOUNTING_LOG_ALL', { acctInputOctets }));

/** Events with which the formats do something of their own. */
const UNUSUAL: readonly StoredEvent[] = [
  { ...sampleEvent('LOCATION_AP_CENTRIC'), orgId: '5', organization: 'North' },
  { ...EVENT_OF_KIND.configuration, organization: 'Another' },
  { ...EVENT_OF_KIND.location, columns: { lat: '91', lng: '0' } },
  ...octets('2147483647', '2147483648', '9223372036854775807'),
  { ...EVENT_OF_KIND.accountingStop, columns: { acct_input_octets: '9223372036854775808' } },
  ...['RADIUS', 'PPSK', 'CWP', 'Enterprise', null].map((authType) =>
    sampleEvent('AUTHENTICATION_LOG_ALL', { authType }),
  ),
  sampleEvent('AUTHENTICATION_LOG_ALL', { username: 'EXAMPLE\\jane' }),
  sampleEvent('AUTHENTICATION_LOG_ALL', { reply: null, rejectReason: null }),
  storedEvent('ACCOUNTING_LOG_ALL', { ownerId: 1, nasIdentifier: 'ap' }),
  ...[2, 3, 4, null].map((severityId) => sampleEvent('ALERT', { severityId })),
  sampleEvent('EMAIL_LOG_ALL', { username: 'guest' }),
  sampleEvent('AUDIT_LOG_ALL', { description: 'SSID lobby was changed' }),
];

/** Receivers have rules that look for these texts. After a change that they may see, `vitest run -u` records them anew. */
test.each(FORMAT_NAMES)('%s writes of each event what is recorded', async (name) => {
  const write = createFormat(name, { members: [], texts: [] });
  const texts = [...EVENTS, ...UNUSUAL].map(write);
  await expect(`${texts.join('\n')}\n`).toMatchFileSnapshot(`recorded/${name}.txt`);
});
