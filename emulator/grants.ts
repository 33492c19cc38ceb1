import { PERMISSION_NAMES } from './permissions.ts';

/**
 * Whether somebody who holds these permissions may do what any one of `wanted` allows. A name without suffix is full
 * control of its kind (specification, Authentication), so it covers the same name with any suffix.
 */
export function grants(held: readonly string[], wanted: readonly string[]): boolean {
  return wanted.some((name) => held.some((own) => covers(own, name)));
}

/**
 * The known permissions a pattern stands for; none where it matches none. The rule is not shown, ours is: `*` stands
 * for any characters; `read*:SCOPE` is every reading permission of SCOPE, `write*:SCOPE` everything of it.
 */
export function expandPattern(pattern: string): string[] {
  const [, access, scope = ''] = /^(read|write)\*:(.+)$/.exec(pattern) ?? [];
  if (access === undefined) return PERMISSION_NAMES.filter((name) => glob(pattern).test(name));
  const matches = PERMISSION_NAMES.filter((name) => glob(scope).test(name) || glob(`${scope}:*`).test(name));
  return access === 'read' ? matches.filter(isReading) : matches;
}

/** Whether a permission changes nothing in the account. */
export function isReading(name: string): boolean {
  return name.endsWith(':r') || name.endsWith(':relaxed_read') || READING.has(name);
}

/** Reading permissions whose name does not say so. */
const READING: ReadonlySet<string> = new Set([
  'logout',
  'perm:check',
  'device:list',
  'device:view',
  'account:home',
  'account:external',
  'vhm:get-setting',
  'vhm:get-status',
  'viq:get-account-info',
  'viq:get-export-import-status',
  'viq:get-backup-status',
  'backup:get-history-grid',
  'rmuser-me',
  'rmuser-reports',
  'account-user-me',
  'client-user-reports',
  'client-user-data-usage',
  'client-user-filter-metadata',
  'client-user-grid',
  'client-user-type-distribution',
  'client-location',
  'applications-reports',
  'applications-usage',
]);

function covers(held: string, wanted: string): boolean {
  return held === wanted || wanted.startsWith(`${held}:`);
}

function glob(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`);
}
