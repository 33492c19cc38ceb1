import { sql, type RawBuilder } from 'kysely';
import { FAMILIES, typesOfFamily, type Family } from '../../events/domain.ts';
import { TABLE_OF } from '../../events/message-types.ts';
import type { TimeRange } from '../../lib/text/parse-time.ts';
import { typesOfTerms, type EventTerm } from '../../events/search-query.ts';
import { allOf, NOT_SUPERSEDED, type Condition } from '../server/condition.ts';
import { inScope, type Scope } from '../server/scope.ts';
import { areIndexed, branchesOf, isUnordered, termConditions } from './search-terms.ts';

/** Conditions on events. All conditions that are given must hold. */
export interface EventFilter extends TimeRange {
  readonly terms?: readonly EventTerm[] | undefined;
}

/** The rows of one family's table that match a filter: those of all branches. No row is in two branches. */
export interface FamilyQuery {
  readonly family: Family;
  /** Apply to every branch. */
  readonly conditions: readonly Condition[];
  /** Each selects rows that one index can find. */
  readonly branches: readonly Condition[];
  /** Whether rows are best read in the order of time, so that no more are read than a page needs. */
  readonly isOrdered: boolean;
}

/** The query for each table, without the filter's time range. A family that cannot match is left out. */
export function familyQueries(scope: Scope, { terms = [] }: EventFilter): readonly FamilyQuery[] {
  const allowed = typesOfTerms(terms);
  // A search for text alone reads a time slice completely, in the order of its rows on disk: newest first, against
  // that order, a day that was not in memory took 3 to 5 times as long.
  const isOrdered = !hasText({ terms }) || areIndexed(terms);
  return FAMILIES.flatMap((family) => {
    const all = typesOfFamily(family);
    const types = all.filter((type) => allowed.includes(type));
    const branched = terms.find((term) => branchesOf(family, term) !== undefined);
    const searched = termConditions(
      family,
      terms.filter((term) => term !== branched),
    );
    if (types.length === 0 || searched === undefined) return [];
    const conditions = [inScope(scope), NOT_SUPERSEDED, ...searched];
    if (types.length < all.length) conditions.push(sql`message_type in (${sql.join(types)})`);
    const branches = (branched && branchesOf(family, branched)) ?? [sql`true`];
    return [{ family, conditions, branches, isOrdered: isOrdered && !isUnordered(family, terms) }];
  });
}

/**
 * A select for each branch of these queries, of the rows that meet some more conditions. `columnsOf` names what is selected
 * of a family; undefined: nothing.
 */
export function selectsOf(
  queries: readonly FamilyQuery[],
  more: readonly Condition[],
  columnsOf: (family: Family) => Condition | undefined,
): readonly RawBuilder<unknown>[] {
  return queries.flatMap(({ family, conditions, branches }) => {
    const columns = columnsOf(family);
    if (columns === undefined) return [];
    return branches.map(
      (branch) => sql`select ${columns} from ${sql.table(TABLE_OF[family])}
  where ${allOf([...more, ...conditions, branch])}`,
    );
  });
}

/** Whether the filter has a condition on any part of the record. */
export const hasText = ({ terms = [] }: EventFilter): boolean => terms.some(({ key }) => key === 'text');

/** The filter's time range as a condition. */
export function timeConditions({ since, until }: TimeRange): readonly Condition[] {
  return [
    ...(since === undefined ? [] : [sql`occurred_at >= ${since}::timestamptz`]),
    ...(until === undefined ? [] : [sql`occurred_at < ${until}::timestamptz`]),
  ];
}
