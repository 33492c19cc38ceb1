import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import '../browser/shared/reveal.js';

export { html, renderToString };

/** Anything that can be part of a page. Text is always escaped, and its hidden characters are shown as `\u202e`. */
export type Content = VNode | string | number | null | undefined | false | readonly Content[];

export interface Page {
  readonly title: string;
  readonly content: Content;
  /** `dense`: controls and lists use the whole page, and the title is not shown. */
  readonly kind?: 'dense';
  /** File names of the modules in `browser/` that the page runs. */
  readonly modules?: readonly string[];
}

export const renderDocument = (document: VNode): string => `<!doctype html>${renderToString(document)}`;
