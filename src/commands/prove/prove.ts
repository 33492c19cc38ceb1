import { writeFile } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { UsageError } from '../../lib/errors.ts';
import { proveEvent } from '../../seal/prove-event.ts';
import { findCosignature } from '../../seal/cosignature.ts';
import { logKeyFileOf, readLogKeys } from '../../seal/log-key.ts';
import { writeReceipt } from '../../seal/receipt.ts';
import { readTrust } from '../../seal/trust.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { findEvent } from '../../store/events/search-events.ts';
import { countOf } from '../../lib/text/units.ts';
import { note, print } from '../shared/output.ts';

/** `prove`: writes the proof of an event and a COSE receipt to files that only their owner may read, or prints the proof. */
export async function prove(db: Db, config: Config, eventId: string, output: string): Promise<void> {
  const trust = await readTrust(config);
  const event = await findEvent(db, ALL_SOURCES, eventId);
  if (event === undefined) throw new UsageError(`There is no event ${eventId}.`);
  const proof = await proveEvent(db, event, trust);
  const { text, leaf, size, unsealedUntil } = proof;
  if (trust.keys.length === 0) {
    note('This machine has no key of this log, so the signature was not checked: see LOG_KEY_FILE.');
  }
  if (unsealedUntil !== undefined) {
    note(
      `The event arrived at ${event.receivedAt} and had no seal until ${unsealedUntil.toISOString()}: the proof does not show whether it was changed in between.`,
    );
  }
  for (const witness of trust.witnesses) {
    const time = findCosignature(proof.note, witness)?.time;
    const what = time === undefined ? 'has not signed it yet' : `signed it at ${time.toISOString()}`;
    note(`Checkpoint: the witness ${witness.name} ${what}.`);
  }
  if (output === '-') {
    print(text.trimEnd());
    return;
  }
  await writeFile(output, text, { mode: 0o600 });
  note(`${output}: leaf ${leaf} of ${countOf(size, 'leaf', 'leaves')}`);
  const { signing } = await readLogKeys(logKeyFileOf(config));
  if (signing === undefined) return note('No COSE receipt was written: this machine has no signing key.');
  const receipt = `${output.replace(/\.tlog-proof$/, '')}.cose`;
  await writeFile(receipt, writeReceipt(proof, signing), { mode: 0o600 });
  note(`${receipt}: a COSE receipt for the same event`);
}
