import { loadConfig } from '../../src/config/config.ts';
import { SettingsError } from '../../src/lib/errors.ts';

/** What is wrong with these settings, one line for each problem. */
export function problemsOf(
  env: Readonly<Record<string, string>>,
  load: (env: Readonly<Record<string, string>>) => unknown = loadConfig,
): readonly string[] {
  try {
    load(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}
