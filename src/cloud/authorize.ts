import { CloudApiError } from './cloud-api-error.ts';
import type { Call, OutgoingCall } from './exchange.ts';
import type { Request } from './request.ts';
import type { Tokens } from './tokens.ts';

/** Presents a token with every call; one that is refused (401) is replaced once, where logging in can replace it. */
export function authorize(request: Request<OutgoingCall>, tokens: Tokens): Request<Call> {
  return async (call) => {
    const token = await tokens.current(call.signal);
    try {
      return await request({ ...call, token });
    } catch (error) {
      const isRefused = error instanceof CloudApiError && error.status === 401;
      if (!isRefused || !tokens.drop(token)) throw error;
    }
    return await request({ ...call, token: await tokens.current(call.signal) });
  };
}
