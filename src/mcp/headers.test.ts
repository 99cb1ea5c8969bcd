import { expect, it } from 'vitest';
import { stdioAnnotations, stdioHeaders } from './headers.ts';

it('MC-80: the annotations say what the stdio server says', () => {
  expect(stdioAnnotations(stdioHeaders('clusters_list', 'Zoë’s agent/1'))).toEqual([
    ['clusterpass.dev/surface', 'mcp-stdio'],
    ['clusterpass.dev/tool', 'clusters_list'],
    ['clusterpass.dev/client', 'login'],
    ['clusterpass.dev/client-name', 'Zoë’s agent/1'],
  ]);
  expect(stdioAnnotations(stdioHeaders('pass_list', ''))).toHaveLength(3);
  expect(stdioHeaders('pass_list', `${'x'.repeat(127)}😀`)['clusterpass-mcp-client']).toMatch(/^x{127}%EF%BF%BD$/);
});

it.each([
  ['no tool', {}],
  ['a tool that does not exist', { 'clusterpass-mcp-tool': 'rm' }],
  ['two tools', { 'clusterpass-mcp-tool': 'pass_list, pass_list' }],
])('%s: no annotation', (_, headers) => {
  expect(stdioAnnotations(headers)).toBeUndefined();
});

it.each([
  ['%', undefined],
  ['a%0Ab%E2%80%8B', 'a b'],
  ['x'.repeat(1_000), `${'x'.repeat(125)}...`],
  ['eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.c2lnbmF0dXJl', expect.not.stringContaining('eyJ')],
])('the client name %s of a hostile client is %s', (sent, name) => {
  const headers = { 'clusterpass-mcp-tool': 'pass_list', 'clusterpass-mcp-client': sent };
  expect(new Map(stdioAnnotations(headers)).get('clusterpass.dev/client-name')).toEqual(name);
});
