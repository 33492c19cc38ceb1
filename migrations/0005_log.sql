-- The log of events, its seal, and lawful erasure.

-- Every event in one order, each with a position, independent of the server's transaction ids.
-- Each source and message type that the log has events of
create table log_kinds (
  kind integer primary key generated always as identity, source text not null, message_type text not null,
  unique (source, message_type)
);

-- A full tile of 256 entries takes 7.3 kB: it stays on one page, and nothing of it is stored elsewhere.
-- The log: events in their order, 256 to a tile. The newest are in shorter pieces until their tile is full
create table log_tiles (
  first bigint primary key, -- Position of the first entry; the others follow without a gap
  kinds integer[] not null, occurred_at timestamptz[] not null, event_ids uuid[] not null,
  received_from timestamptz not null, -- When the earliest of the events was received
  received_to timestamptz not null -- When the latest of the events was received
) with (toast_tuple_target = 8160);
create index log_tiles_received_to on log_tiles (received_to, first);

-- How far the log is; locked by the process that extends it
create table log_state (
  only_row boolean primary key default true check (only_row),
  first_position bigint not null, -- Position of the oldest event in the log
  next_position bigint not null, -- Position of the next event
  server text not null, -- System identifier of the server whose transaction ids next_xid is one of
  next_xid xid8 not null, -- The log has all events that earlier transactions of this server stored
  held_xid xid8 not null, -- Of the transactions from next_xid up to this one, the log has the events that were received at last_received or before; the others wait, so that earlier ones can overtake them
  held_since timestamptz not null default now(), -- When held_xid was set
  last_received timestamptz not null default '-infinity', -- See held_xid
  last_id bigint not null, -- Highest id of an event in the log
  earlier_id bigint not null -- Events up to this id were stored by another server: their transaction ids mean nothing here
);
insert into log_state (first_position, next_position, server, next_xid, held_xid, last_id, earlier_id)
  select 0, 0, (select system_identifier from pg_control_system())::text, horizon, horizon, 0, 0
  from pg_snapshot_xmin(pg_current_snapshot()) as horizon;
grant select on log_kinds, log_tiles, log_state to xiq_reader;

-- A Merkle tree over stored rows, and its signed heads. The rows of the tree's entries keep their shape: salts and hashes
-- lie here.
-- Which leaves of the tree are of which rows, in runs
create table log_seals (
  first_leaf bigint primary key, leaves bigint not null, kind text not null,
  version integer not null, -- Version of the list of columns in the sealed form of the rows
  first_position bigint -- Of events: position of the first one in the log; the others follow
);
create index log_seals_first_position on log_seals (first_position) where first_position is not null;

-- The salts of 256 leaves each; null: erased
create table log_salts (number bigint primary key, salts bytea[] not null);
-- Whoever has a salt can confirm a guess of the row.
revoke all on log_salts from public, xiq_reader;

-- The nodes of the tree as tiles of 256 hashes: level 0 has the leaves, level 1 a hash for each full tile of level 0
create table log_hashes (
  level integer not null, number bigint not null, hashes bytea not null, primary key (level, number)
);
-- Hashes cannot be compressed.
alter table log_hashes alter column hashes set storage external;

-- How much is sealed; locked by the process that seals
create table log_seal_state (
  only_row boolean primary key default true check (only_row),
  size bigint not null, -- Leaves of the tree
  first_position bigint not null, -- The events from this position up to next_position are sealed
  next_position bigint not null
);
insert into log_seal_state (size, first_position, next_position) values (0, 0, 0);

-- Signed heads of the tree (C2SP tlog-checkpoint)
create table log_checkpoints (
  size bigint primary key, made_at timestamptz not null, note text not null,
  public_key text not null -- The key that verifies the signature
);
grant select on log_seals, log_hashes, log_seal_state, log_checkpoints to xiq_reader;

