/** The role of the service on the tests' server. */
export const SERVICE_ROLE = 'xiq_sink';

/** The role that only reads. */
export const READER_ROLE = 'xiq_reader';

/** A connection string for another role of the tests' server. */
export function withRole(databaseUrl: string, role: string): string {
  const url = new URL(databaseUrl);
  url.username = role;
  url.password = `password-of-${role}`;
  return url.href;
}
