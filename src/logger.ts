import { pino } from 'pino';
import type { Logger } from 'pino';
import pretty from 'pino-pretty';

/** Members that must not reach a log line, wherever an object carries them. */
const SECRET_MEMBERS = ['secret', 'secrets', 'password', 'token', 'authorization', 'databaseUrl', 'redisUrl'];

/**
 * The log: JSON lines on a pipe, a readable form on a terminal, always on standard error, so that standard
 * output stays free for what a command prints.
 */
export function createLogger(level: string): Logger {
  const redact = SECRET_MEMBERS.flatMap((member) => [member, `*.${member}`, `*.*.${member}`]);
  const options = { level, redact, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!process.stderr.isTTY) return pino(options, pino.destination({ fd: 2, sync: false }));
  return pino(options, pretty({ destination: 2, sync: true, translateTime: 'HH:MM:ss', singleLine: true }));
}
