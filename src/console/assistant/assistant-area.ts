import type { Request } from 'express';
import type { Logger } from 'pino';
import { z } from 'zod';
import { refuseOtherSites } from '../../access/origin.ts';
import { HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { VIEW } from '../access/access.ts';
import { assertAccess, visitorOf } from '../access/gate.ts';
import { addressOf } from '../addresses.ts';
import { asHttpError } from '../answer-errors.ts';
import { recordAsked } from '../api/record-question.ts';
import { streamRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import type { Api } from './tools.ts';

interface AssistantOptions {
  readonly db: Db;
  /** Whose routes an assistant can ask. */
  readonly areas: readonly Area[];
  readonly logger: Logger;
}

const input = {
  body: z.looseObject({ jsonrpc: z.literal('2.0') }).describe('a JSON-RPC message'),
};

/** The Model Context Protocol over Streamable HTTP. It is stateless: each message has its own token, and its own answer. */
export function assistantArea({ db, areas, logger }: AssistantOptions): Area {
  const routes = new Map(areas.flatMap((area) => area.routes.map((one) => [one.route, one] as const)));

  /** The API as the sender of this request may see it. */
  const apiOf =
    (request: Request, signal: AbortSignal): Api =>
    async (name, query, params = {}) => {
      const route = routes.get(name);
      if (route?.answers.kind !== 'json') throw new Error(`${name} is not a route with a JSON answer`);
      const visitor = visitorOf(request);
      const asked = { params, url: addressOf('/', query), body: undefined };
      const { ask } = route.answers;
      const answer = async () => {
        assertAccess(visitor, route);
        await recordAsked(db, visitor.operator, route, asked);
        return ask(asked, { ...visitor, signal });
      };
      const answered = await answer().catch((error: unknown) => {
        const refusal = asHttpError(error);
        if (refusal.status >= 500)
          logger.error({ err: error, route: name }, `console: assistant: ${refusal.message}`);
        return refusal;
      });
      if (!(answered instanceof HttpError)) return answered;
      throw new Error(`the API answered ${answered.status}: ${answered.message}`);
    };

  const mcp = streamRoute({
    ...VIEW,
    route: 'POST /mcp',
    summary: 'Ask as an assistant',
    description: 'The Model Context Protocol over Streamable HTTP, without sessions. See docs/assistant.md.',
    input,
    mediaTypes: { 'application/json': 'a JSON-RPC message', 'text/event-stream': 'JSON-RPC messages' },
    async work({ body: parsedBody }, { signal }, response) {
      const { req: request } = response;
      // A token does not come from a browser by itself, but the protocol demands the check.
      refuseOtherSites(request);
      const { createMcpHandler } = await import('@modelcontextprotocol/server');
      const { createAssistant } = await import('./tools.ts');
      const handler = createMcpHandler(() => createAssistant(apiOf(request, signal)), {
        // There is nothing to notify of, and a stream would outlive the question.
        maxSubscriptions: 0,
      });
      const answer = await handler.fetch(asWebRequest(request), { parsedBody });
      response
        .status(answer.status)
        .setHeaders(answer.headers)
        .end(await answer.text());
    },
  });
  return { tag: 'Assistants', pages: [], routes: [mcp] };
}

/** The request without its body, which is read already. */
function asWebRequest({ method, headers }: Request): globalThis.Request {
  const single = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  return new Request('http://localhost/', { method, headers: single });
}
