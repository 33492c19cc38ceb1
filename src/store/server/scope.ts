import { sql, type RawBuilder } from 'kysely';

/** The scope of the service itself, of the command line, and of people who may see everything. */
export const ALL_SOURCES = 'all' as const;

/**
 * The sources that a reader may see: all of them, or these. An empty list is none. Every function of the store that
 * reads data of sources requires a scope, so that no reader can forget it. A source outside the scope gives the same
 * results as a source that does not exist.
 */
export type Scope = typeof ALL_SOURCES | readonly string[];

export const isInScope = (scope: Scope, source: string): boolean =>
  scope === ALL_SOURCES || scope.includes(source);

/** Whether everything in the scope `other` may be seen. */
export const covers = (scope: Scope, other: Scope): boolean =>
  scope === ALL_SOURCES || (other !== ALL_SOURCES && other.every((source) => scope.includes(source)));

/** A source as an SQL condition; undefined: any. */
export const isSource = (source: string | undefined): RawBuilder<boolean> =>
  source === undefined ? sql<boolean>`true` : sql<boolean>`source = ${source}`;

/** A scope as an SQL condition on a column with the name of a source. */
export const inScope = (scope: Scope, column = 'source'): RawBuilder<boolean> =>
  scope === ALL_SOURCES ? sql<boolean>`true` : sql<boolean>`${sql.ref(column)} = any(${scope}::text[])`;
