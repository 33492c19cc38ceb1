import { assert, constantFrom, date, pre, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { instantOf, localText } from '../../src/console/browser/shared/local-time.ts';
import { absoluteAddress, writtenIn } from '../../src/console/html/time-zone.ts';
import { isoIn, parseTime } from '../../src/lib/text/parse-time.ts';
import { useConsole } from '../support/use-console.ts';
import { RANGE, seedEvents } from './seeded-events.ts';
import { eventsForTests } from '../support/events-area.ts';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'Pacific/Apia',
];

const zones = constantFrom(...ZONES);
const instants = date({
  min: new Date('1995-01-01'),
  max: new Date('2037-01-01'),
  noInvalidDate: true,
});

describe('a time zone', () => {
  it('writes into a field what is read back as the same instant', () => {
    assert(
      property(instants, zones, (instant, zone) => {
        const written = writtenIn(zone, instant.toISOString());
        expect(parseTime(written, new Date(), zone)).toEqual(instant);
      }),
      { numRuns: 500 },
    );
  });

  it('writes no more of a time into a field than it has', () => {
    expect(writtenIn('UTC', '2026-01-20T04:51:00.000Z')).toBe('2026-01-20 04:51');
    expect(writtenIn('UTC', '2026-01-20T04:51:07.000Z')).toBe('2026-01-20 04:51:07');
  });

  it('is read by the browser as by the server, but for the hours in which clocks change', () => {
    assert(
      property(instants, zones, (instant, zone) => {
        const local = localText(instant, zone);
        const byServer = parseTime(local, new Date(), zone);
        pre(localText(byServer ?? 0, zone) === local && isFarFromChange(instant, zone));
        expect(instantOf(local, zone)).toBe(byServer?.toISOString());
      }),
      { numRuns: 500 },
    );
  });

  it('gives times with the offset of that time', () => {
    expect(isoIn('Europe/Berlin', new Date('2026-07-01T00:00:00Z'))).toBe('2026-07-01T02:00:00.000+02:00');
    expect(isoIn('America/St_Johns', new Date('2026-01-01T00:00:00Z'))).toBe('2025-12-31T20:30:00.000-03:30');
    assert(
      property(instants, zones, (instant, zone) => {
        expect(Date.parse(isoIn(zone, instant))).toBe(instant.getTime());
      }),
    );
  });

  it.each([
    ['/events?since=2026-03-01&q=a', '/events?since=2026-02-28T23%3A00%3A00.000Z&q=a'],
    ['/events?since=24h&until=2026-07-01+12:00', '/events?since=24h&until=2026-07-01T10%3A00%3A00.000Z'],
    ['/events?since=24h', undefined],
    ['/events?since=2026-03-01T00:00:00Z', undefined],
    ['/events?since=2026-03-01T00:00:00%2B05:00', undefined],
    ['/events?since=2026-02-30', undefined],
    ['/events', undefined],
  ])('makes %s an address that means the same for everyone: %s', (url, expected) => {
    expect(absoluteAddress(url, 'Europe/Berlin')).toBe(expected);
  });
});

/** No change of the clocks within a day: there the two differ in which of two hours they take. */
function isFarFromChange(instant: Date, zone: string): boolean {
  const offsets = [-1, 0, 1].map((days) =>
    isoIn(zone, new Date(instant.getTime() + days * 86_400_000)).slice(23),
  );
  return new Set(offsets).size === 1;
}

describe('pages in the time zone of the reader', () => {
  const admin = useConsole((db) => [eventsForTests(db)], {
    seed: seedEvents,
  });

  const pageIn = (zone: string, path: string) =>
    fetch(`${admin.url}${path}`, {
      headers: { cookie: `xiq_time_zone=${encodeURIComponent(zone)}` },
      redirect: 'manual',
    });
  const range = `since=${RANGE.since}&until=${RANGE.until}`;

  it('name the zone, and write every time in it', async () => {
    const texts = await Promise.all(
      ['UTC', 'Asia/Tokyo', 'Mars/Olympus'].map(async (zone) =>
        (await pageIn(zone, `/events?${range}`)).text(),
      ),
    );
    const times = texts.map((text) =>
      [...text.matchAll(/<time datetime="([^"]*)">([^<]*)</g)].map(([, instant, shown]) => [instant, shown]),
    );
    const heading = (text = '') => /(\w+) time</.exec(text)?.[1];
    expect(texts.map(heading)).toEqual(['UTC', 'Tokyo', 'UTC']);
    expect(times[0]?.length).toBeGreaterThan(10);
    const inTokyo = (instant = '') => localText(instant, 'Asia/Tokyo').slice(11);
    expect(times[1]).toEqual(times[0]?.map(([instant]) => [instant, inTokyo(instant)]));
    const days = (text = '') => [...text.matchAll(/data-day="([^"]*)"/g)].map(([, day]) => day);
    expect(days(texts[1])).toContain(localText(times[0]?.[0]?.[0] ?? '', 'Asia/Tokyo').slice(0, 10));
  });

  it('redirect from local times to instants, and show these as local times', async () => {
    const first = await pageIn('Asia/Tokyo', '/events?since=2026-03-01 09:00');
    expect(first.status).toBe(302);
    const address = first.headers.get('location') ?? '';
    expect(address).toBe('/events?since=2026-03-01T00%3A00%3A00.000Z');
    const text = await (await pageIn('Asia/Tokyo', address)).text();
    expect(text).toMatch(/name="since" value="2026-03-01 09:00"/);
  });

  it('export CSV with the offset of the zone', async () => {
    const exported = `/events/export?${range}`;
    const [csv, utc] = [
      await admin.page(`/api/v1${exported}&tz=Asia/Tokyo`),
      await admin.page(`/api/v1${exported}`),
    ];
    const [header = '', row = ''] = csv.split('\r\n');
    const column = header.split(',').indexOf('occurred_at');
    const [, utcRow = ''] = utc.split('\r\n');
    const shown = row.split(',')[column] ?? '';
    expect(shown).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+09:00$/);
    expect(Date.parse(shown)).toBe(Date.parse(utcRow.split(',')[column] ?? ''));
    await expect(admin.get(`${exported}&tz=Mars/Olympus`)).rejects.toThrow('answered 400');
  });
});
