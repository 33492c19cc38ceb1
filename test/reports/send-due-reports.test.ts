import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseDestinations } from '../../src/forward/parse-destinations.ts';
import { parseSchedules } from '../../src/reports/parse-schedules.ts';
import { REPORT_TYPES } from '../../src/forward/senders/sender-types.ts';
import { sendDueReports } from '../../src/reports/send-due-reports.ts';
import { openLimited } from '../../src/store/server/database.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { readSchedules } from '../../src/store/reports/report-schedules.ts';
import { storeAudits } from '../support/actions.ts';
import { hasOpenssl, makeCertificate } from '../support/certificates.ts';
import { type TestDatabase } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';
import { forwardingSettings } from '../support/forwarding-settings.ts';
import { newDirectory } from '../support/use-directory.ts';
import { mailServer } from '../forward/senders/mail-server.ts';
import { startS3 } from '../forward/senders/s3-server.ts';
import { inTurn, standIn } from '../support/stand-in.ts';

const logger = pino({ level: 'silent' });

const test = useDatabase();
let directory: string;
beforeAll(async () => {
  const login = (userName: string, time: string) => ({ code: 10_001, userName, timeStamp: Date.parse(time) });
  await storeAudits(
    test.db,
    // In Berlin, this is the first of March.
    login('ann@example.com', '2026-02-28T23:30:00Z'),
    login('ann@example.com', '2026-03-10T08:00:00Z'),
    login('bob@example.com', '2026-04-02T08:00:00Z'),
  );
});
beforeEach(async () => {
  directory = await newDirectory();
  await test.query`truncate report_schedules, reports_sent`;
});

const CSV_OF_MARCH =
  'Administrator,Logins,Off hours,First,Last\r\nann@example.com,2,1,2026-03-01 00:30:00,2026-03-10 09:00:00\r\n';

/** A destination of the settings. */
type Named = Readonly<Record<string, unknown>> & { readonly name: string };

const settingsOf = (destinations: readonly Named[], reports: unknown) =>
  forwardingSettings({ destinations: [...destinations], reports });

function configOf(destinations: readonly Named[], reports: readonly object[]) {
  const settings = settingsOf(destinations, reports);
  const parsed = parseDestinations(settings);
  return { destinations: parsed, schedules: parseSchedules(settings, parsed) };
}

const monthly = {
  name: 'logins-monthly',
  report: 'logins',
  every: 'month',
  time_zone: 'Europe/Berlin',
  destination: 'archive',
};

const inFile = (folder = directory) =>
  configOf([{ name: 'archive', type: 'file', path: path.join(folder, 'events.ndjson') }], [monthly]);

const byMail = (port: number, reports: readonly object[]) => {
  const addresses = { from: 'sink@example.com', to: 'audit@example.com' };
  return configOf([{ name: 'archive', type: 'smtp', host: '127.0.0.1', port, ...addresses }], reports);
};

const sendAt = (time: string, config = inFile(), db = test.db) =>
  sendDueReports({ db, events: db, config, logger, now: new Date(time) });

const endPause = () => test.query`update report_schedules set retry_at = now()`;

/** Whether the pause after a failure is one of so many seconds. */
async function pausesFor(seconds: number): Promise<boolean> {
  const [{ left } = { left: 0 }] = await test.query<{ left: number }>`
    select extract(epoch from retry_at - now())::float8 as left from report_schedules`;
  return left > seconds - 10 && left <= seconds;
}

const files = async () => (await readdir(directory)).toSorted();

const contentOf = (name: string) => readFile(path.join(directory, name), 'utf8');

const sent = async () => (await test.query`select from reports_sent`).length;

const entries = async () => {
  const rows = await test.query<{ outcome: string }>`
    select outcome from operator_log where action = 'report.send' order by id`;
  return rows.map(({ outcome }) => outcome);
};

