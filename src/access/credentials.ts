import { createHmac, hash, randomBytes } from 'node:crypto';

/** Programs that look for secrets in files know API tokens by this prefix. */
const API_TOKEN = /^xiq_[A-Za-z0-9_-]{43}$/;

/** A new API token: 256 random bits. */
export const newApiToken = (): string => `xiq_${randomBytes(32).toString('base64url')}`;

export const isApiToken = (text: string): boolean => API_TOKEN.test(text);

const SESSION_VALUE = /^[A-Za-z0-9_-]{43}$/;

/** A new value of the session cookie, or a key of an invitation: 256 random bits. */
export const newSessionValue = (): string => randomBytes(32).toString('base64url');

export const isSessionValue = (text: string): boolean => SESSION_VALUE.test(text);

/** How API tokens, sessions and invitations are stored: who reads the database cannot use them. */
export const digestOf = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/** How a session of the admin token is stored: with another admin token, nobody finds it. */
export const adminDigestOf = (secret: string, adminToken: string): Buffer =>
  createHmac('sha256', adminToken).update(secret).digest();

/**
 * What a browser remembers after a login with a password, to prove that it has logged in to this account before. Ends
 * with the password.
 */
export const browserProof = (account: string, passwordHash: string): string =>
  createHmac('sha256', passwordHash).update(`known browser of ${account}`).digest('base64url');
