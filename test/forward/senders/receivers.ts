import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { Message, Sender } from '../../../src/forward/sender.ts';
import { SENDER_TYPES } from '../../../src/forward/senders/sender-types.ts';
import { createStdoutSender } from '../../../src/forward/senders/stdout.ts';
import { createSyslogSender, syslogOptions } from '../../../src/forward/senders/syslog.ts';
import type { TestCertificate } from '../../support/certificates.ts';
import { newDirectory } from '../../support/use-directory.ts';
import { INVALID_RECORD, kafkaBroker, TOPIC_AUTHORIZATION_FAILED } from './kafka-stand-in.ts';
import { mailServer } from './mail-server.ts';
import { message, storedEvent } from './messages.ts';
import { acceptAll, relpReceiver, rsp } from './relp-stand-in.ts';
import { endless, standIn, type Received, type Reply } from '../../support/stand-in.ts';
import { tcpServer } from '../../support/tcp-server.ts';

/** How a receiver treats what it gets. */
export type Conduct =
  | 'accepts'
  | 'refuses a part'
  | 'refuses all'
  | 'throttles'
  | 'is silent'
  | 'answers half'
  | 'closes early'
  | 'redirects'
  | 'answers without end'
  | 'is away';

/** What a sender is tried with: every conduct, being closed while it sends, and two certificates not to trust. */
export type Trial = Conduct | 'is left' | 'is a stranger' | 'has another name';

/** What a receiver is started with. */
interface Start {
  readonly conduct: Conduct;
  readonly certificate: TestCertificate;
  /** The options `tls` of the sender. */
  readonly trust: object;
  readonly timeoutSeconds: number;
}

/** A receiver and a sender to it. */
export interface Receiver {
  /** Changes how it treats what comes from now on. */
  conduct: Conduct;
  readonly sender: Sender;
  /** The options of the sender, as the settings may have them. */
  readonly options: object;
  /** The ids of the events that it has accepted, in order. */
  readonly accepted: () => Promise<readonly string[]> | readonly string[];
  /** How many times it was sent something. */
  readonly asked: () => number;
  /** What an error calls it. */
  readonly place: string;
  /** The receiver that redirects lead to: its name, and what it got. */
  readonly elsewhere?: { readonly host: string; readonly received: readonly unknown[] };
}

/** A type of destination, or a way to set one up. */
export interface Way {
  readonly start: (start: Start) => Promise<Receiver>;
  /** What no error may quote. */
  readonly secrets?: readonly string[];
  /** The event that is refused when a part is, if it is another than event 2. */
  readonly refused?: Message;
  /** What does not exist for it, and why. */
  readonly lacks: Partial<Record<Trial, string>>;
}

const POISON = message(2);

