import type { Request } from 'express';
import type { Visitor } from './access/access.ts';
import { hasAccess, type Rule } from './access/rule.ts';
import type { ApiRoute } from './api/route.ts';
import type { NavigationEntry, Page } from './html/layout.ts';

/** A page and its path. */
interface PageRoute extends Rule {
  /** In Express syntax: `/events/:eventId`. */
  readonly path: string;
  readonly render: (request: Request, visitor: Visitor) => Promise<Page>;
}

/** A part of the console: its pages, its API routes and its navigation entries. */
export interface Area {
  readonly navigation: readonly NavigationEntry[];
  readonly pages: readonly PageRoute[];
  readonly routes: readonly ApiRoute[];
}

/** The navigation for a visitor: the entries whose pages the visitor may see. */
export function navigationOf(areas: readonly Area[], visitor: Visitor): readonly NavigationEntry[] {
  return areas.flatMap(({ navigation, pages }) =>
    navigation.filter((entry) => pages.some((page) => page.path === entry.path && hasAccess(visitor, page))),
  );
}
