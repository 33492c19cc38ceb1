import { createFailureCounts, networkOf } from '../ingest/failed-secrets.ts';
import { HttpError } from '../lib/errors.ts';

/** Wrong passwords in a minute: from one network, for one account from everywhere, and from one known browser. */
const PER_NETWORK = 20;
const PER_ACCOUNT = 60;
const PER_KNOWN_BROWSER = 20;

interface Attempt {
  /** Of the connection, whatever headers say. */
  readonly address: string;
  /** As entered: also a name that no account has, so that the answer does not reveal which names exist. */
  readonly name: string;
  /** Whether the browser has logged in to this account before. */
  readonly isKnown: boolean;
}

/**
 * Limits guessing of passwords: counts an attempt before its password is checked. Resolves with a function to call if it
 * was right. Throws HttpError 429 if there were too many wrong ones.
 */
type BeginAttempt = (attempt: Attempt) => Promise<() => Promise<void>>;

/**
 * Beyond a limit, also a right password is refused: otherwise an attacker could go on guessing and only look for the
 * one answer that differs. So that nobody can lock others out, a browser that has logged in to an account before is
 * counted by itself, whatever others do to the account or from its network ("device cookies", OWASP).
 */
export function createAttempts(): BeginAttempt {
  const networks = createFailureCounts(PER_NETWORK);
  const accounts = createFailureCounts(PER_ACCOUNT);
  const browsers = createFailureCounts(PER_KNOWN_BROWSER);
  return async ({ address, name, isKnown }) => {
    const account = name.toLowerCase();
    const counted = isKnown
      ? ([[browsers, account]] as const)
      : ([
          [networks, networkOf(address)],
          [accounts, account],
        ] as const);
    for (const [counts, text] of counted) {
      // One after the other: what a network is refused does not count for the account.
      const retryAfter = await counts.count(text);
      if (retryAfter === undefined) continue;
      const message = `too many wrong passwords; try again in ${retryAfter} s`;
      throw new HttpError(429, 'TOO_MANY_WRONG_PASSWORDS', message, { retryAfter });
    }
    return async () => {
      await Promise.all(counted.map(([counts, text]) => counts.takeBack(text)));
    };
  };
}
