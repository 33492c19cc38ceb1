// Shows hidden characters as `\u202e` in every text that is rendered, on the server and in the browser: a sender could reverse
// the name of a person with them, or make two look alike.

import type { ComponentChildren } from 'preact';
import { options } from 'preact';

/** That of src/lib/text/hidden-characters.ts, which a browser does not get. */
const HIDDEN =
  /[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]--[\t\n]](?<!\r(?=\n))(?<!\p{Extended_Pictographic}\uFE0F)(?<!\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]?\u200D(?=\p{Extended_Pictographic}))/gv;

const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

export const reveal = (text: string) =>
  text.replaceAll(HIDDEN, (character) => character.split('').map(escapeUnit).join(''));

function revealIn(children: ComponentChildren): ComponentChildren {
  if (typeof children === 'string') return reveal(children);
  return Array.isArray(children) ? children.map(revealIn) : children;
}

// Preact calls this for each element, so that no page can leave it out. Attributes stay: a form sends them back.
options.vnode = ({ type, props }) => {
  if (typeof type === 'string') props.children = revealIn(props.children);
};
