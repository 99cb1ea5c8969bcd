import { Type } from 'typebox';
import { MCP_SCOPES } from '../../api/caller.ts';
import { objectOf } from '../api-call.ts';
import { closed, complete, tool } from '../tool.ts';
import { handle, PASSES_PATH, tokensOf } from './pass-object.ts';

const output = Type.Object({
  handle,
  revokedTokens: Type.Integer({
    minimum: 0,
    description: 'How many tokens were redeemed with it and are revoked now.',
  }),
});

const ADVICE = { 403: 'Only your own passes can be revoked: see pass_list.', 404: 'It has ended, or was never yours.' };

/** MC-76 */
export const passRevoke = tool({
  name: 'pass_revoke',
  title: 'Revoke a pass',
  description:
    'Ends a pass, and revokes every token that was redeemed with it. Call it as soon as a pass is no longer needed.',
  inputSchema: closed({ handle }),
  outputSchema: output,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  scope: MCP_SCOPES.pass,
  async run({ handle: name }, { send, onRevoked }) {
    const path = `${PASSES_PATH}/${name}`;
    const tokens = tokensOf(objectOf(await send({ method: 'GET', path }), ADVICE));
    objectOf(await send({ method: 'DELETE', path }), ADVICE);
    await onRevoked?.(name);
    return complete({ handle: name, revokedTokens: tokens.length });
  },
});
