import type { Socket } from 'node:net';
import type { Authorizer } from '../../api/authorization.ts';
import type { Caller } from '../../api/caller.ts';
import type { ApiError } from '../../api/status.ts';
import type { IssueToken } from '../../handlers/token/token-input.ts';
import type { MemoryAccount } from '../../lib/memory-account.ts';
import type { MaybePromise } from '../../lib/promises.ts';
import type { Secret } from '../../observability/secret.ts';
import type { Freshness } from '../../storage/freshness.ts';
import type { Exchange } from '../exchange.ts';
import type { FlowControl } from '../flow-control/flow-control.ts';
import type { McpEndpoint } from '../mcp/mcp-endpoint.ts';
import type { FormRoutes } from '../oauth/form.ts';
import type { BodyReader } from '../request/body.ts';
import type { RequestLineParser } from '../request/request-info.ts';
import type { PathRoutes, ResourceRoutes } from '../routes/routes.ts';

/** What the stages ask of the rest of the program. */
export interface StageParts {
  readonly parseRequestLine: RequestLineParser;
  /** Whether credentials and permissions may be decided from memory. */
  readonly freshness: Pick<Freshness, 'proveCurrent' | 'whenCurrent'>;
  readonly authenticate: (authorization: string | undefined, warn: (text: string) => void) => MaybePromise<Caller>;
  /** Authenticates the token in a form. */
  readonly authenticateToken: (token: Secret) => MaybePromise<Caller>;
  /** Called when a credential is judged, from what is in memory now. */
  readonly onDecision?: (exchange: Exchange) => void;
  /** Called with the connection of every caller who authenticates. */
  readonly onAuthenticated: (socket: Socket) => void;
  readonly authorizer: Authorizer;
  /** Whether the caller may see no cluster. */
  readonly seesNothing: (caller: Caller) => boolean;
  readonly resources: ResourceRoutes;
  readonly paths: PathRoutes;
  readonly forms: FormRoutes;
  /** Undefined: MCP is not served. */
  readonly mcp?: McpEndpoint | undefined;
  readonly issueToken: IssueToken;
  readonly flowControl: FlowControl;
  readonly bodies: BodyReader;
  readonly memory: MemoryAccount;
  /**
   * Resolves when the audit event of an answer with a credential is durable; rejects when it cannot be. Commits one
   * event for a code, however often it is called.
   */
  readonly beforeRelease: (exchange: Exchange, code: number) => Promise<void>;
  /** The answer to an error. Logs an unexpected one. */
  readonly toApiError: (error: unknown, exchange: Exchange) => ApiError;
  /** Records the end of a subrequest. */
  readonly observeSubrequest: (exchange: Exchange, code: number) => void;
}

/**
 * Does one thing, throws an ApiError, or sets `answer`, which ends the pipeline. A stage returns a promise only when it
 * has to wait.
 */
export type Stage = (exchange: Exchange, parts: StageParts) => MaybePromise<void>;

/** Runs the stages in order, until one throws or sets an answer, or the time of the request is over. */
export async function runStages(stages: readonly Stage[], x: Exchange, parts: StageParts): Promise<void> {
  for (const run of stages) {
    const pending = run(x, parts);
    // Most stages are done when they return; to await those too would cost a microtask each.
    if (pending !== undefined) await pending;
    if (x.answer !== undefined || !x.deadline.isOpen) return;
  }
}

/** Several stages as one, for the requests of which the condition holds. */
export const where =
  (holds: (exchange: Exchange) => boolean, ...stages: readonly Stage[]): Stage =>
  (x, parts) =>
    holds(x) ? runStages(stages, x, parts) : undefined;
