import type { Request } from 'express';
import type { Visitor } from './access/access.ts';
import { hasAccess, type Rule } from './access/rule.ts';
import type { ApiRoute } from './api/route.ts';
import type { Page } from './html/html.ts';
import type { NavigationEntry, ShownEntry } from './html/navigation.ts';

/** A page and its path. */
interface PageRoute extends Rule {
  /** In Express syntax: `/events/:eventId`. */
  readonly path: string;
  readonly render: (request: Request, visitor: Visitor) => Promise<Page>;
}

/** A part of the console: its pages, its API routes and its navigation entries. */
export interface Area {
  /** The heading of its routes in the OpenAPI document. */
  readonly tag: string;
  readonly navigation: readonly NavigationEntry[];
  readonly pages: readonly PageRoute[];
  readonly routes: readonly ApiRoute[];
}

/** The navigation for a visitor: the entries whose pages the visitor may see, with what needs a person there. */
export function navigationOf(areas: readonly Area[], visitor: Visitor): Promise<readonly ShownEntry[]> {
  const entries = areas.flatMap(({ navigation, pages }) =>
    navigation.filter((entry) => pages.some((page) => page.path === entry.path && hasAccess(visitor, page))),
  );
  // A page is shown without the notices that the database does not give now.
  return Promise.all(
    entries.map(async (entry) => ({
      ...entry,
      notice: await entry.needsPerson?.(visitor).catch(() => undefined),
    })),
  );
}
