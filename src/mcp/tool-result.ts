import { Check, Default, Errors } from 'typebox/value';
import { isJsonObject } from '../lib/json.ts';
import { cleanText } from '../lib/text.ts';
import { InputRequired, type Tool, type ToolContext, ToolError } from './tool.ts';

/** What a tool answers, before it is written for a protocol version. */
export type ToolResult =
  | { readonly type: 'complete'; readonly text: string; readonly value: object }
  | { readonly type: 'error'; readonly text: string }
  | ({ readonly type: 'input' } & InputRequired['request']);

export const errorResult = (text: string): ToolResult => ({ type: 'error', text });

/** Checks the arguments and runs the tool. A refusal is a result that a model can act on (MC-32). */
export async function runTool(tool: Tool, given: unknown, context: ToolContext): Promise<ToolResult> {
  const { known, unknown } = split(tool, isJsonObject(given) ? given : {});
  const args = Default(tool.inputSchema, known);
  if (unknown.length > 0 || !Check(tool.inputSchema, args)) return errorResult(argumentProblems(tool, args, unknown));
  try {
    return bounded(await tool.run(args, context), context.maxResultBytes);
  } catch (error) {
    if (error instanceof InputRequired) return { type: 'input', ...error.request };
    if (error instanceof ToolError) return errorResult(error.message);
    throw error;
  }
}

/**
 * The validator gets the arguments that the tool has: it reports a few errors only, and thousands of unknown names
 * would hide the others. No argument has members, and a copy of all depths would overflow the stack for one nested
 * deeply.
 */
function split({ inputSchema }: Tool, given: Readonly<Record<string, unknown>>) {
  const isKnown = (name: string): boolean => Object.hasOwn(inputSchema.properties, name);
  const names = Object.keys(given);
  const known = Object.fromEntries(names.filter(isKnown).map((name) => [name, given[name]]));
  return { known, unknown: names.filter((name) => !isKnown(name)) };
}

/** The text block has the same JSON, for clients that do not read structured content. */
function bounded(value: object, maxBytes: number): ToolResult {
  const text = JSON.stringify(value);
  if (2 * Buffer.byteLength(JSON.stringify(text)) > maxBytes) {
    return errorResult(`The result is longer than ${maxBytes} bytes: ask for less, e.g. with a smaller limit.`);
  }
  return { type: 'complete', text, value };
}

const MAX_PROBLEMS = 5;
const MAX_SHOWN_NAME = 64;

/**
 * Names each argument and what would be right. It repeats no value, and no name that looks like a token: both may be
 * secrets that were sent by mistake.
 */
function argumentProblems(tool: Tool, args: unknown, unknown: readonly string[]): string {
  const problems = Errors(tool.inputSchema, args)
    .slice(0, MAX_PROBLEMS)
    .map((error) => {
      const at = cleanText(error.instancePath.slice(1).replaceAll('/', '.'), MAX_SHOWN_NAME);
      switch (error.keyword) {
        case 'required':
          return `required: ${error.params.requiredProperties.join(', ')}`;
        case 'pattern':
          return `${at} must be like ${error.params.pattern}`;
        default:
          return `${at === '' ? 'the arguments' : at} ${error.message}`;
      }
    });
  if (unknown.length > 0) problems.push(`unknown: ${unknown.slice(0, MAX_PROBLEMS).map(shown).join(', ')}`);
  const known = Object.keys(tool.inputSchema.properties).join(', ');
  return `The arguments are not right: ${[...new Set(problems)].join('; ')}. The arguments of ${tool.name} are: ${known}.`;
}

const shown = (name: string): string => JSON.stringify(cleanText(name, MAX_SHOWN_NAME));
