/** Texts that must never be printed. `hide` replaces them in a text. */
export type Secrets = ReturnType<typeof createSecrets>;

/** Creates an empty register of secrets. The cloud's error messages may quote the credentials of a request. */
export function createSecrets() {
  const known = new Set<string>();
  return {
    add: (secret: string) => {
      if (secret === '') return;
      known.add(secret);
      // As a JSON body in an error message has it.
      known.add(JSON.stringify(secret).slice(1, -1));
    },
    hide: (text: string) => [...known].reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text),
  };
}
