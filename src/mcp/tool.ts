import type { Static, TObject, TSchema } from 'typebox';
import { Type } from 'typebox';
import type { McpScope } from '../api/caller.ts';
import type { ApiObject } from '../api/kind.ts';
import { DNS1123_SUBDOMAIN_PATTERN, MAX_SUBDOMAIN_BYTES } from '../api/names.ts';
import type { Send } from './api-call.ts';

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

/** A person has to open a page before the call can be completed. */
export interface InputRequired {
  readonly message: string;
  readonly url: string;
  readonly state: string;
}

export type ToolOutcome<T> =
  | { readonly type: 'complete'; readonly value: T }
  | ({ readonly type: 'input' } & InputRequired);

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
  /** Throws ToolError. */
  run(args: Static<In>, context: ToolContext): Promise<ToolOutcome<Static<Out>>>;
}

/** A tool for the table of tools, which does not know the types of arguments. */
export const tool = <In extends TObject, Out extends TObject>(definition: Tool<In, Out>): Tool =>
  definition as unknown as Tool;

export const complete = <T>(value: T): ToolOutcome<T> => ({ type: 'complete', value });

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
