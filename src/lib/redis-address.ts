const FORMS =
  'redis://host:6379, redis+sentinel://host:26379,host:26379/mymaster or redis+cluster://host:6379,host:6379 (rediss for TLS)';

const KINDS: ReadonlyMap<string | undefined, 'server' | 'sentinel' | 'cluster'> = new Map([
  [undefined, 'server'],
  ['sentinel', 'sentinel'],
  ['cluster', 'cluster'],
]);

const SENTINEL_OPTIONS = ['sentinelUsername', 'sentinelPassword'];

/**
 * Reads a `REDIS_URL`. Throws an error that says what the URL must be, after the name of the setting. The error never
 * contains a part of the URL, since each could be a part of a password.
 */
export function parseRedisUrl(text: string) {
  const [, tls, suffix, rest = ''] = /^redis(s)?(?:\+([a-z]+))?:\/\/(.*)$/s.exec(text) ?? [];
  const kind = KINDS.get(suffix);
  if (rest === '' || kind === undefined) throw new Error(`must be ${FORMS}`);
  const [, user = '', hosts = '', path = '', query = ''] =
    /^(?:([^@/?#]*)@)?([^@/?#]*)(?:\/([^@?#]*))?(?:\?([^@#]*))?$/s.exec(rest) ?? [];
  if (hosts === '') {
    throw new Error(
      'must have a host, and its password must be percent-encoded (@ as %40, / as %2F, # as %23)',
    );
  }
  const nodes = hosts.split(',').map((host) => parseNode(host, kind === 'sentinel' ? 26_379 : 6379));
  if (kind === 'server' && nodes.length > 1) {
    throw new Error(
      'must name one host, or begin with redis+sentinel:// or redis+cluster:// to name several',
    );
  }
  const [username, ...password] = user.split(':').map(decode);
  const [master = '', database = ''] = kind === 'sentinel' ? path.split('/') : ['', path];
  if (kind === 'sentinel' && master === '') {
    throw new Error('must end with the name of the master that the sentinels watch, such as /mymaster');
  }
  if (!/^\d{0,5}$/.test(database)) throw new Error('must have a number as its database');
  if (kind === 'cluster' && Number(database) !== 0) {
    throw new Error('must not have a database, since a Redis Cluster has only one');
  }
  const options = new URLSearchParams(query.replaceAll('+', '%2B'));
  const unknown = [...options.keys()].some((name) => !SENTINEL_OPTIONS.includes(name));
  if (kind === 'sentinel' ? unknown : kind === 'cluster' && query !== '') {
    throw new Error(
      `must have no options other than ${SENTINEL_OPTIONS.join(' and ')}, and these only for sentinels`,
    );
  }
  return {
    kind,
    /** The server, the sentinels, or some nodes of the cluster. */
    nodes,
    tls: tls !== undefined,
    username: username || undefined,
    password: password.length > 0 ? password.join(':') : undefined,
    database: Number(database),
    /** Of sentinels: the name of the master that they watch. */
    master: decode(master),
    /** The login to the sentinels themselves. */
    sentinel: {
      username: options.get('sentinelUsername') ?? undefined,
      password: options.get('sentinelPassword') ?? undefined,
    },
  };
}

function parseNode(text: string, defaultPort: number) {
  const [, bracketed, host = bracketed, port = String(defaultPort)] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text.trim()) ?? [];
  if (host === undefined || Number(port) > 65_535)
    throw new Error(`must name hosts with their ports: ${FORMS}`);
  return { host, port: Number(port) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new Error('must be percent-encoded (a % as %25)', { cause: error });
  }
}

/** What is wrong with a `REDIS_URL`; undefined if it is right. */
export function problemOfRedisUrl(text: string): string | undefined {
  try {
    parseRedisUrl(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A `REDIS_URL` without its passwords. */
export const maskRedisUrl = (url: string) =>
  url.replace(/^([^:]+:\/\/[^:@/]*):[^@/]*@/, '$1:***@').replace(/(password=)[^&]*/gi, '$1***');

export function passwordsOfRedis(url: string): string[] {
  const { password, sentinel } = parseRedisUrl(url);
  return [password, sentinel.password].filter((one) => one !== undefined);
}
