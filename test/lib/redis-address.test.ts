import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  maskRedisUrl,
  parseRedisUrl,
  passwordsOfRedis,
  problemOfRedisUrl,
} from '../../src/lib/redis-address.ts';

const SERVER = {
  kind: 'server',
  tls: false,
  username: undefined,
  password: undefined,
  database: 0,
  master: '',
  sentinel: { username: undefined, password: undefined },
};

describe('REDIS_URL', () => {
  it.each([
    ['redis://cache', { nodes: [{ host: 'cache', port: 6379 }] }],
    ['redis://cache:7000/2', { nodes: [{ host: 'cache', port: 7000 }], database: 2 }],
    ['rediss://:p%40ss@cache', { nodes: [{ host: 'cache', port: 6379 }], tls: true, password: 'p@ss' }],
    ['redis://[::1]:7000?family=6', { nodes: [{ host: '::1', port: 7000 }] }],
    [
      'redis+sentinel://user:p%3As@a,b:26380,[fd00::1]:26381/mymaster/3?sentinelPassword=s+%26',
      {
        kind: 'sentinel',
        nodes: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 26_380 },
          { host: 'fd00::1', port: 26_381 },
        ],
        master: 'mymaster',
        database: 3,
        username: 'user',
        password: 'p:s',
        sentinel: { username: undefined, password: 's+&' },
      },
    ],
    [
      'rediss+cluster://a:1,b/',
      {
        kind: 'cluster',
        tls: true,
        nodes: [
          { host: 'a', port: 1 },
          { host: 'b', port: 6379 },
        ],
      },
    ],
  ])('%s is understood', (url, expected) => {
    expect(parseRedisUrl(url)).toEqual({ ...SERVER, ...expected });
  });

  it.each([
    ['http://cache', 'must be redis://'],
    ['redis+relay://cache', 'must be redis://'],
    ['redis://', 'must be redis://'],
    ['redis://a,b', 'redis+sentinel://'],
    ['redis://cache/two', 'number as its database'],
    ['redis+sentinel://a,b', 'name of the master'],
    ['redis+sentinel://a/mymaster?db=1', 'no options other than sentinelUsername'],
    ['redis+cluster://a/1', 'must not have a database'],
    ['redis+cluster://a:70000', 'hosts with their ports'],
    ['redis://:se%ret@cache', 'percent-encoded'],
  ])('%s is refused', (url, problem) => {
    expect(problemOfRedisUrl(url)).toContain(problem);
  });

  it('with a password that is not encoded is refused, and no part of it is printed', () => {
    const kinds = fc.constantFrom('redis://', 'rediss+sentinel://', 'redis+cluster://');
    const passwords = fc.stringMatching(/^[Q-Z0-9]{4}[@/?#%][Q-Z]{4}$/);
    fc.assert(
      fc.property(kinds, passwords, (kind, password) => {
        const url = `${kind}:${password}@host:6379/mymaster`;
        const problem = problemOfRedisUrl(url) ?? '';
        expect(problem).toContain('percent-encoded');
        for (const part of password.split(/[^A-Z0-9]/)) expect(problem).not.toContain(part);
      }),
    );
  });

  it('never shows a password, and knows them all', () => {
    const texts = fc.string({ minLength: 1 });
    fc.assert(
      fc.property(texts, texts, (password, sentinelPassword) => {
        const [one, other] = [password, sentinelPassword].map((text) => `Q${encodeURIComponent(text)}Q`);
        const url = `redis+sentinel://user:${one}@a,b/mymaster?sentinelPassword=${other}`;
        expect(maskRedisUrl(url)).toBe('redis+sentinel://user:***@a,b/mymaster?sentinelPassword=***');
        expect(passwordsOfRedis(url)).toEqual([`Q${password}Q`, `Q${sentinelPassword}Q`]);
      }),
    );
  });
});
