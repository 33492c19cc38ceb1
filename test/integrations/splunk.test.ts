import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { calculatedFields, TAGS, typesOfKind } from '../../integrations/splunk/cim.ts';
import type { Condition, Expression } from '../../integrations/splunk/cim.ts';
import { confFiles } from '../../integrations/splunk/conf.ts';
import { MESSAGE_TYPES, type MessageType } from '../../src/events/domain.ts';
import { factsOf } from '../../src/forward/formats/facts.ts';
import type { Fact } from '../../src/forward/formats/readings.ts';
import { formatJson } from '../../src/forward/formats/json.ts';
import { RECORD_KINDS, recordKind } from '../../src/events/record-kind.ts';
import { SOURCETYPES } from '../../src/forward/senders/splunk-hec.ts';
import type { StoredEvent } from '../../src/events/stored-event.ts';
import { EVENT_OF_KIND, EVENTS, sampleEvent } from '../forward/formats/stored-events.ts';

type Value = string | readonly string[];

const anyObject = z.record(z.string(), z.unknown());

/** A field as Splunk extracts it from JSON: text, a list of texts, or nothing for null and an empty list. */
function fieldOf(event: Record<string, unknown>, name: string): Value | undefined {
  let value: unknown = event;
  for (const member of name.split('.')) value = anyObject.safeParse(value).data?.[member];
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(String);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The value that Splunk calculates for an event, as its documentation defines the functions. */
function evaluate(expression: Expression, event: Record<string, unknown>): Value | undefined {
  if ('capture' in expression) {
    const found = new RegExp(`^.*?${expression.capture}.*$`, 'is').exec(textOf(event, expression.of) ?? '');
    return found?.slice(1).join('');
  }
  if ('field' in expression) return fieldOf(event, expression.field);
  if ('text' in expression) return expression.text;
  if ('first' in expression) {
    return expression.first.map((one) => evaluate(one, event)).find((value) => value !== undefined);
  }
  const chosen = expression.cases.find(([condition]) => isTrue(condition, event));
  return chosen === undefined ? undefined : evaluate(chosen[1], event);
}

const textOf = (event: Record<string, unknown>, name: string) => {
  const value = fieldOf(event, name);
  return typeof value === 'string' ? value : undefined;
};

function isTrue(condition: Condition, event: Record<string, unknown>): boolean {
  if ('set' in condition) return fieldOf(event, condition.set) !== undefined;
  if ('word' in condition) {
    const word = textOf(event, condition.word)?.trim().toLowerCase();
    return word !== undefined && condition.among.includes(word);
  }
  if ('matches' in condition) {
    const value = textOf(event, condition.of);
    return value !== undefined && new RegExp(condition.matches, 'i').test(value);
  }
  if ('any' in condition) return condition.any.some((one) => isTrue(one, event));
  if ('all' in condition) return condition.all.every((one) => isTrue(one, event));
  return !isTrue(condition.not, event);
}

/** All calculated fields of an event that have a value. */
function fieldsOf(event: StoredEvent): Record<string, Value> {
  const json = anyObject.parse(JSON.parse(formatJson(event)));
  const fields = Object.entries(calculatedFields(event.messageType)).flatMap(([name, expression]) => {
    const value = evaluate(expression, json);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(fields);
}

/** The fields of the JSON that an expression reads. */
function readBy(part: Expression | Condition): string[] {
  if ('capture' in part || 'matches' in part) return [part.of];
  if ('field' in part) return [part.field];
  if ('text' in part) return [];
  if ('set' in part) return [part.set];
  if ('word' in part) return [part.word];
  if ('not' in part) return readBy(part.not);
  if ('first' in part) return part.first.flatMap(readBy);
  if ('cases' in part) return part.cases.flatMap((pair) => pair.flatMap(readBy));
  return ('any' in part ? part.any : part.all).flatMap(readBy);
}

/** Members of payloads that no sample has together with the others: a record has one of the names. */
const OTHER_NAMES = new Set(['payload.username', 'payload.group.username']);

test.each(MESSAGE_TYPES)('the json format of %s has every field that the add-on reads', (messageType) => {
  const samples = EVENTS.filter((event) => event.messageType === messageType).map((event) =>
    anyObject.parse(JSON.parse(formatJson(event))),
  );
  const fields = new Set(Object.values(calculatedFields(messageType)).flatMap(readBy));
  const missing = [...fields].filter((name) => samples.every((event) => fieldOf(event, name) === undefined));
  expect(missing.filter((name) => !OTHER_NAMES.has(name))).toEqual([]);
});

/** What the fields must be according to the facts that all other formats write. */
function expectedOf(event: StoredEvent): Record<string, Fact | undefined> {
  const { kind, outcome, recorded, derived } = factsOf(event);
  const result = outcome === 'unknown' ? undefined : outcome;
  const clientMac = recorded['client_mac'];
  switch (kind) {
    case 'ppskCreated':
    case 'ppskDeleted':
      return {
        action: kind === 'ppskCreated' ? 'created' : 'deleted',
        status: result,
        user: derived['target_user'] ?? recorded['actor_name'],
        src_user: recorded['actor_name'],
        user_id: undefined,
      };
    case 'login':
      return { action: result, user: recorded['actor_name'], user_id: recorded['actor_id'] };
    case 'logout':
    case 'configuration':
    case 'audit':
      return {
        action: { logout: 'logoff', configuration: 'modified', audit: undefined }[kind],
        status: result,
        user: recorded['actor_name'],
        dest: recorded['host_names'] ?? 'ExtremeCloud IQ',
      };
    case 'authentication':
      return { action: result, user: recorded['user_name'], src_mac: clientMac };
    case 'accountingStart':
    case 'accountingInterim':
    case 'accountingStop':
      return { user: recorded['user_name'], src_mac: clientMac, src_ip: derived['client_ip'] };
    case 'email':
      return { action: outcome === 'success' ? 'delivered' : undefined, recipient: derived['recipient'] };
    case 'gdprDeletion':
    case 'gdprDownload':
    case 'gdpr':
      return {
        action: { gdprDeletion: 'deleted', gdprDownload: 'read', gdpr: undefined }[kind],
        status: result,
        user: recorded['actor_name'],
        object: clientMac,
      };
    case 'location':
      return { src_ip: derived['client_ip'], src_mac: clientMac, dvc: recorded['ap_mac'] };
    case 'alert':
      return { description: recorded['description'], dest: recorded['alert_source_name'] };
    case 'ruleAlert':
      return {
        description: recorded['description'],
        signature: recorded['rule_title'],
        signature_id: recorded['rule_name'],
        src_mac: clientMac,
        user: recorded['user_name'],
      };
    case 'credential':
    case 'sms':
    case 'other':
      return {};
  }
}

/** The calculated fields whose value is not the expected one. */
function faultsOf(event: StoredEvent): object[] {
  const fields = fieldsOf(event);
  const expected = { ...expectedOf(event), xiq_kind: recordKind(event), xiq_source: event.source };
  return Object.entries(expected)
    .filter(([name, value]) => !isDeepStrictEqual(fields[name], value))
    .map(([name, value]) => ({ name, value: fields[name], expected: value }));
}

test.each(EVENTS.map((event) => [event.messageType, event] as const))(
  '%s: the fields agree with the other formats',
  (_, event) => {
    expect(faultsOf(event)).toEqual([]);
  },
);

/** Values of the members that decide kinds and outcomes, in the words of the cloud and others. */
const DECIDING: Partial<Record<MessageType, Readonly<Record<string, readonly unknown[]>>>> = {
  AUDIT_LOG_ALL: {
    code: [10_001, 10_002, 40_001, 40_003, 100_011, null],
    config: [{ a: 1 }, {}, null],
    hostNames: [['ap-1'], ['ap-1', 'ap-2'], [], null],
    deviceIds: [[11], [], null],
    userName: ['jane', null],
    description: [
      'Cloud PPSK user: "guest 17" was created',
      "The PPSK user 'a' was deleted",
      'PPSK user b',
      'c',
    ],
  },
  AUTHENTICATION_LOG_ALL: {
    reply: ['Access-Accept', ' ACCESS-REJECT', 'Access-Challenge', '', null],
    rejectReason: ['certificate expired', null],
    username: ['jane', null],
  },
  ACCOUNTING_LOG_ALL: {
    acctStopTime: [1_769_846_340_000, null],
    acctTerminateCause: ['User-Request', null],
    acctSessionTime: [0, 60, null],
    acctInputOctets: [0, 1, null],
    acctOutputOctets: [0, 1, null],
  },
  GDPR_LOG_ALL: {
    category: [
      'DELETE',
      'Client data deletion',
      'data_download',
      'Export request',
      'deleted exported',
      'erase-it',
      null,
    ],
    status: ['DONE', 'failed', 'IN_PROGRESS', null],
    admin: ['admin@example.com', undefined],
    username: ['jane', undefined],
  },
  EMAIL_LOG_ALL: {
    status: ['SUCCESS', 'FAIL', 'SENT', null],
    username: ['guest@example.com', 'guest', null],
    approverEmail: ['boss@example.com', 'boss', null],
  },
};

test.each(MESSAGE_TYPES)('%s: the fields agree whatever decides', (messageType) => {
  const overrides = fc.record(
    Object.fromEntries(
      Object.entries(DECIDING[messageType] ?? {}).map(([member, values]) => [
        member,
        fc.constantFrom(...values),
      ]),
    ),
  );
  fc.assert(
    fc.property(overrides, (record) => {
      expect(faultsOf(sampleEvent(messageType, record))).toEqual([]);
    }),
    { numRuns: 300 },
  );
});

test('severities of alerts are those of the record', () => {
  const severities = ['1', '2', '3', '4'].map(
    (severityId) => fieldsOf(sampleEvent('ALERT', { severityId }))['severity'],
  );
  expect(severities).toEqual(['critical', 'medium', 'informational', undefined]);
  expect(fieldsOf(EVENT_OF_KIND.ruleAlert)['severity']).toBe('high');
});

/** The fields that are recommended for add-ons, by the tag of the data model. */
const RECOMMENDED: Readonly<Record<string, readonly string[]>> = {
  authentication: ['action', 'app', 'dest', 'user'],
  change: ['action', 'dest', 'object_category', 'status', 'user', 'object', 'result'],
  session: ['signature', 'src_mac', 'dest_ip', 'dest_mac', 'user'],
  alert: ['app', 'description', 'id', 'severity', 'signature', 'signature_id', 'type'],
  email: ['recipient'],
};

/** A change tells its result only in the four codes that mean success, and its object only if it names devices. */
test.each(RECORD_KINDS.filter((kind) => TAGS[kind] !== undefined))('%s fills its data model', (kind) => {
  const wanted = (TAGS[kind] ?? []).flatMap((tag) => RECOMMENDED[tag] ?? []);
  expect(wanted).not.toEqual([]);
  const unknown = kind === 'configuration' ? ['status'] : [];
  const fields = fieldsOf(EVENT_OF_KIND[kind]);
  expect(wanted.filter((name) => fields[name] === undefined)).toEqual(unknown);
});

/** The stanzas of a file with their settings. */
const stanzasOf = (text: string) =>
  text
    .split(/^\[/m)
    .slice(1)
    .map((stanza) => {
      const [name = '', ...lines] = stanza.trim().split('\n');
      return { name: name.replace(/\]$/, ''), lines };
    });

describe('the files', () => {
  const files = confFiles();
  const eventtypes = stanzasOf(files['default/eventtypes.conf'] ?? '');

  test('every eventtype has tags, and every tag an eventtype', () => {
    const tags = stanzasOf(files['default/tags.conf'] ?? '');
    expect(eventtypes.length).toBeGreaterThan(5);
    expect(tags.map(({ name }) => name)).toEqual(eventtypes.map(({ name }) => `eventtype=${name}`));
    for (const { lines } of tags) expect(lines.length).toBeGreaterThan(0);
  });

  test('an eventtype selects the events of one kind', () => {
    for (const { lines } of eventtypes) {
      const [, sourcetype, kind] =
        /^search = sourcetype="(.+?)" xiq_kind="(.+?)"$/.exec(lines[0] ?? '') ?? [];
      const selected = EVENTS.filter(
        (event) => SOURCETYPES[event.messageType] === sourcetype && fieldsOf(event)['xiq_kind'] === kind,
      );
      expect(selected.length).toBeGreaterThan(0);
      expect(selected).toEqual(EVENTS.filter((event) => recordKind(event) === kind));
    }
  });

  test('every kind is of a message type', () => {
    for (const kind of RECORD_KINDS) expect(typesOfKind(kind)).toContain(EVENT_OF_KIND[kind].messageType);
  });

  test('every source type has its stanza, with balanced quotes and brackets', () => {
    const props = stanzasOf(files['default/props.conf'] ?? '');
    expect(props.map(({ name }) => name)).toEqual(MESSAGE_TYPES.map((type) => SOURCETYPES[type]));
    for (const line of props.flatMap(({ lines }) => lines).filter((one) => one.startsWith('EVAL-'))) {
      const bare = line.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').replaceAll(/'[^']*'/g, '');
      expect(bare).not.toMatch(/["'\\]/);
      expect([...bare.matchAll(/\(/g)].length).toBe([...bare.matchAll(/\)/g)].length);
    }
  });

  test('the README names every eventtype', () => {
    const url = new URL('../../integrations/splunk/TA-xiq-sink/README.md', import.meta.url);
    const named = [...readFileSync(url, 'utf8').matchAll(/`(xiq_\w+)`/g)].map(([, name]) => name);
    expect(new Set(named)).toEqual(
      new Set(['xiq_kind', 'xiq_source', ...eventtypes.map(({ name }) => name)]),
    );
  });
});
