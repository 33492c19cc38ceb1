import type { Db } from '../../store/database.ts';
import type { Area } from '../area.ts';
import type { IsFiltered } from './describe-event.ts';
import { renderEvent } from './event-page.ts';
import { eventRoutes, oneEventRoute } from './event-routes.ts';
import { exportRoutes } from './export-routes.ts';
import { renderSearch } from './search-page.ts';

/** Finding events, taking them out as files, and all that is known of one. */
export function eventsArea({ db, isFiltered }: { readonly db: Db; readonly isFiltered: IsFiltered }): Area {
  return {
    navigation: [{ path: '/events', label: 'Events' }],
    // The route of one event takes any word for an id: it comes last.
    routes: [...eventRoutes(db), ...exportRoutes(db), oneEventRoute(db, isFiltered)],
    pages: [
      { path: '/events', render: (request) => renderSearch(db, request) },
      { path: '/events/:event_id', render: (request) => renderEvent(db, request, isFiltered) },
    ],
  };
}
