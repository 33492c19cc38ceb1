/** The published forms of the API: the specification, the vendor's OpenAPI description, the vendor's Python SDK. */
export const DIALECTS = ['spec', 'vendor', 'sdk'] as const;

export type Dialect = (typeof DIALECTS)[number];

/** Each dialect in one line, for the help texts. */
export const DIALECT_MEANINGS: Readonly<Record<Dialect, string>> = {
  spec: 'the specification: pages as {pagination, data}, subscriptions created with 200 and a body',
  vendor:
    "the vendor's OpenAPI description: flat pages, subscriptions as an array of pages, 202 without a body",
  sdk: "the vendor's Python SDK: flat pages, subscriptions as one page, 202 without a body",
};
