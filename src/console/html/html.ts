import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

export { html };

/** Anything that can be part of a page. Text is always escaped. */
export type Content = VNode | string | number | null | undefined | false | readonly Content[];

/** A whole document as text. */
export function renderDocument(document: VNode): string {
  return `<!doctype html>${renderToString(document)}`;
}
