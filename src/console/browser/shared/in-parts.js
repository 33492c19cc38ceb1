import { html } from 'htm/preact';
import { render } from 'preact';
import { request } from './api.js';

/** Failures that the page lists; the operator log has the totals. */
const MOST_LISTED = 500;

/**
 * Posts to the API in parts: repeats the request with each `next_cursor` until there is none, and shows the progress in
 * `#outcome`. The buttons of the form wait. Returns the answers so far if one fails: the earlier parts stay done.
 *
 * @param {HTMLFormElement} form
 * @param {string} path
 * @param {object} body
 * @param {object} told
 * @param {number} told.count of items
 * @param {string} told.verb what happens to them, in the past
 * @param {(answers: readonly any[]) => number} told.doneOf the number of items in answers
 * @param {(answers: readonly any[]) => string} told.sumUp
 * @param {(answers: readonly any[]) => readonly { id: string, reason: string | null }[]} told.failuresOf listed at the end
 */
export async function postInParts(form, path, body, { count, verb, doneOf, sumUp, failuresOf }) {
  const buttons = [...form.querySelectorAll('button')];
  for (const button of buttons) button.disabled = true;
  /** @type {any[]} */
  const answers = [];
  /** @param {boolean} isDone @param {string} [problem] */
  const show = (isDone, problem) => {
    const done = doneOf(answers);
    render(
      html`
        <section class="panel outcome" aria-label="Result">
          <p role="status">${isDone ? sumUp(answers) : `${done} of ${count} ${verb}…`}</p>
          ${!isDone && html`<progress max=${count} value=${done} aria-label="Progress"></progress>`}
          ${problem !== undefined && html`<p class="note bad">Stopped: ${problem}. All others are unchanged.</p>`}
          ${isDone && html`<p><a class="button quiet" href=${location.href}>Reload</a></p>`}
          ${
            isDone &&
            html`<ul>
              ${failuresOf(answers)
                .slice(0, MOST_LISTED)
                .map(({ id, reason }) => html`<li><span class="mono">${id}</span>: ${reason}</li>`)}
            </ul>`
          }
        </section>
      `,
      form.querySelector('#outcome') ?? form,
    );
  };
  try {
    /** @type {string | null} */
    let cursor = null;
    do {
      show(false);
      const answer = await request(path, {
        method: 'POST',
        body: { ...body, ...(cursor !== null && { cursor }) },
      });
      answers.push(answer);
      cursor = answer.next_cursor;
    } while (cursor !== null);
    show(true);
  } catch (error) {
    show(true, error instanceof Error ? error.message : String(error));
  }
  for (const button of buttons) button.disabled = false;
  return answers;
}
