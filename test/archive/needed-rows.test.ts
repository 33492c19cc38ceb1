import { expect, it } from 'vitest';
import { neededRows } from '../../src/store/archive/needed-rows.ts';

const scan = (type: string, output: readonly string[], more: object = {}) => ({
  'Node Type': type,
  'Relation Name': 'archived_audit_events',
  Output: output,
  ...more,
});

const node = (type: string, plans: readonly object[], more: object = {}) => ({
  'Node Type': type,
  Plans: plans,
  ...more,
});

const TIME = ['audit.occurred_at', 'audit.event_id'];

const ordersOf = (plan: object) => neededRows([{ Plan: plan }]).map(({ order }) => order);

const sorted = (plans: readonly object[], key = 'audit.occurred_at DESC') =>
  node('Limit', [node('Sort', plans, { 'Sort Key': [key], Output: TIME })]);

it('names the filters and the columns of each scan of archived rows, and of no other', () => {
  const plan = node('Append', [
    { 'Node Type': 'Seq Scan', 'Relation Name': 'audit_events_2026_01', Output: TIME },
    scan('Bitmap Heap Scan', ['audit.payload'], { Filter: '(a = 1)', 'Recheck Cond': '(code = 2)' }),
  ]);
  const [needed, ...others] = neededRows([{ Plan: plan }]);
  expect(others).toEqual([]);
  expect(needed).toMatchObject({
    table: 'audit_events',
    filters: ['(a = 1)', '(code = 2)'],
    order: undefined,
  });
  expect([...(needed?.columns ?? [])]).toEqual(expect.arrayContaining(['payload', 'code']));
});

it.each([
  ['sorted by time', sorted([scan('Seq Scan', TIME)]), 'desc'],
  ['sorted by time, of several tables', sorted([node('Append', [scan('Seq Scan', TIME)])]), 'desc'],
  ['in the order of the index', node('Limit', [node('Merge Append', [scan('Index Scan', TIME)])]), 'asc'],
  [
    'in the order of the index, from its end',
    node('Limit', [scan('Index Only Scan', TIME, { 'Scan Direction': 'Backward' })]),
    'desc',
  ],
])('the first rows of a limit come from one end: %s', (_, plan, order) => {
  expect(ordersOf(plan)).toEqual([order]);
});

it.each([
  [
    'there is no limit',
    node('Sort', [scan('Seq Scan', TIME)], { 'Sort Key': ['audit.occurred_at'], Output: TIME }),
  ],
  [
    'another column of this table has the place',
    sorted([node('Append', [scan('Seq Scan', ['b.received_at', 'b.event_id'])])]),
  ],
  ['sorted by another column, and read by the index', sorted([scan('Index Scan', TIME)], 'audit.event_id')],
  ['nulls come last', sorted([scan('Seq Scan', TIME)], 'audit.occurred_at DESC NULLS LAST')],
  ['rows are counted before the limit', node('Limit', [node('Aggregate', [scan('Index Scan', TIME)])])],
  ['rows are joined', node('Limit', [node('Nested Loop', [scan('Index Scan', TIME)])])],
  ['a subquery may rename', sorted([node('Subquery Scan', [scan('Seq Scan', TIME)])])],
  [
    'a subquery runs by itself',
    node('Limit', [scan('Index Scan', TIME, { 'Parent Relationship': 'SubPlan' })]),
  ],
  ['no order is asked for', node('Limit', [scan('Seq Scan', TIME)])],
])('all rows may be needed where %s', (_, plan) => {
  expect(ordersOf(plan)).toEqual([undefined]);
});
