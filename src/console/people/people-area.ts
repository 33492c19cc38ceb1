import type { Db } from '../../store/database.ts';
import type { Area } from '../area.ts';
import { renderClient } from './client-page.ts';
import { renderPeople } from './people-page.ts';
import { peopleRoutes } from './people-routes.ts';
import { renderUser } from './user-page.ts';

/** What happened with a person or a device, and where it was. */
export function peopleArea({ db }: { readonly db: Db }): Area {
  return {
    navigation: [{ path: '/people', label: 'People and devices' }],
    routes: peopleRoutes(db),
    pages: [
      { path: '/people', render: (request) => renderPeople(db, request) },
      { path: '/people/user', render: (request) => renderUser(db, request) },
      { path: '/people/client', render: (request) => renderClient(db, request) },
    ],
  };
}
