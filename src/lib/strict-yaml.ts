import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { Errors } from 'typebox/value';
import { parse, type YAMLParseError } from 'yaml';

/** A file of configuration in YAML, with a schema. An error names the field and says what would be right. */

/** Patterns, in words. */
const EXPECTED = new Map<string, string>();

/** A text like the pattern; `words` says in an error what it must be. */
export function like(pattern: string, words: string) {
  EXPECTED.set(pattern, words);
  return Type.String({ pattern });
}

/** An object that has no other fields. */
export const strict = <P extends TProperties>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });

/** Throws an error for people. It has no value of the text, which may be another file, with a secret. */
export function parseStrict<S extends TSchema>(schema: S, text: string): Static<S> {
  const value = parseYaml(text);
  const problems = Errors(schema, value).flatMap(({ keyword, instancePath, params, message }) => {
    const field = instancePath
      .slice(1)
      .replace(/\/(\d+)/g, '[$1]')
      .replaceAll('/', '.');
    if (keyword === 'required')
      return params.requiredProperties.map((name) => `${field}.${name}: required`.replace(/^\./, ''));
    // The field itself has a problem, too.
    if (keyword === 'additionalProperties') return [];
    if (keyword === 'boolean') return [`${field}: there is no such field`];
    return [`${field}: ${keyword === 'pattern' ? `must be ${EXPECTED.get(params.pattern.toString())}` : message}`];
  });
  if (problems.length > 0) throw new Error(problems.join('; '));
  return value as Static<S>;
}

/** A text whose scalars are all texts, as they were written: `010` and `1e3` would change as numbers. */
export const parseScalars = (text: string): unknown => parseYaml(text, { schema: 'failsafe' });

function parseYaml(text: string, options?: { readonly schema: 'failsafe' }): unknown {
  try {
    return parse(text, options);
  } catch (error) {
    const { linePos } = error as YAMLParseError;
    throw new Error(linePos === undefined ? 'it is not valid YAML' : `line ${linePos[0].line} is not valid YAML`);
  }
}
