/** What must never be printed: everything added is blanked out of the texts that pass through `hide`. */
export interface Secrets {
  add(secret: string): void;
  hide(text: string): string;
}

/** A register of secrets, empty at first. The cloud's error messages may quote what they were sent. */
export function createSecrets(): Secrets {
  const known = new Set<string>();
  return {
    add: (secret) => {
      if (secret === '') return;
      known.add(secret);
      // As it stands in a JSON body that an error message quotes.
      known.add(JSON.stringify(secret).slice(1, -1));
    },
    hide: (text) => [...known].reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text),
  };
}
