import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

export { html };

/** Anything that can stand in a page. Text is escaped wherever it stands. */
export type Content = VNode | string | number | null | undefined | false | readonly Content[];

/** A whole document as text. */
export function renderDocument(document: VNode): string {
  return `<!doctype html>${renderToString(document)}`;
}
