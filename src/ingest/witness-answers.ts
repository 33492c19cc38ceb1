import type { Request } from 'express';
import rawBody from 'raw-body';
import { HttpError } from '../lib/errors.ts';
import { createFailureCounts, networkOf } from './failed-secrets.ts';
import { RATE_LIMITED } from './source-rates.ts';

/** What signs checkpoints of other logs. */
export interface Witness {
  addCheckpoint(request: string): Promise<{ readonly line: string } | { readonly known: number }>;
  latest(originHash: string): Promise<string | undefined>;
}

/** A proof has 63 hashes at most (2,835 bytes); the rest is for the checkpoint and the signatures of other witnesses. */
const LIMIT = 16 * 1024;

/** A log sends one or two in a minute. */
const REQUESTS_PER_MINUTE = 60;

const TEXT = 'text/plain; charset=utf-8';

/**
 * Answers the requests of C2SP tlog-witness: `add-checkpoint`, and any other as one for the latest checkpoint of a log. They
 * need no secret, so each address may send only a limited number of small ones.
 */
export function createWitnessAnswers(witness: Witness) {
  const requests = createFailureCounts(REQUESTS_PER_MINUTE);
  return async (request: Request<{ originHash?: string }>, remoteAddress: string) => {
    const excess = await requests.count(networkOf(remoteAddress));
    if (excess !== undefined) {
      const { retryAfter } = excess;
      throw new HttpError(429, RATE_LIMITED, 'too many requests from this address', { retryAfter });
    }
    const { originHash } = request.params;
    if (originHash !== undefined) {
      const text = await witness.latest(originHash);
      if (text !== undefined) return { status: 200, type: TEXT, text };
      throw new HttpError(404, 'UNKNOWN_LOG', 'this witness has signed no checkpoint of that log');
    }
    const length = request.headers['content-length'] ?? null;
    const reading = rawBody(request, { length, limit: LIMIT, encoding: 'utf8' });
    const body = await reading.catch((cause: unknown) => {
      throw new HttpError(400, 'BAD_REQUEST', `the body is cut off or larger than ${LIMIT} bytes`, { cause });
    });
    const answer = await witness.addCheckpoint(body);
    return 'known' in answer
      ? { status: 409, type: 'text/x.tlog.size', text: `${answer.known}\n` }
      : { status: 200, type: TEXT, text: `${answer.line}\n` };
  };
}
