import { html } from 'htm/preact';
import { render } from 'preact';
import { request } from './api.ts';

/** Failures that the page lists; the operator log has the totals. */
const MOST_LISTED = 500;

/** The answer to a part. */
interface Part {
  readonly next_cursor: string | null;
}

/** What answers say: the number of items in them, a sentence, and the failures that are listed at the end. */
interface Told {
  readonly done: number;
  readonly summary: string;
  readonly failures: readonly { readonly id: string; readonly reason: string | null }[];
}

/**
 * Posts to the API in parts: repeats the request with each `next_cursor` until there is none, and shows the progress in
 * `#outcome`. `count` is the number of items, `verb` what happens to them, in the past. The buttons of the form wait. Returns the answers so far if one fails: the earlier parts stay done.
 */
export async function postInParts<One extends Part>(
  form: HTMLFormElement,
  path: string,
  body: object,
  count: number,
  verb: string,
  tell: (answers: readonly One[]) => Told,
) {
  const buttons = [...form.querySelectorAll('button')];
  for (const button of buttons) button.disabled = true;
  const answers: One[] = [];
  const show = (isDone: boolean, problem?: string) => {
    const { done, summary, failures } = tell(answers);
    render(
      html`
        <section class="panel outcome" aria-label="Result">
          <p role="status">${isDone ? summary : `${done} of ${count} ${verb}…`}</p>
          ${!isDone && html`<progress max=${count} value=${done} aria-label="Progress"></progress>`}
          ${problem !== undefined && html`<p class="note bad">Stopped: ${problem}. All others are unchanged.</p>`}
          ${
            isDone &&
            html`<p><a class="button quiet" href=${location.href}>Reload</a></p>
              <ul>
                ${failures.slice(0, MOST_LISTED).map(({ id, reason }) => html`<li><span class="mono">${id}</span>: ${reason}</li>`)}
              </ul>`
          }
        </section>
      `,
      form.querySelector('#outcome') ?? form,
    );
  };
  try {
    let cursor: string | null = null;
    do {
      show(false);
      const answer: One = await request(path, {
        method: 'POST',
        body: { ...body, cursor: cursor ?? undefined },
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
