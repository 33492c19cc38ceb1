import type { NetworkParts } from './network.ts';
import type { Sessions } from './network-sessions.ts';
import { apCentricEntry, clientCentricEntry, distance } from './records-location.ts';
import type { Client } from './world-clients.ts';
import { accessPoints, step } from './world-devices.ts';

/** Clients that walk about, seen by access points. */
export interface Movement {
  /** An access point reports the clients at it. */
  observeAtAccessPoint: () => void;
  /** A client is reported by the access points around it. */
  observeClient: () => void;
}

const MAX_OBSERVATIONS = 8;
const MAX_OBSERVERS = 3;
const ROAM_SHARE = 0.3;

export function createMovement(
  { world, journal, clock, random }: NetworkParts,
  sessions: Sessions,
): Movement {
  function walk(client: Client): void {
    client.x = step(client.x, random.int(-300, 300) / 100, 'width');
    client.y = step(client.y, random.int(-300, 300) / 100, 'depth');
  }

  /** Access points on the floor a client is on, the nearest first. */
  function around(client: Client) {
    const aps = accessPoints(world);
    const at = aps.find(({ id }) => id === client.deviceId);
    return aps
      .filter(({ placement }) => placement.locationId === at?.placement.locationId)
      .sort((a, b) => distance(a, client) - distance(b, client));
  }

  /** Goes to stand beside an access point of the same floor. */
  function roam(client: Client): void {
    const next = random.pickAny(around(client).filter(({ id }) => id !== client.deviceId));
    if (next === undefined) return;
    client.x = next.placement.x;
    client.y = next.placement.y;
    sessions.roam(client, next);
  }

  function someClient(): Client | undefined {
    const client = sessions.someClient();
    if (client === undefined) return undefined;
    if (random.chance(ROAM_SHARE)) roam(client);
    walk(client);
    return client;
  }

  return {
    observeAtAccessPoint() {
      const client = someClient();
      const ap = accessPoints(world).find(({ id }) => id === client?.deviceId);
      if (client === undefined || ap === undefined) return;
      const there = [...world.clients.values()].filter(({ deviceId }) => deviceId === ap.id);
      const seen = there.slice(0, random.int(1, MAX_OBSERVATIONS));
      for (const other of seen) if (other !== client) walk(other);
      journal.append(apCentricEntry({ world, at: clock.now() }, ap, seen));
    },
    observeClient() {
      const client = someClient();
      if (client === undefined) return;
      const [nearest, ...others] = around(client);
      if (nearest === undefined) return;
      const observers = [nearest, ...others.slice(0, MAX_OBSERVERS - 1)] as const;
      journal.append(clientCentricEntry({ world, at: clock.now() }, client, observers));
    },
  };
}
