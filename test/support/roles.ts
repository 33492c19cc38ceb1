/** The role of the service on the tests' server. Its password is its name. */
export const SERVICE_ROLE = 'xiq_sink';

/** The role that only reads. Its password is its name. */
export const READER_ROLE = 'xiq_reader';

/** A connection string for another role, whose password is its name. */
export function withRole(databaseUrl: string, role: string): string {
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = role;
  return url.href;
}
