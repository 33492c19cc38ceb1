import { defineConfig } from 'oxlint';
import { SPEAK_SQL } from './lint/rooms.ts';

const NO_SQL = 'SQL lives in src/store/ and migrations/ alone';

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'import', 'promise', 'node', 'vitest'],
  jsPlugins: ['./lint/room-imports.ts', 'eslint-plugin-regexp'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  rules: {
    'rooms/imports': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'eslint/eqeqeq': 'error',
    'eslint/no-await-in-loop': 'off',
    'eslint/no-console': 'error',
    'eslint/no-underscore-dangle': 'off',
    'eslint/no-shadow': 'off',
    'import/no-unassigned-import': 'off',
    'unicorn/require-post-message-target-origin': 'off',
    'node/no-process-env': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/consistent-type-assertions': ['error', { assertionStyle: 'as' }],
    'typescript/no-explicit-any': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    // Else a `using` ends before what is returned has read from it.
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/switch-exhaustiveness-check': 'error',
    'unicorn/no-array-sort': 'off',
    'typescript/consistent-return': 'off',
    'unicorn/consistent-function-scoping': 'off',
  },
  overrides: [
    {
      files: ['src/**'],
      rules: {
        // What one sender writes must not hold up the process of all.
        'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
        'regexp/no-super-linear-move': ['error', { report: 'potential' }],
        'eslint/no-restricted-imports': [
          'error',
          {
            paths: [
              { name: 'kysely', message: NO_SQL },
              // Its parsers of values, for results that a command prints.
              { name: 'pg', allowImportNames: ['types'], message: NO_SQL },
            ],
          },
        ],
      },
    },
    {
      files: SPEAK_SQL.map((room) => `src/${room}/**`),
      rules: { 'eslint/no-restricted-imports': 'off' },
    },
    {
      files: ['src/main.ts', 'vitest.config.ts', 'test/**', 'bench/**'],
      rules: { 'node/no-process-env': 'off' },
    },
    {
      files: ['src/commands/**', 'src/serve/**', 'bench/**'],
      rules: { 'eslint/no-console': 'off' },
    },
    {
      files: ['test/**'],
      rules: {
        'vitest/require-mock-type-parameters': 'off',
        'vitest/expect-expect': [
          'error',
          {
            assertFunctionNames: ['expect', 'expectRefusal'],
          },
        ],
      },
    },
    {
      // The JSON of an answer, and the details of events.
      files: ['src/console/browser/**'],
      rules: {
        'typescript/no-unsafe-assignment': 'off',
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
        'typescript/no-unsafe-call': 'off',
      },
    },
  ],
});
