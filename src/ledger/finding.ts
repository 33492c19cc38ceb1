import type { StatementKind } from '../store/statements.ts';

/** A difference, or a row that is gone for a reason on record. */
export interface VerifyFinding {
  readonly state: 'ALTERED' | 'MISSING' | 'INSERTED' | 'EXPIRED';
  /** The row, or what else differs: leaves of the tree, a checkpoint. */
  readonly subject: 'event' | 'delivery' | StatementKind | 'leaves' | 'checkpoint' | 'anchor';
  readonly detail: string;
  readonly eventId?: string;
  readonly deliveryId?: string;
  /** Of a row that is sealed as statements: its id. */
  readonly key?: string;
  readonly occurredAt?: Date;
  readonly source?: string;
  readonly position?: number;
  /** The leaves that it is about: from the first one up to, and without, the last. */
  readonly leaves?: readonly [from: number, to: number];
}
