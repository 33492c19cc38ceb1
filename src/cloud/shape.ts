/** Member names longer than this, or with other characters, are not shown: they may be data. */
const PLAIN_NAME = /^[A-Za-z_]\w{0,39}$/;

const MAX_MEMBERS = 12;

/** The shape of a JSON value in one line: member names and types, never a value, so that no secret shows. */
export function shapeOf(value: unknown, depth = 2): string {
  if (Array.isArray(value)) {
    return value.length === 0 ? 'empty array' : `array of ${value.length} ${shapeOf(value[0], depth)}`;
  }
  if (value === null || typeof value !== 'object') return typeOf(value);
  if (depth === 0) return 'object';
  const members = Object.entries(value).map(
    ([name, member]) => `${nameOf(name)}: ${shapeOf(member, depth - 1)}`,
  );
  const rest = members.length > MAX_MEMBERS ? [`${members.length - MAX_MEMBERS} more`] : [];
  return `{${[...members.slice(0, MAX_MEMBERS), ...rest].join(', ')}}`;
}

/** The members of JSON objects with all types of each, in the order of their first appearance. */
export function membersOf(objects: readonly unknown[]): Map<string, ReadonlySet<string>> {
  const members = new Map<string, Set<string>>();
  for (const one of objects) {
    if (one === null || typeof one !== 'object') continue;
    for (const [name, member] of Object.entries(one)) {
      const types = members.get(nameOf(name)) ?? new Set();
      members.set(
        nameOf(name),
        types.add(Array.isArray(member) ? `array of ${typeOf(member[0])}` : typeOf(member)),
      );
    }
  }
  return members;
}

const nameOf = (name: string) => (PLAIN_NAME.test(name) ? name : '(other)');

/** Formats that distinguish the dialects of the cloud. */
const FORMATS = [
  ['digits', /^\d+$/],
  ['date-time', /^\d{4}-\d\d-\d\dT/],
  ['capitals', /^[A-Z][A-Z_]+$/],
] as const;

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value !== 'string') return Number.isInteger(value) ? 'integer' : typeof value;
  const format = FORMATS.find(([, pattern]) => pattern.test(value));
  return format === undefined ? 'string' : `string (${format[0]})`;
}
