import type { RequestHandler } from 'express';

/** The hardening headers on every answer (specification, General conventions). */
export const hardenAnswers: RequestHandler = (_req, res, next) => {
  res.set({
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-cache, no-store, max-age=0, must-revalidate',
    Pragma: 'no-cache',
    Expires: '0',
    'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  });
  next();
};
