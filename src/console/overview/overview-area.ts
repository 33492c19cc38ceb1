import type { Area } from '../area.ts';
import { createArrivalsReader } from './arrivals-reader.ts';
import type { OverviewOptions } from './overview-options.ts';
import { renderOverview } from './overview-page.ts';
import { overviewRoutes } from './overview-routes.ts';
import type { Overview } from './overview-schemas.ts';
import { readOverview } from './read-overview.ts';

/** How the service is, at a glance: the first page. */
export function overviewArea(options: OverviewOptions): Area {
  const arrivals = createArrivalsReader(options.db);
  let reading: Promise<Overview> | undefined;

  function overview(): Promise<Overview> {
    reading ??= readOverview(options, arrivals).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  const questions = { overview, arrivals };
  return {
    navigation: [{ path: '/', label: 'Overview' }],
    routes: overviewRoutes(options, questions),
    pages: [{ path: '/', render: (request) => renderOverview(request, options, questions) }],
  };
}
