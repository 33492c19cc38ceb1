import { createHmac } from 'node:crypto';

/** The forms in which a delivery can carry its secret. The form of the real service is not documented. */
export const SECRET_FORMS = ['basic', 'bearer', 'raw', 'hmac'] as const;

export type EmulatedSecretForm = (typeof SECRET_FORMS)[number];

/** The user name in the form `basic`. */
const BASIC_USER = 'webhook';

/** The request headers that carry the secret of a delivery, by form. `body` is the request body. */
export const SECRET_HEADERS: Readonly<
  Record<EmulatedSecretForm, (secret: string, body: string) => Record<string, string>>
> = {
  basic: (secret) => ({
    authorization: `Basic ${Buffer.from(`${BASIC_USER}:${secret}`).toString('base64')}`,
  }),
  bearer: (secret) => ({ authorization: `Bearer ${secret}` }),
  raw: (secret) => ({ authorization: secret }),
  hmac: (secret, body) => ({
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }),
};
