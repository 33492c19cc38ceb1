/** Whether the body of an HTTP answer is an HTML page, such as the login page of a proxy, by its type or its beginning. */
export const isHtmlPage = (contentType: string | null | undefined, body: string): boolean =>
  /\bx?html\b/i.test(contentType ?? '') || /^\s*<(?:!doctype\s+)?html\b/i.test(body);
