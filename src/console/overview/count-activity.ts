import { exactTerm, parseSearch, printSearch, type SearchKey } from '../../events/search-query.ts';
import { countAdministrators, countLogins, countRuleAlerts } from '../../store/counts/activity.ts';
import type { LoginCount } from '../../store/counts/activity.ts';
import { fold } from '../../lib/text/fold.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import type { Db } from '../../store/server/database.ts';
import type { RangeFilter } from '../../store/events/event-histogram.ts';
import { countFacet } from '../../store/events/facets.ts';
import type { Scope } from '../../store/server/scope.ts';
import { shareAnswers } from './share-answers.ts';
import type { Activity, NamedFigure } from './overview-schemas.ts';

/** The searches behind the figures. Each figure counts what its search finds. */
const AUDIT = 'type:AUDIT_LOG_ALL';
const LOGINS = `${AUDIT} code:10001`;
const KEYS_CREATED = `${AUDIT} code:40001`;
const KEYS_DELETED = `${AUDIT} code:40003`;
const CHANGES = `${AUDIT} -code:10001,10002,40001,40003`;
const FAILED_LOGINS = 'type:AUTHENTICATION_LOG_ALL "Access-Reject"';
const RULE_ALERTS = 'type:OTHER origin:xiq-sink';

const LISTED = 10;
const LISTED_VALUES = 3;

const COUNT_MS = 2_000;
const KEPT_MS = 60_000;

/** Counts are kept for a minute for those with the same scope and range: pages refresh every few seconds. */
export const createActivityReader = (db: Db) =>
  shareAnswers(
    (scope: Scope, range: WholeRange) => countActivity(db, scope, range),
    () => KEPT_MS,
  );

async function countActivity(db: Db, scope: Scope, range: WholeRange): Promise<Activity> {
  const filter = (search: string): RangeFilter => ({ ...range, terms: parseSearch(search).terms });
  const named = (name: string, q: string, count: number): NamedFigure => ({ name, q, count });
  const [counted, administrators, failed, rules] = await Promise.all([
    countFacet(db, scope, filter(''), 'type', 100, COUNT_MS),
    countAdministrators(db, scope, filter(AUDIT), MOST_ADMINISTRATORS),
    countLogins(db, scope, filter(FAILED_LOGINS)),
    countRuleAlerts(db, scope, filter(RULE_ALERTS)),
  ]);
  const types = counted.isComplete ? counted.values : [];
  const ofType = (type: string) => types.find(({ value }) => value === type)?.count ?? 0;
  const top = (key: 'ssid' | 'user') =>
    topOf(failed ?? [], key).map(({ name, count }) =>
      named(name, `${FAILED_LOGINS} ${term(key, name)}`, count),
    );
  return {
    ...range,
    events: { q: '', count: counted.isComplete ? sum(types.map(({ count }) => count)) : null },
    types: types.map(({ value, count }) => named(value, `type:${value}`, count)),
    administrators:
      administrators?.slice(0, LISTED).flatMap(({ user, ...one }) => {
        if (user === null) return [];
        const by = (search: string, count: number) => ({ q: `${search} ${term('user', user)}`, count });
        return [
          {
            user,
            logins: by(LOGINS, one.logins),
            changes: by(CHANGES, one.others),
            keys_created: by(KEYS_CREATED, one.created),
            keys_deleted: by(KEYS_DELETED, one.deleted),
          },
        ];
      }) ?? null,
    keys_created: { q: KEYS_CREATED, count: totalOf(administrators, ({ created }) => created) },
    failed_logins: {
      q: FAILED_LOGINS,
      count: totalOf(failed, ({ count }) => count),
      ssids: top('ssid'),
      users: top('user'),
    },
    alerts: [
      ...(rules ?? []).map(({ rule, count }) =>
        named(`rule ${rule}`, `${RULE_ALERTS} ${term('text', `"rule": "${rule}"`)}`, count),
      ),
      ...(ofType('ALERT') > 0 ? [named('of the cloud', 'type:ALERT', ofType('ALERT'))] : []),
    ],
  };
}

/** More than an account has; all of them make the sum. */
const MOST_ADMINISTRATORS = 10_000;

const term = (key: SearchKey, text: string) => printSearch([exactTerm(key, text)]);

const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);

const totalOf = <One>(ones: readonly One[] | undefined, count: (one: One) => number) =>
  ones === undefined ? null : sum(ones.map(count));

/** The most frequent values, however they are written. */
function topOf(counts: readonly LoginCount[], key: 'ssid' | 'user') {
  const sums = new Map<string, { name: string; count: number }>();
  for (const one of counts) {
    const name = one[key];
    if (name === null || name === '') continue;
    const known = sums.get(fold(name));
    sums.set(fold(name), { name: known?.name ?? name, count: (known?.count ?? 0) + one.count });
  }
  return [...sums.values()].toSorted((a, b) => b.count - a.count).slice(0, LISTED_VALUES);
}