/** The ids of the events in a text, each once. */
const idsIn = (text: string) => [
  ...new Set(text.match(/[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g) ?? []),
];

const isPoison = (id: string) => id === POISON.event.eventId;

/** Nobody listens there. */
const CLOSED_PORT = 1;

/** The answers that are none, in the words of the stand-ins. */
const BROKEN: Partial<Record<Conduct, 'silent' | 'half' | 'cut' | 'endless'>> = {
  'is silent': 'silent',
  'answers half': 'half',
  'closes early': 'cut',
  'answers without end': 'endless',
};

const TOKEN = 'a-token-that-nobody-may-see';
const PASSWORD = 'a-password-that-nobody-may-see';

/** Where requests have what a refusal quotes first. */
const CREDENTIAL_HEADERS = ['authorization', 'x-key', 'x-amz-security-token'];

interface HttpReceiver {
  /** The options, for the address of the receiver and that of one which always accepts and gives out a token. */
  readonly options: (url: string, steady: string) => object;
  readonly receipt: (ids: readonly string[], isRefused: (id: string) => boolean) => Reply;
  /** A receipt tells which events are refused. Otherwise a request with one of them is refused as a whole. */
  readonly isPerEvent?: boolean;
  /** How a refusal quotes the request. */
  readonly quote?: (text: string) => string;
}

/** A destination that is reached by HTTPS. */
function http(
  type: keyof typeof SENDER_TYPES,
  { options, receipt, isPerEvent = false, quote = (text) => text }: HttpReceiver,
  lacks: Way['lacks'] = {},
): Way {
  return {
    lacks,
    secrets: [TOKEN, PASSWORD, btoa(`sink:${PASSWORD}`)],
    async start({ conduct, certificate, trust, timeoutSeconds }) {
      const accepted: string[] = [];
      const answer = (request: Received): Reply => {
        const credentials = CREDENTIAL_HEADERS.map((name) => request.headers[name] ?? '');
        const raw = quote([...credentials, request.url, request.body].join(' '));
        const troubles: Partial<Record<Conduct, Reply>> = {
          'refuses all': { status: 403, raw },
          throttles: { status: 429, headers: { 'retry-after': '17' }, raw },
          redirects: {
            status: 307,
            headers: { location: `${elsewhere.url}${request.url}` },
            raw: quote(`moved to ${elsewhere.url}`),
          },
          ...BROKEN,
        };
        const trouble = troubles[receiver.conduct];
        if (trouble !== undefined) return trouble;
        const ids = idsIn(request.body);
        const isRefused = (id: string) => receiver.conduct === 'refuses a part' && isPoison(id);
        if (!isPerEvent && ids.some(isRefused)) return { status: 400, raw };
        accepted.push(...ids.filter((id) => !isRefused(id)));
        return receipt(ids, isRefused);
      };
      const server = await standIn(answer, certificate);
      const elsewhere = await standIn(() => ({}), certificate);
      const steady = await standIn(({ body }) => {
        accepted.push(...idsIn(body));
        return LOGGED_IN;
      }, certificate);
      onTestFinished(async () => {
        for (const one of [server, elsewhere, steady]) await one[Symbol.asyncDispose]();
      });
      const url = conduct === 'is away' ? `https://127.0.0.1:${CLOSED_PORT}` : server.url;
      const given = { tls: trust, timeout_seconds: timeoutSeconds, ...options(url, steady.url) };
      const receiver: Receiver = {
        conduct,
        options: given,
        sender: SENDER_TYPES[type].create(given),
        accepted: () => accepted,
        asked: () => server.received.length,
        place: url,
        elsewhere: { host: `127.0.0.1:${elsewhere.port}`, received: elsewhere.received },
      };
      return receiver;
    },
  };
}

const LOGGED_IN = { json: { access_token: TOKEN, expires_in: 3600 } };

const bulkAnswer: HttpReceiver['receipt'] = (ids, isRefused) => ({
  json: {
    items: ids.map((id) => ({
      create: isRefused(id) ? { status: 400, error: { type: 'mapping', reason: 'no' } } : { status: 201 },
    })),
  },
});

const splunk = (more: object, receipt: HttpReceiver['receipt']) =>
  http('splunk_hec', { options: (url) => ({ url, token: TOKEN, ...more }), receipt });

const elasticsearch = (more: object) =>
  http('elasticsearch', { options: (url) => ({ url, ...more }), receipt: bulkAnswer, isPerEvent: true });

const sentinel = (endpoints: (url: string, steady: string) => object, lacks: Way['lacks'] = {}) => {
  const common = { rule_id: 'dcr-1', stream: 'Custom-Events', tenant_id: 'tenant', client_id: 'app' };
  const options = (url: string, steady: string) => ({
    ...common,
    client_secret: PASSWORD,
    ...endpoints(url, steady),
  });
  return http('sentinel', { options, receipt: () => LOGGED_IN }, lacks);
};

const chat = (service: string, receipt: HttpReceiver['receipt']) =>
  http('chat', {
    options: (url) => ({ url: `${url}/services/${TOKEN}?sig=${PASSWORD}`, service, allow_private: true }),
    receipt,
  });

const NO_HTTP = { redirects: 'the protocol has no redirects' };
const NO_TIME = { throttles: 'an answer of the protocol names no time to come again' };
const NO_TLS = { 'is a stranger': 'without TLS', 'has another name': 'without TLS' };

/** A receiver of RELP, with TLS or without. */
const relp = (type: 'relp' | 'relp+tls', lacks: Way['lacks']): Way => ({
  lacks: { ...NO_HTTP, ...NO_TIME, ...lacks },
  async start({ conduct, certificate, trust, timeoutSeconds }) {
    const accepted: string[] = [];
    let asked = 0;
    const secure = type === 'relp+tls' ? certificate : undefined;
    const { port } = await relpReceiver((socket, command) => {
      if (command.command !== 'syslog') return acceptAll(socket, command);
      asked += 1;
      const ids = idsIn(command.data);
      const { conduct: now } = receiver;
      const isRefused = now === 'refuses all' || (now === 'refuses a part' && ids.some(isPoison));
      if (isRefused) return void socket.write(rsp(command.txnr, '500 no'));
      switch (BROKEN[now]) {
        case 'silent':
          return;
        case 'half':
          return void socket.end(`${command.txnr} rsp 6 20`);
        case 'cut':
          return void socket.end();
        case 'endless':
          socket.write(`${command.txnr} rsp 999999999 200 `);
          return endless(socket);
        case undefined:
      }
      accepted.push(...ids);
      acceptAll(socket, command);
    }, secure);
    const to = conduct === 'is away' ? CLOSED_PORT : port;
    const common = { host: '127.0.0.1', port: to, timeout_seconds: timeoutSeconds };
    const options = { ...common, ...(secure && { tls: trust }) };
    const receiver: Receiver = {
      conduct,
      options,
      sender: SENDER_TYPES[type].create(options),
      accepted: () => accepted,
      asked: () => asked,
      place: `127.0.0.1:${to}`,
    };
    return receiver;
  },
});

/** A receiver of syslog over TCP or TLS, whose only answer is to close the connection. */
const syslogStream = (transport: 'tcp' | 'tls', confirm: boolean, lacks: Way['lacks']): Way => ({
  lacks: {
    ...NO_HTTP,
    ...NO_TIME,
    'refuses all': 'a receiver can only close the connection',
    'answers half': 'receivers answer nothing',
    ...lacks,
  },
  refused: { event: storedEvent(2), text: 'a\nb' },
  async start({ conduct, certificate, trust, timeoutSeconds }) {
    const received: Buffer[] = [];
    const { port, sockets } = await tcpServer(
      (socket) => {
        socket.on('data', (chunk: Buffer) => {
          received.push(chunk);
          if (receiver.conduct === 'closes early') socket.end();
          if (receiver.conduct === 'answers without end') endless(socket);
        });
        socket.on('end', () => {
          if (receiver.conduct === 'accepts' || receiver.conduct === 'refuses a part') socket.end();
        });
      },
      {
        allowHalfOpen: true,
        ...(transport === 'tls' && { secure: { ...certificate, allowHalfOpen: true } }),
      },
    );
    const to = conduct === 'is away' ? CLOSED_PORT : port;
    const tls = transport === 'tls' && { tls: trust };
    const common = { transport, host: '127.0.0.1', port: to, confirm, framing: 'lf', ...tls };
    const options = { ...common, timeout_seconds: timeoutSeconds };
    const receiver: Receiver = {
      conduct,
      options,
      // Patient with an unknown receiver for 20 ms only.
      sender: createSyslogSender(syslogOptions.parse(options), 20),
      accepted: () => idsIn(Buffer.concat(received).toString()),
      asked: () => Math.min(sockets.length, received.length),
      place: `${transport}://127.0.0.1:${to}`,
    };
    return receiver;
  },
});

const NOT_TRACKED = 'a datagram has no answer';

const syslogDatagrams: Way = {
  lacks: {
    ...NO_HTTP,
    ...NO_TIME,
    ...NO_TLS,
    'refuses all': NOT_TRACKED,
    'is silent': NOT_TRACKED,
    'answers half': NOT_TRACKED,
    'closes early': NOT_TRACKED,
    'answers without end': NOT_TRACKED,
    'is left': 'sending waits for nobody',
  },
  refused: message(2, 'ü'.repeat(8_000)),
  async start({ conduct }) {
    const received: string[] = [];
    const socket = createSocket('udp4').on('message', (bytes) => received.push(bytes.toString()));
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    onTestFinished(() => void socket.close());
    const port = conduct === 'is away' ? CLOSED_PORT : socket.address().port;
    const options = { transport: 'udp', host: '127.0.0.1', port };
    return {
      conduct,
      options,
      sender: createSyslogSender(syslogOptions.parse(options)),
      accepted: () => idsIn(received.join()),
      asked: () => received.length,
      place: `udp://127.0.0.1:${port}`,
    };
  },
};

const kafka: Way = {
  lacks: { ...NO_HTTP, throttles: 'the broker itself delays its answers' },
  secrets: [PASSWORD],
  async start({ conduct, certificate, trust, timeoutSeconds }) {
    const accepted: string[] = [];
    let asked = 0;
    const produce = (records: string) => {
      asked += 1;
      const ids = idsIn(records);
      const { conduct: now } = receiver;
      if (now === 'refuses all') return TOPIC_AUTHORIZATION_FAILED;
      if (now === 'refuses a part' && ids.some(isPoison)) return INVALID_RECORD;
      const broken = BROKEN[now];
      if (broken !== undefined) return broken;
      accepted.push(...ids);
      return 0;
    };
    const { port } = await kafkaBroker(certificate, { produce });
    const broker = `127.0.0.1:${conduct === 'is away' ? CLOSED_PORT : port}`;
    const sasl = { username: 'sink', password: PASSWORD };
    const given = { brokers: [broker], topic: 'events', compression: 'none', tls: trust, sasl };
    const options = { ...given, timeout_seconds: timeoutSeconds };
    const receiver: Receiver = {
      conduct,
      options,
      sender: SENDER_TYPES.kafka.create(options),
      accepted: () => accepted,
      asked: () => asked,
      place: broker,
    };
    return receiver;
  },
};

const smtp: Way = {
  lacks: { ...NO_HTTP, ...NO_TIME },
  secrets: [PASSWORD, btoa(`\0sink\0${PASSWORD}`)],
  async start({ conduct, certificate, trust, timeoutSeconds }) {
    const accepted: string[] = [];
    const script = {
      logIn: (_user: unknown, password: unknown) =>
        receiver.conduct === 'refuses all'
          ? { code: 535, text: `not ${String(password)}, ${btoa(`\0sink\0${String(password)}`)}` }
          : undefined,
      content({ body }: { readonly body: string }) {
        const ids = idsIn(body);
        const { conduct: now } = receiver;
        if (now === 'refuses a part' && ids.some(isPoison)) return { code: 554, text: 'no' };
        const broken = BROKEN[now];
        if (broken !== undefined) return broken;
        accepted.push(...ids);
        return undefined;
      },
    } as const;
    const { port, mails } = await mailServer(script, certificate, { secure: true });
    const to = conduct === 'is away' ? CLOSED_PORT : port;
    const auth = { user: 'sink', password: PASSWORD };
    const common = { host: '127.0.0.1', port: to, security: 'tls', tls: trust, auth };
    const addresses = { from: 'sink@siem.test', to: 'noc@siem.test' };
    const options = { ...common, ...addresses, timeout_seconds: timeoutSeconds };
    const receiver: Receiver = {
      conduct,
      options,
      sender: SENDER_TYPES.smtp.create(options),
      accepted: () => accepted,
      asked: () => mails.length,
      place: `127.0.0.1:${to}`,
    };
    return receiver;
  },
};

const LOCAL = 'a stream of this machine has no answers';
const WRITES_ONLY = {
  ...NO_HTTP,
  ...NO_TIME,
  ...NO_TLS,
  'refuses a part': 'any text can be written',
  'refuses all': 'what cannot be written is an outage',
  'is silent': LOCAL,
  'answers half': LOCAL,
  'answers without end': LOCAL,
  'is left': 'a write that has begun ends by itself',
} as const;

const file: Way = {
  lacks: { ...WRITES_ONLY, 'closes early': 'a file has no reader' },
  async start({ conduct }) {
    const directory = await newDirectory();
    const place = path.join(directory, conduct === 'is away' ? 'missing' : '', 'events.jsonl');
    return {
      conduct,
      options: { path: place },
      sender: SENDER_TYPES.file.create({ path: place }),
      accepted: async () => idsIn(await readFile(place, 'utf8').catch(() => '')),
      asked: () => 0,
      place,
    };
  },
};

const stdout: Way = {
  lacks: { ...WRITES_ONLY, 'closes early': 'a reader that is gone does not come back' },
  async start({ conduct }) {
    const written: string[] = [];
    const stream = new Writable({
      emitClose: false,
      autoDestroy: false,
      write(chunk: Buffer, _encoding, done) {
        if (receiver.conduct !== 'accepts') return done(new Error('EPIPE'));
        written.push(chunk.toString());
        done();
      },
    });
    const receiver: Receiver = {
      conduct,
      options: {},
      sender: createStdoutSender(stream),
      accepted: () => idsIn(written.join('')),
      asked: () => written.length,
      place: 'stdout',
    };
    return receiver;
  },
};

/** The ways of each type, by their names. */
export const RECEIVERS: Readonly<Record<string, Readonly<Record<string, Way>>>> = {
  syslog: {
    'over TCP, confirmed': syslogStream('tcp', true, NO_TLS),
    'over TCP, kept': syslogStream('tcp', false, {
      ...NO_TLS,
      'is silent': 'a kept connection waits for no answer',
      'answers without end': 'what a receiver writes is discarded',
      'is left': 'a kept connection waits for no answer',
    }),
    'over TLS': syslogStream('tls', true, {}),
    'over UDP': syslogDatagrams,
  },
  relp: { 'over TCP': relp('relp', NO_TLS) },
  'relp+tls': { 'over TLS': relp('relp+tls', {}) },
  splunk_hec: {
    'at once': splunk({}, () => ({ json: { code: 0 } })),
    'with acknowledgement': splunk({ acknowledge: true }, () => ({
      json: { code: 0, ackId: 7, acks: { 7: true } },
    })),
  },
  elasticsearch: {
    'with an API key': elasticsearch({ api_key: TOKEN }),
    'with a password': elasticsearch({ username: 'sink', password: PASSWORD }),
  },
  https: {
    'with a header': http('https', {
      options: (url) => ({ url: `${url}/in?key=1`, allow_private: true, headers: { 'x-key': TOKEN } }),
      receipt: () => ({}),
    }),
  },
  otlp: {
    'with a header': http('otlp', {
      options: (url) => ({ url, headers: { 'x-key': TOKEN } }),
      receipt: () => ({}),
    }),
  },
  kafka: { 'with SASL': kafka },
  sentinel: {
    'at the stream': sentinel((url, steady) => ({ endpoint: url, login_url: steady }), {
      'is a stranger': 'the login before it fails, as below',
      'has another name': 'the login before it fails, as below',
    }),
    'at the login': sentinel((url, steady) => ({ endpoint: steady, login_url: url }), {
      'refuses a part': 'a login has no events',
    }),
  },
  s3: {
    'by its API': http(
      's3',
      {
        options: (endpoint) => ({
          bucket: 'events',
          endpoint,
          access_key_id: 'sink',
          secret_access_key: PASSWORD,
          session_token: TOKEN,
        }),
        receipt: () => ({ headers: { etag: '"of-the-object"' } }),
        quote: (text) => `<Error><Code>AccessDenied</Code><Message><![CDATA[${text}]]></Message></Error>`,
      },
      { ...NO_TIME, 'refuses a part': 'a bucket stores any content' },
    ),
  },
  smtp: { 'over TLS': smtp },
  chat: {
    slack: chat('slack', () => ({ raw: 'ok' })),
    teams: chat('teams', () => ({ status: 202 })),
  },
  file: { 'on disk': file },
  stdout: { 'to a pipe': stdout },
};
