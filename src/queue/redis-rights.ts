import { UsageError } from '../lib/errors.ts';
import type { RedisClient } from './redis-client.ts';

/**
 * The commands that the queue needs, of which each is tried. BullMQ runs most of them in scripts, which have no rights of
 * their own: a test compares them with these. The first argument is a key of its type.
 */
const COMMANDS = [
  'DEL hash; HSET hash a 1; HMSET hash a 1; HINCRBY hash b 1; HGET hash a; HMGET hash a; HGETALL hash; HEXISTS hash a',
  'HDEL hash b; EXISTS hash; PEXPIRE hash 60000; PTTL hash; PERSIST hash; SET string 1; GET string; INCR string',
  'DEL list; LPUSH list a b; RPOPLPUSH list list; LLEN list; LRANGE list 0 0; LINDEX list 0; LREM list 1 a; RPOP list',
  'LTRIM list 0 0; DEL set; SADD set a; SCARD set; SMEMBERS set; SREM set a; DEL stream; XADD stream * a 1',
  'XTRIM stream MAXLEN 0; DEL zset; ZADD zset 0 a 0 b; ZCARD zset; ZCOUNT zset 0 1; ZSCORE zset a; ZRANGE zset 0 0',
  'ZRANGEBYSCORE zset 0 1; ZREVRANGE zset 0 0; ZREVRANGEBYSCORE zset 1 0; ZREMRANGEBYRANK zset 9 9',
  'ZREMRANGEBYSCORE zset 9 9; ZREM zset c; BZPOPMIN zset 1; ZPOPMIN zset; SETNX string 1',
].flatMap((line) => line.split('; ').map((command) => command.split(' ')));

const KEYS = ['hash', 'string', 'list', 'set', 'stream', 'zset'];

const WITHOUT_KEY = [
  ['INFO', 'server'],
  ['EVAL', 'return 1', '0'],
  ['EVALSHA', '0'.repeat(40), '0'],
  ['PING'],
];

/**
 * Tries every command that the queue needs, on keys of its own below the queue's. Throws a UsageError that names the
 * missing rights and their user. Other failures are those of an outage, and not reported.
 */
export async function checkRights(client: RedisClient, queueKey: string): Promise<void> {
  const keyOf = (type: string) => `${queueKey}:rights:${type}`;
  const withKeys = COMMANDS.map(([name = '', type = '', ...rest]) => [
    name,
    keyOf(type),
    ...rest.map((argument) => (argument === type ? keyOf(type) : argument)),
  ]);
  const tidying = KEYS.map((type) => ['DEL', keyOf(type)]);
  const missing = new Set<string>();
  let needsKeys = false;
  const tries = [...WITHOUT_KEY, ...withKeys, ...tidying].map(async ([name = '', ...args]) => {
    const refusal = await client.call(name, ...args).then(
      () => '',
      (error: unknown) => String(error),
    );
    if (!refusal.includes('NOPERM')) return;
    if (refusal.includes('access')) needsKeys = true;
    else missing.add(`+${name.toLowerCase()}`);
  });
  await Promise.all(tries);
  if (needsKeys) missing.add(`~${queueKey.replace(/:[^:]*$/, '')}:*`);
  if (missing.size === 0) return;
  const user = client.isCluster ? undefined : nameOfUser(client);
  throw new UsageError(
    `The user ${user ?? 'in REDIS_URL'} lacks permissions in Redis. Grant them with: ACL SETUSER ${user ?? 'USER'} ${[...missing].join(' ')}`,
  );
}

function nameOfUser(client: RedisClient): string {
  const configured = 'username' in client.options ? client.options.username : undefined;
  return typeof configured === 'string' ? configured : 'default';
}
