import { z } from 'zod';
import { MESSAGE_TYPES } from '../../events/domain.ts';
import type { TimeRange, WholeRange } from '../../lib/text/parse-time.ts';
import { isoTime } from '../api/parameters.ts';
import { cursor, withValidRange, mac, rangeShape, typeShape, userName } from '../events/conditions.ts';

/** The default range of a user or a client, in days. */
export const USUAL_DAYS = 7;

const timeline = { ...rangeShape, ...typeShape, cursor };

export const userQuery = withValidRange({ name: userName, ...timeline });

export const clientQuery = withValidRange({
  mac: mac('MAC address of the client, in any notation'),
  ...timeline,
});

/** Completes a range: by default it ends now and is seven days long. */
export function wholeRange({ since, until = new Date() }: TimeRange): WholeRange {
  return { since: since ?? new Date(until.getTime() - USUAL_DAYS * 86_400_000), until };
}

const time = isoTime.describe('ISO 8601 in UTC');

const seenWith = z
  .array(z.object({ name: z.string(), count: z.number(), last_seen: time }))
  .describe('at most 50');

const summary = {
  since: time,
  until: time,
  first_seen: time.nullable().describe('in the range'),
  last_seen: time.nullable().describe('in the range'),
  counts_by_type: z.partialRecord(z.enum(MESSAGE_TYPES), z.number()),
  is_complete: z.boolean().describe('false if a part of the query timed out and is missing'),
};

export const userSchema = z
  .object({
    name: z.string(),
    ...summary,
    devices: seenWith.describe('MAC addresses of clients in log entries of the user'),
    access_points: seenWith.describe('MAC addresses of access points'),
  })
  .meta({ id: 'User' });

export const clientSchema = z
  .object({
    mac: z.string(),
    ...summary,
    users: seenWith.describe('users in log entries of the client'),
    access_points: seenWith.describe('MAC addresses of access points'),
    ssids: seenWith,
  })
  .meta({ id: 'Client' });

const positionSchema = z
  .object({
    occurred_at: time,
    ap_mac: z.string().nullable().describe('the access point that received the client'),
    x: z.number().nullable().describe('position on the floor plan, assumed to be in metres'),
    y: z.number().nullable(),
    unc: z.number().nullable().describe('uncertainty of the position'),
    lat: z.number().nullable(),
    lng: z.number().nullable(),
    rssi: z.number().nullable().describe('signal strength in dBm'),
  })
  .meta({ id: 'ClientPosition' });

export const positionsSchema = z.object({
  since: time,
  until: time,
  items: z.array(positionSchema).describe('newest first'),
  access_points: z
    .array(
      z.object({
        ap_mac: z.string(),
        name: z.string().nullable(),
        x: z.number(),
        y: z.number(),
        observations: z.number().describe('number of observations behind the estimate'),
      }),
    )
    .describe('estimated positions of the access points that received the client'),
});
