import { option } from './option.ts';
import { duration, integer } from './values.ts';

/** Options of agents and of the passes that they ask for. */
export const MCP_OPTIONS = {
  mcpMaxHandles: option({
    value: 'N',
    parse: integer(1, 1_000),
    default: '10',
    doc: 'How many passes (`passes.clusterpass.dev`) of one requester and client may be waiting or ready at a time; further ones are rejected until one ends.',
  }),
  mcpMaxDuration: option({
    value: 'DURATION',
    parse: duration('10m', '15m'),
    default: '15m',
    doc: 'The longest duration of a pass. A longer one is rejected. No token of a pass outlives it.',
  }),
};
