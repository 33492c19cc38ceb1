import { pino, type Logger } from 'pino';
import pretty, { type PrettyOptions } from 'pino-pretty';
import { describeError, isAccessRefused, isConnectionFailure, OutageError } from './errors.ts';
import { escapeHiddenInJson, revealHidden } from './text/hidden-characters.ts';

/** Members that must not appear in a log line, at any depth that pino redacts. */
const SECRET_MEMBERS = ['secret', 'secrets', 'password', 'token', 'authorization', 'databaseUrl', 'redisUrl'];

/** The short forms of members on a terminal, where a log entry is one line. */
const PRETTIFIERS = {
  job: (id: string | object) => (typeof id === 'string' ? id.slice(0, 8) : JSON.stringify(id)),
  deliveryIds: (ids: string | object) => (Array.isArray(ids) ? firstInWords(ids) : JSON.stringify(ids)),
  sources: countsInWords,
  messageTypes: countsInWords,
} satisfies PrettyOptions['customPrettifiers'];

function firstInWords([first, ...others]: readonly unknown[]): string {
  return others.length === 0 ? String(first) : `${String(first)} and others`;
}

function countsInWords(counts: string | object): string {
  if (typeof counts === 'string' || Array.isArray(counts)) return String(counts);
  return Object.entries(counts)
    .map(([name, count]) => `${name}: ${String(count)}`)
    .join(', ');
}

/**
 * Creates the log: JSON lines in a pipe, a readable form on a terminal. It goes to standard error, because standard output
 * is for the results of commands.
 */
export function createLogger(level: string): Logger {
  const redact = SECRET_MEMBERS.flatMap((member) => [member, `*.${member}`, `*.*.${member}`]);
  const options = {
    level,
    redact,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeForLog },
    hooks: { streamWrite: process.stderr.isTTY ? revealValues : escapeHiddenInJson },
  };
  if (!process.stderr.isTTY) return pino(options, (pipe ??= openPipe()));
  return pino(
    options,
    pretty({
      destination: 2,
      sync: true,
      translateTime: 'HH:MM:ss',
      singleLine: true,
      customPrettifiers: PRETTIFIERS,
    }),
  );
}

/** Of a log that nobody reads: the bytes of lines that are kept, and how often the end of the process tries again, every 100 ms. */
const [MOST_WAITING_BYTES, LAST_TRIES] = [16 * 1024 * 1024, 10];

/** All loggers of the process write to it. */
let pipe: ReturnType<typeof openPipe> | undefined;

function openPipe() {
  let [left, tries, most] = [0, 0, Infinity];
  const retryEAGAIN = (_error: Error, writing: number, others: number) => {
    tries = writing + others === left ? tries + 1 : 0;
    left = writing + others;
    return tries < most;
  };
  const destination = pino.destination({ fd: 2, sync: false, maxLength: MOST_WAITING_BYTES, retryEAGAIN });
  // Before that of pino, which would wait for ever.
  process.prependOnceListener('exit', () => {
    most = LAST_TRIES;
    try {
      destination.flushSync();
    } catch {
      destination.destroy();
    }
  });
  return destination;
}

/** A log entry, as JSON, whose texts can be printed on a terminal as they are. */
function revealValues(entry: string): string {
  const reveal = (_name: string, value: unknown) => (typeof value === 'string' ? revealHidden(value) : value);
  return `${JSON.stringify(JSON.parse(entry, reveal))}\n`;
}

/**
 * Messages, code and stack of an error, without what clients attach to it (sockets, connection parameters). A server that
 * is away or refuses is no defect: the stack would only name the parts of its client.
 */
function describeForLog(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error ? { code: error.code } : {};
  const isDefect = !(error instanceof OutageError || isAccessRefused(error) || isConnectionFailure(error));
  const stack = isDefect ? { stack: error.stack } : {};
  return { type: error.name, message: describeError(error), ...code, ...stack };
}
