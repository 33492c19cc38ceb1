import type { Request } from 'express';
import type { Permission } from '../permissions.ts';
import type { Visitor } from './access/access.ts';
import type { ApiRoute } from './api/route.ts';
import type { Page } from './html/layout.ts';

/** A page and its path. */
interface PageRoute {
  /** In Express syntax: `/events/:eventId`. */
  readonly path: string;
  /** Checked before the page is rendered; the navigation hides the page without it. */
  readonly needs: Permission;
  readonly render: (request: Request, visitor: Visitor) => Promise<Page>;
}

/** A part of the console: its pages, its API routes and its navigation entries. */
export interface Area {
  /** Paths of pages, with the label of each. */
  readonly navigation: readonly { readonly path: string; readonly label: string }[];
  readonly pages: readonly PageRoute[];
  readonly routes: readonly ApiRoute[];
}
