import { DatabaseError } from 'pg';
import { describe, expect, it } from 'vitest';
import { classifyFailure } from '../../src/store/failure.ts';

const sqlState = (code: string) => Object.assign(new DatabaseError('failed', 0, 'error'), { code });
const systemError = (code: string) =>
  Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });

describe('a failed statement', () => {
  it.each([
    ['data', 'a value out of range', sqlState('22003')],
    ['data', 'a character that text cannot hold', sqlState('22P05')],
    ['data', 'a null where none may be', sqlState('23502')],
    ['data', 'an index entry that is too large', sqlState('54000')],
    ['data', 'arrays longer than a string of V8', new RangeError('Invalid string length')],
    ['conflict', 'a serialization failure', sqlState('40001')],
    ['conflict', 'a deadlock', sqlState('40P01')],
    ['outage', 'a server that shuts down', sqlState('57P01')],
    ['outage', 'a server that starts up', sqlState('57P03')],
    ['outage', 'a full disk', sqlState('53100')],
    ['outage', 'too many connections', sqlState('53300')],
    ['outage', 'a table that a migration has yet to make', sqlState('42P01')],
    ['outage', 'a refused connection', systemError('ECONNREFUSED')],
    ['outage', 'a broken connection', systemError('ECONNRESET')],
    ['outage', 'a connection that ended', new Error('Connection terminated unexpectedly')],
    ['outage', 'a connection that never came', new Error('timeout exceeded when trying to connect')],
    [
      'outage',
      'a name with several addresses, all refused',
      new AggregateError([systemError('ECONNREFUSED')]),
    ],
    ['defect', 'a mistake in this program', new TypeError('x is not a function')],
    ['defect', 'something that is no error', 'text'],
    ['defect', 'nothing', undefined],
  ])('is %s: %s', (expected, _, error) => {
    expect(classifyFailure(error)).toBe(expected);
  });
});
