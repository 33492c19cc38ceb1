import { z } from 'zod';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import type { CloudType } from '../../src/events/domain.ts';

const typeTallySchema = z.object({
  deliveries: z.int().describe('Requests sent, including repetitions'),
  records: z.int().describe('Records in them, each counted once'),
  lost: z.int().describe('Deliveries that were not sent because of a fault'),
  answers: z.record(z.string(), z.int()).describe('Answers by HTTP status; no answer counts as failed'),
});

/** Delivery counts by message type. */
export const tallySchema = z.record(z.enum(CLOUD_TYPES), typeTallySchema);

type Counts = z.output<typeof tallySchema>;

/** Counts deliveries and their answers. */
export interface Tally {
  counts(): Counts;
  /** Counts the records of a new delivery. */
  begun(type: CloudType, records: number): void;
  sent(type: CloudType): void;
  lost(type: CloudType): void;
  /** Counts an answer by its HTTP status, or `failed` without an answer. */
  answered(type: CloudType, status: number | 'failed'): void;
}

/** Creates a tally of zeros. */
export function createTally(): Tally {
  const counts = tallySchema.parse(
    Object.fromEntries(
      CLOUD_TYPES.map((type) => [type, { deliveries: 0, records: 0, lost: 0, answers: {} }]),
    ),
  );
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
