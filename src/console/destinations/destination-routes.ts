import { z } from 'zod';
import { HttpError } from '../../errors.ts';
import {
  changeDestinationState,
  forgetUnconfigured,
  rewindDestination,
} from '../../store/change-destination.ts';
import { describeDestinations } from '../../store/destinations.ts';
import { recordAction } from '../../store/operator-log.ts';
import { jsonRoute } from '../api/route.ts';
import type { ApiRoute, Asking } from '../api/route.ts';
import {
  destinationSchema,
  oneDestination,
  rejectedQuery,
  rejectedSchema,
  resendBody,
  rewindBody,
  toDestinationAnswer,
  toRejectedAnswer,
} from './destination-schemas.ts';
import type { DestinationsOptions } from './destinations-options.ts';
import { readRejected } from './page-of-rejected.ts';
import { resendChosen, resentSchema } from './resend.ts';
import { saying } from './saying.ts';

/** How destinations are, and what a person does about them. */
export function destinationRoutes(options: DestinationsOptions): readonly ApiRoute[] {
  return [
    listRoute(options),
    stateRoute(options, 'pause', 'paused'),
    stateRoute(options, 'resume', 'running'),
    rewindRoute(options),
    forgetRoute(options),
    testRoute(options),
    rejectedRoute(options),
    resendRoute(options),
  ];
}

const listRoute = ({ db, configured }: DestinationsOptions) =>
  jsonRoute({
    method: 'get',
    path: '/destinations',
    tag: 'destinations',
    summary: 'the destinations of the settings, and those that once were',
    asks: z.object({}),
    answer: z.object({ items: z.array(destinationSchema), next_cursor: z.null() }),
    work: async () => ({
      items: (await describeDestinations(db, configured)).map(toDestinationAnswer),
      next_cursor: null,
    }),
  });

const done = z.object({ name: z.string() });

function changeOf({ db, configured }: DestinationsOptions, name: string, { operator }: Asking) {
  return { db, operator, configured: configured.map((one) => one.name), name };
}

const stateRoute = (options: DestinationsOptions, verb: 'pause' | 'resume', state: 'paused' | 'running') =>
  jsonRoute({
    method: 'post',
    path: `/destinations/{name}/${verb}`,
    tag: 'destinations',
    summary:
      verb === 'pause'
        ? 'stop forwarding behind the batch in hand; the place is kept'
        : 'go on where it was, after a pause or when the destination had refused us',
    asks: oneDestination,
    answer: done,
    async work({ path: { name } }, asking) {
      await changeDestinationState(changeOf(options, name, asking), state);
      return { name };
    },
  });

const rewindRoute = (options: DestinationsOptions) =>
  jsonRoute({
    method: 'post',
    path: '/destinations/{name}/rewind',
    tag: 'destinations',
    summary: 'forward again what was received from a time on, or begin there',
    asks: oneDestination.extend({ body: rewindBody }),
    answer: done,
    async work({ path: { name }, body }, asking) {
      await rewindDestination(changeOf(options, name, asking), body.to);
      return { name };
    },
  });

const forgetRoute = (options: DestinationsOptions) =>
  jsonRoute({
    method: 'post',
    path: '/destinations/{name}/forget',
    tag: 'destinations',
    summary: 'remove what is remembered of a destination that is not in the settings any more',
    asks: oneDestination,
    answer: done,
    async work({ path: { name } }, asking) {
      await forgetUnconfigured(changeOf(options, name, asking));
      return { name };
    },
  });

const testRoute = (options: DestinationsOptions) =>
  jsonRoute({
    method: 'post',
    path: '/destinations/{name}/test',
    tag: 'destinations',
    summary: 'send one event, marked as a test, and say what came back',
    asks: oneDestination,
    answer: z.object({
      event_id: z.string(),
      refusal: z
        .string()
        .nullable()
        .meta({ description: 'why the destination refuses it; null when it has taken it' }),
    }),
    async work({ path: { name } }, { operator }) {
      mustBeConfigured(options, name);
      const { eventId, refusal } = await recordAction(
        options.db,
        { operator, action: 'destination.test', subject: name },
        () => saying(`${name} could not be sent to`, () => options.sendTest(name)),
        (sent) => ({ event_id: sent.eventId, refusal: sent.refusal ?? null }),
      );
      return { event_id: eventId, refusal: refusal ?? null };
    },
  });

const rejectedRoute = ({ db }: DestinationsOptions) =>
  jsonRoute({
    method: 'get',
    path: '/destinations/{name}/rejected',
    tag: 'destinations',
    summary: 'events that the destination has refused and that were not sent again',
    asks: oneDestination.extend({ query: rejectedQuery }),
    answer: z.object({ items: z.array(rejectedSchema), next_cursor: z.string().nullable() }),
    async work({ path: { name }, query: { limit, cursor } }) {
      const { items, next } = await readRejected(db, name, limit, cursor?.id);
      return { items: items.map(toRejectedAnswer), next_cursor: next ?? null };
    },
  });

const resendRoute = (options: DestinationsOptions) =>
  jsonRoute({
    method: 'post',
    path: '/destinations/{name}/replay',
    tag: 'destinations',
    summary: 'send again what the destination has refused',
    description: 'Of all, one request takes a part: go on with next_cursor.',
    asks: oneDestination.extend({ body: resendBody }),
    answer: z.object({ results: z.array(resentSchema), next_cursor: z.string().nullable() }),
    async work({ path: { name }, body }, asking) {
      mustBeConfigured(options, name);
      return resendChosen(options, name, body, asking);
    },
  });

function mustBeConfigured({ configured }: DestinationsOptions, name: string): void {
  if (configured.some((one) => one.name === name)) return;
  const names = configured.map((one) => one.name).join(', ');
  const message = `"${name}" is no destination of the settings: ${names === '' ? 'they have none' : names}`;
  throw new HttpError(404, 'UNKNOWN_DESTINATION', message);
}
