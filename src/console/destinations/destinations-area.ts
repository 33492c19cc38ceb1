import { readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import { destinationPage } from './destination-page.ts';
import { destinationRoutes } from './destination-routes.ts';
import { oneDestination, rejectedQuery } from './destination-schemas.ts';
import type { DestinationsOptions } from './destinations-options.ts';
import { destinationsPage } from './destinations-page.ts';

const onePage = oneDestination.extend({ query: rejectedQuery });

/** Where events are forwarded to: how it goes, and what to do about it. */
export function destinationsArea(options: DestinationsOptions): Area {
  return {
    navigation: [{ path: '/destinations', label: 'Destinations' }],
    routes: destinationRoutes(options),
    pages: [
      { path: '/destinations', render: () => destinationsPage(options) },
      {
        path: '/destinations/:name',
        async render(request) {
          const { path, query } = readAsked(onePage, request);
          return destinationPage(options, path.name, query.cursor?.id);
        },
      },
    ],
  };
}
