import type { VNode } from 'preact';
import type { Content } from './html.ts';
import { html } from './html.ts';

/** The head that every document has, with what it has beside. */
export function headOf(title: string, more: Content): VNode {
  return html`
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>${title} · xiq-sink</title>
      ${more}
    </head>
  `;
}
