import { z } from 'zod';
import { isoTime, numbers } from '../api/parameters.ts';
import { toAnswer } from '../api/route.ts';
import type { VerifyFinding } from '../../seal/verify/finding.ts';
import { countsOf, type VerificationRun } from '../../seal/verify/verify-job.ts';

const number = z.number();
const text = z.string();

const finding = z
  .object({
    state: z.enum(['ALTERED', 'MISSING', 'INSERTED', 'EXPIRED', 'ERASED']),
    subject: text,
    detail: text,
    event_id: text.nullable(),
    occurred_at: isoTime.nullable(),
    source: text.nullable(),
    message_type: text.nullable(),
    key: text.nullable().describe('id of a row that is not an event'),
  })
  .meta({ id: 'Finding', description: 'A row or something else that differs from the seal' });

/** A verification that this process runs, or the last one that it ran. */
export const verificationSchema = z
  .object({
    state: z.enum(['running', 'done', 'failed']),
    operator: text,
    since: isoTime.nullable(),
    until: isoTime.nullable(),
    source: text.nullable(),
    started_at: isoTime,
    ended_at: isoTime.nullable(),
    leaves: number.describe('number of leaves, all of which are compared with the tree'),
    leaves_done: number,
    findings: z.array(finding).describe('altered, missing and inserted rows; at most 100'),
    result: z
      .object({
        ...numbers(
          'intact',
          'expired',
          'erased',
          'altered',
          'missing',
          'inserted',
          'not_sealed_yet',
          'checkpoints',
        ),
        doubts: z
          .array(text)
          .describe('reasons to distrust the result although no row differs; empty if there are none'),
      })
      .nullable(),
    error: text.nullable(),
  })
  .meta({ id: 'VerificationRun' });

/** The states of a day, the worst first. */
const DAY_WORDS = [
  'missing',
  'altered',
  'not sealed yet',
  'not compared yet',
  'expired',
  'erased',
  'intact',
] as const;

const day = z.object({
  day: z.iso.date(),
  events: number.describe('events that were received on this day and are in the log'),
  word: z.enum(DAY_WORDS).nullable().describe('null: no events'),
  count: number.nullable().describe('number of events in this state'),
  compared_since: isoTime.nullable(),
});

/** The seal, who keeps its checkpoints, and how the rows of each day of a month compare with it. */
export const integritySchema = z
  .object({
    checkpoint: z
      .object({ made_at: isoTime, size: number, public_key: text, note: text })
      .nullable()
      .describe('the latest one; null: none'),
    not_sealed_yet: number,
    verified: z.object({ leaves: number, altered: number, missing: number, since: isoTime.nullable() }),
    anchors: z.array(
      z.object({ name: text, size: number, anchored_at: isoTime.nullable(), error: text.nullable() }),
    ),
    days: z.array(day),
    differences: z.array(finding).describe('altered and missing rows; at most 100'),
  })
  .meta({ id: 'Integrity' });

export type DescribedRun = z.input<typeof verificationSchema>;
export type Finding = z.input<typeof finding>;
export type Integrity = z.input<typeof integritySchema>;
export type Day = z.input<typeof day>;

/** The members that a run, or a finding, may lack; the answer has all of them. */
const OF_RUN = {
  since: undefined,
  until: undefined,
  source: undefined,
  endedAt: undefined,
  error: undefined,
};
const OF_FINDING = { eventId: undefined, occurredAt: undefined, source: undefined, messageType: undefined };

export const describeRun = (run: VerificationRun): DescribedRun => ({
  ...toAnswer({ ...OF_RUN, ...run }),
  findings: run.findings.map(describeFinding),
  result: run.result === undefined ? null : countsOf(run.result),
});

export const describeFinding = (finding: VerifyFinding): Finding => ({
  ...toAnswer({ ...OF_FINDING, ...finding }),
  key: finding.key ?? finding.deliveryId ?? null,
});
