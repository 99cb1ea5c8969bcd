import { Type } from 'typebox';
import { MCP_SCOPES } from '../../api/caller.ts';
import { objectOf } from '../api-call.ts';
import { defined, textField } from '../clean-text.ts';
import { closed, complete, DEFAULT_LIMIT, fields, READS, tool } from '../tool.ts';
import { memberOf } from './cluster-view.ts';
import { PASSES_PATH, passProperties, passView, tokensOf } from './pass-object.ts';

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
    'Lists your passes: their state (ready, pending, denied, ended), when they end, and the ids of the tokens that they ' +
    'were redeemed for. Never a token.',
  inputSchema: input,
  outputSchema: output,
  annotations: READS,
  scope: MCP_SCOPES.read,
  async run({ cluster, limit = DEFAULT_LIMIT, cursor }, { send }) {
    const fieldSelector = cluster === undefined ? undefined : `spec.cluster=${cluster}`;
    const query = defined({ limit, fieldSelector, continue: cursor });
    const { items, metadata } = objectOf(await send({ method: 'GET', path: PASSES_PATH, query }));
    return complete(
      defined({
        passes: (Array.isArray(items) ? items : []).map((pass) =>
          defined({
            ...passView(pass),
            purpose: textField(memberOf(memberOf(pass, 'spec'), 'purpose')),
            tokens: tokensOf(pass),
          }),
        ),
        cursor: textField(memberOf(metadata, 'continue'), (text) => text),
      }),
    );
  },
});
