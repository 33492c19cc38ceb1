import { z } from 'zod';
import { MESSAGE_TYPES } from '../../domain.ts';
import { isoTime } from '../api/moment.ts';
import { cursor, inOrder, mac, rangeShape, typeShape, userName, type Range } from '../events/conditions.ts';

/** The default range of a user or a client, in days. */
export const USUAL_DAYS = 7;

const timeline = { ...rangeShape, ...typeShape, cursor };

/** The query of the page of a user. */
export const userQuery = inOrder({ name: userName, ...timeline });

/** The query of the page of a client. */
export const clientQuery = inOrder({ mac: mac('MAC address of the client, in any notation'), ...timeline });

/** Completes a range: by default it ends now and is seven days long. */
export function wholeRange({ since, until = new Date() }: Range): WholeRange {
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

/** A user in a time range, as the API answers it. */
export const userSchema = z
  .object({
    name: z.string(),
    ...summary,
    devices: seenWith.describe('MAC addresses of clients in log entries of the user'),
    access_points: seenWith.describe('MAC addresses of access points'),
  })
  .meta({ id: 'User' });

/** A client in a time range, as the API answers it. */
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

/** The positions of a client for the API. */
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
        observations: z.number().describe('number of observations that the estimate is based on'),
      }),
    )
    .describe('estimated positions of the access points that received the client'),
});

/** A range that has both ends. */
export interface WholeRange {
  readonly since: Date;
  readonly until: Date;
}
