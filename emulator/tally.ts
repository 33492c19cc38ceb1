import { z } from 'zod';
import { MESSAGE_TYPES } from '../src/domain.ts';
import type { MessageType } from '../src/domain.ts';

const typeTallySchema = z.object({
  deliveries: z.int().describe('Requests sent, repetitions included'),
  records: z.int().describe('Records in them, counted once however often they were sent'),
  lost: z.int().describe('Deliveries that a fault kept from being sent'),
  answers: z.record(z.string(), z.int()).describe('Answers by status; no answer counts as failed'),
});

/** Deliveries counted by message type. */
export const tallySchema = z.record(z.enum(MESSAGE_TYPES), typeTallySchema);

function none() {
  return { deliveries: 0, records: 0, lost: 0, answers: {} };
}

/** What became of the deliveries so far. */
export interface Tally {
  counts(): z.output<typeof tallySchema>;
  /** A new delivery of so many records sets out. */
  begun(type: MessageType, records: number): void;
  sent(type: MessageType): void;
  lost(type: MessageType): void;
  /** The receiver answered with this status, or not at all. */
  answered(type: MessageType, status: number | 'failed'): void;
}

export function createTally(): Tally {
  const counts: z.output<typeof tallySchema> = {
    LOCATION_AP_CENTRIC: none(),
    LOCATION_CLIENT_CENTRIC: none(),
    AUDIT_LOG_ALL: none(),
    GDPR_LOG_ALL: none(),
    CREDENTIAL_LOG_ALL: none(),
    ACCOUNTING_LOG_ALL: none(),
    AUTHENTICATION_LOG_ALL: none(),
    EMAIL_LOG_ALL: none(),
    SMS_LOG_ALL: none(),
  };
  return {
    counts: () => structuredClone(counts),
    begun(type, records) {
      counts[type].records += records;
    },
    sent(type) {
      counts[type].deliveries += 1;
    },
    lost(type) {
      counts[type].lost += 1;
    },
    answered(type, status) {
      const { answers } = counts[type];
      answers[status] = (answers[status] ?? 0) + 1;
    },
  };
}
