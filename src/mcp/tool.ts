import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { McpScope } from '../api/caller.ts';
import type { ApiObject } from '../api/kind.ts';
import { DNS1123_SUBDOMAIN_PATTERN, MAX_SUBDOMAIN_BYTES } from '../api/names.ts';
import type { Status } from '../api/status.ts';
import { isJsonObject, memberOf } from '../lib/json.ts';
import { cleanText, clip, oneLine } from '../lib/text.ts';

/** What a tool knows of its call. */
export interface ToolContext {
  readonly send: Send;
  /** The word in the paths of clusters. */
  readonly productName: string;
  readonly baseUrl: string;
  /** The address of the machine that the clusters are reached from; undefined if it is not known. */
  readonly clientAddress: () => Promise<string | undefined>;
  /** `name/version`, not verified; `""` for none. */
  readonly clientName: string;
  /** Whether the client can show a person a page. */
  readonly opensUrls: boolean;
  /** MC-50: what the tool gave to its client with a request for input. The client may have changed it. */
  readonly requestState: string | undefined;
  /** MC-78: of a whole result, which has its value twice. */
  readonly maxResultBytes: number;
  /** What binds a pass to this machine. Absent where the machine that will redeem it is not known. */
  readonly codeChallenge?: () => Promise<string>;
  /** How a pass is used, as this transport can offer it. */
  readonly useOf: (pass: ApiObject) => Promise<string>;
  /** Removes what `useOf` has left behind. */
  readonly onRevoked?: (handle: string) => Promise<void>;
}

/** Hints for clients, which must not trust them (MC-31). */
interface ToolAnnotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: false;
}

export const READS: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

export interface Tool<In extends TObject = TObject, Out extends TObject = TObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: In;
  readonly outputSchema: Out;
  readonly annotations: ToolAnnotations;
  readonly scope: McpScope;
  /** Throws ToolError and InputRequired. */
  run(args: Static<In>, context: ToolContext): Promise<Static<Out>>;
}

/** A tool for the table of tools, which does not know the types of arguments. */
export const tool = <In extends TObject, Out extends TObject>(definition: Tool<In, Out>): Tool =>
  definition as unknown as Tool;

/** Names become segments of paths. */
const name = (description: string) =>
  Type.String({ maxLength: MAX_SUBDOMAIN_BYTES, pattern: DNS1123_SUBDOMAIN_PATTERN, description });

export const DEFAULT_LIMIT = 50;

/** The fields that several tools have. */
export const fields = {
  cluster: name('The name of a cluster, from clusters_list.'),
  namespace: name('The namespace of the service account.'),
  account: name('The name of the service account, without its namespace.'),
  audience: Type.String({
    minLength: 1,
    maxLength: 1_024,
    description: 'For whom the token is, if not for the API of the cluster.',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: DEFAULT_LIMIT }),
  cursor: Type.String({ minLength: 1, maxLength: 4_096, description: 'The cursor of the page before.' }),
  time: Type.String({ format: 'date-time' }),
} as const;

/** An object that has these members and no others. */
export const closed = <P extends Record<string, TSchema>>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });

/** A request of the API under the identity of the caller. A tool can do nothing else. */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number>>;
  /** Sent as JSON. */
  readonly body?: object;
}

export interface ApiReply {
  readonly code: number;
  /** The JSON of the answer: an object, a list or a Status. */
  readonly body: unknown;
  /** The texts of the `Warning` headers. */
  readonly warnings: readonly string[];
}

/** Sends a request and returns any answer, errors too. */
export type Send = (call: ApiCall) => Promise<ApiReply>;

/** A refusal or a bad argument. The text tells the model what to do next (MC-32). */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** The page that a person has to open before the call can be completed, and what the next call repeats. */
interface InputRequest {
  readonly message: string;
  readonly url: string;
  readonly state: string;
}

export class InputRequired extends Error {
  override readonly name = 'InputRequired';
  readonly request: InputRequest;

  constructor(request: InputRequest) {
    super(request.message);
    this.request = request;
  }
}

const MAX_MESSAGE = 512;

/** What the API answered, and what can be done about it. */
export function refusal({ code, body }: ApiReply, advice: Readonly<Record<number, string>> = {}): ToolError {
  const { message = '', details } = (isJsonObject(body) ? body : {}) as Partial<Status>;
  const seconds = details?.retryAfterSeconds ?? 1;
  const next = advice[code] ?? COMMON[code];
  if (code === 429 || code === 503) return new ToolError(`${said(message, code)} Try again in ${seconds} s.`);
  return new ToolError(next === undefined ? said(message, code) : `${said(message, code)} ${next}`);
}

const COMMON: Readonly<Record<number, string>> = {
  401: 'The credential is not accepted any more: the person has to sign in again.',
  410: 'The cursor has expired: call the tool again without a cursor.',
};

/** The message as a sentence. */
function said(message: unknown, code: number): string {
  const text = typeof message === 'string' ? cleanText(message, MAX_MESSAGE) : '';
  return text === '' ? `The server answered with ${code}.` : `${text.replace(/\.$/, '')}.`;
}

export const isSuccess = ({ code }: ApiReply): boolean => code >= 200 && code < 300;

/** The object in a successful answer. Throws ToolError for any other. */
export function objectOf(
  reply: ApiReply,
  advice?: Readonly<Record<number, string>>,
): Readonly<Record<string, unknown>> {
  if (!isSuccess(reply)) throw refusal(reply, advice);
  return isJsonObject(reply.body) ? reply.body : {};
}

/** The objects in a successful answer, and the metadata of their list. */
export function listOf(reply: ApiReply, advice?: Readonly<Record<number, string>>) {
  const { items, metadata } = objectOf(reply, advice);
  return { items: Array.isArray(items) ? (items as readonly ApiObject[]) : [], metadata };
}

const MAX_WARNINGS = 8;

/** The warnings of an answer, as a model reads them; undefined for none. */
export const warningsOf = ({ warnings }: ApiReply): string[] | undefined =>
  warnings.length === 0 ? undefined : warnings.slice(0, MAX_WARNINGS).map((text) => cleanText(text));

/** MC-79: labels, reasons and messages are written by others. What a model reads of them is short, plain text. */

/** One line of plain text that may hold long words: an address, an issuer. */
export const cleanAddress = (text: string): string => clip(oneLine(text.slice(0, 4 * MAX_ADDRESS)), MAX_ADDRESS);

const MAX_ADDRESS = 1_024;

/** The text of a field that may hold anything; undefined for none. */
export function textField(value: unknown, clean: (text: string) => string = cleanText): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const text = clean(value);
  return text === '' ? undefined : text;
}

const CURSOR = /^[\w.~+/=-]+$/;

/** The cursor of the next page. It is shown as it is, so it must not be a text. */
export function cursorOf(metadata: unknown): string | undefined {
  const cursor = memberOf(metadata, 'continue');
  return typeof cursor === 'string' && CURSOR.test(cursor) ? cursor : undefined;
}
