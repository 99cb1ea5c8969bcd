import { Type } from 'typebox';
import { MCP_SCOPES } from '../../api/caller.ts';
import type { ApiObject } from '../../api/kind.ts';
import { isHandle, passSpec, passStatus } from '../../api/kinds/pass-spec.ts';
import { defined } from '../../lib/json.ts';
import { cleanText } from '../../lib/text.ts';
import { listOf } from '../api-call.ts';
import { cursorOf, textField } from '../result-fields.ts';
import { closed, complete, DEFAULT_LIMIT, fields, READS, type ToolContext, tool } from '../tool.ts';
import { ownOf, PASSES_PATH, passProperties, passView, use } from './pass-object.ts';

const input = closed({
  cluster: Type.Optional(fields.cluster),
  limit: Type.Optional(fields.limit),
  cursor: Type.Optional(fields.cursor),
});

const output = Type.Object({
  passes: Type.Array(
    Type.Object({
      ...passProperties,
      purpose: Type.Optional(Type.String()),
      use: Type.Optional(use),
      tokens: Type.Array(Type.Object({ id: Type.String(), expires: Type.Optional(fields.time) })),
    }),
  ),
  cursor: Type.Optional(Type.String({ description: 'For the next page; absent on the last one.' })),
});

/** MC-73 */
export const passList = tool({
  name: 'pass_list',
  title: 'List passes',
  description:
    'Lists your passes: their state (ready, pending, denied, ended), when they end, how those that are ready are used, ' +
    'and the ids of the tokens that they were redeemed for. Never a token. A page can have fewer than the limit: follow the cursor.',
  inputSchema: input,
  outputSchema: output,
  annotations: READS,
  scope: MCP_SCOPES.read,
  async run({ cluster, limit = DEFAULT_LIMIT, cursor }, { send, useOf }) {
    const fieldSelector = cluster === undefined ? undefined : `spec.cluster=${cluster}`;
    const query = defined({ limit, fieldSelector, continue: cursor });
    const { items, metadata } = listOf(await send({ method: 'GET', path: PASSES_PATH, query }));
    // A reviewer sees the passes of others. Their purposes are texts for people, so no model gets them (MC-79).
    const own = await ownOf(items, send);
    const shown = await Promise.all(own.map((pass) => listed(pass, useOf)));
    return complete(defined({ passes: shown, cursor: cursorOf(metadata) }));
  },
});

async function listed(pass: ApiObject, useOf: ToolContext['useOf']) {
  const view = passView(pass);
  const isUsable = view.state === 'ready' && isHandle(view.handle);
  return defined({
    ...view,
    purpose: textField(passSpec(pass).purpose),
    use: isUsable ? await useOf(pass) : undefined,
    tokens: (passStatus(pass).tokens ?? []).map(({ id = '', expirationTimestamp }) =>
      defined({ id: cleanText(id), expires: textField(expirationTimestamp) }),
    ),
  });
}
