import { html } from 'htm/preact';
import { options, type ComponentChildren, type VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { revealHidden } from '../../lib/text/hidden-characters.ts';

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

// Preact calls this for each element, so that no page can leave it out. Attributes stay: a form sends them back.
options.vnode = ({ type, props }) => {
  if (typeof type === 'string') props.children = revealText(props.children);
};

function revealText(children: ComponentChildren): ComponentChildren {
  if (typeof children === 'string') return revealHidden(children);
  return Array.isArray(children) ? children.map(revealText) : children;
}

export const renderDocument = (document: VNode): string => `<!doctype html>${renderToString(document)}`;
