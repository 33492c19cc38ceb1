import { DatabaseError } from 'pg';
import { expect, it } from 'vitest';
import { OutageError } from '../../../src/lib/errors.ts';
import { classifyFailure, StoredMeanwhileError } from '../../../src/store/server/failure.ts';

const sqlState = (code: string) => Object.assign(new DatabaseError('failed', 0, 'error'), { code });
const systemError = (code: string) =>
  Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });

it.each([
  ['row refused', 'a value out of range', sqlState('22003')],
  ['row refused', 'a character that text cannot hold', sqlState('22P05')],
  ['row refused', 'a null where none may be', sqlState('23502')],
  ['row refused', 'a row that a view with check option does not show', sqlState('44000')],
  ['row refused', 'an index entry that is too large', sqlState('54000')],
  ['row refused', "somebody's trigger that raises", sqlState('P0001')],
  ['row refused', 'arrays longer than a string of V8', new RangeError('Invalid string length')],
  ['serialization failure', 'a serialization failure', sqlState('40001')],
  ['deadlock', 'a deadlock', sqlState('40P01')],
  ['stored meanwhile', 'a delivery that another worker had', new StoredMeanwhileError('stored')],
  ['connection lost', 'a server that shuts down', sqlState('57P01')],
  ['connection lost', 'a server that crashed', sqlState('57P02')],
  ['connection lost', 'a server that starts up', sqlState('57P03')],
  ['connection lost', 'a broken protocol', sqlState('08P01')],
  ['connection lost', 'a session that was idle in its transaction', sqlState('25P03')],
  ['connection lost', 'a refused connection', systemError('ECONNREFUSED')],
  ['connection lost', 'a broken connection', systemError('ECONNRESET')],
  ['connection lost', 'a connection that ended', new Error('Connection terminated unexpectedly')],
  ['connection lost', 'a connection that never came', new Error('timeout exceeded when trying to connect')],
  ['connection lost', 'a connection given up for its silence', new OutageError('silent')],
  [
    'connection lost',
    'a name with several addresses, all refused',
    new AggregateError([systemError('ECONNREFUSED')]),
  ],
  ['database read-only', 'a standby', sqlState('25006')],
  ['disk full', 'a full disk', sqlState('53100')],
  ['too many connections', 'too many connections', sqlState('53300')],
  ['statement time-out', 'a statement that was cancelled', sqlState('57014')],
  ['unknown SQLSTATE', 'a table that a migration has yet to make', sqlState('42P01')],
  ['unknown SQLSTATE', 'a transaction that is over', sqlState('25P02')],
  ['unknown SQLSTATE', 'a code of a later Postgres', sqlState('ZZ999')],
  ['defect', 'a mistake in this program', new TypeError('x is not a function')],
  ['defect', 'something that is no error', 'text'],
  ['defect', 'nothing', undefined],
])('a failed statement is of the kind %s: %s', (expected, _, error) => {
  expect(classifyFailure(error)).toBe(expected);
});
