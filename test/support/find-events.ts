import { searchEvents } from '../../src/store/events/search-events.ts';

/** The events of one page. */
export const findEvents = async (...search: Parameters<typeof searchEvents>) =>
  (await searchEvents(...search)).events;
