import { describe, expect, it } from 'vitest';
import { createOwnership } from '../../src/subscribe/desired.ts';

const isOurs = createOwnership({ publicUrl: 'https://sink.test/in', otherSources: ['south'] });

describe('a subscription is ours', () => {
  it.each([
    ['by the name of our application', 'xiq-sink', 'https://old.test/ingest/default/AUDIT_LOG_ALL'],
    ['by that name with any url', 'xiq-sink', ''],
    ['by leading to us', 'made by hand', 'https://sink.test/in/ingest/default/AUDIT_LOG_ALL'],
    ['by leading to a source that there was', 'xiq-sink', 'https://sink.test/in/ingest/gone/AUDIT_LOG_ALL'],
  ])('%s', (_how, application, url) => {
    expect(isOurs({ application, url })).toBe(true);
  });

  it.each([
    ['with another name and url', 'siem', 'https://siem.test/hook'],
    ['without a name', '', ''],
    ['with a name like ours', 'xiq-sink-2', 'https://siem.test/hook'],
    ['with an address that only begins like ours', 'siem', 'https://sink.test/in/ingestion/x'],
    ['with a host that only begins like ours', 'siem', 'https://sink.test.evil.test/in/ingest/default/X'],
    ['of another source of ours', 'xiq-sink', 'https://sink.test/in/ingest/south/AUDIT_LOG_ALL'],
    ['of another source, from an old address', 'xiq-sink', 'https://old.test/ingest/south/AUDIT_LOG_ALL'],
  ])('not %s', (_what, application, url) => {
    expect(isOurs({ application, url })).toBe(false);
  });
});
