import type { Db } from '../../store/server/database.ts';
import { listSourcesAfter } from '../../store/reconcile/coverage.ts';
import type { Rule, Visitor } from '../access/access.ts';
import { addressOf } from '../addresses.ts';
import type { Written } from '../api/parameters.ts';
import { html, type Content } from './html.ts';

/** More would make pages slow. */
const MOST_SOURCES = 2_000;

/**
 * The choice of one source for all pages, for visitors who may see several; browser/shared/palette.ts opens it. Without
 * scripts it leads back to all sources. From a page about one thing (`/events/:event_id`), it leads to the list of them.
 */
export async function sourceSwitch(
  db: Db,
  { sources }: Visitor,
  { path, data }: Rule & { readonly path: string },
  { source, cursor: _cursor, ...query }: Written,
): Promise<Content> {
  const names = await listSourcesAfter(db, sources, '', MOST_SOURCES).catch((): string[] => []);
  const chosen = typeof source === 'string' ? source : undefined;
  if (names.length < 2 && (chosen === undefined || names.includes(chosen))) return undefined;
  if (data === 'whole') return html`<span class="source-switch dim">All sources</span>`;
  const end = path.indexOf('/:');
  const all = end === -1 ? addressOf(path, query) : path.slice(0, end);
  return html`
    <a
      class="button quiet source-switch"
      href=${`${all}${all.includes('?') ? '&' : '?'}source=`}
      data-sources=${JSON.stringify(names)}
      aria-haspopup="dialog"
      aria-current=${chosen && 'true'}
      title=${`Source: ${chosen ?? 'all'}`}
      >${chosen ?? 'All sources'}</a
    >
  `;
}
