import { CST, Lexer, LineCounter, Parser } from 'yaml';
import { badRequest } from '../status.ts';
import { MAX_DEPTH } from './tree.ts';

/** Invalid or unsupported YAML, with a message like those of Go's parser: `yaml: line 3: ...`. */
export class YamlSyntaxError extends Error {
  override readonly name = 'YamlSyntaxError';
  /** Undefined when the fault is not at one line. */
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }
}

/**
 * The cost of parsing grows with tokens more than with bytes: a thousand commas take as long as 100 KiB of quoted text.
 * This many tokens take some 15 ms, and 25 the first time; a document of 400 lines has fewer.
 */
export const MAX_YAML_TOKENS = 4_000;

/** The parser's stack also holds the document, its value and a scalar. */
const MAX_STACK = MAX_DEPTH + 4;

const CORE_TAGS: ReadonlySet<string> = new Set(['!!str', '!!int', '!!float', '!!bool', '!!null', '!!map', '!!seq']);

/**
 * The first stage of parsing YAML: tokens, so that hostile text is refused at the first offending token. Anchors and
 * aliases (a few lines of them can expand to gigabytes), directives and tags beyond the core schema are refused.
 */
export function readYamlTokens(text: string, maxTokens: number) {
  const lines = new LineCounter();
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const tokens: CST.Token[] = [];
  const fault = (why: string): YamlSyntaxError => yamlFault(lines, parser.offset, why);
  let count = 0;
  let content = false;
  const take = (produced: Iterable<CST.Token>): void => {
    for (const token of produced) {
      if (token.type === 'error') throw yamlFault(lines, token.offset, token.message);
      tokens.push(token);
    }
  };
  for (const lexeme of new Lexer().lex(text)) {
    if (++count > maxTokens) {
      throw badRequest(`the body of the request has more than ${maxTokens} YAML tokens: send it as JSON`);
    }
    // The lexeme after this mark is the text of a scalar, which may look like any token.
    if (!content) checkLexeme(lexeme, fault);
    content = lexeme === CST.SCALAR;
    take(parser.next(lexeme));
    if (parser.stack.length > MAX_STACK) {
      throw badRequest(`the body of the request nests values more than ${MAX_DEPTH} levels deep`);
    }
  }
  take(parser.end());
  return { tokens, lines };
}

function checkLexeme(lexeme: string, fault: (why: string) => YamlSyntaxError): void {
  switch (CST.tokenType(lexeme)) {
    case 'anchor':
    case 'alias':
      throw fault('anchors and aliases are not accepted');
    case 'directive-line':
      throw fault('directives are not accepted');
    case 'tag':
      if (!CORE_TAGS.has(lexeme)) throw fault('tags beyond the core schema are not accepted');
  }
}

export function yamlFault(lines: LineCounter, offset: number, why: string): YamlSyntaxError {
  const line = Math.max(1, lines.linePos(offset).line);
  return new YamlSyntaxError(`yaml: line ${line}: ${why}`, line);
}
