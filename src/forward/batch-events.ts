import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { OWN_TYPES } from '../events/domain.ts';
import type { LogSlice } from '../store/events/read-events.ts';
import { isRuleAlert, ownTypeOf, type LoggedEvent } from '../events/stored-event.ts';
import { createFilter, type DestinationFilter } from './destination-filter.ts';
import { isAlertFor } from '../events/rule-alert.ts';
import type { Message, Format } from './sender.ts';

export interface BatchLimits {
  readonly events: number;
  /** Total length of the messages' texts. */
  readonly bytes: number;
  readonly seconds: number;
}

export const DEFAULT_LIMITS: BatchLimits = { events: 500, bytes: 900_000, seconds: 0 };

/** How many events, or bytes of their texts, are formatted without a pause, which takes about half a millisecond. */
const EVENTS_PER_SLICE = 25;
const BYTES_PER_SLICE = 64 * 1024;
export interface LoggedMessage extends Message {
  readonly event: LoggedEvent;
}

interface Batch {
  readonly messages: readonly LoggedMessage[];
  /** The cursor's position once they are sent. */
  readonly position: number;
}

export interface Batching {
  readonly name: string;
  readonly filter: DestinationFilter;
  readonly format: Format;
  readonly limits: BatchLimits;
}

/**
 * Creates a function that filters and formats a slice of events into batches of limited size. The last batch ends at
 * the end of the slice.
 */
export function createBatcher({ name, filter, format, limits }: Batching) {
  const matches = createFilter(filter);
  const isWanted = (event: LoggedEvent) => {
    if (isRuleAlert(event)) return isAlertFor(name, event, matches(event));
    // Checkpoints are worth most where nobody thought of them. A destination for alerts is one that people read.
    return ownTypeOf(event) === OWN_TYPES.checkpoint ? filter.ruleAlerts !== 'only' : matches(event);
  };
  return async function* toBatches(events: LogSlice['events'], end: number): AsyncGenerator<Batch> {
    let messages: LoggedMessage[] = [];
    let bytes = 0;
    let formatted = { events: 0, bytes: 0 };
    let sentTo = 0;
    for (const event of events) {
      formatted.events += 1;
      if (formatted.events >= EVENTS_PER_SLICE || formatted.bytes >= BYTES_PER_SLICE) {
        await giveWay();
        formatted = { events: 0, bytes: 0 };
      }
      if (!isWanted(event)) continue;
      const text = format(event);
      const size = Buffer.byteLength(text);
      formatted.bytes += size;
      const isFull = messages.length >= limits.events || bytes + size > limits.bytes;
      if (messages.length > 0 && isFull) {
        yield { messages, position: sentTo };
        messages = [];
        bytes = 0;
      }
      messages.push({ event, text });
      sentTo = event.position + 1;
      bytes += size;
    }
    yield { messages, position: end };
  };
}

/** If other work took longer than this, senders of deliveries are probably waiting for their answers. */
const BUSY_MS = 1;

/** Forwarding continues after this time, however much other work there is. */
const LONGEST_PAUSE_MS = 25;

/**
 * Lets all other pending work of this process run first, then rests for twice as long as that took: a destination that
 * is catching up must not delay answers. Costs almost nothing when there is no other work.
 */
async function giveWay(): Promise<void> {
  const began = performance.now();
  await nextTurn();
  const others = performance.now() - began;
  if (others > BUSY_MS) await sleep(Math.min(2 * others, LONGEST_PAUSE_MS));
}
