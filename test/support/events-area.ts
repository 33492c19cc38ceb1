import type { Area } from '../../src/console/area.ts';
import { eventsArea } from '../../src/console/events/events-area.ts';
import type { Db } from '../../src/store/server/database.ts';
import { nothingKnown } from './trust.ts';

/** The area of events of an installation that knows nothing of its log. `filtered` is a destination that gets none of them. */
export const eventsForTests = (db: Db, filtered?: string): Area =>
  eventsArea({ db, trust: nothingKnown, isFiltered: (name) => name === filtered });
