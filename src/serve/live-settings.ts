import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import type { SourceConfig } from '../config/config.ts';
import type { FollowSettings } from '../config/follow-settings.ts';
import { readEnvironment, SETTING_NAMES } from '../config/environment.ts';
import { hasEndedOldSecrets, type StoredSource } from '../sources/stored-sources.ts';
import { describeError, SettingsError } from '../lib/errors.ts';
import type { Db } from '../store/server/database.ts';
import { recordAction } from '../store/access/operator-log.ts';
import type { AddedOutput } from '../store/destinations/added-outputs.ts';
import { joinDestinations } from '../forward/added-destinations.ts';
import { joinSources } from '../sources/join-sources.ts';
import type { ServiceConfig } from './load-settings.ts';

interface Reloaded {
  /** Settings, sources, destinations, rules and scheduled reports that have changed and are in force now. */
  readonly changed: readonly string[];
  /** Settings that have changed and keep their value until a restart. */
  readonly needs_restart: readonly string[];
  /** What could not be put in force, each with its reason. */
  readonly errors: readonly string[];
}

/** The settings in force, which a reload and the database change while the service runs. */
export type LiveSettings = ReturnType<typeof createLiveSettings>;

interface LiveOptions {
  readonly given: ServiceConfig;
  /** Reads the settings again. Throws a SettingsError that lists all wrong ones. */
  readonly reread: () => Promise<ServiceConfig>;
  /** Completes sources of the settings with the generated secret. */
  readonly complete: (config: ServiceConfig) => Promise<readonly SourceConfig[]>;
  readonly logger: Logger;
}

/** The settings that a reload puts in force. */
const LIVE_SETTINGS: ReadonlySet<string> = new Set([
  'XIQ_SINK_CONFIG',
  'WEBHOOK_SECRET',
  'SECRETS_KEY',
  'CLOUD_API_URL',
  'CLOUD_API_TOKEN',
  'CLOUD_USERNAME',
  'CLOUD_PASSWORD',
  'MESSAGE_TYPES',
  'RETENTION_AUDIT_MONTHS',
  'RETENTION_LOCATION_MONTHS',
  'RETENTION_LOG_MONTHS',
  'RETENTION_ALERTS_MONTHS',
  'RETENTION_OTHER_MONTHS',
  'RETENTION_DELIVERIES_MONTHS',
  'RETENTION_QUARANTINE_MONTHS',
  'QUARANTINE_MAX_BYTES',
  'FORWARD_TO',
  'FORWARD_TOKEN',
  'LOG_LEVEL',
]);

const LIVE_MEMBERS = [
  'messageTypes',
  'secretsKeys',
  'variables',
  'retentionMonths',
  'quarantine',
  'forwarding',
  'destinations',
  'rules',
  'schedules',
  'logLevel',
] as const satisfies readonly (keyof ServiceConfig)[];

