/** The options that a URL in the settings stands for, by scheme, with the place of its credential. */
const SCHEMES: Readonly<Record<string, (url: URL, token: string | undefined) => object>> = {
  'syslog+udp:': (url) => ({ type: 'syslog', transport: 'udp', ...receiver(url) }),
  'syslog+tcp:': (url) => ({ type: 'syslog', transport: 'tcp', ...receiver(url) }),
  'syslog+tls:': (url) => ({ type: 'syslog', transport: 'tls', ...receiver(url) }),
  'relp:': (url) => ({ type: 'relp', ...receiver(url) }),
  'relp+tls:': (url) => ({ type: 'relp+tls', ...receiver(url) }),
  'splunk+https:': (url, token) => ({ type: 'splunk_hec', url: httpsUrl(url), token }),
  'elasticsearch+https:': (url, token) => ({ type: 'elasticsearch', url: httpsUrl(url), api_key: token }),
  'https:': (url, token) => ({
    type: 'https',
    url: httpsUrl(url),
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
  }),
  'kafka:': (url) => ({ type: 'kafka', ...topic(url) }),
  'kafka+tls:': (url) => ({ type: 'kafka', tls: {}, ...topic(url) }),
  'smtp:': (url) => ({ type: 'smtp', ...receiver(url) }),
  'smtps:': (url) => ({ type: 'smtp', security: 'tls', port: 465, ...receiver(url) }),
  'file:': (url) => ({ type: 'file', path: decodeURIComponent(url.pathname) }),
  'stdout:': () => ({ type: 'stdout' }),
};

const TAKES_TOKEN = new Set(['splunk+https:', 'elasticsearch+https:', 'https:']);

/**
 * Reads the destination in FORWARD_TO as if it were in the settings file: the scheme names the type, the query contains
 * `format` and the simple options. If the URL is wrong, adds a line to `problems` and returns undefined.
 */
export function destinationOfUrl(
  forwardTo: string,
  token: string | undefined,
  problems: string[],
): Record<string, unknown> | undefined {
  const url = URL.parse(forwardTo);
  const make = SCHEMES[url?.protocol ?? ''];
  if (url === null || make === undefined) {
    const schemes = Object.keys(SCHEMES).map((scheme) => (scheme === 'stdout:' ? scheme : `${scheme}//`));
    problems.push(`FORWARD_TO must be a URL that begins with ${schemes.join(', ')}`);
    return undefined;
  }
  if (url.username !== '' || url.password !== '') {
    problems.push('FORWARD_TO must not contain a user name or password: set a token in FORWARD_TOKEN');
    return undefined;
  }
  if (token !== undefined && !TAKES_TOKEN.has(url.protocol)) {
    problems.push(`FORWARD_TOKEN: ${url.protocol} does not use a token`);
  }
  const options = [...url.searchParams].map(([name, value]) => [name, simpleValue(value)] as const);
  return { ...Object.fromEntries(options), ...make(url, token) };
}

const receiver = (url: URL) => ({
  host: url.hostname.replace(/^\[|\]$/g, ''),
  ...(url.port === '' ? {} : { port: Number(url.port) }),
});

const topic = (url: URL) => ({ brokers: [url.host], topic: decodeURIComponent(url.pathname.slice(1)) });

/** The address without our scheme prefix and options. */
const httpsUrl = ({ host, pathname }: URL) => `https://${host}${pathname}`;

function simpleValue(text: string): string | number | boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}
