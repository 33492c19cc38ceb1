import { writeFile } from 'node:fs/promises';
import { UsageError } from '../../lib/errors.ts';
import { proveEvent } from '../../seal/prove-event.ts';
import type { Trust } from '../../seal/trust.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { findEvent } from '../../store/events/search-events.ts';
import { countOf } from '../../lib/text/units.ts';
import { note, print } from '../shared/output.ts';

/** `prove`: writes the proof of an event to a file that only its owner may read, or prints it. */
export async function prove(db: Db, trust: Trust, eventId: string, output: string): Promise<void> {
  const event = await findEvent(db, ALL_SOURCES, eventId);
  if (event === undefined) throw new UsageError(`There is no event ${eventId}.`);
  const { text, leaf, size, unsealedUntil } = await proveEvent(db, event, trust);
  if (trust.keys.length === 0) {
    note('No key of this log is known on this machine, so the signature was not compared: see LOG_KEY_FILE.');
  }
  if (unsealedUntil !== undefined) {
    note(
      `The event arrived at ${event.receivedAt} and had no seal at ${unsealedUntil.toISOString()}: the proof does not show whether it was changed in that time.`,
    );
  }
  if (output === '-') {
    print(text.trimEnd());
    return;
  }
  await writeFile(output, text, { mode: 0o600 });
  note(`${output}: leaf ${leaf} of ${countOf(size, 'leaf', 'leaves')}`);
}
