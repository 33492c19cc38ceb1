import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';

// An extract of the published schema: the classes and objects that the format uses, with the attributes that it may
// write, those that are required, and those of constraints.

const Attribute = z.strictObject({
  /** A type, an object, or `object` for an object of any attributes. */
  type: z.string(),
  list: z.boolean().optional(),
  required: z.boolean().optional(),
  /** Exists only in events that name the profile. */
  profile: z.string().optional(),
  /** The captions of the values of an id. */
  values: z.record(z.string(), z.string()).optional(),
});

const Holder = z.strictObject({
  at_least_one: z.array(z.string()).optional(),
  attributes: z.record(z.string(), Attribute),
});

const Schema = z.strictObject({
  source: z.string(),
  types: z.record(
    z.string(),
    z.strictObject({
      json: z.enum(['string', 'integer', 'boolean', 'any']),
      regex: z.string().optional(),
      max_len: z.int().optional(),
      observable: z.int().optional(),
    }),
  ),
  classes: z.record(
    z.string(),
    Holder.extend({ caption: z.string(), category: z.strictObject({ uid: z.int(), caption: z.string() }) }),
  ),
  objects: z.record(z.string(), Holder),
});

type Holder = z.output<typeof Holder>;
type Attribute = z.output<typeof Attribute>;

const SCHEMA = Schema.parse(
  JSON.parse(readFileSync(new URL('ocsf-1.5.0.json', import.meta.url), 'utf8')) as unknown,
);

const JsonObject = z.record(z.string(), z.unknown());
type JsonObject = z.output<typeof JsonObject>;

const Event = z.looseObject({
  class_uid: z.int(),
  activity_id: z.int(),
  metadata: z.looseObject({ profiles: z.array(z.string()).default([]) }),
  observables: z.array(z.looseObject({ name: z.string(), type_id: z.int(), value: z.string() })).default([]),
});

/** What the schema does not allow in an event: a line for each problem. Empty if the event is valid. */
export function problemsInOcsf(event: unknown): string[] {
  const parsed = Event.safeParse(event);
  if (!parsed.success) return [z.prettifyError(parsed.error)];
  const document = parsed.data;
  const found = SCHEMA.classes[document.class_uid];
  const base = SCHEMA.classes['0'];
  if (found === undefined || base === undefined) return [`no class ${document.class_uid}`];
  const holder = { ...found, attributes: { ...base.attributes, ...found.attributes } };
  const activity = holder.attributes['activity_id']?.values?.[document.activity_id];
  const expected: Record<string, string | number> = {
    category_uid: found.category.uid,
    category_name: found.category.caption,
    class_name: found.caption,
    type_uid: document.class_uid * 100 + document.activity_id,
    type_name: `${found.caption}: ${activity}`,
  };
  return [
    ...problemsInObject(document, holder, '', document.metadata.profiles),
    ...Object.entries(expected).flatMap(([name, value]) =>
      document[name] === value ? [] : [`${name} is ${JSON.stringify(document[name])} instead of ${value}`],
    ),
    ...document.observables.flatMap((observable) => problemsInObservable(observable, document, holder)),
  ];
}

function problemsInObject(
  object: JsonObject,
  { attributes, at_least_one: oneOf = [] }: Holder,
  path: string,
  profiles: readonly string[],
): string[] {
  const allowed = Object.entries(attributes).filter(
    ([, { profile }]) => profile === undefined || profiles.includes(profile),
  );
  const missing = allowed.filter(([name, { required }]) => required === true && !(name in object));
  return [
    ...missing.map(([name]) => `${path}${name} is required`),
    ...(oneOf.length === 0 || oneOf.some((name) => name in object)
      ? []
      : [`${path}: none of ${oneOf.join()}`]),
    ...Object.entries(object).flatMap(([name, value]) => {
      const attribute = allowed.find(([known]) => known === name)?.[1];
      return attribute === undefined
        ? [`${path}${name} is unknown`]
        : [
            ...problemsInValue(value, attribute, `${path}${name}`, profiles),
            ...problemsInCaption(object, name, attribute, path),
          ];
    }),
  ];
}

function problemsInValue(
  value: unknown,
  attribute: Attribute,
  path: string,
  profiles: readonly string[],
): string[] {
  if (attribute.list === true) {
    return Array.isArray(value)
      ? value.flatMap((one: unknown) => problemsInValue(one, { ...attribute, list: false }, path, profiles))
      : [`${path} is no list`];
  }
  if (attribute.values !== undefined && !(String(value) in attribute.values))
    return [`${path} has no value ${String(value)}`];
  const type = SCHEMA.types[attribute.type];
  if (type === undefined) {
    const object = JsonObject.safeParse(value);
    if (!object.success) return [`${path} is no object`];
    if (attribute.type === 'object') return [];
    const holder = SCHEMA.objects[attribute.type];
    return holder === undefined
      ? [`${path}: the extract lacks ${attribute.type}`]
      : problemsInObject(object.data, holder, `${path}.`, profiles);
  }
  if (type.json === 'any') return [];
  if (type.json === 'integer') return Number.isInteger(value) ? [] : [`${path} is no integer`];
  if (type.json === 'boolean') return typeof value === 'boolean' ? [] : [`${path} is neither true nor false`];
  if (typeof value !== 'string') return [`${path} is no text`];
  const isValid =
    value.length <= (type.max_len ?? Infinity) &&
    new RegExp(type.regex ?? '', 'u').test(value) &&
    (attribute.type !== 'ip_t' || isIP(value) !== 0);
  return isValid ? [] : [`${path} is no ${attribute.type}: ${value}`];
}

const OTHER = 99;

/** Beside an id stands its caption, if anything; beside 99 any text. */
function problemsInCaption(object: JsonObject, name: string, { values }: Attribute, path: string): string[] {
  if (values === undefined || object[name] === OTHER) return [];
  const caption = values[String(object[name])];
  const sibling = [name.replace(/_id$/, ''), name.replace(/_id$/, '_name')].find(
    (one) => object[one] !== undefined,
  );
  return sibling === undefined || object[sibling] === caption
    ? []
    : [`${path}${sibling} is ${String(object[sibling])} instead of ${caption}`];
}

/** An observable names an attribute of an observable type, and has its value. */
function problemsInObservable(
  { name, type_id, value }: { name: string; type_id: number; value: string },
  document: JsonObject,
  holder: Holder,
): string[] {
  let attributes: Holder['attributes'] | undefined = holder.attributes;
  let found: unknown = document;
  let attribute: Attribute | undefined;
  for (const part of name.split('.')) {
    attribute = attributes?.[part];
    attributes = SCHEMA.objects[attribute?.type ?? '']?.attributes;
    found = JsonObject.safeParse(found).data?.[part];
  }
  const isRight =
    SCHEMA.types[attribute?.type ?? '']?.observable === type_id && [found].flat().includes(value);
  return isRight ? [] : [`the observable ${name} is not ${value} of type ${type_id}`];
}
