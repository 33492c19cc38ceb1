import { createRandom } from '../../emulator/random.ts';
import { REFUSED_MARK } from './database.ts';
import type { Setup } from './set-up.ts';
import { EPOCH } from './simulated-process.ts';

/** What a sender sends, once or repeatedly. */
export interface SentBody {
  readonly number: number;
  readonly source: string;
  readonly text: string;
  /** The records that become events, as they are stored. */
  readonly events: readonly string[];
  /** The parts that go to quarantine. */
  readonly setAside: readonly string[];
  /** The whole body is not JSON: the sender gets 400, and it is in quarantine. */
  readonly isUnreadable: boolean;
  /** How often its sender sends it at most. */
  readonly tries: number;
  /** Its sender sends it again after it was accepted. */
  readonly isRepeated: boolean;
}

export function drawBody(seed: number, number: number, setup: Setup): SentBody {
  const random = createRandom(seed, `delivery ${number}`);
  const source = random.chance(setup.loud) ? setup.sources[0] : random.pick(setup.sources);
  const tries = random.pick([1, 2, 5, 20]);
  const isRepeated = random.chance(setup.repeated);
  const damage = random.chance(setup.damaged)
    ? random.pick(['unreadable', 'refused', 'no object'])
    : undefined;
  const base = { number, source, tries, isRepeated };
  const count = random.pick([1, 1, 1, 2, 5]);
  const events = Array.from({ length: count }, (_, at) => record(number, at, random.int(0, 999)));
  if (damage === 'unreadable') {
    return {
      ...base,
      text: `{"body":${number}`,
      events: [],
      setAside: [`{"body":${number}`],
      isUnreadable: true,
    };
  }
  const setAside: string[] = [];
  if (damage === 'refused') setAside.push(record(number, count, 0, REFUSED_MARK));
  if (damage === 'no object') setAside.push(`"part of ${number}"`);
  const text =
    count === 1 && damage === undefined ? (events[0] ?? '') : `[${[...events, ...setAside].join(',')}]`;
  return { ...base, text, events, setAside, isUnreadable: false };
}

/** An audit record, with its members in the order in which they are stored. */
const record = (number: number, at: number, code: number, description = 'logged in') =>
  JSON.stringify({
    code,
    description,
    id: `${number}.${at}`,
    orgId: 0,
    ownerId: 1_234_567,
    timeStamp: EPOCH + number,
    userName: `user-${number % 100}@example.com`,
  });

/** The body that a stored record is of. */
export function numberOf(payload: string): number {
  return Number(/"id":"(\d+)\./.exec(payload)?.[1] ?? -1);
}
