import type { StoredEvent } from '../../src/events/stored-event.ts';
import { OWN_TYPES } from '../../src/events/domain.ts';
import { storedEvent } from '../forward/formats/stored-events.ts';
import { mulberry32 } from '../../emulator/random.ts';

/*
 * The events of a company with 500 access points at 12 sites, and ten attacks among them. What is ordinary includes what
 * makes rules noisy: shared devices, forgotten passwords, conferences, administrators on call, travel, a site with a
 * wrong position.
 */

const SITES = 12;
const ACCESS_POINTS = 500;
const EMPLOYEES = 1_500;
const ADMINISTRATORS = 20;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 1);

/** A shared account of 20 scanners, which the settings of the simulation except. */
export const SHARED_ACCOUNT = 'scanner@example.com';

/** An attack: the rule that must find it, and its events. */
interface Attack {
  readonly rule: string;
  readonly eventIds: ReadonlySet<string>;
}

/** What happens in some days. */
export interface Simulated {
  /** By time. */
  readonly events: readonly StoredEvent[];
  readonly attacks: readonly Attack[];
}

const TEMPLATES = {
  audit: storedEvent('AUDIT_LOG_ALL', {}),
  authentication: storedEvent('AUTHENTICATION_LOG_ALL', {}),
  location: storedEvent('LOCATION_CLIENT_CENTRIC', { deviceObservers: [{}] }),
  email: storedEvent('EMAIL_LOG_ALL', {}),
  sms: storedEvent('SMS_LOG_ALL', {}),
  gdpr: storedEvent('GDPR_LOG_ALL', {}),
  own: storedEvent('OTHER', {}),
};

