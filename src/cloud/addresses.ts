/**
 * Builds a path from a template. Each value becomes one percent-encoded segment; the template itself stays as written,
 * including `:verb` segments. Throws a TypeError if a value can't be a segment.
 */
export function path(template: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: template }, ...values.map(segment));
}

function segment(value: string): string {
  if (value === '' || value === '.' || value === '..') {
    throw new TypeError(`'${value}' can't be an identifier in a path of the cloud's API`);
  }
  return encodeURIComponent(value);
}