describe('a scheduled report', () => {
  it('is sent once after its period, with the events of the period in its time zone', async () => {
    const before = (await entries()).length;
    expect(await sendAt('2026-03-15T00:00:00Z')).toBe('done');
    // Berlin has summer time by the end of March.
    expect(await sendAt('2026-03-31T22:14:59Z')).toBe('done');
    expect(await files()).toEqual([]);
    expect(await sendAt('2026-03-31T22:15:00Z')).toBe('more');
    expect(await files()).toEqual(['logins-monthly-2026-03.csv']);
    expect(await contentOf('logins-monthly-2026-03.csv')).toBe(CSV_OF_MARCH);
    await rm(path.join(directory, 'logins-monthly-2026-03.csv'));
    expect(await sendAt('2026-03-31T22:17:00Z')).toBe('done');
    expect(await files()).toEqual([]);
    expect((await entries()).slice(before)).toEqual(['done']);
    const { report, destination } = monthly;
    const details = {
      report,
      destination,
      since: '2026-02-28T23:00:00.000Z',
      until: '2026-03-31T22:00:00.000Z',
    };
    const entry = { details, subject: 'logins-monthly', operator: 'xiq-sink', result: { rows: 1 } };
    expect(await listActions(test.db, { action: 'report.send', limit: 1 })).toMatchObject([entry]);
  });

  it('begins anew where its period or its time zone is another', async () => {
    const file = { name: 'archive', type: 'file', path: path.join(directory, 'events.ndjson') };
    const begins = async (change: object) => {
      await sendAt('2026-03-15T00:00:00Z', configOf([file], [{ ...monthly, ...change }]));
      const [schedule] = await readSchedules(test.db, ['logins-monthly']);
      return schedule?.nextSince;
    };
    expect(await begins({})).toEqual(new Date('2026-02-28T23:00:00Z'));
    expect(await begins({ every: 'week' })).toEqual(new Date('2026-03-08T23:00:00Z'));
    expect(await begins({ every: 'week', time_zone: 'UTC' })).toEqual(new Date('2026-03-09T00:00:00Z'));
  });

  it('is made up for, one period after the other', async () => {
    await sendAt('2026-02-15T00:00:00Z');
    for (let n = 0; n < 5; n += 1) await sendAt('2026-05-02T00:00:00Z');
    expect(await files()).toEqual(['02', '03', '04'].map((month) => `logins-monthly-2026-${month}.csv`));
    expect(await contentOf('logins-monthly-2026-02.csv')).toBe('no rows\r\n');
    expect(await contentOf('logins-monthly-2026-04.csv')).toContain('bob@example.com,1,0');
  });

  it('of each period is sent by one of several processes', async () => {
    const { port, mails } = await mailServer();
    const config = byMail(port, [{ ...monthly, every: 'day' }]);
    const last = '2026-03-09T12:00:00Z';
    const pools = [1, 2].map(() => openLimited('console', test.databaseUrl, () => undefined));
    const sendAll = async (db: TestDatabase['db']) => {
      while ((await sent()) < 8) await sendAt(last, config, db);
    };
    await sendAt('2026-03-01T12:00:00Z', config);
    await Promise.all(pools.flatMap((db) => Array.from({ length: 4 }, () => sendAll(db))));
    await Promise.all(pools.map((db) => db.destroy()));
    expect(mails.map(({ headers }) => headers['message-id'])).toEqual(
      Array.from({ length: 8 }, (_, day) => `<report_logins-monthly-2026-03-0${day + 1}@example.com>`),
    );
  });

  it('is retried after a pause if the destination is down, and its error is told', async () => {
    const before = (await entries()).length;
    const missing = path.join(directory, 'not', 'there');
    await sendAt('2026-03-15T00:00:00Z');
    expect(await sendAt('2026-04-02T00:00:00Z', inFile(missing))).toBe('done');
    const [failed] = await readSchedules(test.db, ['logins-monthly']);
    expect(failed).toMatchObject({ attempts: 1, sentAt: null });
    expect(failed?.lastError).toContain("can't write file");
    // The pause is not over.
    expect(await sendAt('2026-04-02T00:00:00Z')).toBe('done');
    // The pause doubles, up to an hour.
    for (const [attempts, pause] of [
      [1, 60],
      [6, 1_920],
      [7, 3_600],
    ] as const) {
      await test.query`update report_schedules set retry_at = now(), attempts = ${attempts}`;
      await sendAt('2026-04-02T00:00:00Z', inFile(missing));
      expect(await pausesFor(pause)).toBe(true);
    }
    await endPause();
    expect(await sendAt('2026-04-02T00:00:00Z')).toBe('more');
    expect(await files()).toEqual(['logins-monthly-2026-03.csv']);
    const [done] = await readSchedules(test.db, ['logins-monthly']);
    expect(done).toMatchObject({ attempts: 0, lastError: null });
    expect(done?.sentAt).toBeInstanceOf(Date);
    expect((await entries()).slice(before)).toEqual(['failed', 'done']);
    const [, first] = await listActions(test.db, { action: 'report.send', limit: 2 });
    expect(first?.result).toEqual({ error: failed?.lastError });
  });

  it('reaches people by mail, with the table in the text and the CSV attached', async () => {
    const { port, mails } = await mailServer();
    const config = byMail(port, [monthly]);
    await sendAt('2026-03-15T00:00:00Z', config);
    expect(await sendAt('2026-04-02T00:00:00Z', config)).toBe('more');
    const [received] = mails;
    expect(received?.headers['subject']).toBe('Logins of administrators, 2026-03');
    expect(received?.headers['message-id']).toBe('<report_logins-monthly-2026-03@example.com>');
    expect(received?.body).toContain('logins-monthly-2026-03.csv');
    expect(received?.body).toMatch(/text\/csv; charset=utf-8/);
  });

  it.skipIf(!hasOpenssl)('reaches a receiver signed, and again after a 503 (needs openssl)', async () => {
    using certificate = makeCertificate('IP:127.0.0.1');
    const busy = { status: 503, headers: { 'retry-after': '600' } };
    await using server = await standIn(inTurn({ status: 503 }, busy, {}), certificate);
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const access = { allow_private: true, tls: { ca: certificate.cert }, signing_secret: secret };
    const config = configOf([{ name: 'archive', type: 'https', url: server.url, ...access }], [monthly]);
    await sendAt('2026-03-15T00:00:00Z', config);
    expect(await sendAt('2026-04-02T00:00:00Z', config)).toBe('done');
    expect(await pausesFor(30)).toBe(true);
    await endPause();
    expect(await sendAt('2026-04-02T00:00:00Z', config)).toBe('done');
    expect(await pausesFor(600)).toBe(true);
    await endPause();
    expect(await sendAt('2026-04-02T00:00:00Z', config)).toBe('more');

    expect(server.received).toHaveLength(3);
    for (const { body, headers } of server.received) {
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'webhook-id': 'report_logins-monthly-2026-03',
      });
      const signed = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, String(value)]),
      );
      expect(new Webhook(secret).verify(body, signed)).toEqual({
        type: 'xiq-sink.report',
        id: 'logins-monthly-2026-03',
        schedule: 'logins-monthly',
        report: 'logins',
        title: 'Logins of administrators',
        period: '2026-03',
        since: '2026-02-28T23:00:00.000Z',
        until: '2026-03-31T22:00:00.000Z',
        time_zone: 'Europe/Berlin',
        is_cut: false,
        rows: [
          {
            Administrator: 'ann@example.com',
            Logins: '2',
            'Off hours': '1',
            First: '2026-03-01 00:30:00',
            Last: '2026-03-10 09:00:00',
          },
        ],
      });
    }
  });

  it('is an object in a bucket, which the same report replaces (s3rver stands in for S3)', async () => {
    await using server = await startS3();
    const inBucket = (more: object = {}) =>
      configOf(
        [{ name: 'archive', type: 's3', ...server.options, prefix: 'audit/' }],
        [{ ...monthly, ...more }],
      );
    const key = 'audit/reports/logins-monthly/logins-monthly-2026-03.csv';
    const own = inBucket({ source: 'default' });
    await sendAt('2026-03-15T00:00:00Z', own);
    expect(await sendAt('2026-04-02T00:00:00Z', own)).toBe('more');
    expect(await server.keys()).toEqual([key]);
    expect((await server.read(key)).toString()).toBe(CSV_OF_MARCH);

    // As if the process had been killed before it noted the report.
    await test.query`truncate report_schedules, reports_sent`;
    await sendAt('2026-03-15T00:00:00Z', inBucket());
    expect(await sendAt('2026-04-02T00:00:00Z', inBucket({ source: 'elsewhere' }))).toBe('more');
    expect(await server.keys()).toEqual([key]);
    expect((await server.read(key)).toString()).toBe('no rows\r\n');
  });

  it.each([
    ['day', '2026-03-10T12:00:00Z', '2026-03-10'],
    ['week', '2026-03-12T12:00:00Z', '2026-03-09'],
  ])('can be about a %s', async (every, now, label) => {
    const file = { name: 'archive', type: 'file', path: path.join(directory, 'events.ndjson') };
    const config = configOf([file], [{ ...monthly, name: 'logins', every }]);
    await sendAt(now, config);
    expect(await sendAt('2026-03-17T12:00:00Z', config)).toBe('more');
    expect(await files()).toEqual([`logins-${label}.csv`]);
    expect(await contentOf(`logins-${label}.csv`)).toContain('ann@example.com,1,0');
  });
});