-- Each state of a row that may change becomes a statement with a leaf of its own in the tree. The queue has the rows that
-- changed since. It needs no order, because the sealer reads the present row, and only sees what has committed. Deliveries
-- are queued in tiles of up to 256 when they are counted, and each tile becomes a statement.
-- Rows that changed and whose new state is not sealed yet
create table log_queue (id bigint generated always as identity primary key, kind text not null, key text not null);

-- Sealed states of rows that may change: each has a leaf of its own
create table log_statements (
  leaf bigint primary key, -- Leaf of the tree
  kind text not null, key text not null,
  record text not null -- The row as it was then, as a JSON array
);
create index log_statements_key on log_statements (kind, key, leaf);
create trigger refuse_change before update or delete on log_statements for each row execute function refuse_change();
select guard_table('log_statements');

-- Deliveries that are counted and not sealed yet
create table log_delivery_queue (
  id bigint generated always as identity primary key, delivery_ids uuid[] not null,
  received_at timestamptz[] not null -- When each was received, which leads to its partition
);
-- They contain what the operator log has, which is not for everybody.
revoke all on log_queue, log_statements, log_delivery_queue from public, xiq_reader;

-- Checkpoints that are kept elsewhere: the progress of each anchor, and the time-stamps of an authority.
-- How far each place that keeps checkpoints elsewhere is
create table log_anchors (
  anchor text primary key,
  size bigint not null default 0, -- Leaves of the latest checkpoint that it has
  tried_at timestamptz not null, anchored_at timestamptz,
  error text -- Why the last attempt failed; null: it did not
);
grant select on log_anchors to xiq_reader;

-- Time-stamps of checkpoints by an authority (RFC 3161)
create table log_timestamps (
  size bigint primary key, made_at timestamptz not null,
  note text not null, -- The checkpoint as it was stamped
  token bytea not null -- The answer of the authority, in DER
);
create trigger refuse_change before update or delete on log_timestamps for each row execute function refuse_change();
select guard_table('log_timestamps');

-- The service verifies all leaves by itself, some at a time, again and again. The view `conservation` shows the result.
-- When each 8,192 leaves of the tree were last compared with their rows, and what was found
create table log_verifications (
  chunk bigint primary key, verified_at timestamptz not null,
  leaves integer not null, -- How many leaves there were
  altered integer not null, -- Rows that differ from their leaves, of any kind
  missing integer not null -- Rows that are gone without a reason on record, of any kind
);
create index log_verifications_verified_at on log_verifications (verified_at);

-- The same of events alone, by source and message type
create table log_verified_events (
  chunk bigint not null, source text not null, message_type text not null,
  events integer not null, -- Events that the log has
  intact integer not null, expired integer not null, erased integer not null, altered integer not null,
  missing integer not null, primary key (chunk, source, message_type)
);
grant select on log_verifications, log_verified_events to xiq_reader;

-- Lawful erasures; nothing in it says what was erased
create table erasures (
  id bigint primary key generated by default as identity, erased_at timestamptz not null default now(),
  operator text not null, reason text not null, event_count integer not null,
  item_count integer not null, -- Items in quarantine whose content was deleted
  operation_count integer not null, -- Entries of the operator log whose subject and details were deleted
  leaves int8multirange not null, -- Leaves of the tree whose rows and salts were deleted
  deliveries jsonb not null -- How many of the erased events each delivery had
);
create trigger refuse_change before update or delete on erasures for each row execute function refuse_change();
create trigger queue_statement_insert after insert on erasures referencing new table as changed
  for each statement execute function queue_statement('erasure', 'id');
select guard_table('erasures');

-- Whose records are not stored again after an erasure, each as an HMAC with a key that is not in the database
create table refused_records (
  id bigint primary key generated always as identity,
  kind text not null check (kind in ('user', 'mac', 'phone', 'event')),
  words integer not null, -- How many words the name has
  key_id text not null, -- Which key
  digest bytea not null,
  until timestamptz not null default now() -- Records of what occurred before are refused
);
revoke all on refused_records from public, xiq_reader;
