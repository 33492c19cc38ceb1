import { exactTerm } from '../../src/events/search-query.ts';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { parseDestinations } from '../../src/forward/parse-destinations.ts';
import { problemsOf as problemsOfSettings } from '../config/problems-of.ts';
import { useDirectory } from '../support/use-directory.ts';
import { storedEvent } from './senders/messages.ts';

const SECRET = 'kPq7-secret-of-a-destination';

const directory = useDirectory();

/** Writes a file of the test's directory and gives its path. */
function write(name: string, text: string): string {
  const file = path.join(directory, name);
  writeFileSync(file, text);
  return file;
}

/** The destinations of a settings file, and of the environment. */
function parse(file: object, env: Record<string, string> = {}) {
  const settings = write('settings.yaml', JSON.stringify(file));
  return parseDestinations(loadConfig({ ...env, XIQ_SINK_CONFIG: settings }).forwarding);
}

const problemsOf = (file: object, env: Record<string, string> = {}) =>
  problemsOfSettings(env, () => parse(file, env));

const FILE = { type: 'file', path: '/var/log/events.jsonl' };
const HEC = { type: 'splunk_hec', url: 'https://splunk.test:8088' };

describe('destinations of the file', () => {
  it('take the usual where they say nothing', () => {
    const [destination] = parse({ destinations: [{ name: 'archive', ...FILE }] });
    expect(destination).toMatchObject({
      name: 'archive',
      type: 'file',
      formatName: 'json',
      filter: {},
      limits: { events: 500, bytes: 900_000 },
    });
    const bucket = { type: 's3', bucket: 'network-events' };
    const objects = { events: 5_000, bytes: 10_000_000, seconds: 60 };
    expect(parse({ destinations: [{ name: 'bucket', ...bucket }] })).toMatchObject([{ limits: objects }]);
  });

  it('say what they want', () => {
    const [destination] = parse({
      destinations: [
        {
          name: 'siem',
          ...FILE,
          format: 'ocsf',
          filter: { codes: [10_001] },
          batch: { events: 5_000, bytes: 1_000 },
        },
      ],
    });
    expect(destination).toMatchObject({
      formatName: 'ocsf',
      filter: { terms: [exactTerm('code', '10001')] },
      limits: { events: 5_000, bytes: 1_000 },
    });
  });

  it('take any text from the environment or a file, cut of its line break', () => {
    const file = write('token', `${SECRET}\n`);
    const given = [
      { name: 'a', ...HEC, token: { env: 'HEC_TOKEN' } },
      { name: 'b', ...HEC, token: { file } },
      { name: 'c', type: 'https', url: 'https://siem.test', headers: { 'x-key': { file } } },
    ];
    expect(parse({ destinations: given }, { HEC_TOKEN: SECRET })).toHaveLength(3);
    // A token with a line break would be none.
    expect(problemsOf({ destinations: given }, { HEC_TOKEN: `${SECRET}\n` })).toEqual([
      'XIQ_SINK_CONFIG: destination a: token: must be printable ASCII characters without spaces',
    ]);
  });

  it('write the release of OCSF that they name, in no other format', () => {
    const one = { name: 'a', ...HEC, token: SECRET, ocsf_version: '1.8.0' };
    const [destination] = parse({ destinations: [{ ...one, format: 'ocsf' }] });
    expect(destination?.format(storedEvent(1))).toContain('"version":"1.8.0"');
    expect(problemsOf({ destinations: [one] })).toEqual([
      'XIQ_SINK_CONFIG: destination a: ocsf_version: needs the format ocsf',
    ]);
  });

  it('are refused with all their faults at once, and no value is quoted', () => {
    const problems = problemsOf({
      destinations: [
        { name: 'a', type: 'carrier-pigeon' },
        { name: 'b', ...HEC, token: `${SECRET} with a blank`, format: 'cef', indx: 'main' },
        { name: 'c', ...FILE, batch: { events: 5_001, bytes: 10_000_001 }, filter: { familys: ['audit'] } },
        { name: 'd', ...FILE, batch: { bytes: 999 } },
        { name: 'c', type: 'syslog', transport: 'tls', host: 'siem.test', tls: { ca: SECRET } },
        { name: 'e', type: 'syslog', transport: 'tls', hostname: 7 },
        { name: 'f', ...FILE, constructor: 'x' },
      ],
      redaction: { members: ['('] },
    });
    expect(problems).toEqual([
      expect.stringContaining('redaction: members.0: must be a name such as psk or *password*'),
      'XIQ_SINK_CONFIG: destination a: type: must be one of syslog, relp, relp+tls, splunk_hec, elasticsearch, https, otlp, kafka, sentinel, s3, smtp, chat, file, stdout',
      'XIQ_SINK_CONFIG: destination b: token: must be printable ASCII characters without spaces',
      'XIQ_SINK_CONFIG: destination b: unknown setting "indx"',
      'XIQ_SINK_CONFIG: destination b: format: must be one of json, ecs, ocsf for splunk_hec',
      'XIQ_SINK_CONFIG: destination c: filter: unknown setting "familys"',
      'XIQ_SINK_CONFIG: destination c: batch.events: must be a whole number of events from 1 to 5000',
      expect.stringMatching(/destination c: batch\.bytes: must be/),
      expect.stringMatching(/destination d: batch\.bytes: must be/),
      expect.stringMatching(/destination c: tls.ca: must be certificates in PEM form/),
      'XIQ_SINK_CONFIG: destination e: host: is missing',
      'XIQ_SINK_CONFIG: destination e: hostname: must be a text',
      expect.stringContaining('destination f: unknown setting "constructor"'),
      'two destinations are named "c"',
    ]);
    expect(problems.join()).not.toContain(SECRET);
  });

  it('are refused where a value cannot be had, or a name is none', () => {
    const file = path.join(directory, 'nowhere');
    expect(problemsOf({ destinations: [{ name: 'a', ...HEC, token: { env: 'NOT_SET' } }] })).toEqual([
      expect.stringMatching(
        /settings\.yaml: destinations\.0\.token: the environment variable NOT_SET is not set$/,
      ),
    ]);
    expect(problemsOf({ destinations: [{ name: 'a', ...HEC, token: { file } }] })).toEqual([
      expect.stringContaining(`settings.yaml: destinations.0.token: ${file} cannot be read: ENOENT`),
    ]);
    expect(problemsOf({ destinations: [{ name: 'A b', ...FILE }] })).toEqual([
      expect.stringContaining('destinations.0.name: must be lower-case letters, digits, - and _'),
    ]);
  });

  it('hide what the settings name besides what is always hidden', () => {
    const [destination] = parse({
      destinations: [{ name: 'archive', ...FILE }],
      redaction: { texts: ['door code'] },
    });
    const text = destination?.format(storedEvent(1, 'door code 4711, password hunter2'));
    expect(text).toContain('door code [redacted]');
    expect(text).not.toMatch(/4711|hunter2/);
  });
});

