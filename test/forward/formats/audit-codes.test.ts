import { expect, test } from 'vitest';
import { formatCef } from '../../../src/forward/formats/cef.ts';
import { formatEcs } from '../../../src/forward/formats/ecs.ts';
import { formatJson } from '../../../src/forward/formats/json.ts';
import { formatLeef } from '../../../src/forward/formats/leef.ts';
import { formatOcsf } from '../../../src/forward/formats/ocsf.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { EVENT_OF_KIND } from './stored-events.ts';

const FORMATS = [formatJson, formatEcs, formatOcsf, formatCef, formatLeef];

/** The four that the specification explains. */
const EXPLAINED = ['10001', '10002', '40001', '40003'];

/** All codes with the long tests, one in fifty otherwise. */
const EVERY = process.env['LONG_TESTS'] === undefined ? 50 : 1;
const CODES = Array.from({ length: 100_000 }, (_, code) => String(code)).filter(
  (code, index) => index % EVERY === 0 || EXPLAINED.includes(code),
);

/** A code that no other member of the record contains. */
const REFERENCE = '77777';

const withCode = (code: string): StoredEvent => ({
  ...EVENT_OF_KIND.audit,
  columns: { code, description: 'Login failed for admin@example.com', user_name: 'admin@example.com' },
  payload: {},
});

test('no format says more of an unknown audit code than its number', () => {
  const texts = FORMATS.map((format) => format(withCode(REFERENCE)).split(REFERENCE));
  const different = CODES.filter((code) =>
    FORMATS.some((format, index) => format(withCode(code)) !== texts[index]?.join(code)),
  );
  expect(different).toEqual(EXPLAINED);

  const [, ecs, ocsf, cef, leef] = texts.map((parts) => parts.join(REFERENCE));
  expect(ecs).toContain('"action":"audit-77777"');
  expect(ecs).not.toMatch(/"(?:category|type)":\[/);
  expect(ocsf).toContain('"activity_id":99');
  expect(ocsf).toContain('"status_id":0');
  expect(cef).toContain('|77777|Audit event|3|act=audit-77777 ');
  expect(leef).toContain('|77777|^|');
  for (const text of [ecs, ocsf, cef, leef]) expect(text).not.toMatch(/chang|logged[ -]in|success/i);
});
