import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import type { Environment } from '../../config/references.ts';
import { isPrivate } from '../../lib/loopback.ts';
import { defineCommand } from '../shared/options.ts';

export function defineMcp(program: Command, env: Environment): void {
  defineCommand(program, 'mcp', 'let an assistant query stored events (MCP over stdio)', [
    'xiq-sink mcp',
    'xiq-sink mcp --url https://xiq-sink.example:8081 --token env:XIQ_SINK_TOKEN',
  ])
    .option('--url <address>', 'address of the console', consoleAddress, 'http://localhost:8081')
    .option('--token <place>', 'API token of an account: env:NAME or file:/path')
    .addHelpText(
      'after',
      '\nThe assistant starts this command itself. Access is read-only: see docs/assistant.md.',
    )
    .action(async ({ url, token }) => {
      const { serveAssistant } = await import('./serve-assistant.ts');
      serveAssistant(url, token, env);
    });
}

/** An address that the token may be sent to. */
function consoleAddress(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !isPrivate(url) || url.href !== `${url.origin}/`) {
    throw new InvalidArgumentError(
      'It must be https://HOST or https://HOST:PORT, or http:// on this machine.',
    );
  }
  return url.origin;
}
