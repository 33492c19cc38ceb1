import { HttpError } from '../../errors.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import type { Visitor } from './access.ts';

/**
 * The data that a page or a route shows or changes. `by source`: only that of the sources in the visitor's scope.
 * `whole`: it concerns all sources together, so that only visitors who may see all sources have access.
 */
export type DataOf = 'by source' | 'whole';

/** Whether a visitor has access to such data. */
export const maySee = ({ scope }: Pick<Visitor, 'scope'>, data: DataOf): boolean =>
  data === 'by source' || scope === ALL_SOURCES;

/** Throws HttpError 403 unless the visitor has access to such data. */
export function requireData(visitor: Pick<Visitor, 'scope'>, data: DataOf): void {
  if (maySee(visitor, data)) return;
  throw new HttpError(403, 'ALL_SOURCES_REQUIRED', 'this requires access to all sources');
}
