import { readContent } from '../../store/search-quarantine.ts';
import { readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import { describeQuarantined } from './describe-quarantined.ts';
import { renderQuarantine } from './quarantine-page.ts';
import { oneQuarantined, quarantineRoutes } from './quarantine-routes.ts';
import type { QuarantineOptions } from './quarantine-routes.ts';
import { quarantinedPage } from './quarantined-page.ts';

/** What could not be stored: to look at, to replay and to discard. */
export function quarantineArea(options: QuarantineOptions): Area {
  const { db } = options;
  return {
    navigation: [{ path: '/quarantine', label: 'Quarantine' }],
    routes: quarantineRoutes(options),
    pages: [
      { path: '/quarantine', render: (request) => renderQuarantine(db, request) },
      {
        path: '/quarantine/:quarantine_id',
        async render(request) {
          const { path } = readAsked(oneQuarantined, request);
          const described = await describeQuarantined(db, path.quarantine_id);
          return quarantinedPage(described, await readContent(db, path.quarantine_id));
        },
      },
    ],
  };
}
