/**
 * The events of a bar by family.
 *
 * @param {Record<string, number>} counts by message type
 */
export function familyCounts(counts) {
  const families = { audit: 0, location: 0, log: 0 };
  for (const [type, count] of Object.entries(counts)) {
    if (type.startsWith('LOCATION_')) families.location += count;
    else if (type === 'AUDIT_LOG_ALL') families.audit += count;
    else families.log += count;
  }
  return families;
}
