import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CEF_ENTRIES } from '../../../src/forward/formats/cef.ts';
import { ECS_CATEGORIES, ECS_MAPPINGS } from '../../../src/forward/formats/ecs.ts';
import { EVENT_IDS } from '../../../src/forward/formats/line-formats.ts';
import { LEEF_ENTRIES } from '../../../src/forward/formats/leef.ts';
import { OCSF_COMMON } from '../../../src/forward/formats/ocsf-mappings.ts';
import { OCSF_ROWS } from '../../../src/forward/formats/ocsf-rows.ts';
import { OTLP_MAPPINGS } from '../../../src/forward/formats/otlp.ts';
import { memoizeByKind, RECORD_KINDS } from '../../../src/events/record-kind.ts';
import { DEFAULT_REDACTION_RULES } from '../../../src/forward/redaction-rules.ts';

const PAGE = readFileSync(new URL('../../../docs/forwarding-formats.md', import.meta.url), 'utf8');

/** The rows of the page's tables, without the blanks that align them. */
const ROWS = PAGE.split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.slice(1, -1).split('|'))
  .map((cells) => cells.map((cell) => cell.trim()).join(' | '));

const names = (list: readonly string[]) => [...new Set(list)].map((name) => `\`${name}\``).join(', ');

const OCSF_MAPPINGS = [...OCSF_COMMON, ...Object.values(OCSF_ROWS).flatMap(({ mappings }) => mappings)];

const MAPPED = new Set([
  ...[...ECS_MAPPINGS, ...OCSF_MAPPINGS].map(([fact]) => fact),
  ...[...CEF_ENTRIES, ...LEEF_ENTRIES].map(({ fact }) => fact),
]);

test.each([...MAPPED])('the page has the row of %s', (mapped) => {
  const members = (mappings: typeof ECS_MAPPINGS) =>
    names(mappings.filter(([fact]) => fact === mapped).map(([, member]) => member));
  const keys = (entries: typeof CEF_ENTRIES) =>
    names(entries.filter(({ fact }) => fact === mapped).map(({ key }) => key));
  const row = [
    `\`${mapped}\``,
    members(ECS_MAPPINGS),
    members(OCSF_MAPPINGS),
    keys(CEF_ENTRIES),
    keys(LEEF_ENTRIES),
  ];
  expect(ROWS).toContain(row.join(' | '));
});

test('the page has every attribute of OpenTelemetry', () => {
  const rows = OTLP_MAPPINGS.map(([fact, attribute]) => `\`${fact}\` | \`${attribute}\``);
  expect(rows.filter((row) => !ROWS.includes(row))).toEqual([]);
});

const idsOf = (kind: (typeof RECORD_KINDS)[number]) => {
  const ids = EVENT_IDS[kind];
  return names(typeof ids === 'string' ? [ids] : Object.values(ids));
};

const rowOf = memoizeByKind((kind, { title, members, severity, failed }) => {
  const { category = [], type = [], failed: failedType = type } = ECS_CATEGORIES[kind] ?? {};
  const { classUid, activityId, severityId } = OCSF_ROWS[kind];
  const failedTypes = failedType === type ? '' : `; failed: ${names(failedType)}`;
  return [
    title,
    members.length === 0 ? 'message type' : names(members),
    'the record',
    category.length === 0 ? 'none' : `${names(category)} / ${names(type)}${failedTypes}`,
    `${classUid * 100 + activityId}, severity ${severityId}`,
    `${idsOf(kind)}, severity ${severity}${failed === undefined ? '' : `, failed ${failed}`}`,
    idsOf(kind),
  ].join(' | ');
});

test.each(RECORD_KINDS)('the page has the row of %s', (kind) => {
  expect(ROWS).toContain(rowOf(kind));
});

test('the page names every rule of redaction', () => {
  const { members, texts } = DEFAULT_REDACTION_RULES;
  for (const rule of [...members, ...texts]) expect(PAGE).toContain(`\`${rule}\``);
});
