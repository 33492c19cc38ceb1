import { parse as parseYaml, stringify } from 'yaml';
import { z } from 'zod';
import { isSecret, type Options } from '../../forward/added-destinations.ts';
import type { DestinationChanges } from '../../forward/change-destinations.ts';
import { SENDER_TYPES } from '../../forward/senders/sender-types.ts';
import { HttpError } from '../../lib/errors.ts';
import { capitalized } from '../../lib/text/capitalized.ts';
import { destinationAddress } from '../addresses.ts';
import { enteredOf, type Entered } from '../api/parameters.ts';
import { fieldOf, selectOf, textAreaOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';

interface Form {
  readonly label: string;
  readonly type: keyof typeof SENDER_TYPES;
  /** The paths of the options that have a field, one that may be empty with `?`. All others are entered as YAML. */
  readonly fields: string;
  /** Options of a new destination. */
  readonly usual?: Options;
}

const webhook = (service: string, label: string): Form => ({
  label,
  type: 'chat',
  fields: 'service url',
  usual: { service, filter: { rule_alerts: 'only' } },
});

/** The forms by the name of their product. */
const FORMS: Readonly<Record<string, Form>> = {
  syslog: {
    label: 'Syslog',
    type: 'syslog',
    fields: 'host port transport tls.ca?',
    usual: { port: 6514, transport: 'tls' },
  },
  relp: { label: 'RELP over TLS', type: 'relp+tls', fields: 'host port tls.ca?', usual: { port: 2514 } },
  splunk: { label: 'Splunk', type: 'splunk_hec', fields: 'url token index?' },
  elasticsearch: {
    label: 'Elasticsearch, OpenSearch',
    type: 'elasticsearch',
    fields: 'url api_key index?',
  },
  sentinel: {
    label: 'Microsoft Sentinel',
    type: 'sentinel',
    fields: 'endpoint rule_id stream tenant_id client_id client_secret',
  },
  https: { label: 'HTTPS, Google SecOps', type: 'https', fields: 'url signing_secret?' },
  otlp: { label: 'OpenTelemetry', type: 'otlp', fields: 'url' },
  kafka: {
    label: 'Kafka',
    type: 'kafka',
    fields: 'topic',
    usual: { brokers: ['kafka.example:9093'], tls: {} },
  },
  s3: { label: 'S3', type: 's3', fields: 'bucket region access_key_id secret_access_key' },
  mail: {
    label: 'Mail',
    type: 'smtp',
    fields: 'host port from to auth.user? auth.password?',
    usual: { port: 587 },
  },
  slack: webhook('slack', 'Slack'),
  teams: webhook('teams', 'Microsoft Teams'),
};

/** Below the options of the type. */
const FILTER = 'filter.search?';

/** The labels that are not just the name of the option. */
const LABELS: Readonly<Record<string, string>> = {
  url: 'Address',
  api_key: 'API key',
  rule_id: 'Data collection rule',
  'tls.ca': 'Certificate authority in PEM',
  [FILTER.slice(0, -1)]: 'Only events that match',
};

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  host: 'siem.example',
  url: 'https://…',
  endpoint: 'https://…ingest.monitor.azure.com',
  stream: 'Custom-XiqEvents',
  'tls.ca': '-----BEGIN CERTIFICATE-----',
  [FILTER.slice(0, -1)]: 'type:audit -user:monitor*',
};

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  service: ['slack', 'teams'],
  transport: ['tls', 'tcp', 'udp'],
};

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
    throw new HttpError(404, 'UNKNOWN_PRODUCT', `there is no form for "${product}"`);
  }
  return formPage(form, form.usual ?? {}, undefined, freeNameOf(product, taken));
}

/** The form of a destination that was added before. */
export async function changingPage(changes: DestinationChanges, name: string): Promise<Page> {
  const options = await changes.optionsOf(name);
  const form = options && Object.values(FORMS).find((one) => isOf(one, options));
  if (options === undefined || form === undefined) {
    const message = `destination "${name}" was not added in the console: change it in the settings`;
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
  const paths = fields.split(' ');
  const { entered, rest } = enteredIn(options, [...paths, FILTER]);
  const inputs = paths.map((field) => inputOf(entered, type, field, name !== undefined));
  return {
    title: name === undefined ? `Add a destination: ${label}` : `Change ${name}`,
    modules: ['pages/destinations.ts', 'pages/sources.ts'],
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
            ? fieldOf(enteredOf({ name: freeName }), 'name', 'Name')
            : html`<input type="hidden" name="name" value=${name} />`
        }
        ${inputs} ${selectOf(entered, 'format', 'Format', SENDER_TYPES[type].formats)}
        ${inputOf(entered, type, FILTER, false)}
        ${selectOf(entered, 'filter.rule_alerts', 'Receives', ALERTS)}
        ${textAreaOf(
          enteredOf({ more: Object.keys(rest).length === 0 ? undefined : stringify(rest) }),
          'more',
          'Further options, as in the settings file (YAML, optional)',
          'tls: { server_name: siem.example }',
        )}
        <div class="row">
          <button>Save</button>
          <button class="quiet" data-action="/destinations/preview">Preview</button>
          <button class="quiet" data-action="/destinations/try">Send a test event</button>
          <a class="button quiet" href="/destinations">Cancel</a>
          <span class="dim">Credentials are stored encrypted, and cannot be read again.</span>
        </div>
      </form>
      <div class="shown" role="status"></div>
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
function enteredIn(options: Options, fields: readonly string[]): { entered: Entered; rest: Options } {
  const written: Record<string, string> = {};
  const rest = nested.parse(structuredClone(options));
  delete rest['type'];
  for (const path of [...fields.map(pathOf), 'format', 'filter.rule_alerts']) {
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
  return { entered: enteredOf(written), rest };
}

const pathOf = (field: string) => field.replace('?', '');

function inputOf(entered: Entered, type: string, field: string, isStored: boolean): Content {
  const path = pathOf(field);
  const words = path.slice(path.indexOf('.') + 1).replaceAll('_', ' ');
  const name = LABELS[path] ?? capitalized(words);
  const label = path === field ? name : `${name} (optional)`;
  const placeholder = PLACEHOLDERS[path];
  const choices = CHOICES[path];
  if (choices !== undefined) return selectOf(entered, path, label, choices);
  if (path === 'tls.ca') return textAreaOf(entered, path, label, placeholder);
  if (path === 'port') return fieldOf(entered, path, label, placeholder, { type: 'number' });
  if (!isSecret(type, path.split('.'))) return fieldOf(entered, path, label, placeholder);
  const hint = isStored ? 'unchanged' : placeholder;
  return fieldOf(entered, path, label, hint, { type: 'password', autocomplete: 'new-password' });
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
