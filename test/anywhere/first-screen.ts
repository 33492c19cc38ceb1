/** What the first screen of a started program tells a person to do. */
export interface FirstScreen {
  /** Stores a first event. */
  readonly curlLine: string;
  /** Shows stored events. */
  readonly queryLine: string;
}

/** Reads the screen; undefined until it is complete, which is when it says how to stop. */
export function readFirstScreen(screen: string): FirstScreen | undefined {
  if (!/Ctrl-C/.test(screen)) return undefined;
  const curlLine = commandAfter(screen, /^ +(?=curl )/m);
  const queryLine = commandAfter(screen, /^Query events:\n/m);
  if (curlLine === undefined) throw new Error(`the first screen has no curl line:\n${screen}`);
  if (queryLine === undefined)
    throw new Error(`the first screen says nothing under "Query events:":\n${screen}`);
  return { curlLine, queryLine };
}

/** The first command after this, with the lines that it is continued on. */
function commandAfter(screen: string, before: RegExp): string | undefined {
  const match = before.exec(screen);
  if (match === null) return undefined;
  return /^(?:.*[\\,]\n)*.*/.exec(screen.slice(match.index + match[0].length))?.[0].trim();
}
