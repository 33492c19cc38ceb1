import { createContext } from 'preact';

/** The time zone of the reader. On the server, the layout gives it; in the browser, it is that of the page. */
export const Zone = createContext(globalThis.document?.documentElement.dataset['timeZone'] ?? 'UTC');
