import { verify } from 'node:crypto';
import { expect, it } from 'vitest';
import { inclusionProof, rootAt } from '../../src/seal/merkle-tree.ts';
import { writeReceipt } from '../../src/seal/receipt.ts';
import { generateLogKey, parseLogKey, parseVerifier } from '../../src/seal/signed-note.ts';
import { buildForeignCheck, hasGo } from '../support/foreign-log.ts';
import { growTree } from '../support/grow-tree.ts';

const KEY = parseLogKey(generateLogKey('xiq-sink/test'));
const tree = growTree(300);

async function receiptOf(leaf: number, size: number) {
  const [path, root] = [await inclusionProof(tree.read, leaf, size), await rootAt(tree.read, size)];
  return { path, root, receipt: writeReceipt({ leaf, size, path, root }, KEY) };
}

it('has the bytes of RFC 9942, written out by hand', async () => {
  const { path, root, receipt } = await receiptOf(2, 4);
  const { id, publicKey } = parseVerifier(KEY.publicText);
  const [first, second] = path.map((node) => node.toString('hex'));
  // {1: -8, 4: id, 395: 1}
  const head = `a301270444${id.toString('hex')}19018b01`;
  // {396: {-1: [<<[4, 2, [first, second]]>>]}}
  const proofs = `a119018ca120815848830402825820${first}5820${second}`;
  const unsigned = `d2844d${head}${proofs}f65840`;
  expect(receipt.subarray(0, -64).toString('hex')).toBe(unsigned);
  const signed = `846a${Buffer.from('Signature1').toString('hex')}4d${head}405820${root.toString('hex')}`;
  expect(verify(null, Buffer.from(signed, 'hex'), publicKey, receipt.subarray(-64))).toBe(true);
});

it.skipIf(!hasGo())('is what a verifier in Go accepts, of its entry alone (golang-go)', async () => {
  const drawn = await Promise.all(
    [1, 2, 3, 24, 255, 256, 257, 300].map(async (size) => {
      const leaf = Math.floor((size - 1) / 2);
      return { Entry: `entry ${leaf}`, Receipt: (await receiptOf(leaf, size)).receipt.toString('base64') };
    }),
  );
  const check = buildForeignCheck();
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const given = drawn.map((one) => ({ ...one, Entry: base64(one.Entry) }));
  expect(check({ PublicKey: KEY.publicText, Receipts: given })).toContain('8 receipts');
  const [one] = given;
  const forged = [{ Receipt: one?.Receipt ?? '', Entry: base64('another entry') }];
  expect(() => check({ PublicKey: KEY.publicText, Receipts: forged })).toThrow(
    'the root is not what was signed',
  );
});
