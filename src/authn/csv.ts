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
/** Beyond that a field is too long, also if its every character is a quote, which is written twice. */
const MAX_WRITTEN_LENGTH = 2 * MAX_FIELD_LENGTH + 3;

/** A field in quotes, with the closing one if there is one, or a bare field. A carriage return alone ends no line. */
const FIELD = /^(?:"((?:[^"]|"")*)("?)|((?:[^",\r\n]|\r(?!\n))*))/;
const LINE_BREAKS = /(?:\r?\n)+/y;

/** The line breaks at this place; empty if there is none. */
function lineBreaksAt(text: string, at: number): string {
  LINE_BREAKS.lastIndex = at;
  return LINE_BREAKS.exec(text)?.[0] ?? '';
}

const linesIn = (text: string): number => text.split('\n').length - 1;

/**
 * One pass over the text; empty lines are skipped. A record is parsed when it is asked for, so a caller can yield to
 * the event loop between two of them.
 */
export function* parseCsv(text: string): Generator<CsvRecord, void> {
  const first = lineBreaksAt(text, 0);
  let at = first.length;
  let line = 1 + linesIn(first);

  function field(): string {
    const [written = '', quoted, close, bare = ''] = FIELD.exec(text.slice(at, at + MAX_WRITTEN_LENGTH)) ?? [];
    const value = quoted === undefined ? bare : quoted.replaceAll('""', '"').replaceAll('\r\n', '\n');
    if (value.length > MAX_FIELD_LENGTH) {
      throw new CsvError(`a field of more than ${MAX_FIELD_LENGTH} characters; is a quote not closed?`);
    }
    if (close === '') throw new CsvError('a quoted field is not closed');
    line += linesIn(value);
    at += written.length;
    if (at === text.length || text[at] === ',' || lineBreaksAt(text, at) !== '') return value;
    throw new CsvError(
      close === undefined
        ? 'a quote inside a field that does not begin with one'
        : 'text after the closing quote of a field',
    );
  }

  while (at < text.length) {
    const [begin, start] = [line, at];
    const fields: string[] = [];
    try {
      for (;;) {
        if (fields.length === MAX_COLUMNS) throw new CsvError(`more than ${MAX_COLUMNS} columns`);
        fields.push(field());
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
    const breaks = lineBreaksAt(text, at);
    at += breaks.length;
    line += linesIn(breaks);
  }
}
