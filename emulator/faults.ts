import { z } from 'zod';

const share = z.number().min(0).max(1);

/** What the emulator does wrong on purpose. */
export const faultsSchema = z.strictObject({
  lose: share.describe('Share of deliveries that are never sent; their events stay listed under /logs'),
  repeat: share.describe('Share of deliveries that are sent twice'),
  reorder: share.describe('Share of deliveries that are sent after the one that follows them'),
  delay_ms: z.int().min(0).max(600_000).describe('How long every delivery is held back, in milliseconds'),
  refuse_calls: z
    .strictObject({
      status: z.union([z.literal(429), z.literal(500), z.literal(503)]),
      retry_after_seconds: z.int().min(0).max(3600),
    })
    .nullable()
    .describe('Answers every API call with this status and Retry-After; deliveries go on'),
  fail_creates: z
    .enum(['unstored', 'stored'])
    .nullable()
    .describe(
      'Every second call that creates something, the first included, answers 503: before or after it is stored',
    ),
  queue_creates: z
    .boolean()
    .describe(
      'Creating subscriptions answers 202 without a body, as the published versions of the service do',
    ),
  hide_subscriptions: z
    .boolean()
    .describe('The list of subscriptions answers 404, as if the service had none'),
});

type Faults = z.output<typeof faultsSchema>;

/** Body of `POST /emulator/faults`: what it names is changed, the rest stays. */
export const faultsChangeSchema = faultsSchema.partial().extend({
  revoke_token: z.string().optional().describe('Revokes this bearer token, or every one issued so far: *'),
});

/** Nothing goes wrong. */
const NONE: Faults = {
  lose: 0,
  repeat: 0,
  reorder: 0,
  delay_ms: 0,
  refuse_calls: null,
  fail_creates: null,
  queue_creates: false,
  hide_subscriptions: false,
};

/** The faults in force. */
export interface FaultSwitch {
  current(): Faults;
  change(changes: { [Fault in keyof Faults]?: Faults[Fault] | undefined }): Faults;
  reset(): void;
  /** Whether, and when, the call that creates something fails; asked once for each such call. */
  nextCreate(): Faults['fail_creates'];
}

export function createFaultSwitch(): FaultSwitch {
  let faults = NONE;
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
      faults = NONE;
    },
    nextCreate() {
      if (faults.fail_creates === null) return null;
      creates += 1;
      return creates % 2 === 1 ? faults.fail_creates : null;
    },
  };
}
