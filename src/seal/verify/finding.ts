import type { StatementKind, TileKind } from '../../store/server/schema/seal-tables.ts';

/** A difference, or a row that is gone for a reason on record. */
export interface VerifyFinding {
  readonly state: 'ALTERED' | 'MISSING' | 'INSERTED' | 'EXPIRED' | 'ERASED';
  /** The row, or what else differs: leaves of the tree, a checkpoint, a file of an exported proof. */
  readonly subject:
    | 'event'
    | 'delivery'
    | TileKind
    | 'quarter'
    | StatementKind
    | 'leaves'
    | 'checkpoint'
    | 'seen checkpoint'
    | 'time-stamp'
    | 'anchor'
    | 'file'
    | 'schema';
  readonly detail: string;
  readonly eventId?: string;
  readonly deliveryId?: string;
  /** Of a row that is sealed as statements: its id. Of a quarter of an hour: its start. Of a file of an export or of the archive: its path. */
  readonly key?: string;
  readonly occurredAt?: Date;
  readonly source?: string;
  readonly messageType?: string;
  readonly position?: number;
  /** The leaves that it is about: from the first one up to, and without, the last. */
  readonly leaves?: readonly [from: number, to: number];
}

export type Report = (finding: VerifyFinding) => void;

/** Whether it differs from the seal without a reason on record. */
export const isDifference = ({ state }: VerifyFinding) => state !== 'EXPIRED' && state !== 'ERASED';
