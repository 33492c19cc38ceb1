import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alertRuleSchema } from '../../src/alerts/alert-rule.ts';
import { createEvaluator } from '../../src/alerts/evaluate-rule.ts';
import type { Alert } from '../../src/alerts/rule-state.ts';
import type { StoredEvent } from '../../src/events/stored-event.ts';
import { storedEvent } from '../forward/formats/stored-events.ts';
import { runInParts } from './run-in-parts.ts';

const T0 = Date.UTC(2026, 2, 2, 9);

/** Hears an access point: the name, the minute, and the source. */
type Heard = readonly [ap: string, minute: number, source?: string];

const RULE = alertRuleSchema.parse({
  name: 'silent',
  title: 'Silent',
  filter: {},
  group_by: ['ap_mac'],
  silent_for: '1h',
});

const timeOf = (minute: number) => new Date(T0 + minute * 60_000).toISOString();

/** To make it anew for each of 100,000 events takes seconds. */
const TEMPLATE = storedEvent('LOCATION_AP_CENTRIC', {});

const eventOf = ([ap, minute, source = 'default']: Heard, index: number): StoredEvent => ({
  ...TEMPLATE,
  source,
  eventId: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
  occurredAt: timeOf(minute),
  receivedAt: timeOf(minute),
  columns: { ap_mac: ap },
});

/** What is raised: source, access point, and the minute of its last event. */
const told = ({ source, group, lastAt }: Alert) =>
  [source, group['ap_mac'], (Date.parse(lastAt) - T0) / 60_000] as const;

const evaluatorOf = () => createEvaluator(RULE, [], () => Infinity);

function run(heard: readonly Heard[]) {
  const evaluator = evaluatorOf();
  return heard.flatMap((one, index) => evaluator.evaluate(eventOf(one, index)).map(told));
}

/** An access point that is heard every so many minutes. */
const every = (minutes: number, ap: string, from: number, until: number, source?: string): Heard[] =>
  Array.from({ length: Math.floor((until - from) / minutes) + 1 }, (_, index) => [
    ap,
    from + index * minutes,
    source ?? 'default',
  ]);

describe('a rule about silence', () => {
  it('raises one alert when a group is not heard for so long, and the next after it was heard again', () => {
    expect(run([['b', 0], ...every(10, 'a', 0, 59)])).toEqual([]);
    expect(run([['b', 0], ...every(10, 'a', 0, 500)])).toEqual([['default', 'b', 0]]);
    expect(run([['B', 0], ...every(10, 'a', 0, 90), ['b', 95], ...every(10, 'a', 100, 500)])).toEqual([
      ['default', 'B', 0],
      ['default', 'b', 95],
    ]);
  });

  it('names the last event with its own time, unless that lies in the future', () => {
    const evaluator = evaluatorOf();
    const late = { ...eventOf(['b', 0], 0), occurredAt: timeOf(-30) };
    const ahead = { ...eventOf(['c', 0], 1), occurredAt: '2090-01-01T00:00:00.000Z' };
    const heard = every(10, 'a', 0, 60).map((one, index) => eventOf(one, index + 2));
    const alerts = [late, ahead, ...heard].flatMap((event) => evaluator.evaluate(event));
    expect(alerts.map(told)).toEqual([
      ['default', 'b', -30],
      ['default', 'c', 0],
    ]);
    expect(alerts[1]?.causes).toEqual([{ eventId: ahead.eventId, occurredAt: ahead.occurredAt }]);
  });

  it('does not count the time in which nothing of the source arrives', () => {
    const aps = ['a', 'b', 'c'];
    const before = aps.map((ap): Heard => [ap, 0]);
    expect(run([...before, ...aps.map((ap): Heard => [ap, 600])])).toEqual([]);
    expect(run([...before, ...every(10, 'a', 600, 640)])).toEqual([]);
    expect(run([...before, ...every(10, 'a', 600, 650)])).toEqual([
      ['default', 'b', 0],
      ['default', 'c', 0],
    ]);
  });

  it('goes on when a clock that was ahead for a moment is set right', () => {
    let now = 0;
    const evaluator = createEvaluator(RULE, [], () => now);
    const heard: Heard[] = [['b', 0], ['a', 525_600], ...every(10, 'a', 10, 60)];
    const alerts = heard.flatMap((one, index) => {
      now = Date.parse(timeOf(one[1]));
      return evaluator.evaluate(eventOf(one, index)).map(told);
    });
    expect(alerts).toEqual([['default', 'b', 0]]);
  });

  it('does not take what another source sends for the time of this one', () => {
    expect(run([['b', 0], ['a', 0], ...every(5, 'x', 0, 500, 'other')])).toEqual([]);
  });

  it('watches 100,000 groups of a source, raises 100 alerts at once, and forgets the group heard longest ago', () => {
    const forged = Array.from({ length: 100_000 }, (_, index): Heard => [`forged ${index}`, 1]);
    const heard: Heard[] = [['b', 0], ['x', 0, 'other'], ...forged, ...every(10, 'a', 2, 70)];
    const alerts = run([...heard, ...every(10, 'x', 10, 100, 'other'), ['y', 100, 'other']]);
    expect(alerts).toHaveLength(100);
    // The group 'a' took the place of another one.
    expect(alerts[0]).toEqual(['default', 'forged 1', 1]);
  });

  it('continues from saved states as if it had not stopped', () => {
    const heard = fc.record({
      ap: fc.constantFrom('a', 'b', 'c', 'd'),
      pause: fc.integer({ min: 1, max: 30 }),
      source: fc.constantFrom('default', 'other'),
    });
    let raised = 0;
    fc.assert(
      fc.property(
        fc.array(heard, { minLength: 20, maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (all, step) => {
          let minute = 0;
          const events = all.map(({ ap, pause, source }, index) => {
            minute += pause;
            return eventOf([ap, minute, source], index);
          });
          const whole = evaluatorOf();
          const expected = events.flatMap((event) => whole.evaluate(event));
          expect(runInParts(RULE, events, step)).toEqual(expected);
          raised += expected.length;
        },
      ),
      { numRuns: 200 },
    );
    expect(raised).toBeGreaterThan(50);
  });
});
