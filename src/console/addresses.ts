import type { StoredEvent } from '../events/stored-event.ts';

/** The query parameters of an address; undefined and empty values are left out. */
export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** An address in the console or the API, with its query. */
export function addressOf(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value = []] of Object.entries(query)) {
    for (const one of typeof value === 'string' ? [value] : value) {
      if (one !== '') parameters.append(name, one);
    }
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

/** The page of one event; its time makes the lookup fast. */
export const eventAddress = ({ eventId, occurredAt }: Pick<StoredEvent, 'eventId' | 'occurredAt'>) =>
  addressOf(`/events/${eventId}`, { at: occurredAt });

export const searchAddress = (query: Query) => addressOf('/events', query);

export const userAddress = (name: string, query: Query = {}) => addressOf('/people/user', { name, ...query });

export const clientAddress = (mac: string, query: Query = {}) =>
  addressOf('/devices/client', { mac, ...query });

export const accessPointAddress = (mac: string) => addressOf('/devices/access-point', { mac });

export const deliveryAddress = (deliveryId: string) => `/deliveries/${deliveryId}`;

export const destinationAddress = (name: string) => `/destinations/${encodeURIComponent(name)}`;

export const quarantinedAddress = (id: string) => `/quarantine/${id}`;

export const sourceAddress = (name: string) => `/sources/${name}`;
