import { z } from 'zod';
import { HttpError } from '../../errors.ts';
import {
  changeDestinationState,
  forgetUnconfigured,
  rewindDestination,
  type DestinationChange,
} from '../../store/change-destination.ts';
import { describeDestinations, readCursors, type ConfiguredDestination } from '../../store/destinations.ts';
import { recordAction } from '../../store/operator-log.ts';
import { CHANGE_DESTINATIONS, VIEW, type Rule } from '../access/rule.ts';
import { toAnswer } from '../api/answer.ts';
import { jsonRoute, NOTHING, orBadGateway, readAsked, type ApiRoute, type Asking } from '../api/route.ts';
import type { Area } from '../area.ts';
import type { Notice } from '../html/navigation.ts';
import {
  destinationSchema,
  oneDestination,
  rejectedQuery,
  rejectedSchema,
  resendBody,
  rewindBody,
} from './destination-schemas.ts';
import { destinationPage, destinationsPage, FORGET_DESTINATIONS } from './destinations-pages.ts';
import { readRejected, resendChosen, resentSchema, type ResendOptions } from './rejected-events.ts';

/** What pages and routes of destinations need. */
export interface DestinationsOptions extends ResendOptions {
  /** The destinations of the settings, which a reload may change. */
  readonly configured: () => readonly ConfiguredDestination[];
  /** Sends a test event; `refusal` is undefined if the destination accepted it. Throws if nothing can be sent. */
  readonly sendTest: (
    name: string,
  ) => Promise<{ readonly eventId: string; readonly refusal: string | undefined }>;
}

const onePage = oneDestination.extend({ query: rejectedQuery });

/** Destinations: their state and the actions on them. */
export function destinationsArea(options: DestinationsOptions): Area {
  return {
    tag: 'destinations',
    navigation: [
      {
        path: '/destinations',
        label: 'Destinations',
        group: 'Delivery',
        icon: 'M2 8h11M9 4l4 4-4 4',
        needsPerson: () => refusing(options),
      },
    ],
    routes: destinationRoutes(options),
    pages: [
      { path: '/destinations', ...VIEW, render: (_request, visitor) => destinationsPage(options, visitor) },
      {
        path: '/destinations/:name',
        ...VIEW,
        async render(request, visitor) {
          const { path, query } = readAsked(onePage, request);
          return destinationPage(options, visitor, path.name, query.cursor?.id);
        },
      },
    ],
  };
}

/** The configured destinations that have refused what they were sent. */
async function refusing({ db, configured }: DestinationsOptions): Promise<Notice | undefined> {
  const names = new Set(configured().map(({ name }) => name));
  const refused = (await readCursors(db)).filter(({ name, state }) => state === 'refused' && names.has(name));
  if (refused.length === 0) return undefined;
  return {
    kind: 'bad',
    mark: '!',
    text: `Destinations: ${refused.map(({ name }) => name).join(', ')} refused`,
  };
}

const rewinding = oneDestination.extend({ body: rewindBody });

function destinationRoutes(options: DestinationsOptions): readonly ApiRoute[] {
  return [
    listRoute(options),
    changeRoute(options, 'pause', 'pause after the current batch', oneDestination, (change) =>
      changeDestinationState(change, 'paused'),
    ),
    changeRoute(options, 'resume', 'resume from the last position', oneDestination, (change) =>
      changeDestinationState(change, 'running'),
    ),
    changeRoute(
      options,
      'rewind',
      'resend events received since a given time',
      rewinding,
      (change, { body }) => rewindDestination(change, body.to),
    ),
    changeRoute(
      options,
      'forget',
      'delete the state of a removed destination',
      oneDestination,
      forgetUnconfigured,
      FORGET_DESTINATIONS,
    ),
    testRoute(options),
    rejectedRoute(options),
    resendRoute(options),
  ];
}

const listRoute = ({ db, configured }: DestinationsOptions) =>
  jsonRoute({
    route: 'GET /destinations',
    summary: 'list destinations, including those removed from the settings',
    ...VIEW,
    asks: NOTHING,
    answer: z.object({ items: z.array(destinationSchema), next_cursor: z.null() }),
    work: async (_asked, { scope }) => ({
      items: [...(await describeDestinations(db, scope, configured()))],
      next_cursor: null,
    }),
  });

function changeOf(
  { db, configured }: DestinationsOptions,
  name: string,
  { operator }: Asking,
): DestinationChange {
  return { db, operator, configured: configured().map((one) => one.name), name };
}

function changeRoute<A extends typeof oneDestination>(
  options: DestinationsOptions,
  verb: string,
  summary: string,
  asks: A,
  change: (change: DestinationChange, asked: z.output<A>) => Promise<void>,
  rule: Rule = CHANGE_DESTINATIONS,
): ApiRoute {
  return jsonRoute({
    route: `POST /destinations/{name}/${verb}`,
    summary,
    ...rule,
    asks,
    answer: z.object({ name: z.string() }),
    async work(asked, asking) {
      const { name } = asked.path;
      await change(changeOf(options, name, asking), asked);
      return { name };
    },
  });
}

const testRoute = (options: DestinationsOptions) =>
  jsonRoute({
    route: 'POST /destinations/{name}/test',
    summary: 'send a test event and return the result',
    ...CHANGE_DESTINATIONS,
    asks: oneDestination,
    answer: z.object({
      event_id: z.string(),
      refusal: z
        .string()
        .nullable()
        .describe('why the destination rejected the event; null if it accepted the event'),
    }),
    async work({ path: { name } }, { operator }) {
      mustBeConfigured(options, name);
      const sent = await recordAction(
        options.db,
        { operator, action: 'destination.test', subject: name },
        () => orBadGateway('DESTINATION_FAILED', `can't send to ${name}`, () => options.sendTest(name)),
        toAnswer,
      );
      return toAnswer(sent);
    },
  });

const rejectedRoute = ({ db }: DestinationsOptions) =>
  jsonRoute({
    route: 'GET /destinations/{name}/rejected',
    summary: 'list rejected events that were not resent',
    ...VIEW,
    asks: oneDestination.extend({ query: rejectedQuery }),
    answer: z.object({ items: z.array(rejectedSchema), next_cursor: z.string().nullable() }),
    async work({ path: { name }, query: { limit, cursor } }, { scope }) {
      const { items, next } = await readRejected(db, scope, name, limit, cursor?.id);
      return { items: [...items], next_cursor: next ?? null };
    },
  });

const resendRoute = (options: DestinationsOptions) =>
  jsonRoute({
    route: 'POST /destinations/{name}/replay',
    summary: 'resend rejected events',
    description:
      'With all, each request resends one part: repeat with cursor set to next_cursor until it is null.',
    ...CHANGE_DESTINATIONS,
    asks: oneDestination.extend({ body: resendBody }),
    answer: z.object({ results: z.array(resentSchema), next_cursor: z.string().nullable() }),
    async work({ path: { name }, body }, asking) {
      mustBeConfigured(options, name);
      return resendChosen(options, name, body, asking);
    },
  });

function mustBeConfigured({ configured }: DestinationsOptions, name: string): void {
  if (configured().some((one) => one.name === name)) return;
  const names = configured()
    .map((one) => one.name)
    .join(', ');
  const message = `no destination "${name}" is configured; configured are: ${names === '' ? 'none' : names}`;
  throw new HttpError(404, 'UNKNOWN_DESTINATION', message);
}
