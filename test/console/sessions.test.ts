import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSessions, SESSION_MS } from '../../src/console/access/access.ts';

const TOKEN = 'the-admin-token-0123456789';

describe('the value of a session cookie', () => {
  it('is known to every process with the same token, and to none with another', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (token, name) => {
        const { session, value } = createSessions(token).issue(name);
        expect(createSessions(token).verify(value)).toEqual(session);
        expect(createSessions(`${token}x`).verify(value)).toBeUndefined();
      }),
    );
  });

  it('is not known with any of its bits flipped', () => {
    const sessions = createSessions(TOKEN);
    const bytes = Buffer.from(sessions.issue('ada').value);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(sessions.verify(flipped.toString('latin1'))).toBeUndefined();
    }
  });

  it('is not known cut off, lengthened, or with the signature of another', () => {
    const sessions = createSessions(TOKEN);
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(), (name, other, length) => {
        const { value } = sessions.issue(name);
        expect(sessions.verify(value.slice(0, length % value.length))).toBeUndefined();
        expect(sessions.verify(`${value}.${value}`)).toBeUndefined();
        expect(sessions.verify(`${value}${other}x`)).toBeUndefined();
        const signature = sessions.issue(`${name}${other}x`).value.split('.')[1];
        expect(sessions.verify(`${value.split('.')[0]}.${signature}`)).toBeUndefined();
      }),
    );
  });

  it('is not known made up, whatever it is', () => {
    const sessions = createSessions(TOKEN);
    expect(sessions.verify(undefined)).toBeUndefined();
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(sessions.verify(text)).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(fc.base64String(), fc.base64String(), (payload, signature) => {
        expect(sessions.verify(`${payload}.${signature}`)).toBeUndefined();
      }),
    );
  });

  it('is over after a working day', () => {
    let now = 0;
    const sessions = createSessions(TOKEN, () => now);
    const { session, value } = sessions.issue('ada');
    now = SESSION_MS - 1;
    expect(sessions.verify(value)).toEqual(session);
    now = SESSION_MS;
    expect(sessions.verify(value)).toBeUndefined();
  });

  it('is not known any more once it was revoked, while others go on', () => {
    const sessions = createSessions(TOKEN);
    const { session, value } = sessions.issue('ada');
    const other = sessions.issue('ada');
    sessions.revoke(session);
    expect(sessions.verify(value)).toBeUndefined();
    expect(sessions.verify(other.value)).toEqual(other.session);
  });
});
