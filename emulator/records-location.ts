import type { Entry } from './journal.ts';
import type { Occasion } from './records.ts';
import { timestamp } from './timestamp.ts';
import { clientAddress } from './world-clients.ts';
import type { Client } from './world-clients.ts';
import type { AccessPoint } from './world-devices.ts';
import { pathTo } from './world-locations.ts';

/** How unsure a position is, in metres. */
const UNCERTAINTY = 5;

/** What an access point saw of some clients; in the form of 2016, whose MACs are in lower case. */
export function apCentricEntry(
  { world, at }: Pick<Occasion, 'world' | 'at'>,
  ap: AccessPoint,
  clients: readonly Client[],
): Entry {
  return {
    messageType: 'LOCATION_AP_CENTRIC',
    sent: {
      ownerId: String(world.account.ownerId),
      apMac: ap.macAddress.toLowerCase(),
      observations: clients.map((client) => ({
        clientMac: client.macAddress.toLowerCase(),
        ipv4: clientAddress(client),
        ipv6: null,
        ...seen(at),
        ssid: client.deviceId === null ? null : client.ssid,
        rssi: rssiAt(ap, client),
        manufacturer: client.vendor,
        os: client.os,
        ...coordinates(ap, client),
        unc: UNCERTAINTY,
        x: client.x,
        y: client.y,
      })),
    },
  };
}

/** Which access points saw a client; in the form of 2018, whose MACs are in upper case. */
export function clientCentricEntry(
  { world, at }: Pick<Occasion, 'world' | 'at'>,
  client: Client,
  observers: readonly [AccessPoint, ...AccessPoint[]],
): Entry {
  return {
    messageType: 'LOCATION_CLIENT_CENTRIC',
    sent: {
      clientMac: client.macAddress,
      ipv4: clientAddress(client),
      ...seen(at),
      ...coordinates(observers[0], client),
      deviceObservers: observers.map((ap) => ({
        apMac: ap.macAddress,
        rssi: rssiAt(ap, client),
        locationIdHierarchy: pathTo(world.locations, ap.placement.locationId).map(({ id }) => id),
      })),
    },
  };
}

/** Metres between an access point and a client, taken to be on one floor. */
export function distance({ placement }: AccessPoint, { x, y }: Client): number {
  return Math.hypot(placement.x - x, placement.y - y);
}

/** Signal strength in dBm: -40 beside the access point, 1.5 less for each metre. */
function rssiAt(ap: AccessPoint, client: Client): number {
  return Math.max(-95, Math.round(-40 - 1.5 * distance(ap, client)));
}

function seen(at: number) {
  return { seenTime: timestamp(at), seenEpoch: at };
}

function coordinates({ placement }: AccessPoint, { x, y }: Client) {
  const lat = placement.latitude + (y - placement.y) / 111_000;
  const lng = placement.longitude + (x - placement.x) / 75_000;
  return { lat: Number(lat.toFixed(6)), lng: Number(lng.toFixed(6)) };
}
