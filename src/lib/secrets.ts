/** Texts that must never be printed. `hide` replaces them in a text. */
export type Secrets = ReturnType<typeof createSecrets>;

/** Creates a register of secrets, with these ones. Error messages of other systems may quote the credentials of a request. */
export function createSecrets(secrets: Iterable<string | undefined> = []) {
  const known = new Set<string>();
  const add = (secret: string) => {
    if (secret === '') return;
    known.add(secret);
    // As a JSON body in an error message has it.
    known.add(JSON.stringify(secret).slice(1, -1));
  };
  for (const secret of secrets) add(secret ?? '');
  return {
    add,
    hide: (text: string) =>
      // The longest first: another may be its beginning, and would leave the rest of it.
      [...known]
        .toSorted((one, other) => other.length - one.length)
        .reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text),
  };
}
