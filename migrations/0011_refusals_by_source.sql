-- An erasure may be of one source: what another one sends is not refused then. What the cloud says to have deleted is refused by
-- the column `client_mac` alone, not by the text of a record.
alter table refused_records add column source text;
comment on column refused_records.source is 'Only records of this source are refused; null: of all sources';
alter table refused_records drop constraint refused_records_kind_check;
alter table refused_records add constraint refused_records_kind_check
  check (kind in ('user', 'mac', 'phone', 'event', 'client'));
