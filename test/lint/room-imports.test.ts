import path from 'node:path';
import { RuleTester } from 'oxlint/plugins-dev';
import { describe, it } from 'vitest';
import { roomImports } from '../../lint/room-imports.ts';

RuleTester.describe = describe;
RuleTester.it = it;

const ROOT = path.resolve(import.meta.dirname, '../..');

const imports = (from: string, specifier: string) => ({
  name: `${from} imports ${specifier}`,
  filename: path.join(ROOT, from),
  code: `import '${specifier}';`,
});

const refuses = (from: string, specifier: string, message: RegExp) => ({
  ...imports(from, specifier),
  errors: [{ message }],
});

const types = (from: string, code: string) => ({
  name: `${from}: ${code}`,
  filename: path.join(ROOT, from),
  code,
});

const UP = /^src\/store\/ is below src\/seal\/: imports run down only/;

new RuleTester().run('rooms/imports', roomImports, {
  valid: [
    imports('src/main.ts', './commands/program.ts'),
    imports('src/commands/serve/command.ts', '../../serve/start-service.ts'),
    imports('src/commands/demo/demo.ts', '../../../emulator/emulator.ts'),
    imports('src/store/events/event-rows.ts', '../../events/domain.ts'),
    imports('src/seal/verify/verify-log.ts', '../sealer.ts'),
    imports('src/handlers/store-batch.ts', '../erasure/refusals.ts'),
    imports('src/lib/repeat.ts', 'pino'),
    imports('emulator/routes/logs.ts', '../../src/cloud/contract/logs.ts'),
    imports('test/store/log/horizon.test.ts', '../../../src/seal/sealer.ts'),
  ],
  invalid: [
    refuses('src/store/log/read-log.ts', '../../seal/sealer.ts', UP),
    refuses('src/events/domain.ts', '../store/server/database.ts', /^src\/events\/ is below src\/store\//),
    refuses('src/erasure/refusals.ts', '../handlers/identity.ts', /are on one floor, and NEIGHBOURS/),
    refuses('src/queue/engine.ts', '../config/config.ts', /are on one floor, and NEIGHBOURS/),
    refuses('src/console/admin-app.ts', '../main.ts', /^nothing imports the entry/),
    refuses('src/serve/console.ts', '../../emulator/emulator.ts', /which src\/serve\/ does not run/),
    refuses('emulator/emulator.ts', '../src/cloud/client.ts', /^the emulator is a program of its own: it/),
    { ...types('src/loose.ts', ''), errors: [{ message: /^src\/loose.ts is in no room/ }] },
    { ...types('src/helpers/text.ts', ''), errors: [{ message: /^src\/helpers\/ is on no floor/ }] },
    {
      ...types('src/store/log/read-log.ts', `import type { Sealer } from '../../seal/sealer.ts';`),
      errors: [{ message: UP }],
    },
    {
      ...types('src/store/log/read-log.ts', `export type Sealer = import('../../seal/sealer.ts').Sealer;`),
      errors: [{ message: UP }],
    },
    {
      ...types('src/store/log/read-log.ts', `export type { Sealer } from '../../seal/sealer.ts';`),
      errors: [{ message: UP }],
    },
    {
      ...types('src/store/log/read-log.ts', `export * from '../../seal/sealer.ts';`),
      errors: [{ message: UP }],
    },
    {
      ...types('src/store/log/read-log.ts', `export const sealer = import('../../seal/sealer.ts');`),
      errors: [{ message: UP }],
    },
  ],
});
