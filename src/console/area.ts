import type { Request } from 'express';
import { hasAccess, type Rule, type Visitor } from './access/access.ts';
import type { ApiRoute } from './api/route.ts';
import type { Page } from './html/html.ts';
import type { NavigationEntry, ShownEntry } from './html/navigation.ts';

interface PageRoute extends Rule {
  /** In Express syntax: `/events/:eventId`. */
  readonly path: string;
  /** Undefined: the page is not in the navigation. */
  readonly entry?: NavigationEntry;
  /** Resolves with the page, or with the address that it has moved to. */
  readonly render: (request: Request, visitor: Visitor) => Promise<Page | string>;
}

/** A part of the console: its pages and its API routes. */
export interface Area {
  /** The heading of its routes in the OpenAPI document. */
  readonly tag: string;
  readonly pages: readonly PageRoute[];
  readonly routes: readonly ApiRoute[];
}

/** The navigation for a visitor: the pages that the visitor may see, with what needs a person there. */
export function navigationOf(areas: readonly Area[], visitor: Visitor): Promise<readonly ShownEntry[]> {
  const pages = areas.flatMap((area) => area.pages).filter((page) => hasAccess(visitor, page));
  return Promise.all(
    pages.flatMap(({ path, entry }) => (entry === undefined ? [] : [noticed(path, entry, visitor)])),
  );
}

/** A page is shown without the notices that the database does not give now. */
async function noticed(path: string, entry: NavigationEntry, visitor: Visitor): Promise<ShownEntry> {
  return { ...entry, path, notice: await entry.needsPerson?.(visitor).catch(() => undefined) };
}
