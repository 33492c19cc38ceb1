import { once } from 'node:events';
import type { Subscriber } from './subscriber.ts';

/** A shut-down waits this long for the cloud to take back the logins. */
const TIMEOUT_MS = 2_000;

/** Ends the logins of these subscribers, as far as the cloud answers in time. */
export async function logOut(subscribers: readonly Subscriber[]): Promise<void> {
  const patience = AbortSignal.timeout(TIMEOUT_MS);
  const logouts = subscribers.map((subscriber) => subscriber.logout(patience));
  await Promise.race([Promise.all(logouts), once(patience, 'abort')]);
}
