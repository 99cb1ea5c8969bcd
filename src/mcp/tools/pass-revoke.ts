import { Type } from 'typebox';
import { MCP_SCOPES } from '../../api/caller.ts';
import type { ApiObject } from '../../api/kind.ts';
import { passStatus } from '../../api/kinds/pass-spec.ts';
import { defined } from '../../lib/json.ts';
import { type ApiReply, objectOf, ToolError, warningsOf } from '../api-call.ts';

import { closed, complete, tool } from '../tool.ts';
import { handle, ownOf, PASSES_PATH } from './pass-object.ts';

const output = Type.Object({
  handle,
  revokedTokens: Type.Integer({
    minimum: 0,
    description: 'How many tokens of Clusterpass were redeemed with it and are revoked now.',
  }),
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'Where tokens are accepted in spite of it, and until when.' }),
  ),
});

/**
 * Not a success, also for a call that is repeated: revoked passes leave no trace, so the handle may be wrong, and
 * the pass that was meant still usable.
 */
const NO_SUCH_PASS =
  'You have no such pass: it has ended, was revoked before, or was never yours. Nothing was revoked.';
const isAbsent = ({ code }: ApiReply): boolean => code === 403 || code === 404;

/** MC-76 */
export const passRevoke = tool({
  name: 'pass_revoke',
  title: 'Revoke a pass',
  description:
    'Ends a pass, and revokes every token that was redeemed with it. Call it as soon as a pass is no longer needed. A ' +
    'cluster that does not ask Clusterpass accepts a token until it expires.',
  inputSchema: closed({ handle }),
  outputSchema: output,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  scope: MCP_SCOPES.pass,
  async run({ handle: name }, { send, onRevoked }) {
    const path = `${PASSES_PATH}/${name}`;
    const found = await send({ method: 'GET', path });
    if (isAbsent(found)) throw new ToolError(NO_SUCH_PASS);
    const pass = objectOf(found) as unknown as ApiObject;
    if ((await ownOf([pass], send)).length === 0) throw new ToolError(NO_SUCH_PASS);
    const { tokens = [] } = passStatus(pass);
    const reply = await send({ method: 'DELETE', path });
    if (isAbsent(reply)) throw new ToolError(NO_SUCH_PASS);
    objectOf(reply);
    await onRevoked?.(name);
    const revokedTokens = tokens.filter(({ revocable }) => revocable !== false).length;
    return complete(defined({ handle: name, revokedTokens, warnings: warningsOf(reply) }));
  },
});
