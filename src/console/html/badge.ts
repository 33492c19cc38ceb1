import type { VNode } from 'preact';
import { html } from './html.ts';

/** A state as a word, with a colour that says the same. */
export const badge = (kind: 'good' | 'warn' | 'bad' | 'plain', word: string): VNode =>
  html`<span class=${`badge ${kind}`}>${word}</span>`;
