import { createFailureCounts, networkOf } from '../ingest/failed-secrets.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { HttpError } from '../lib/errors.ts';
import { fold } from '../lib/text/fold.ts';

/** Wrong passwords in a minute: from one network, and for one account from its known browsers. */
const PER_NETWORK = 20;
const PER_KNOWN_BROWSER = 20;

/** Wrong passwords for one account in 15 minutes from everywhere else. Each further attempt waits twice as long. */
const PER_ACCOUNT = 20;
const ACCOUNT_SECONDS = 900;
const FIRST_WAIT_MS = 1_000;
/** A person and a proxy still wait for the answer. */
const LONGEST_WAIT_MS = 15_000;

interface Attempt {
  /** Of the sender, as far as a trusted proxy vouches for it (`remoteAddressOf`). */
  readonly address: string;
  /** As entered: also a name that no account has, so that the answer does not reveal which names exist. */
  readonly name: string;
  /** Whether the browser has logged in to this account before. */
  readonly isKnown: boolean;
}

/**
 * Limits guessing of passwords: counts an attempt before its password is checked. Resolves, perhaps after a wait, with a
 * function to call if it was right. Throws HttpError 429 if its network, or the known browsers, sent too many wrong ones.
 */
type BeginAttempt = (attempt: Attempt) => Promise<() => Promise<void>>;

/**
 * Beyond a network's limit, even the right password is refused: otherwise an attacker could continue guessing and only
 * look for the one answer that differs. An account has no such limit, because strangers could then lock its owner out:
 * its attempts wait longer and longer, and a right password passes after the wait. A browser that has logged in to an
 * account before is counted by itself and never waits, whatever others do to the account or from its network ("device
 * cookies", OWASP).
 */
export function createAttempts(stopping: AbortSignal, clock: Clock = systemClock): BeginAttempt {
  const networks = createFailureCounts(PER_NETWORK);
  const accounts = createFailureCounts(PER_ACCOUNT, ACCOUNT_SECONDS);
  const browsers = createFailureCounts(PER_KNOWN_BROWSER);
  return async ({ address, name, isKnown }) => {
    // No name that finds an account counts apart from it.
    const account = fold(name);
    const [counts, text] = isKnown ? [browsers, account] : [networks, networkOf(address)];
    const refused = await counts.count(text);
    if (refused !== undefined) {
      const { retryAfter } = refused;
      const message = `too many wrong passwords; try again in ${retryAfter} s`;
      throw new HttpError(429, 'TOO_MANY_WRONG_PASSWORDS', message, { retryAfter });
    }
    if (isKnown) return () => counts.takeBack(text);
    const { tooMany = 0 } = (await accounts.count(account)) ?? {};
    if (tooMany > 0) {
      const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (tooMany - 1), LONGEST_WAIT_MS);
      // Who waits while the program stops is answered at once.
      await clock.sleep(waitMs, stopping).catch(() => undefined);
    }
    return async () => {
      await Promise.all([counts.takeBack(text), accounts.takeBack(account)]);
    };
  };
}