describe('the settings of scheduled reports', () => {
  const file = { name: 'archive', type: 'file', path: '/var/log/events.ndjson' };
  const stdout = { name: 'out', type: 'stdout' };

  it.each([
    [
      { ...monthly, destination: 'out' },
      'logins-monthly: destination: out is of the type stdout, which cannot receive reports',
    ],
    [{ ...monthly, destination: 'nowhere' }, 'logins-monthly: destination: there is no destination nowhere'],
    [{ ...monthly, report: 'access' }, 'logins-monthly: user: is required for the report access'],
    [{ ...monthly, user: 'ann' }, 'logins-monthly: user: is not allowed for the report logins'],
    [
      { ...monthly, report: 'disclosures', source: 'x' },
      'logins-monthly: source: is not allowed for the report disclosures',
    ],
    [{ ...monthly, every: 'year' }, 'reports.0.every: must be one of day, week, month'],
    [{ ...monthly, time_zone: 'Mars' }, 'reports.0.time_zone: must be an IANA time zone'],
  ])('name what is wrong with %j', (wrong, message) => {
    expect(() => configOf([file, stdout], [wrong])).toThrow(message);
  });

  it('have each name once, and all that is wrong is told', () => {
    expect(() => configOf([file], [monthly, monthly])).toThrow('another schedule has this name');
    const two = [
      { ...monthly, destination: 'nowhere', user: 'ann' },
      { ...monthly, name: 'b', report: 'access' },
    ];
    const told =
      /logins-monthly: destination: .*\n.*logins-monthly: user: is not.*\n.*: b: user: is required/;
    expect(() => configOf([file], two)).toThrow(told);
    expect(() => parseSchedules(settingsOf([file], 'all'), [])).toThrow('XIQ_SINK_CONFIG: reports: ');
    expect(parseSchedules(settingsOf([file], undefined), [])).toEqual([]);
  });

  it('may be about a person, for a destination whose other settings are wrong', () => {
    const schedule = { ...monthly, report: 'access', user: 'ann', source: 'east' };
    expect(parseSchedules(settingsOf([file], [schedule]), [])).toEqual([schedule]);
  });

  it('know which types of destinations carry reports', () => {
    const url = 'https://receiver.example/';
    const settings = [
      file,
      stdout,
      { name: 'a', type: 'https', url },
      { name: 'b', type: 's3', bucket: 'reports' },
      { name: 'c', type: 'smtp', host: 'mail.example', from: 'a@example.com', to: 'b@example.com' },
      { name: 'd', type: 'chat', service: 'slack', url },
      { name: 'e', type: 'syslog', transport: 'tcp', host: 'siem.example', port: 514 },
    ];
    const carrying = parseDestinations(settingsOf(settings, undefined))
      .filter((destination) => destination.createSender().sendReport !== undefined)
      .map(({ type }) => type);
    expect(carrying.toSorted()).toEqual([...REPORT_TYPES].toSorted());
  });
});
