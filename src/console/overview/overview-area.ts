import type { Area } from '../area.ts';
import type { OverviewOptions } from './overview-options.ts';
import { renderOverview } from './overview-page.ts';
import { overviewRoutes } from './overview-routes.ts';
import type { Overview } from './overview-schemas.ts';
import { readOverview } from './read-overview.ts';

/** How the service is, at a glance: the first page. */
export function overviewArea(options: OverviewOptions): Area {
  let reading: Promise<Overview> | undefined;

  /** Many may look at once: they get the same answer. */
  function readOnce(): Promise<Overview> {
    reading ??= readOverview(options).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    navigation: [{ path: '/', label: 'Overview' }],
    routes: overviewRoutes(options, readOnce),
    pages: [{ path: '/', render: (request) => renderOverview(request, options, readOnce) }],
  };
}
