import pTimeout from 'p-timeout';
import { z } from 'zod';
import { describeError, HttpError } from '../lib/errors.ts';
import { isLockTimeout } from '../store/server/postgres.ts';
import { html, type Content } from './html/html.ts';

export const partProblem = z.object({ part: z.string(), why: z.string() });

type Problem = z.output<typeof partProblem>;

/** A part that has not answered by then counts as unavailable: a person does not wait longer for a page. */
const PATIENCE_MS = 3_000;

/**
 * Starts gathering parts of a page, with a timeout for each in milliseconds, so that one that fails or hangs does not affect
 * the others.
 */
export function loadParts(patienceMs = PATIENCE_MS) {
  const problems: Problem[] = [];
  return {
    problems,
    /**
     * The result of the work; null, with an entry in `problems`, if it fails or times out. Throws HttpError: an invalid
     * request is not a problem of a part.
     */
    read: async <T>(part: string, work: () => Promise<T>): Promise<T | null> => {
      try {
        return await pTimeout(work(), {
          milliseconds: patienceMs,
          message: `no answer within ${patienceMs / 1000} s`,
        });
      } catch (error) {
        if (error instanceof HttpError) throw error;
        problems.push({ part, why: isLockTimeout(error) ? 'a table is locked' : describeError(error) });
        return null;
      }
    },
  };
}

/** The content of a part, or why it is missing. */
export function partOf<T>(
  problems: readonly Problem[],
  part: string,
  value: T | null,
  content: (value: T) => Content,
  absent = 'Unknown.',
): Content {
  if (value !== null) return content(value);
  const problem = problems.find((one) => one.part === part);
  if (problem === undefined) return html`<p class="dim">${absent}</p>`;
  return html`<p class="note warn">Not available: ${problem.why}</p>`;
}
