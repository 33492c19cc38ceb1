import { accessSync, constants } from 'node:fs';

/** The values of `sslmode` (PostgreSQL manual, "SSL Support" of libpq), and one of pg's own. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** Parameters that name a file. */
const FILES = ['sslrootcert', 'sslcert', 'sslkey'];

const HOW_TO_ENCODE =
  'must be a URL such as postgresql://user:password@host:5432/database: write the special characters of user name and password as %XX: % as %25, @ as %40, / as %2F, # as %23, ? as %3F, : as %3A, space as %20';

/** Why this is not the URL of a database, in words that contain no part of it. Undefined: it is one. */
export function problemOfDatabaseUrl(text: string): string | undefined {
  if (!/^postgres(?:ql)?:\/\//.test(text)) {
    return 'must be a URL that begins with postgres:// or postgresql://';
  }
  const url = URL.parse(text);
  // An unencoded / ? or # ends the part that the password belongs to, and leaves its @ behind.
  const afterAuthority = text.replace(/^\w+:\/\/[^/?#]*/, '');
  const isEncoded = !/#|%(?![\da-f]{2})|\s/i.test(text) && !afterAuthority.includes('@');
  if (url === null || !isEncoded) return HOW_TO_ENCODE;
  const mode = url.searchParams.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) {
    return `has an unknown sslmode: use one of ${SSL_MODES.join(', ')}`;
  }
  if (mode === 'verify-ca' && !url.searchParams.has('sslrootcert')) {
    return 'needs sslrootcert for sslmode=verify-ca: the file with the certificate of the authority';
  }
  if (url.searchParams.has('sslcert') !== url.searchParams.has('sslkey')) {
    return 'needs both sslcert and sslkey, or neither';
  }
  return FILES.map((name) => problemOfFile(name, url.searchParams.get(name))).find((found) => found);
}

function problemOfFile(parameter: string, file: string | null): string | undefined {
  if (file === null || (parameter === 'sslrootcert' && file === 'system')) return undefined;
  try {
    accessSync(file, constants.R_OK);
    return undefined;
  } catch {
    return `names a file in ${parameter} that can't be read: ${file}`;
  }
}
