import { pino } from 'pino';
import type { Logger } from 'pino';
import pretty from 'pino-pretty';
import { describeError } from './errors.ts';

/** Members that must not reach a log line, wherever an object carries them. */
const SECRET_MEMBERS = ['secret', 'secrets', 'password', 'token', 'authorization', 'databaseUrl', 'redisUrl'];

/**
 * The log: JSON lines on a pipe, a readable form on a terminal, always on standard error, so that standard
 * output stays free for what a command prints.
 */
export function createLogger(level: string): Logger {
  const redact = SECRET_MEMBERS.flatMap((member) => [member, `*.${member}`, `*.*.${member}`]);
  const options = {
    level,
    redact,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeForLog },
  };
  if (!process.stderr.isTTY) return pino(options, pino.destination({ fd: 2, sync: false }));
  return pino(options, pretty({ destination: 2, sync: true, translateTime: 'HH:MM:ss', singleLine: true }));
}

/** An error without what clients hang on it (sockets, connection parameters): its messages, code and stack. */
function describeForLog(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error ? { code: error.code } : {};
  return { type: error.name, message: describeError(error), ...code, stack: error.stack };
}
