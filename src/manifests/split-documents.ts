export interface DocumentText {
  /** Counted from 1. */
  readonly document: number;
  /** The line of the file on which it starts. */
  readonly line: number;
  readonly content: string;
}

/**
 * Cuts a file at the lines that start with `---`, before anything is parsed, as kubectl does: a fault in
 * one document then says nothing about the others. Documents without content are not counted.
 */
export function splitDocuments(text: string): DocumentText[] {
  const documents: DocumentText[] = [];
  let start = 0;
  let lines: string[] = [];
  const close = (): void => {
    // A document of nothing but comments is what a file's header looks like to this cut.
    if (lines.some((line) => !/^\s*(#|$)/.test(line))) {
      documents.push({ document: documents.length + 1, line: start + 1, content: lines.join('\n') });
    }
  };
  text.split(/\r?\n/).forEach((line, index) => {
    if (/^---(\s|$)/.test(line)) {
      close();
      start = index;
      // What follows on the same line belongs to the document: a tag, a comment, or all of it.
      lines = [line.slice(3)];
    } else {
      lines.push(line);
    }
  });
  close();
  return documents;
}
