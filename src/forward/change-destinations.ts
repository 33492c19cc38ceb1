import { ConflictError, UsageError } from '../lib/errors.ts';
import { settingName } from '../config/setting-types.ts';
import {
  changeOutput,
  deleteOutput,
  insertOutput,
  listAddedOutputs,
} from '../store/destinations/added-outputs.ts';
import { recordAction, type Operator } from '../store/access/operator-log.ts';
import type { OperatorActionName } from '../store/server/schema/access-tables.ts';
import type { Db } from '../store/server/database.ts';
import {
  keepSecrets,
  openOptions,
  readAdded,
  sealOptions,
  withoutSecrets,
  type AddedContext,
  type Options,
} from './added-destinations.ts';
import type { Destination } from './parse-destinations.ts';
import { sendTest } from './send-to-destination.ts';

/** The database with what was added, and the settings in force. */
export interface OutputSettings {
  readonly db: Db;
  readonly config: AddedContext;
  /** The destinations of the settings, which are changed there. */
  readonly configured: () => readonly Pick<Destination, 'name'>[];
  /** Puts what was added in force in this process. Others look for it within a second. */
  readonly apply: () => Promise<void>;
}

/** The changes of destinations that the console and the API can make. */
export type DestinationChanges = ReturnType<typeof changingDestinations>;

/**
 * Changes the destinations that were added to the database. Throws a UsageError if an option is wrong or a secret cannot be
 * encrypted, and a ConflictError if the settings have the name.
 */
export function changingDestinations({ db, config, configured, apply }: OutputSettings) {
  /** Checks options, whose secrets are texts or encrypted. */
  function check(name: string, options: Options): Destination {
    const { error } = settingName.safeParse(name);
    const problems = error?.issues.map(({ message }) => `name ${message}`) ?? [];
    const destination = readAdded({ name, definition: options }, config, problems);
    if (destination === undefined || problems.length > 0) throw new UsageError(problems.join('\n'));
    return destination;
  }

  function mustNotBeConfigured(name: string): void {
    if (!configured().some((one) => one.name === name)) return;
    throw new ConflictError(
      'DESTINATION_IN_SETTINGS',
      `the destination "${name}" is in the settings: change it there, and reload`,
    );
  }

  async function record(
    operator: Operator,
    action: OperatorActionName,
    subject: string,
    details: Readonly<Record<string, unknown>>,
    work: () => Promise<void>,
  ): Promise<void> {
    mustNotBeConfigured(subject);
    await recordAction(db, { operator, action, subject, details }, work);
    await apply();
  }

  async function definitionOf(name: string): Promise<Options | undefined> {
    const outputs = await listAddedOutputs(db);
    return outputs.find((one) => one.kind === 'destination' && one.name === name)?.definition;
  }

  /** A destination that is not saved yet, or as it would be changed. */
  async function read(name: string, options: Options): Promise<Destination> {
    mustNotBeConfigured(name);
    const stored = await definitionOf(name);
    return check(name, stored === undefined ? options : keepSecrets(options, stored));
  }

  return {
    read,
    /** The options of an added destination, without its secrets. */
    async optionsOf(name: string): Promise<Options | undefined> {
      const definition = await definitionOf(name);
      return definition && withoutSecrets(definition);
    },
    /** Adds a destination, which gets the events that are stored from now on. */
    async add(operator: Operator, name: string, options: Options): Promise<void> {
      // Before it is recorded: the name of an option that does not exist does not say whether its value is a secret.
      check(name, options);
      const definition = sealOptions(name, options, config.secretsKeys);
      await record(operator, 'destination.add', name, withoutSecrets(options), () =>
        insertOutput(db, { kind: 'destination', name, definition }),
      );
    },
    /** Replaces the options; the position stays. Secrets that are left out are kept (see `keepSecrets`). */
    async change(operator: Operator, name: string, options: Options): Promise<void> {
      await read(name, options);
      await record(operator, 'destination.change', name, withoutSecrets(options), () =>
        changeOutput(db, 'destination', name, (stored) => {
          // Somebody else may have changed it since.
          const kept = keepSecrets(options, stored);
          check(name, kept);
          return sealOptions(name, kept, config.secretsKeys);
        }),
      );
    },
    /**
     * Deletes a destination. Its state stays, as that of one that was removed from the settings. Throws a ConflictError if an
     * added rule sends its alerts there.
     */
    remove: (operator: Operator, name: string): Promise<void> =>
      record(operator, 'destination.delete', name, {}, () =>
        db.transaction().execute(async (trx) => {
          // First: it waits for the rules that are being saved.
          await deleteOutput(trx, 'destination', name);
          const rule = (await listAddedOutputs(trx)).find(
            ({ kind, definition: { destinations } }) =>
              kind === 'rule' && Array.isArray(destinations) && destinations.includes(name),
          );
          if (rule === undefined) return;
          const message = `the rule "${rule.name}" sends its alerts to "${name}": change the rule first`;
          throw new ConflictError('DESTINATION_IN_USE', message);
        }),
      ),
    /**
     * Sends a test event to a destination that is not saved yet, or as it would be changed. Throws the sender's error if it
     * can't be reached.
     */
    async test(operator: Operator, name: string, options: Options) {
      const destination = await read(name, options);
      return recordAction(
        db,
        { operator, action: 'destination.test', subject: name, details: withoutSecrets(options) },
        () => sendTest(destination, () => undefined),
        ({ refusal }) => ({ refusal: refusal ?? null }),
      );
    },
  };
}

/** Encrypts every secret of the added destinations with the first key. Resolves with the number of destinations. */
export async function reencryptDestinations(db: Db, { secretsKeys }: Pick<AddedContext, 'secretsKeys'>) {
  const added = (await listAddedOutputs(db)).filter(({ kind }) => kind === 'destination');
  for (const { name } of added) {
    await changeOutput(db, 'destination', name, (definition) => {
      const problems: string[] = [];
      const options = openOptions({ name, definition }, secretsKeys, problems);
      if (problems.length > 0) throw new UsageError(problems.join('\n'));
      return sealOptions(name, options, secretsKeys);
    });
  }
  return added.length;
}
