import { commandName } from '../../lib/text/command-name.ts';
import type { Config } from '../../config/config.ts';
import { compareSchema } from '../../store/server/schema/compare-schema.ts';
import { countOf } from '../../lib/text/units.ts';
import { fail, ok, warn, type Finding } from './check.ts';
import type { DatabaseAccess } from './database.ts';
import { compareStated } from '../../seal/verify/verify-statements.ts';
import { compareWithSeen } from '../../seal/seen-checkpoint.ts';
import { witnessedKeys } from '../../seal/cosignature.ts';
import { isForeign, readTrust } from '../../seal/trust.ts';
import { statusOfSeal, type SealWord } from '../../observe/status.ts';
import { readSealFacts } from '../../store/seal/verifications.ts';
import { readForks } from '../../store/seal/witnessed-logs.ts';

/** Checks that triggers, functions, rules and settings of roles are as this program made them. */
export async function checkSchema(access: DatabaseAccess): Promise<Finding> {
  const [first, ...others] = await compareSchema(access.opened().db);
  if (first === undefined) return ok('triggers, functions and settings are unchanged');
  const more = others.length === 0 ? '' : `, and ${countOf(others.length, 'other difference')}`;
  return fail(
    `${first.name}: ${first.detail}${more}`,
    `find out who changed them; ${commandName()} verify names them all`,
  );
}

/** Checks that the log is sealed, and that it contains what was seen, and that the places outside of the database have its checkpoints. */
export async function checkSeal(
  access: DatabaseAccess,
  config: Pick<Config, 'dataDir' | 'logKeyFile' | 'anchors'>,
): Promise<Finding> {
  const { db } = access.opened();
  const trust = await readTrust(config);
  const wrong = await compareWithSeen(db, trust);
  if (wrong !== undefined)
    return fail(wrong, 'see "A database that lacks what was seen" in docs/integrity.md');
  const facts = await readSealFacts(db);
  if (facts.checkpoint !== undefined && isForeign(facts.checkpoint.note, trust)) {
    return fail(
      `the latest checkpoint is signed with a key that is not in LOG_KEY_FILE: ${facts.checkpoint.publicKey}`,
      'see "Another key" in docs/integrity.md',
    );
  }
  const others: string[] = [];
  await compareStated(db, ({ state, subject, key }) => others.push(`${state} ${subject} ${key}`));
  if (others.length > 0) {
    return fail(
      `${countOf(others.length, 'row')} of the operator log, quarantine and similar tables differ from the seal, such as ${others[0]}`,
      remedyOf('altered'),
    );
  }
  const { level, word, what } = statusOfSeal(facts, new Date());
  const { checkpoint } = facts;
  const told =
    checkpoint === undefined
      ? what
      : `${what}; ${countOf(checkpoint.size, 'leaf', 'leaves')} signed with ${checkpoint.publicKey}`;
  if (level === 'good' && checkpoint !== undefined && trust.keys.length === 0)
    return warn(`${told}, which this machine does not know`, 'put the public key into LOG_KEY_FILE');
  if (level === 'good') return ok(told);
  return (level === 'bad' ? fail : warn)(told, remedyOf(word));
}

/** Checks that each log that this installation is a witness of has signed one tree. */
export async function checkWitnessed(access: DatabaseAccess, config: Pick<Config, 'anchors'>) {
  const logs = witnessedKeys(config).map(({ publicText }) => publicText);
  const forks = await readForks(access.opened().db, logs);
  if (forks.length === 0) return ok(countOf(logs.length, 'other installation'));
  return fail(
    `${forks.join(', ')} has forked: neither of two trees that it signed contains the other`,
    `ask its operator: ${commandName()} sql "select fork from witnessed_logs" shows both checkpoints`,
  );
}

function remedyOf(word: SealWord): string {
  switch (word) {
    case 'altered':
    case 'missing':
      return `run ${commandName()} verify to see which`;
    case 'not anchored':
      return 'checkpoints are not kept there: see docs/integrity.md; sending is retried every minute';
    case 'not sealed':
    case 'behind':
    case 'sealed':
      return `run ${commandName()} serve with the role all or worker`;
  }
}
