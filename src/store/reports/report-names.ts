/** The reports, by their names on the command line and in addresses. */
export const REPORT_NAMES = [
  'administration',
  'logins',
  'categories',
  'changes',
  'keys',
  'disclosures',
  'access',
] as const;

export type ReportName = (typeof REPORT_NAMES)[number];
