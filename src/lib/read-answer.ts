/**
 * Reads the body of an HTTP answer. Throws a TypeError that names its sender if it has more than `limit` bytes: one without
 * an end would fill the memory.
 */
export async function readAnswer(
  response: Response,
  limit: number,
  sender: string,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > limit) throw new TypeError(`${sender} sent more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
