import type { Request } from 'express';
import type { Visitor } from './access/access.ts';
import type { ApiRoute } from './api/route.ts';
import type { NavigationEntry, Page } from './html/layout.ts';

/** A page and where it is. */
interface PageRoute {
  /** As Express takes it: `/events/:eventId`. */
  readonly path: string;
  readonly render: (request: Request, visitor: Visitor) => Promise<Page>;
}

/** A part of the console: its pages, its routes of the API, and where it stands in the navigation. */
export interface Area {
  readonly navigation: readonly NavigationEntry[];
  readonly pages: readonly PageRoute[];
  readonly routes: readonly ApiRoute[];
}
