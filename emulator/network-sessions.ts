import type { NetworkParts } from './network.ts';
import { logEntry } from './records.ts';
import { clientAddress, newSession } from './world-clients.ts';
import type { Client } from './world-clients.ts';
import { accessPoints, address } from './world-devices.ts';
import type { Device } from './world-devices.ts';

/** Clients that sign on to the network, use it and leave. */
export interface Sessions {
  /** A client signs on, or is refused; one that is on the network signs on anew. */
  authenticate: () => void;
  /** A client on the network tells what it used, or leaves. */
  account: () => void;
  /** A client that is on the network, brought there when none is. */
  someClient: () => Client | undefined;
  /** A client signs on at another access point. */
  roam(client: Client, to: Device): void;
}

const REJECT_SHARE = 0.08;
const LEAVE_SHARE = 0.4;
/** More than half of all clients are online, so that nearly always one of so many is. */
const PICK_ATTEMPTS = 16;

export function createSessions({ world, journal, clock, random }: NetworkParts): Sessions {
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
    journal.append(
      logEntry(
        'AUTHENTICATION_LOG_ALL',
        { world, at, orgId: ap.orgId },
        {
          ...stationIds(client, ap),
          auth_type: 'PPSK',
          sn: ap.serialNumber,
          reply: isAccepted ? 'Access-Accept' : 'Access-Reject',
          reject_reason: isAccepted ? null : 'Wrong password',
          auth_date: at,
        },
      ),
    );
  }

  function writeAccounting(client: Client, ap: Device, status: 'Start' | 'Interim' | 'Stop'): void {
    const at = clock.now();
    const { id, startedAt, inputOctets, outputOctets } = client.session ?? newSession(random.hex(16), at);
    journal.append(
      logEntry(
        'ACCOUNTING_LOG_ALL',
        { world, at, orgId: ap.orgId },
        {
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
        },
      ),
    );
  }

  function join(client: Client, ap: Device): void {
    const at = clock.now();
    client.deviceId = ap.id;
    client.x = ap.placement?.x ?? client.x;
    client.y = ap.placement?.y ?? client.y;
    client.onlineAt = at;
    client.session = newSession(random.hex(16), at);
    writeAccounting(client, ap, 'Start');
  }

  function leave(client: Client, ap: Device): void {
    writeAccounting(client, ap, 'Stop');
    client.deviceId = null;
    client.session = null;
    client.offlineAt = clock.now();
  }

  /** A client on the network together with the access point it is at. */
  function pickOnline(): { client: Client; ap: Device } | undefined {
    for (let attempt = 0; attempt < PICK_ATTEMPTS; attempt += 1) {
      const client = random.pickAny(clients);
      const ap = world.devices.get(String(client?.deviceId));
      if (client !== undefined && ap !== undefined) return { client, ap };
    }
    const client = random.pickAny(clients);
    const ap = random.pickAny(accessPoints(world));
    if (client === undefined || ap === undefined) return undefined;
    writeAuthentication(client, ap, true);
    join(client, ap);
    return { client, ap };
  }

  return {
    authenticate() {
      const client = random.pickAny(clients);
      const ap = random.pickAny(accessPoints(world));
      if (client === undefined || ap === undefined) return;
      const isAccepted = client.session !== null || !random.chance(REJECT_SHARE);
      writeAuthentication(client, ap, isAccepted);
      if (isAccepted && client.session === null) join(client, ap);
    },
    account() {
      const online = pickOnline();
      if (online === undefined) return;
      const { client, ap } = online;
      if (client.session !== null) {
        client.session.inputOctets += random.int(1_000, 5_000_000);
        client.session.outputOctets += random.int(1_000, 50_000_000);
      }
      if (random.chance(LEAVE_SHARE)) leave(client, ap);
      else writeAccounting(client, ap, 'Interim');
    },
    someClient: () => pickOnline()?.client,
    roam(client, to) {
      client.deviceId = to.id;
      writeAuthentication(client, to, true);
    },
  };
}

/** A MAC address as RADIUS writes it. */
function dashed(mac: string): string {
  return mac.replaceAll(/(..)(?!$)/g, '$1-');
}
