/** A name in snake_case. */
type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';

type Answered<T> = {
  [Name in keyof T & string as SnakeCase<Name>]-?:
    Exclude<T[Name], undefined> | (undefined extends T[Name] ? null : never);
};

/** The members of an object as the API answers them: with names in snake_case, and null for undefined. */
export function toAnswer<T extends object>(value: T): Answered<T>;
export function toAnswer(value: Readonly<Record<string, unknown>>): object {
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    member ?? null,
  ]);
  return Object.fromEntries(members);
}
