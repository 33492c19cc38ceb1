import { hash } from 'node:crypto';
import { RFC3161Timestamp } from '@sigstore/core';

/** A TimeStampReq (RFC 3161, section 2.4.1) with a SHA-256 hash between these bytes; it requests the certificate, too. */
const BEFORE_HASH = Buffer.from('30390201013031300d060960864801650304020105000420', 'hex');
const AFTER_HASH = Buffer.from('0101ff', 'hex');

/** Answers with a token have one of these statuses: granted, and granted with changes. */
const GRANTED = new Set([0n, 1n]);

/** Writes the request for a time-stamp of a text, in DER. */
export const timestampRequest = (text: string) =>
  Buffer.concat([BEFORE_HASH, hash('sha256', text, 'buffer'), AFTER_HASH]);

/**
 * Reads the time in an authority's answer, which must be about the text. Throws a TypeError if it is not. The signature is
 * not checked: `openssl ts -verify` does that with the certificate of the authority.
 */
export function timeOfAnswer(answer: Buffer, text: string): Date {
  let stamp: RFC3161Timestamp;
  let status: bigint;
  try {
    stamp = RFC3161Timestamp.parse(Buffer.from(answer));
    ({ status } = stamp);
  } catch (error) {
    throw new TypeError('this is not an answer from a time-stamp authority', { cause: error });
  }
  if (!GRANTED.has(status)) throw new TypeError(`the authority refused the time-stamp: status ${status}`);
  try {
    stamp.tstInfo.verify(Buffer.from(text));
    return stamp.tstInfo.genTime;
  } catch (error) {
    throw new TypeError('the time-stamp belongs to another checkpoint', { cause: error });
  }
}
