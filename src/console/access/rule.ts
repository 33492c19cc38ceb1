import type { Permission } from '../../permissions.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import type { Visitor } from './access.ts';

/** What access to a page or a route requires. */
export interface Rule {
  readonly needs: Permission;
  /**
   * The data that it shows or changes. `by source`: only that of the sources in the visitor's scope. `whole`: it
   * concerns all sources together, so that only visitors who may see all sources have access.
   */
  readonly data: 'by source' | 'whole';
}

/** The rule of most pages and lists. */
export const VIEW = { needs: 'view', data: 'by source' } as const satisfies Rule;

/** The rule of what concerns all sources together. */
export const VIEW_WHOLE = { needs: 'view', data: 'whole' } as const satisfies Rule;

export const EXPORT = { needs: 'events.export', data: 'by source' } as const satisfies Rule;
export const READ_OPERATOR_LOG = { needs: 'operator-log.read', data: 'whole' } as const satisfies Rule;
export const CHANGE_DESTINATIONS = { needs: 'destinations.change', data: 'whole' } as const satisfies Rule;
export const CHANGE_QUARANTINE = { needs: 'quarantine.change', data: 'by source' } as const satisfies Rule;
export const CHANGE_SOURCES = { needs: 'sources.change', data: 'whole' } as const satisfies Rule;

/** Whether a visitor has access under a rule. */
export const hasAccess = ({ permissions, scope }: Visitor, { needs, data }: Rule): boolean =>
  permissions.has(needs) && (data === 'by source' || scope === ALL_SOURCES);