describe('FORWARD_TO', () => {
  const forwardTo = (FORWARD_TO: string, FORWARD_TOKEN = '') => parse({}, { FORWARD_TO, FORWARD_TOKEN });

  it.each([
    ['syslog+tls://siem.test:6514?format=leef', 'syslog', 'leef'],
    ['syslog+tcp://[2001:db8::1]', 'syslog', 'cef'],
    ['syslog+udp://siem.test?facility=local4&max_datagram_bytes=1000', 'syslog', 'cef'],
    ['relp://siem.test?facility=local4', 'relp', 'cef'],
    ['relp+tls://[2001:db8::1]:2514?format=json', 'relp+tls', 'json'],
    ['kafka://siem.test:9092/xiq.events', 'kafka', 'json'],
    ['kafka+tls://[2001:db8::1]/events?compression=zstd', 'kafka', 'json'],
    ['smtp://mail.test:25?from=sink@siem.test&to=noc@siem.test', 'smtp', 'text'],
    ['smtps://mail.test?from=sink@siem.test&to=noc@siem.test&format=json', 'smtp', 'json'],
    ['file:///var/log/events.jsonl?daily=true&keep=3', 'file', 'json'],
    ['stdout:?format=ecs', 'stdout', 'ecs'],
    ['https://siem.test/in?body=ndjson', 'https', 'json'],
    ['elasticsearch+https://siem.test:9200/es?index=logs-x', 'elasticsearch', 'ecs'],
  ])('%s is a destination', (url, type, formatName) => {
    expect(forwardTo(url)).toMatchObject([{ name: 'default', type, formatName }]);
  });

  it.each([
    'splunk+https://siem.test:8088?index=main',
    'elasticsearch+https://siem.test',
    'https://siem.test',
  ])('%s uses FORWARD_TOKEN', (url) => {
    expect(forwardTo(url, SECRET)).toHaveLength(1);
  });

  it.each([
    ['siem.test', '', /^FORWARD_TO must be a URL that begins with syslog\+udp:\/\/, /],
    ['gopher://siem.test', '', /^FORWARD_TO must be a URL that begins with syslog\+udp:\/\/, /],
    ['syslog+tls://siem.test:6514?format=pdf', '', /^FORWARD_TO: format: must be one of json/],
    ['https://me:pass@siem.test', '', /^FORWARD_TO must not contain a user name or password/],
    ['file:///tmp/x', SECRET, /^FORWARD_TOKEN: file: does not use a token$/],
    ['', SECRET, /^FORWARD_TOKEN is set without FORWARD_TO$/],
  ])('%s is refused', (FORWARD_TO, FORWARD_TOKEN, problem) => {
    const problems = problemsOf({}, { FORWARD_TO, FORWARD_TOKEN });
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect(problems.join()).not.toMatch(/pass@|kPq7/);
  });

  it('has a name that no destination of the file may have', () => {
    const destinations = [{ name: 'default', ...FILE }];
    expect(problemsOf({ destinations }, { FORWARD_TO: 'stdout:' })).toEqual([
      'two destinations are named "default"',
    ]);
  });
});
