import type { MessageType } from '../../src/events/domain.ts';
import type { Random } from '../../emulator/random.ts';
import { auditRecord } from '../support/deliveries.ts';

/** What one delivery carries. */
export interface Payload {
  readonly messageType: MessageType;
  readonly body: string;
  /** The number of each event that it owes; of an unreadable body, the number it can be told by in quarantine. */
  readonly numbers: readonly number[];
  readonly isReadable: boolean;
}

export interface Payloads {
  /** The next to send: mostly one audit record; some of several, some of observations, some again, some unreadable. */
  next(): Payload;
  /** Tells that a payload was acknowledged: only such are sent again. */
  acknowledged(payload: Payload): void;
}

const UNREADABLE_SHARE = 0.01;
const AGAIN_SHARE = 0.03;
const SEVERAL_SHARE = 0.1;
const LOCATION_SHARE = 0.1;

/** So many of the last that were acknowledged may come again. */
const REMEMBERED = 1_000;

/** Every number is given once. Records bear the time of this clock. */
export function createPayloads(random: Random, clock = () => Date.now()): Payloads {
  let last = 0;
  const remembered: Payload[] = [];
  const numbers = (count: number) => Array.from({ length: count }, () => (last += 1));
  return {
    next() {
      if (random.chance(UNREADABLE_SHARE)) return unreadable(numbers(1));
      const again = random.chance(AGAIN_SHARE) ? random.pickAny(remembered) : undefined;
      if (again !== undefined) return again;
      if (random.chance(LOCATION_SHARE)) return location(numbers(random.int(1, 4)), clock());
      return audit(numbers(random.chance(SEVERAL_SHARE) ? random.int(2, 5) : 1), clock());
    },
    acknowledged(payload) {
      if (!payload.isReadable) return;
      if (remembered.length < REMEMBERED) remembered.push(payload);
      else remembered[random.int(0, REMEMBERED - 1)] = payload;
    },
  };
}

function audit(numbers: readonly number[], timeStamp: number): Payload {
  const body = JSON.stringify(numbers.map((userId) => auditRecord({ userId, timeStamp })));
  return { messageType: 'AUDIT_LOG_ALL', body, numbers, isReadable: true };
}

function location(numbers: readonly number[], seenEpoch: number): Payload {
  const record = {
    ownerId: '1234567',
    apMac: '00:00:5e:00:53:01',
    observations: numbers.map((number) => ({
      clientMac: number.toString(16).padStart(12, '0'),
      seenEpoch,
      rssi: -60,
      ssid: 'guests',
    })),
  };
  return { messageType: 'LOCATION_AP_CENTRIC', body: JSON.stringify(record), numbers, isReadable: true };
}

function unreadable(numbers: readonly number[]): Payload {
  const body = `[{"userId":${numbers.join()},"description":"cut off`;
  return { messageType: 'AUDIT_LOG_ALL', body, numbers, isReadable: false };
}
