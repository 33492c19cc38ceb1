/** Reads CSV as RFC 4180 has it: rows of cells; null stands for a cell without quotes that is empty. */
export function parseCsv(text: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  let row: (string | null)[] = [];
  while (cell.lastIndex < text.length) {
    const start = cell.lastIndex;
    const found = cell.exec(text);
    if (found === null) throw new SyntaxError(`no cell of CSV at ${start}: ${text.slice(start, start + 80)}`);
    const [, quoted, plain = '', end] = found;
    row.push(quoted?.replaceAll('""', '"') ?? (plain === '' ? null : plain));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}
