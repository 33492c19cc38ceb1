import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../support/listen.ts';

/** A call as the scripted cloud received it. */
export interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What the script answers: `json` or `raw` as body, or a connection that is cut or never answered. */
export type Reply =
  | { status?: number; headers?: Record<string, string>; json?: unknown; raw?: string }
  | { cut: true }
  | { silent: true };

/** A server on loopback that answers every call as its script says and remembers all calls. */
export interface ScriptedCloud extends AsyncDisposable {
  baseUrl: string;
  received: Received[];
}

/** The script gets each call and its number, counted from 0. */
export type Script = (call: Received, index: number) => Reply | Promise<Reply>;

export async function startScriptedCloud(script: Script): Promise<ScriptedCloud> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '', headers } = request;
      const call = { method, url, headers, body: await text(request) };
      received.push(call);
      send(response, await script(call, received.length - 1));
    })();
  });
  const port = await listen(server);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, reply: Reply): void {
  if ('silent' in reply) return;
  if ('cut' in reply) {
    response.destroy();
    return;
  }
  const { status = 200, headers = {}, json, raw } = reply;
  response.writeHead(status, headers).end(raw ?? (json === undefined ? '' : JSON.stringify(json)));
}

/** Answers the calls one after the other; the last reply answers all that follow. */
export function inTurn(...replies: [Reply, ...Reply[]]): Script {
  return (_call, index) => replies[Math.min(index, replies.length - 1)] ?? replies[0];
}
