import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import '../browser/shared/reveal.ts';

export { html, renderToString };

/** Anything that can be part of a page. Text is always escaped, and its hidden characters are shown as `\u202e`. */
export type Content = VNode | string | number | null | undefined | false | readonly Content[];

export interface Page {
  readonly title: string;
  readonly content: Content;
  /** `dense`: controls and lists use the whole page. */
  readonly kind?: 'dense';
  /** The search line of the page, in the top bar instead of the search for everything. */
  readonly search?: Content;
  /** Stands in the top bar, too. */
  readonly bar?: Content;
  /** Stands beside the title. */
  readonly beside?: Content;
  /** File names of the modules in `browser/` that the page runs. */
  readonly modules?: readonly string[];
}

export const renderDocument = (document: VNode, source?: string): string =>
  withSource(`<!doctype html>${renderToString(document)}`, source);

/**
 * Rendered HTML whose links and forms keep a source in the address of the page that they lead to, unless they name one
 * themselves; forms of `data-action` send a change, and lead to none. Quotation marks of texts are escaped, so that what
 * looks like an attribute is one.
 */
export function withSource(rendered: string, source: string | undefined): string {
  if (source === undefined) return rendered;
  const kept = new URLSearchParams({ source });
  const field = renderToString(html`<input type="hidden" name="source" value=${source} />`);
  return rendered
    .replaceAll(/ href="(\/(?!api\/|assets\/)[^"#]*)/g, (attribute, address: string) =>
      /[?;]source=/.test(address) ? attribute : `${attribute}${address.includes('?') ? '&amp;' : '?'}${kept}`,
    )
    .replaceAll(/<form (?:[^>]* )?action="\/(?!logout)[^>]*>/g, (form) => form + field);
}
