import { clientAddress, newSession } from '../world/clients.ts';
import type { Client } from '../world/clients.ts';
import { accessPoints } from '../world/devices.ts';
import type { Device } from '../world/devices.ts';
import { FLOOR } from '../world/locations.ts';
import { address } from '../world/seeding.ts';
import { apCentricEntry, clientCentricEntry, distance, logEntry } from './records.ts';
import type { NetworkParts } from './records.ts';

/** The events of clients: they connect, send traffic, walk, roam and disconnect. */
export interface ClientEvents {
  /** A client authenticates, or is rejected. An online client authenticates again. */
  authenticate: () => void;
  /** An online client reports its traffic, or disconnects. */
  account: () => void;
  /** An access point reports the clients at it. */
  observeAtAccessPoint: () => void;
  /** The access points around a client report it. */
  observeClient: () => void;
}

const REJECT_SHARE = 0.08;
const LEAVE_SHARE = 0.4;
const ROAM_SHARE = 0.3;
const MAX_OBSERVATIONS = 8;
const MAX_OBSERVERS = 3;
/** More than half of the clients are online, so 16 draws nearly always find one of them. */
const PICK_ATTEMPTS = 16;

/** Creates the source of client events. */
export function createClientEvents({ world, journal, clock, random }: NetworkParts): ClientEvents {
  const clients = [...world.clients.values()];

  function stationIds(client: Client, ap: Device) {
    return {
      username: client.username,
      identity: client.username,
      ssid: client.ssid,
      vhm_id: world.account.vhmId,
      called_station_id: `${dashed(ap.macAddress)}:${client.ssid}`,
      calling_station_id: dashed(client.macAddress),
      nas_identifier: ap.hostname,
      nas_port_type: 'Wireless-802.11',
      mgmt_mac_address: ap.macAddress,
    };
  }

  function writeAuthentication(client: Client, ap: Device, isAccepted: boolean): void {
    const at = clock.now();
    const members = {
      ...stationIds(client, ap),
      auth_type: 'PPSK',
      sn: ap.serialNumber,
      reply: isAccepted ? 'Access-Accept' : 'Access-Reject',
      reject_reason: isAccepted ? null : 'Wrong password',
      auth_date: at,
    };
    journal.append(logEntry('AUTHENTICATION_LOG_ALL', { world, at, orgId: ap.orgId }, members));
  }

  function writeAccounting(client: Client, ap: Device, status: 'Start' | 'Interim' | 'Stop'): void {
    const at = clock.now();
    const { id, startedAt, inputOctets, outputOctets } = client.session ?? newSession(random.hex(16), at);
    const members = {
      ...stationIds(client, ap),
      device_serial_number: ap.serialNumber,
      acct_session_id: id,
      acct_multi_id: `${client.macAddress}-${id}`,
      group_name: 'staff',
      nas_ip_address: address('10.1', ap.host),
      nas_port: '0',
      acct_start_time: startedAt,
      acct_stop_time: status === 'Stop' ? at : null,
      acct_session_time: Math.round((at - startedAt) / 1000),
      acct_authentic: 'RADIUS',
      connect_info: 'CONNECT 802.11ax',
      acct_input_octets: inputOctets,
      acct_output_octets: outputOctets,
      acct_terminate_cause: status === 'Stop' ? 'User-Request' : null,
      service_type: 'Framed-User',
      framed_ip_address: clientAddress(client),
      acct_start_delay: 0,
      acct_stop_delay: 0,
      attribute_num: 24,
      event_time: at,
    };
    journal.append(logEntry('ACCOUNTING_LOG_ALL', { world, at, orgId: ap.orgId }, members));
  }

  function connect(client: Client, ap: Device): void {
    const at = clock.now();
    client.deviceId = ap.id;
    client.x = ap.placement?.x ?? client.x;
    client.y = ap.placement?.y ?? client.y;
    client.onlineAt = at;
    client.session = newSession(random.hex(16), at);
    writeAccounting(client, ap, 'Start');
  }

  function disconnect(client: Client, ap: Device): void {
    writeAccounting(client, ap, 'Stop');
    client.deviceId = null;
    client.session = null;
    client.offlineAt = clock.now();
  }

  /** An online client and its access point. If no client is online, one connects. */
  function pickOnline(): { client: Client; ap: Device } | undefined {
    for (let attempt = 0; attempt < PICK_ATTEMPTS; attempt += 1) {
      const client = random.pickAny(clients);
      const ap = world.devices.get(String(client?.deviceId));
      if (client !== undefined && ap !== undefined) return { client, ap };
    }
    const client = random.pickAny(clients);
    const ap = random.pickAny(accessPoints(world.devices));
    if (client === undefined || ap === undefined) return undefined;
    writeAuthentication(client, ap, true);
    connect(client, ap);
    return { client, ap };
  }

  function walk(client: Client): void {
    client.x = step(client.x, random.int(-300, 300) / 100, FLOOR.width);
    client.y = step(client.y, random.int(-300, 300) / 100, FLOOR.depth);
  }

  /** The access points on the floor of a client, the nearest first. */
  function around(client: Client) {
    const aps = accessPoints(world.devices);
    const at = aps.find(({ id }) => id === client.deviceId);
    return aps
      .filter(({ placement }) => placement.locationId === at?.placement.locationId)
      .sort((a, b) => distance(a, client) - distance(b, client));
  }

  /** Moves a client to another access point of the same floor, where it authenticates again. */
  function roam(client: Client): void {
    const next = random.pickAny(around(client).filter(({ id }) => id !== client.deviceId));
    if (next === undefined) return;
    client.x = next.placement.x;
    client.y = next.placement.y;
    client.deviceId = next.id;
    writeAuthentication(client, next, true);
  }

  /** An online client, after it moved. */
  function pickMoving(): Client | undefined {
    const client = pickOnline()?.client;
    if (client === undefined) return undefined;
    if (random.chance(ROAM_SHARE)) roam(client);
    walk(client);
    return client;
  }

  return {
    authenticate() {
      const client = random.pickAny(clients);
      const ap = random.pickAny(accessPoints(world.devices));
      if (client === undefined || ap === undefined) return;
      const isAccepted = client.session !== null || !random.chance(REJECT_SHARE);
      writeAuthentication(client, ap, isAccepted);
      if (isAccepted && client.session === null) connect(client, ap);
    },
    account() {
      const online = pickOnline();
      if (online === undefined) return;
      const { client, ap } = online;
      if (client.session !== null) {
        client.session.inputOctets += random.int(1_000, 5_000_000);
        client.session.outputOctets += random.int(1_000, 50_000_000);
      }
      if (random.chance(LEAVE_SHARE)) disconnect(client, ap);
      else writeAccounting(client, ap, 'Interim');
    },
    observeAtAccessPoint() {
      const client = pickMoving();
      const ap = accessPoints(world.devices).find(({ id }) => id === client?.deviceId);
      if (client === undefined || ap === undefined) return;
      const there = clients.filter(({ deviceId }) => deviceId === ap.id);
      const seen = there.slice(0, random.int(1, MAX_OBSERVATIONS));
      for (const other of seen) if (other !== client) walk(other);
      journal.append(apCentricEntry({ world, at: clock.now() }, ap, seen));
    },
    observeClient() {
      const client = pickMoving();
      if (client === undefined) return;
      const [nearest, ...others] = around(client);
      if (nearest === undefined) return;
      const observers = [nearest, ...others.slice(0, MAX_OBSERVERS - 1)] as const;
      journal.append(clientCentricEntry({ world, at: clock.now() }, client, observers));
    },
  };
}

/** A coordinate moved by some metres, kept between 0 and `max`. */
function step(at: number, by: number, max: number): number {
  return Number(Math.min(Math.max(at + by, 0), max).toFixed(2));
}

/** A MAC address as RADIUS writes it. */
function dashed(mac: string): string {
  return mac.replaceAll(/(..)(?!$)/g, '$1-');
}
