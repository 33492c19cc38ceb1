import { z } from 'zod';
import { SEEN_DAYS } from '../../store/counts/roll-up-seen.ts';
import { DIRECTORY_ORDERS, directorySince, listDirectory } from '../../store/counts/read-directory.ts';
import type { Db } from '../../store/server/database.ts';
import type { Scope } from '../../store/server/scope.ts';
import { toAnswer } from '../api/route.ts';
import { isoTime, moment, shortText, limit, text } from '../api/parameters.ts';
import { cursorOf, pageOf, writeCursor } from '../api/paging.ts';
import { SEEN_KINDS, type SeenKind } from '../../store/server/schema/count-tables.ts';

export const KINDS_IN = {
  people: ['administrator', 'user'],
  devices: ['client', 'access point'],
} as const satisfies Readonly<Record<string, readonly SeenKind[]>>;

export type DirectoryName = keyof typeof KINDS_IN;

const MAX_PREFIX = 200;

const place = z.object({
  kind: z.enum(SEEN_KINDS),
  key: text,
  label: text,
  lastSeen: z.coerce.date(),
});

export const directoryQuery = (name: DirectoryName) =>
  z.object({
    q: shortText(MAX_PREFIX)
      .transform((value) => value.trim())
      .optional()
      .describe(
        name === 'people'
          ? 'beginning of the name, ignoring case'
          : 'beginning of the MAC address, in any notation, or of the host name of an access point, ignoring case',
      ),
    kind: z.enum(KINDS_IN[name], `must be ${KINDS_IN[name].join(' or ')}`).optional(),
    order: z
      .enum(DIRECTORY_ORDERS, `must be ${DIRECTORY_ORDERS.join(', ')}`)
      .default('seen')
      .describe('last seen first, longest silent first, or by name'),
    silent: moment
      .optional()
      .describe(
        'only access points with events in the last 30 days, but none since this time: 1h, or a time',
      ),
    limit: limit(50, 500),
    cursor: cursorOf(place),
  });

const count = z.number().int();

export const directorySchema = z.object({
  since: isoTime.describe(`start of the first of the ${SEEN_DAYS} counted days (UTC)`),
  items: z.array(
    z
      .object({
        kind: z.enum(SEEN_KINDS),
        key: z.string().describe('name in the form used for comparison, or MAC address'),
        name: z
          .string()
          .describe('latest spelling of the name; host name of an access point, else the MAC address'),
        last_seen: isoTime.describe('ISO 8601 in UTC'),
        days: z.array(count).describe('events of each day, the oldest first'),
        events: count,
        logins: count.describe('logins of an administrator, or network logins of a user'),
        changes: count.describe('configuration changes'),
        keys: count.describe('private keys created or deleted'),
      })
      .meta({ id: 'DirectoryEntry' }),
  ),
  next_cursor: z.string().nullable(),
});

export type Directory = z.input<typeof directorySchema>;

export async function readDirectory(
  db: Db,
  scope: Scope,
  name: DirectoryName,
  { q, kind, order, silent, limit: size, cursor }: z.output<ReturnType<typeof directoryQuery>>,
): Promise<Directory> {
  const found = await listDirectory(db, scope, {
    kinds: KINDS_IN[name].filter((one) =>
      silent === undefined ? kind === undefined || one === kind : one === 'access point',
    ),
    silentSince: silent,
    prefixes: q === undefined ? [] : [q, ...(name === 'devices' ? macPrefix(q) : [])],
    order,
    limit: size + 1,
    after: cursor,
  });
  const page = pageOf(found, size, ({ kind: ofKind, key, label, lastSeen }) =>
    writeCursor({ kind: ofKind, key, label, lastSeen }),
  );
  const items = page.items.map((entry) => ({
    ...toAnswer(entry),
    name: entry.name ?? entry.key,
    days: [...entry.days],
  }));
  return { since: directorySince(new Date()), ...page, items };
}

/** The beginning of a MAC address in its usual notation, if the text can be one. */
function macPrefix(text: string): readonly string[] {
  const digits = text.replaceAll(/[-.:]/g, '').toLowerCase();
  return /^[0-9a-f]{1,12}$/.test(digits) ? [(digits.match(/..?/g) ?? []).join(':')] : [];
}