const macOf = (person: number, device: number) =>
  `00:00:5e:${[person >> 8, person & 255, device].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;

/** Places about 60 km apart, as text like in the columns. */
const siteOf = (number: number, jitter = 0) => ({
  lat: (48 + (number % SITES) * 0.55 + jitter).toFixed(6),
  lng: (9 + (number % 3) * 0.4).toFixed(6),
});

/** Simulates so many days. */
export function simulate(days: number, seed: number): Simulated {
  const random = mulberry32(seed);
  const events: StoredEvent[] = [];
  const attacks: Attack[] = [];
  let number = 0;
  const between = (from: number, to: number) => from + random() * (to - from);
  const happens = (perYear: number) => random() < perYear / 365;

  function add(
    template: keyof typeof TEMPLATES,
    at: number,
    columns: StoredEvent['columns'],
    more: Partial<StoredEvent> = {},
  ): string {
    number += 1;
    const eventId = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    const base = TEMPLATES[template];
    const occurredAt = new Date(at).toISOString();
    const receivedAt = occurredAt;
    events.push({
      ...base,
      eventId,
      occurredAt,
      receivedAt,
      columns: { ...base.columns, ...columns },
      ...more,
    });
    return eventId;
  }

  const audit = (at: number, user: string, code: string, description: string) =>
    add('audit', at, { user_name: user, code, description });
  const authenticate = (at: number, user: string, mac: string, isAccepted = true) =>
    add('authentication', at, {
      username: user,
      client_mac: mac,
      reply: isAccepted ? 'Access-Accept' : 'Access-Reject',
    });
  const seen = (at: number, mac: string, site: number) =>
    add('location', at, { client_mac: mac, ...siteOf(site, between(0, 0.002)) });
  const employee = (person: number) => `employee${person}@example.com`;
  const admin = (person: number) => `admin${person}@example.com`;

  function employees(day: number, isWorkDay: boolean): void {
    for (let person = 0; person < EMPLOYEES; person += 1) {
      if (random() > (isWorkDay ? 0.6 : 0.04)) continue;
      const devices = 1 + (person % 3) + (person % 50 === 0 ? 2 : 0);
      const comes = day + between(7, 10) * HOUR;
      for (let device = 0; device < devices; device += 1) {
        authenticate(comes + between(0, 0.2) * HOUR, employee(person), macOf(person, device));
        if (random() < 0.4)
          authenticate(comes + between(3, 6) * HOUR, employee(person), macOf(person, device));
      }
      // A password that changed: a device goes on with the old one until somebody notices.
      if (random() < 0.0008) {
        const every = random() < 0.02 ? 20_000 : between(45, 300) * 1_000;
        const until = comes + between(0.2, 8) * HOUR;
        for (let at = comes; at < until; at += every)
          authenticate(at, employee(person), macOf(person, 0), false);
      }
      if (person % 10 !== 0) continue;
      for (let hour = 0; hour < 8; hour += 2) seen(comes + hour * HOUR, macOf(person, 1), person);
      // A trip to another site takes its time.
      if (random() < 0.05) seen(comes + between(10.5, 13) * HOUR, macOf(person, 1), person + 1);
    }
    for (let scanner = 0; scanner < 20; scanner += 1) {
      authenticate(day + between(6, 8) * HOUR, SHARED_ACCOUNT, macOf(9_000, scanner));
    }
  }

  /** Of 20 administrators, 4 are on call at nights and weekends, and the others log in then a few times a year. */
  function administrators(day: number, isWorkDay: boolean): void {
    for (let person = 0; person < ADMINISTRATORS; person += 1) {
      const isOnCall = person % 5 === 0;
      const logIn = (at: number) => {
        audit(at, admin(person), '10001', `User ${admin(person)} logged in`);
        for (let change = 0; change < 3; change += 1) {
          const ap = Math.floor(between(0, ACCESS_POINTS));
          audit(
            at + between(1, 50) * 60_000,
            admin(person),
            '99999',
            `Device ap-${ap} was updated by policy floor ${change}`,
          );
        }
      };
      if (isWorkDay && random() < 0.8) logIn(day + between(7, 18) * HOUR);
      if (happens(isOnCall ? 40 : 0.4))
        logIn(day + (random() < 0.5 ? between(0, 5.5) : between(20.5, 23.5)) * HOUR);
      if (random() < 0.05) audit(day + 9 * HOUR, admin(person), '99999', `Login failed for ${admin(person)}`);
    }
    const key = (at: number, clerk: number) =>
      audit(at, admin(clerk), '40001', `PPSK user guest${number} was created`);
    for (let guest = 0; guest < (isWorkDay ? 25 : 2); guest += 1) key(day + between(8, 17) * HOUR, guest % 3);
    // A conference: keys for everybody who comes.
    if (happens(5)) for (let guest = 0; guest < 150; guest += 1) key(day + 10 * HOUR + guest * 8_000, 1);
    if (happens(4))
      audit(day + 11 * HOUR, admin(0), '99999', `Administrator new${number}@example.com was created`);
    if (happens(3)) audit(day + 12 * HOUR, admin(1), '99999', 'API token for monitoring was generated');
    if (happens(2)) audit(day + 13 * HOUR, admin(1), '99999', 'Webhook subscription audit was updated');
  }

  function messages(day: number): void {
    for (let one = 0; one < 60; one += 1) {
      add(one % 3 === 0 ? 'sms' : 'email', day + between(7, 19) * HOUR, {
        username: `guest${one}`,
        status: 'sent',
      });
    }
    if (happens(5)) {
      for (let one = 0; one < 90; one += 1) add('sms', day + 9 * HOUR + one * 20_000, { status: 'sent' });
    }
    if (happens(5)) add('gdpr', day + 14 * HOUR, { category: 'delete', status: 'complete' });
    if (happens(30)) add('gdpr', day + 15 * HOUR, { category: 'download', status: 'complete' });
    // An access point on the wrong map: who walks past it is at two sites.
    if (happens(1)) {
      for (let client = 0; client < 3; client += 1) {
        seen(day + 11 * HOUR, macOf(client * 10, 1), client * 10);
        seen(day + 11.1 * HOUR, macOf(client * 10, 1), client * 10 + 5);
      }
    }
  }

  /** The attacks, each on a day of its own in the second half, when the rules know what is usual. */
  function attack(kind: number, day: number): void {
    const night = day + 3.2 * HOUR;
    const noon = day + 12 * HOUR;
    const times = (count: number, make: (index: number) => string) =>
      Array.from({ length: count }, (_, index) => make(index));
    const create = (user: string, what: string) => [audit(noon, user, '99999', what)];
    const erase = { category: 'delete', status: 'complete' };
    const warn = { tel: '+4930123456', status: 'sent' };
    const subscribe = { sent_type: OWN_TYPES.subscription, username: null };
    const planted: Readonly<Record<string, () => readonly string[]>> = {
      'administrator-added': () => create(admin(7), 'Administrator mallory@example.net was created'),
      'api-token-made': () => create(admin(7), 'User generated API token "backup"'),
      'subscription-changed': () => [add('own', noon, subscribe, { origin: 'xiq-sink' })],
      'logins-failed': () =>
        times(40, (n) => authenticate(noon + n * 6_000, employee(77), macOf(8_000, n % 2), false)),
      'login-at-unusual-hours': () => [audit(night, admin(8), '10001', `User ${admin(8)} logged in`)],
      'many-keys-made': () =>
        times(45, (n) => audit(noon + n * 60_000, admin(9), '40001', `PPSK user x${n} was created`)),
      'identity-on-many-devices': () =>
        times(9, (n) => authenticate(noon + n * 900_000, employee(123), macOf(8_100, n))),
      'client-at-distant-places': () => [
        seen(noon, macOf(41, 1), 41),
        seen(noon + 600_000, macOf(41, 1), 46),
      ],
      'messages-burst': () => times(400, (n) => add('sms', night + n * 1_000, warn)),
      'personal-data-deleted': () => [add('gdpr', night, erase)],
    };
    const [rule, make] = Object.entries(planted)[kind] ?? [];
    if (rule !== undefined && make !== undefined) attacks.push({ rule, eventIds: new Set(make()) });
  }

  for (let index = 0; index < days; index += 1) {
    const day = START + index * DAY;
    const weekday = new Date(day).getUTCDay();
    const isWorkDay = weekday !== 0 && weekday !== 6;
    employees(day, isWorkDay);
    administrators(day, isWorkDay);
    messages(day);
  }
  for (let kind = 0; kind < 10; kind += 1) {
    attack(kind, START + Math.floor(days / 2 + (kind * days) / 20) * DAY);
  }
  return { events: events.toSorted((a, b) => (a.occurredAt < b.occurredAt ? -1 : 1)), attacks };
}