/** Starts with the given settings, whose sources are complete. */
export function createLiveSettings({ given, reread, complete, logger }: LiveOptions) {
  const config: ServiceConfig = { ...given };
  const followers = new Map<() => void | Promise<void>, string>();
  const oneAtATime = pLimit(1);
  let own = given.sources;
  /** Undefined until the database has been read. */
  let stored: readonly StoredSource[] | undefined;
  const join = (settings: readonly SourceConfig[], context: ServiceConfig) =>
    joinSources(settings, stored ?? [], context);
  let ownDestinations = given.destinations;
  let outputs: readonly AddedOutput[] = [];
  const joinAdded = (settings: ServiceConfig) =>
    joinDestinations({ ...settings, destinations: ownDestinations }, outputs);
  let loggedProblems: readonly string[] = [];
  let loggedOutputs: readonly string[] = [];
  /** Of how many sources the old secrets had ended when the sources were put in force. */
  let ended = 0;
  const endedNow = () => (stored ?? []).filter((source) => hasEndedOldSecrets(source, Date.now())).length;

  async function applyAll(): Promise<string[]> {
    const parts = [...followers];
    const ends = await Promise.allSettled(parts.map(async ([apply]) => apply()));
    return ends.flatMap((end, index) =>
      end.status === 'fulfilled' ? [] : [`${parts[index]?.[1] ?? ''}: ${describeError(end.reason)}`],
    );
  }

  function putInForce(isFirst: boolean): void {
    ended = endedNow();
    const { sources, conflicts, problems } = join(own, config);
    const all = [...conflicts, ...problems];
    for (const problem of all) if (!loggedProblems.includes(problem)) logger.error(problem);
    loggedProblems = all;
    const changed = changesOf('source', config.sources, sources, isDeepStrictEqual);
    if (changed.length === 0 && !isFirst) return;
    Object.assign(config, { sources });
    if (changed.length > 0) logger.info({ changed }, 'the sources have changed');
    void applyAll().then((errors) => errors.forEach((error) => logger.error(error)));
  }

  /** Puts the destinations that were added to the database in force, and logs each problem once. */
  function putAddedInForce(): void {
    const { destinations, conflicts, problems } = joinAdded(config);
    const all = [...conflicts, ...problems];
    for (const problem of all) if (!loggedOutputs.includes(problem)) logger.error(problem);
    loggedOutputs = all;
    const changed = changesOf('destination', config.destinations, destinations, isSameFingerprint);
    if (changed.length === 0) return;
    Object.assign(config, { destinations });
    logger.info({ changed }, 'the destinations have changed');
    void applyAll().then((errors) => errors.forEach((error) => logger.error(error)));
  }

  async function reload(): Promise<Reloaded> {
    const next = await reread();
    const settings = await complete({ ...next, dataDir: config.dataDir });
    // From here on without a pause: the sources of the database may change at any time.
    const joined = join(settings, next);
    const added = joinDestinations(next, outputs);
    const conflicts = [...joined.conflicts, ...added.conflicts, ...conflictsOfRules(next, outputs)];
    if (conflicts.length > 0) throw new SettingsError(conflicts);
    const { sources } = joined;
    const { destinations } = added;
    const problems = [...joined.problems, ...added.problems];
    const before = readEnvironment(config.variables, []);
    const started = readEnvironment(given.variables, []);
    const after = readEnvironment(next.variables, []);
    const differs = (name: string, from: typeof before) =>
      !isDeepStrictEqual(Reflect.get(from ?? {}, name), Reflect.get(after ?? {}, name));
    const changed = [
      ...SETTING_NAMES.filter((name) => LIVE_SETTINGS.has(name) && differs(name, before)),
      ...changesOf('source', config.sources, sources, isDeepStrictEqual),
      ...changesOf('destination', config.destinations, destinations, isSameFingerprint),
      ...changesOf('report', config.schedules, next.schedules, isDeepStrictEqual),
      ...changesOf('rule', config.rules, next.rules, isSameFingerprint),
    ];
    const live = Object.fromEntries(LIVE_MEMBERS.map((name) => [name, next[name]]));
    Object.assign(config, live, { sources, destinations });
    own = settings;
    ownDestinations = next.destinations;
    loggedProblems = joined.problems;
    loggedOutputs = added.problems;
    const later = SETTING_NAMES.filter((name) => !LIVE_SETTINGS.has(name) && differs(name, started));
    return { changed, needs_restart: later, errors: [...problems, ...(await applyAll())] };
  }

  async function reloadLogged(): Promise<Reloaded> {
    try {
      const reloaded = await reload();
      const level = reloaded.errors.length === 0 ? 'info' : 'error';
      logger[level](reloaded, 'settings reloaded');
      return reloaded;
    } catch (error) {
      logger.error(`settings not reloaded; the previous ones remain active: ${describeError(error)}`);
      throw error;
    }
  }

  const follow: FollowSettings = (part, apply) => {
    followers.set(apply, part);
    return () => void followers.delete(apply);
  };

  return {
    /** Always the same object. Members that a reload changes have their present value at each read. */
    config,
    configured: () => own,
    /** The names of all sources, also of those in the database that are not used. */
    names: () => join(own, config).names,
    /** Whether the sources of the database are known. */
    knowsStored: () => stored !== undefined,
    follow,
    /** Puts the sources of the database in force, beside those of the settings. */
    useStored: (next: readonly StoredSource[]): void => {
      const isFirst = stored === undefined;
      stored = next;
      putInForce(isFirst);
    },
    /** The destinations of the settings. */
    configuredDestinations: () => ownDestinations,
    /** The names of all destinations, also of those in the database that cannot be used. */
    destinationNames: () => joinAdded(config).names,
    /** Puts the destinations that were added to the database in force. False if nothing has changed. */
    useOutputs: (next: readonly AddedOutput[]): boolean => {
      if (isDeepStrictEqual(outputs, next)) return false;
      outputs = next;
      putAddedInForce();
      return true;
    },
    /** Puts the ends of old secrets in force. Call it often. */
    refresh: (): void => {
      if (endedNow() !== ended) putInForce(false);
    },
    /** Reads the settings again. Throws a SettingsError if one is wrong: nothing has changed then. */
    reload: () => oneAtATime(reloadLogged),
  };
}

/** Reloads after a signal. While the database is away, the operator log gets no entry. */
export async function reloadRecorded(
  live: LiveSettings,
  db: Db | undefined,
  signal: NodeJS.Signals,
  logger: Logger,
): Promise<void> {
  const reloading = live.reload();
  const operator = { name: signal, via: 'system' } as const;
  const recording =
    db &&
    recordAction(
      db,
      { operator, action: 'settings.reload' },
      () => reloading,
      (done) => ({ ...done }),
    );
  const [reloaded, recorded] = await Promise.allSettled([reloading, recording]);
  if (reloaded.status === 'fulfilled' && recorded.status === 'rejected') {
    logger.warn(`the reload was not recorded in the operator log: ${describeError(recorded.reason)}`);
  }
}

const isSameFingerprint = (one: { readonly fingerprint: string }, other: { readonly fingerprint: string }) =>
  one.fingerprint === other.fingerprint;

/** Rules of the settings that were also added in the console. The former are used. */
const conflictsOfRules = ({ rules }: ServiceConfig, outputs: readonly AddedOutput[]) =>
  outputs
    .filter((output) => output.kind === 'rule' && rules.some(({ name }) => name === output.name))
    .map(
      ({ name }) =>
        `alert rule "${name}" is in the settings and was also added in the console: remove it from the settings, or switch it off in the console`,
    );

/** The differences between two lists, by name. */
function changesOf<One extends { readonly name: string }>(
  kind: string,
  before: readonly One[],
  after: readonly One[],
  isSame: (one: One, other: One) => boolean,
): string[] {
  const old = new Map(before.map((one) => [one.name, one]));
  const now = new Map(after.map((one) => [one.name, one]));
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    const [one, other] = [old.get(name), now.get(name)];
    if (one === undefined) return [`${kind} ${name} added`];
    if (other === undefined) return [`${kind} ${name} removed`];
    return isSame(one, other) ? [] : [`${kind} ${name} changed`];
  });
}
