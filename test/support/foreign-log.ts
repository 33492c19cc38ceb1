import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Debian's golang-golang-x-mod-dev puts its sources here. */
const GO_PATH = '/usr/share/gocode';
const PROGRAM = path.resolve(import.meta.dirname, '../seal/foreign/main.go');

/** What Go's packages for transparency logs check. Hashes are in base64. */
export interface ForeignInput {
  readonly PublicKey: string;
  readonly Notes?: readonly string[];
  readonly Inclusion?: readonly object[];
  readonly Consistency?: readonly object[];
  readonly TlogProofs?: readonly string[];
  /** The public key of a log that has signed all notes as a witness. */
  readonly Witness?: string;
  /** COSE receipts with their entries, in base64. */
  readonly Receipts?: readonly { readonly Receipt: string; readonly Entry: string }[];
}

/** With one cache for all runs: without it, each build compiles the library of Go, too. */
const env = {
  PATH: process.env['PATH'],
  GO111MODULE: 'off',
  GOPATH: GO_PATH,
  GOCACHE: path.join(os.tmpdir(), 'xiq-sink-go-cache'),
};

/** Whether Go and its package x/mod are installed: golang-go and golang-golang-x-mod-dev. */
export const hasGo = () => spawnSync('go', ['list', 'golang.org/x/mod/sumdb/tlog'], { env }).status === 0;

let binary: string | undefined;

/** Builds the checker, once. The result runs it, and throws with its message if it refuses anything. */
export function buildForeignCheck(): (input: ForeignInput) => string {
  if (binary === undefined) {
    binary = path.join(mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-go-')), 'check');
    execFileSync('go', ['build', '-o', binary, PROGRAM], { env });
  }
  const check = binary;
  return (input) => execFileSync(check, { input: JSON.stringify(input), stdio: 'pipe' }).toString();
}
