/**
 * Builds a path from a template: what is put in becomes one segment each, percent-encoded, while the template itself,
 * `:verb` segments included, stays as written. Throws on a value that cannot be a segment.
 */
export function path(template: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: template }, ...values.map(segment));
}

function segment(value: string): string {
  if (value === '' || value === '.' || value === '..') {
    throw new TypeError(`'${value}' cannot be used as an identifier in a path of the cloud's API`);
  }
  return encodeURIComponent(value);
}
