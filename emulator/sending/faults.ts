import { z } from 'zod';

const share = z.number().min(0).max(1);

/** Failures that the emulator simulates on request. */
export const faultsSchema = z.strictObject({
  lose: share.describe('Share of deliveries that are never sent; /logs still lists their events'),
  repeat: share.describe('Share of deliveries that are sent twice'),
  reorder: share.describe('Share of deliveries that are sent after their successor'),
  delay_ms: z.int().min(0).max(600_000).describe('Delay of every delivery, in milliseconds'),
  refuse_calls: z
    .strictObject({
      status: z.union([z.literal(429), z.literal(500), z.literal(503)]),
      retry_after_seconds: z.int().min(0).max(3600),
    })
    .nullable()
    .describe('Every API call returns this status and Retry-After; deliveries continue'),
  fail_creates: z
    .enum(['unstored', 'stored'])
    .nullable()
    .describe(
      'Every second creating call, beginning with the next, returns 503: with nothing stored, or with everything stored',
    ),
  log_delay_ms: z
    .int()
    .min(0)
    .max(86_400_000)
    .describe('Records appear in /logs and /alerts late, by up to this many milliseconds'),
  log_skew_ms: z
    .int()
    .min(0)
    .max(60_000)
    .describe('Times in /logs differ from those in deliveries by up to this many milliseconds, either way'),
  status_delay_ms: z
    .int()
    .min(0)
    .max(86_400_000)
    .describe('The status of an SMS or e-mail changes in /logs after this many milliseconds'),
  alike: share.describe(
    'Share of audit events that happen three times within one millisecond, with a description that tells nothing apart',
  ),
  short_pages: z.boolean().describe('Pages of /logs and /alerts have at most half of the records asked for'),
  empty_pages: z.boolean().describe('Pages of /logs and /alerts after the first are empty; totals are right'),
  wrong_totals: z
    .enum(['lower', 'higher', 'zero'])
    .nullable()
    .describe('The totals of /logs and /alerts are lower or higher than the number of records, or zero'),
  repeat_records: z
    .boolean()
    .describe(
      'Pages of /logs and /alerts begin with the last record of the page before; totals are right, so the last ones are missing',
    ),
  silent_logs: z.boolean().describe('/logs and /alerts list nothing'),
  lose_times: share.describe('Share of records in /logs and /alerts that have no time'),
  queue_creates: z
    .boolean()
    .describe('Creating subscriptions returns 202 without a body, as published versions of the service do'),
  hide_subscriptions: z
    .boolean()
    .describe('The list of subscriptions returns 404, as if the service did not offer it'),
  delete_by_query: z
    .boolean()
    .describe(
      'Subscriptions are deleted only by /subscriptions/webhook/:delete?ids=, by their address it returns 405',
    ),
});

export type Faults = z.output<typeof faultsSchema>;

/** Body of `POST /emulator/faults`: changes the members that are given. */
export const faultsChangeSchema = faultsSchema.partial().extend({
  revoke_token: z.string().optional().describe('Revokes this bearer token, or all tokens issued so far: *'),
});

export const NO_FAULTS: Faults = {
  lose: 0,
  repeat: 0,
  reorder: 0,
  delay_ms: 0,
  refuse_calls: null,
  fail_creates: null,
  log_delay_ms: 0,
  log_skew_ms: 0,
  status_delay_ms: 60_000,
  alike: 0,
  short_pages: false,
  empty_pages: false,
  wrong_totals: null,
  repeat_records: false,
  silent_logs: false,
  lose_times: 0,
  queue_creates: false,
  hide_subscriptions: false,
  delete_by_query: false,
};

/** The active faults. */
export interface FaultSwitch {
  current(): Faults;
  change(changes: { [Fault in keyof Faults]?: Faults[Fault] | undefined }): Faults;
  reset(): void;
  /** Whether the creating call fails, and if so, when. Must be called once for each creating call. */
  nextCreate(): Faults['fail_creates'];
}

/** Creates a switch with all faults off. */
export function createFaultSwitch(): FaultSwitch {
  let faults = NO_FAULTS;
  let creates = 0;
  return {
    current: () => faults,
    change(changes) {
      const given = Object.entries(changes).filter(([, value]) => value !== undefined);
      faults = faultsSchema.parse({ ...faults, ...Object.fromEntries(given) });
      creates = 0;
      return faults;
    },
    reset() {
      faults = NO_FAULTS;
    },
    nextCreate() {
      if (faults.fail_creates === null) return null;
      creates += 1;
      return creates % 2 === 1 ? faults.fail_creates : null;
    },
  };
}
