import { parse as parseYaml, stringify } from 'yaml';
import { z } from 'zod';
import type { Options } from '../../forward/added-destinations.ts';
import type { DestinationChanges } from '../../forward/change-destinations.ts';
import { SENDER_TYPES } from '../../forward/senders/sender-types.ts';
import { HttpError } from '../../lib/errors.ts';
import { destinationAddress } from '../addresses.ts';
import type { Entered } from '../api/parameters.ts';
import { fieldOf, selectOf, textAreaOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';

/** An option of a destination: its path in the settings, its label, and what is entered. */
interface Field {
  readonly path: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly kind?: 'number' | 'password' | 'lines' | readonly string[];
  /** What is entered at first. */
  readonly usual?: string;
}

interface Form {
  readonly label: string;
  readonly type: keyof typeof SENDER_TYPES;
  readonly fields: readonly Field[];
  /** Further options of a new destination. */
  readonly usual?: Options;
}

const host: Field = { path: 'host', label: 'Host', placeholder: 'siem.example' };
const port = (usual: string): Field => ({ path: 'port', label: 'Port', kind: 'number', usual });
const url = (placeholder: string): Field => ({ path: 'url', label: 'Address', placeholder });
const secret = (path: string, label: string): Field => ({ path, label, kind: 'password' });
const ca: Field = {
  path: 'tls.ca',
  label: 'Certificate authority (PEM, optional)',
  kind: 'lines',
  placeholder: '-----BEGIN CERTIFICATE-----',
};
const webhook = (service: string, label: string): Form => ({
  label,
  type: 'chat',
  fields: [secret('url', 'Webhook address')],
  usual: { service, filter: { rule_alerts: 'only' } },
});

/** The forms by the name of their product. Options without a field are entered as YAML. */
const FORMS: Readonly<Record<string, Form>> = {
  syslog: {
    label: 'Syslog',
    type: 'syslog',
    fields: [host, port('6514'), { path: 'transport', label: 'Transport', kind: ['tls', 'tcp', 'udp'] }, ca],
  },
  relp: { label: 'RELP over TLS', type: 'relp+tls', fields: [host, port('2514'), ca] },
  splunk: {
    label: 'Splunk',
    type: 'splunk_hec',
    fields: [
      url('https://splunk.example:8088'),
      secret('token', 'Token'),
      { path: 'index', label: 'Index (optional)' },
    ],
  },
  elasticsearch: {
    label: 'Elasticsearch, OpenSearch',
    type: 'elasticsearch',
    fields: [
      url('https://es.example:9200'),
      secret('api_key', 'API key'),
      { path: 'index', label: 'Index (optional)' },
    ],
  },
  sentinel: {
    label: 'Microsoft Sentinel',
    type: 'sentinel',
    fields: [
      {
        path: 'endpoint',
        label: 'Data collection endpoint',
        placeholder: 'https://…ingest.monitor.azure.com',
      },
      { path: 'rule_id', label: 'Data collection rule', placeholder: 'dcr-…' },
      { path: 'stream', label: 'Stream', placeholder: 'Custom-XiqEvents' },
      { path: 'tenant_id', label: 'Tenant' },
      { path: 'client_id', label: 'Application' },
      secret('client_secret', 'Secret'),
    ],
  },
  https: {
    label: 'HTTPS, Google SecOps',
    type: 'https',
    fields: [secret('url', 'Address'), secret('signing_secret', 'Signing secret (optional)')],
  },
  otlp: { label: 'OpenTelemetry', type: 'otlp', fields: [url('https://collector.example:4318')] },
  kafka: {
    label: 'Kafka',
    type: 'kafka',
    fields: [{ path: 'topic', label: 'Topic', placeholder: 'xiq-events' }],
    usual: { brokers: ['kafka.example:9093'], tls: {} },
  },
  s3: {
    label: 'S3',
    type: 's3',
    fields: [
      { path: 'bucket', label: 'Bucket' },
      { path: 'region', label: 'Region', placeholder: 'eu-central-1' },
      { path: 'access_key_id', label: 'Access key' },
      secret('secret_access_key', 'Secret key'),
    ],
  },
  mail: {
    label: 'Mail',
    type: 'smtp',
    fields: [
      { ...host, placeholder: 'mail.example' },
      port('587'),
      { path: 'from', label: 'From', placeholder: 'xiq-sink@example.com' },
      { path: 'to', label: 'To', placeholder: 'soc@example.com' },
      { path: 'auth.user', label: 'User (optional)' },
      secret('auth.password', 'Password (optional)'),
    ],
  },
  slack: webhook('slack', 'Slack'),
  teams: webhook('teams', 'Microsoft Teams'),
};

/** The fields below those of the type. */
const FILTER: readonly Field[] = [
  {
    path: 'filter.search',
    label: 'Only events that match (optional)',
    placeholder: 'type:audit -user:monitor*',
  },
];

const ALERTS = [
  ['', 'events and alerts'],
  ['only', 'alerts alone'],
  ['named', 'events, and alerts whose rule names it'],
] as const;

/** Links to the forms that add a destination. */
export const addLinks = (): Content => html`
  <h2>Add a destination</h2>
  <div class="row">
    ${Object.entries(FORMS).map(
      ([product, { label }]) =>
        html`<a class="button quiet" href=${`/destinations/add/${product}`}>${label}</a>`,
    )}
  </div>
`;

/** The form of a new destination of a product. `taken` are the names of all destinations. */
export function addingPage(product: string, taken: readonly string[]): Page {
  const form = FORMS[product];
  if (form === undefined) {
    throw new HttpError(
      404,
      'UNKNOWN_PRODUCT',
      `there is no form for "${product}"; use the type https or syslog`,
    );
  }
  const usuals = form.fields.map(({ path, usual }) => [path, usual] as const);
  const options: Options = { ...form.usual, ...Object.fromEntries<unknown>(usuals) };
  return formPage(form, options, undefined, freeNameOf(product, taken));
}

/** The form of a destination that was added before. */
export async function changingPage(changes: DestinationChanges, name: string): Promise<Page> {
  const options = await changes.optionsOf(name);
  const form = options && Object.values(FORMS).find((one) => isOf(one, options));
  if (options === undefined || form === undefined) {
    const message = `no destination "${name}" was added in the console: change it in the settings`;
    throw new HttpError(404, 'UNKNOWN_DESTINATION', message);
  }
  return formPage(form, options, name, '');
}

const isOf = (form: Form, { type, service }: Options): boolean =>
  form.type === type && (form.usual?.['service'] ?? service) === service;

function formPage(
  { label, type, fields }: Form,
  options: Options,
  name: string | undefined,
  freeName: string,
): Page {
  const inputs = [...fields, ...FILTER];
  const { entered, rest } = enteredIn(options, inputs);
  return {
    title: name === undefined ? `Add a destination: ${label}` : `Change ${name}`,
    modules: ['pages/destinations.js'],
    content: html`
      <form
        class="panel fields"
        data-action=${name === undefined ? '/destinations' : `${destinationAddress(name)}/change`}
        data-then="/destinations"
        data-done=${name === undefined ? 'Added. Events are forwarded from now on.' : `${name} is changed.`}
      >
        <input type="hidden" name="type" value=${type} />
        ${
          name === undefined
            ? fieldOf({ ...entered, written: { name: freeName } }, 'name', 'Name')
            : html`<input type="hidden" name="name" value=${name} />`
        }
        ${fields.filter(({ kind }) => kind !== 'lines').map((field) => inputOf(entered, field, name !== undefined))}
        ${selectOf(
          entered,
          'format',
          'Format',
          SENDER_TYPES[type].formats.map((format) => [format, format] as const),
        )}
        ${FILTER.map((field) => inputOf(entered, field, false))}
        ${selectOf(entered, 'filter.rule_alerts', 'Receives', ALERTS)}
        ${fields.filter(({ kind }) => kind === 'lines').map((field) => inputOf(entered, field, false))}
        ${textAreaOf(
          { ...entered, written: { more: Object.keys(rest).length === 0 ? '' : stringify(rest) } },
          'more',
          'Further options, as in the settings file (YAML, optional)',
          'tls: { server_name: siem.example }',
        )}
        <div class="row">
          <button>Save</button>
          <button class="quiet" data-action="/destinations/try">Send a test event</button>
          <a class="button quiet" href="/destinations">Cancel</a>
          <span class="dim">Credentials are stored encrypted, and cannot be read again.</span>
        </div>
      </form>
    `,
  };
}

/** The first of NAME, NAME-2 and so on that is free. */
export function freeNameOf(name: string, taken: readonly string[]): string {
  let free = name;
  for (let number = 2; taken.includes(free); number += 1) free = `${name}-${number}`;
  return free;
}

const nested = z.record(z.string(), z.unknown());

/** The options that have an input, as texts by path, and all others. */
function enteredIn(options: Options, fields: readonly Field[]): { entered: Entered; rest: Options } {
  const written: Record<string, string> = {};
  const rest = nested.parse(structuredClone(options));
  delete rest['type'];
  for (const path of [...fields.map((field) => field.path), 'format', 'filter.rule_alerts']) {
    const [first = '', inner] = path.split('.');
    const holder = inner === undefined ? rest : nested.safeParse(rest[first]).data;
    const value = holder?.[inner ?? first];
    if (holder === undefined || (typeof value !== 'string' && typeof value !== 'number')) continue;
    written[path] = String(value);
    delete holder[inner ?? first];
    if (inner === undefined) continue;
    if (Object.keys(holder).length === 0) delete rest[first];
    else rest[first] = holder;
  }
  return { entered: { written, problems: new Map() }, rest };
}

function inputOf(entered: Entered, { path, label, kind, placeholder }: Field, isStored: boolean): Content {
  if (kind === 'lines') return textAreaOf(entered, path, label, placeholder);
  if (kind === 'password') {
    const hint = isStored ? 'unchanged' : undefined;
    return fieldOf(entered, path, label, hint, { type: kind, autocomplete: 'new-password' });
  }
  if (kind === 'number') return fieldOf(entered, path, label, placeholder, { type: kind });
  if (kind === undefined) return fieldOf(entered, path, label, placeholder);
  return selectOf(
    entered,
    path,
    label,
    kind.map((choice) => [choice, choice] as const),
  );
}

/** What was sent for a destination: its options, and in `more` further ones as YAML. Throws HttpError 400 if that is none. */
export function optionsIn({ more, name: _name, ...options }: Options): Options {
  if (typeof more !== 'string') return options;
  const further = readYaml(more);
  return Object.fromEntries(
    [...new Set([...Object.keys(further), ...Object.keys(options)])].map((name) => {
      const [one, other] = [nested.safeParse(further[name]).data, nested.safeParse(options[name]).data];
      return [name, one && other ? { ...one, ...other } : (options[name] ?? further[name])];
    }),
  );
}

function readYaml(written: string): Options {
  try {
    return nested.parse(parseYaml(written, { logLevel: 'error' }) ?? {});
  } catch (cause) {
    throw new HttpError(400, 'BAD_REQUEST', 'more: must be options as in the settings file (YAML)', {
      cause,
    });
  }
}
