import { z } from 'zod';
import type { StoredEvent } from './stored-event.ts';

/** How serious an alert of a rule is, from low to high. */
export const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;

/** The record of an alert: what its event has as payload. */
const alertRecordSchema = z.object({
  rule: z.string(),
  title: z.string(),
  severity: z.enum(SEVERITIES),
  summary: z.string(),
  group: z.record(z.string(), z.string()),
  count: z.number(),
  first_at: z.string(),
  last_at: z.string(),
  causes: z.array(z.object({ event_id: z.string(), occurred_at: z.string() })),
  destinations: z.array(z.string()).nullable(),
});

export type AlertRecord = z.output<typeof alertRecordSchema>;

export const readAlertRecord = ({ payload }: StoredEvent): AlertRecord => alertRecordSchema.parse(payload);

/** Whether a destination receives an alert: if its rule names it, or names none and the filter matches. */
export function isAlertFor(destination: string, event: StoredEvent, matchesFilter: boolean): boolean {
  const named = z.object({ destinations: z.array(z.string()).nullable() }).safeParse(event.payload)
    .data?.destinations;
  return named?.includes(destination) ?? matchesFilter;
}
