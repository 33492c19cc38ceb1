/** The keys of an object that has no others, in their order, with their type. */
export const keysOf = <Key extends string>(object: Readonly<Record<Key, unknown>>): readonly Key[] =>
  Object.keys(object).filter((key): key is Key => key in object);
