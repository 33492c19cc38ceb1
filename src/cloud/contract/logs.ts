import { z } from 'zod';

/** The kinds of log that `GET /logs/{kind}` returns. There is none for GDPR and location events. */
export const LOG_KINDS = ['audit', 'auth', 'accounting', 'credential', 'email', 'sms'] as const;

export type LogKind = (typeof LOG_KINDS)[number];

/** The largest page `limit` of each log. */
export const LOG_PAGE_LIMITS: Readonly<Record<LogKind, number>> = {
  audit: 500,
  auth: 100,
  accounting: 100,
  credential: 100,
  email: 100,
  sms: 100,
};

/** The longest span between `startTime` and `endTime` of one audit query, in milliseconds. */
export const AUDIT_WINDOW_MS = 30 * 24 * 60 * 60 * 1000;

/** An int64: a string of digits if a JavaScript number would round it. */
export const int64 = z.union([z.int(), z.string()]);

/**
 * The members of every log record, `timestamp` in epoch milliseconds. Records are passed on as sent, so the client
 * validates nothing else: one odd member must not cost a whole page.
 */
export const logRecordSchema = z.looseObject({
  id: int64,
  org_id: int64.nullish(),
  timestamp: z.int().nullish(),
});

export type LogRecord = z.output<typeof logRecordSchema>;
