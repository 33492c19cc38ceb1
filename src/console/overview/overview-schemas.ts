import { z } from 'zod';
import { MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE } from '../../events/domain.ts';
import { QUESTIONS } from '../../observe/service-status.ts';
import { isoTime, numbers } from '../api/parameters.ts';
import { partProblem } from '../page-parts.ts';

const messageType = z.enum([...MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE]);
const time = isoTime.describe('ISO 8601, UTC');
const text = z.string();
const number = z.number();

const check = z
  .object({ name: text, state: text, why: text })
  .meta({ id: 'Check', description: 'The state of a component: ok, unknown, or a problem' });

const status = z
  .object({
    level: z.enum(['good', 'warn', 'bad', 'plain']).describe('plain: no verdict'),
    word: text,
    what: text,
    since: time.nullable().describe('when it began to need attention'),
    remedy: text.nullable().describe('what to do; null if nothing'),
    page: text.describe('path of the page about it'),
  })
  .meta({ id: 'Status' });

const answer = z
  .object({
    status,
    figure: text.nullable().describe('a number, followed by what it counts; null: not known'),
    needs: z.array(status).describe('everything that needs attention, worst first'),
  })
  .meta({ id: 'Answer' });

/** Whether deliveries arrive, and events are stored, forwarded and proven. */
const answers = z.record(z.enum(QUESTIONS), answer);

export const silenceSchema = z
  .object({
    source: text,
    message_type: messageType,
    last_received_at: time.nullable(),
    state: z.enum(['usual', 'unusual', 'unknown', 'never']),
    sentence: text,
  })
  .meta({ id: 'Silence' });

export const conservationSchema = z
  .object({
    adds_up: z.boolean(),
    items: z.array(
      z.object({
        source: text,
        message_type: messageType,
        ...numbers('deliveries', 'expected', 'events', 'duplicates', 'quarantined'),
        unbalanced: number.describe('deliveries whose own counts do not add up'),
        missing: number.describe('events whose rows are missing without a recorded reason'),
        altered: number.describe('events whose rows differ from their seal'),
        adds_up: z.boolean(),
        last_received_at: time.nullable().describe('null if no webhook delivered any'),
      }),
    ),
  })
  .meta({ id: 'Conservation', description: 'expected = events + duplicates + quarantined' });

/** The overview without figures. A part that could not be read is null and listed in `problems`. */
export const overviewSchema = z
  .object({
    at: time,
    answers,
    checks: z.array(check),
    has_arrived: z.boolean().nullable(),
    hourly_events: z.array(number).nullable().describe('events that arrived in each of the last 24 hours'),
    sources: z.array(text),
    silences: z.array(silenceSchema).nullable(),
    conservation: conservationSchema.nullable(),
    problems: z.array(partProblem),
  })
  .meta({ id: 'Overview' });

const figure = z
  .object({
    count: number.nullable().describe('null: counting took longer than two seconds'),
    q: text.describe('the search that finds these events'),
  })
  .meta({ id: 'Figure' });

const namedFigure = figure.extend({ name: text });

/** What happened in a time range, each number with the search that lists exactly its events. */
export const activitySchema = z
  .object({
    since: time,
    until: time,
    events: figure,
    types: z.array(namedFigure),
    administrators: z
      .array(
        z.object({ user: text, logins: figure, changes: figure, keys_created: figure, keys_deleted: figure }),
      )
      .nullable()
      .describe('the most active first, at most 10; null: counting took longer than two seconds'),
    keys_created: figure,
    failed_logins: figure.extend({ ssids: z.array(namedFigure), users: z.array(namedFigure) }),
    alerts: z.array(namedFigure),
  })
  .meta({ id: 'Activity' });

export type Overview = z.input<typeof overviewSchema>;
export type Activity = z.input<typeof activitySchema>;
export type Figure = z.input<typeof figure>;
export type NamedFigure = z.input<typeof namedFigure>;
export type Conservation = z.input<typeof conservationSchema>;

export const arrivalsSchema = z
  .object({
    since: time,
    until: time,
    bucket_seconds: number,
    items: z.array(
      z.object({
        bucket: time,
        message_type: messageType,
        ...numbers('deliveries', 'records', 'events', 'duplicates', 'quarantined', 'bytes'),
      }),
    ),
  })
  .meta({ id: 'Arrivals' });

export type Arrivals = z.input<typeof arrivalsSchema>;
export type ArrivalsAnswer = z.output<typeof arrivalsSchema>;
