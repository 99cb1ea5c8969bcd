/** RFC 4180, as strict as Go's reader. An error names the line and never quotes the content. */

export interface CsvRecord {
  /** The first line of the record, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

export class CsvError extends Error {
  override readonly name = 'CsvError';
  readonly line: number;

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
    this.line = line;
  }
}

/** One pass over the text; empty lines are skipped. */
export function parseCsv(source: string): CsvRecord[] {
  const text = source.replaceAll('\r\n', '\n');
  const records: CsvRecord[] = [];
  let at = 0;
  let line = 1;

  function quotedField(): string {
    const opened = line;
    let value = '';
    at += 1;
    for (;;) {
      const close = text.indexOf('"', at);
      if (close < 0) throw new CsvError(opened, 'a quoted field is not closed');
      const part = text.slice(at, close);
      for (const character of part) if (character === '\n') line += 1;
      value += part;
      at = close + 1;
      if (text[at] !== '"') break;
      value += '"';
      at += 1;
    }
    const next = text[at];
    if (next !== undefined && next !== ',' && next !== '\n') {
      throw new CsvError(line, 'text after the closing quote of a field');
    }
    return value;
  }

  function bareField(): string {
    const start = at;
    while (at < text.length && text[at] !== ',' && text[at] !== '\n') {
      if (text[at] === '"') throw new CsvError(line, 'a quote inside a field that does not begin with one');
      at += 1;
    }
    return text.slice(start, at);
  }

  while (at < text.length) {
    if (text[at] === '\n') {
      at += 1;
      line += 1;
      continue;
    }
    const begin = line;
    const fields: string[] = [];
    for (;;) {
      fields.push(text[at] === '"' ? quotedField() : bareField());
      if (text[at] !== ',') break;
      at += 1;
    }
    records.push({ line: begin, fields });
    if (at < text.length) {
      at += 1;
      line += 1;
    }
  }
  return records;
}
