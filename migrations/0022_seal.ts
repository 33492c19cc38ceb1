import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration do not seal: those with it continue where they were. */
export const olderProgramsMayRun = true;

/**
 * The seal of the log: a Merkle tree over what is stored, and its signed heads. The rows of the tree's entries keep their
 * shape: salts and hashes lie here.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table log_seals (
      first_leaf bigint primary key,
      leaves bigint not null,
      kind text not null,
      version integer not null,
      first_position bigint
    )`.execute(db);
  await sql`
    create index log_seals_first_position on log_seals (first_position) where first_position is not null`.execute(
    db,
  );
  await sql`
    create table log_salts (
      number bigint primary key,
      salts bytea[] not null
    )`.execute(db);
  await sql`
    create table log_hashes (
      level integer not null,
      number bigint not null,
      hashes bytea not null,
      primary key (level, number)
    )`.execute(db);
  // Hashes cannot be compressed.
  await sql`alter table log_hashes alter column hashes set storage external`.execute(db);
  await sql`
    create table log_seal_state (
      only_row boolean primary key default true check (only_row),
      size bigint not null,
      first_position bigint not null,
      next_position bigint not null
    )`.execute(db);
  // From where the log is now, towards both ends.
  await sql`insert into log_seal_state (size, first_position, next_position)
    select 0, next_position, next_position from log_state`.execute(db);
  await sql`
    create table log_checkpoints (
      size bigint primary key,
      made_at timestamptz not null,
      note text not null,
      public_key text not null
    )`.execute(db);
  await sql`grant select on log_seals, log_hashes, log_seal_state, log_checkpoints to xiq_reader`.execute(db);
  // Whoever has a salt can confirm a guess of the row.
  await sql`revoke all on log_salts from public, xiq_reader`.execute(db);
  for (const [object, text] of Object.entries(COMMENTS)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}

const COMMENTS = {
  'table log_seals': 'Which leaves of the tree are of which rows, in runs',
  'column log_seals.version': 'Version of the list of columns in the sealed form of the rows',
  'column log_seals.first_position': 'Of events: position of the first one in the log; the others follow',
  'table log_salts': 'The salts of 256 leaves each; null: erased',
  'table log_hashes':
    'The nodes of the tree as tiles of 256 hashes: level 0 has the leaves, level 1 a hash for each full tile of level 0',
  'table log_seal_state': 'How much is sealed; locked by the process that seals',
  'column log_seal_state.size': 'Leaves of the tree',
  'column log_seal_state.first_position': 'The events from this position up to next_position are sealed',
  'table log_checkpoints': 'Signed heads of the tree (C2SP tlog-checkpoint)',
  'column log_checkpoints.public_key': 'The key that verifies the signature',
} as const;
