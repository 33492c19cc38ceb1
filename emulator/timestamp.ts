/** A time as the cloud writes it, `YYYY-MM-DDThh:mm:ss.SSS+0000`; takes epoch milliseconds. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '+0000');
}
