/** Texts that must never be printed. `hide` replaces them in a text. */
export interface Secrets {
  add(secret: string): void;
  hide(text: string): string;
}

/** Creates an empty register of secrets. The cloud's error messages may quote the credentials of a request. */
export function createSecrets(): Secrets {
  const known = new Set<string>();
  return {
    add: (secret) => {
      if (secret === '') return;
      known.add(secret);
      // As a JSON body in an error message has it.
      known.add(JSON.stringify(secret).slice(1, -1));
    },
    hide: (text) => [...known].reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text),
  };
}
