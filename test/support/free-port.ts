import { randomInt } from 'node:crypto';
import getPort from 'get-port';

/**
 * A port of 127.0.0.1 that is free now, and that this process does not get again for some seconds. It lies below the
 * ports that Linux gives to outgoing connections (32768 and above): one of those may be taken by any connection of
 * a test before the program that it was meant for listens, which happened. Drawn at random, because tests in other
 * processes draw too.
 */
export const freePort = () =>
  getPort({ host: '127.0.0.1', port: Array.from({ length: 50 }, () => randomInt(10_000, 32_768)) });
