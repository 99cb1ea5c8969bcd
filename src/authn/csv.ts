/** RFC 4180, as strict as Go's reader. An error names the line and never quotes the content. */

interface CsvRecord {
  /** The first line of the record, counted from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  /** Why the record cannot be read; its fields are those before the mistake. The next record is on the next line. */
  readonly problem?: string;
}

class CsvError extends Error {
  override readonly name = 'CsvError';
}

/** Far above any real record: what is within these limits is read in less than a millisecond. */
const MAX_FIELD_LENGTH = 64 * 1024;
const MAX_COLUMNS = 64;
const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d];

/**
 * One pass over the text; empty lines are skipped. A record is parsed when it is asked for, so a caller can yield to
 * the event loop between two of them.
 */
export function* parseCsv(text: string): Generator<CsvRecord, void> {
  let at = 0;
  let line = 1;

  function quotedField(): string {
    let value = '';
    at += 1;
    for (;;) {
      const close = text.indexOf('"', at);
      if (close < 0) throw new CsvError('a quoted field is not closed');
      if (value.length + close - at > MAX_FIELD_LENGTH) throw tooLong();
      const part = text.slice(at, close).replaceAll('\r\n', '\n');
      for (const character of part) if (character === '\n') line += 1;
      value += part;
      at = close + 1;
      if (text[at] !== '"') break;
      value += '"';
      at += 1;
    }
    if (at < text.length && text[at] !== ',' && breakLength(text, at) === 0) {
      throw new CsvError('text after the closing quote of a field');
    }
    return value;
  }

  function bareField(): string {
    const start = at;
    while (at < text.length && text[at] !== ',' && breakLength(text, at) === 0) {
      if (at - start > MAX_FIELD_LENGTH) throw tooLong();
      if (text[at] === '"') throw new CsvError('a quote inside a field that does not begin with one');
      at += 1;
    }
    return text.slice(start, at);
  }

  while (at < text.length) {
    const blank = emptyLines(text, at);
    at = blank.end;
    line += blank.count;
    if (at === text.length) return;
    const [begin, start] = [line, at];
    const fields: string[] = [];
    try {
      for (;;) {
        if (fields.length === MAX_COLUMNS) throw new CsvError(`more than ${MAX_COLUMNS} columns`);
        fields.push(text[at] === '"' ? quotedField() : bareField());
        if (text[at] !== ',') break;
        at += 1;
      }
      yield { line: begin, fields };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      yield { line: begin, fields, problem: error.message };
      const end = text.indexOf('\n', start);
      if (end < 0) return;
      [at, line] = [end, begin];
    }
    if (at < text.length) {
      at += breakLength(text, at);
      line += 1;
    }
  }
}

/** The length of the line break at this place: `\n` or `\r\n`. */
function breakLength(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code === LINE_FEED) return 1;
  return code === CARRIAGE_RETURN && text.charCodeAt(at + 1) === LINE_FEED ? 2 : 0;
}

function emptyLines(text: string, start: number): { readonly end: number; readonly count: number } {
  let end = start;
  let count = 0;
  for (let length = breakLength(text, end); length > 0; length = breakLength(text, end)) {
    end += length;
    count += 1;
  }
  return { end, count };
}

const tooLong = (): CsvError =>
  new CsvError(`a field of more than ${MAX_FIELD_LENGTH} characters; is a quote not closed?`);
