import { describe, expect, it } from 'vitest';
import { createProtocol } from '../../mcp/protocol.ts';
import type { ToolResult } from '../../mcp/tool-result.ts';
import { TOOLS } from '../../mcp/tools.ts';
import { boundedLines, MAX_MESSAGE_BYTES, type StdioServerParts, serveStdio } from './stdio-server.ts';

async function* chunksOf(...texts: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield typeof text === 'string' ? Buffer.from(text) : text;
}

const OK: ToolResult = { type: 'complete', text: '{}', value: {} };

interface Served {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly messages: any[];
  readonly errors: unknown[];
}

async function serve(
  input: AsyncIterable<Uint8Array>,
  callTool: StdioServerParts['callTool'] = async () => OK,
): Promise<Served> {
  const lines: string[] = [];
  const errors: unknown[] = [];
  await serveStdio({
    input,
    write: (line) => lines.push(line),
    protocol: createProtocol('0', TOOLS),
    callTool,
    onError: (error) => errors.push(error),
  });
  expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true);
  return { messages: lines.map((line) => JSON.parse(line)), errors };
}

const request = (id: unknown, method = 'ping', params: object = {}): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
const CALL = { name: 'clusters_list', arguments: {} };

describe('lines', () => {
  it('are split wherever chunks end, and the last needs no newline', async () => {
    const found: unknown[] = [];
    const bytes = Buffer.from('ä\n\nb');
    for await (const line of boundedLines(chunksOf(bytes.subarray(0, 1), bytes.subarray(1, 3), bytes.subarray(3)), 9)) {
      found.push(line);
    }
    expect(found).toEqual([{ text: 'ä' }, { text: '' }, { text: 'b' }]);
  });

  it('that are too long or no UTF-8 are problems, and the next one is read', async () => {
    const found: unknown[] = [];
    for await (const line of boundedLines(chunksOf('123', '45', '6\nok\n', Buffer.from([0xff, 0x0a]), '1234'), 4)) {
      found.push(line);
    }
    expect(found).toEqual([
      { problem: 'the message is longer than 4 bytes' },
      { text: 'ok' },
      { problem: 'the message is not UTF-8' },
      { text: '1234' },
    ]);
  });
});

describe('MC-10: stdio', () => {
  it('answers each request by its id, and ends with the input', async () => {
    const { messages } = await serve(chunksOf(request(1), request('two'), '\n  \n', request(3).trimEnd()));
    expect(messages).toEqual([1, 'two', 3].map((id) => ({ jsonrpc: '2.0', id, result: {} })));
  });

  it('malformed and oversized messages get an error, and the next is served', async () => {
    const long = `{"x":"${'x'.repeat(MAX_MESSAGE_BYTES)}"}\n`;
    const { messages } = await serve(chunksOf('{\n', long, '[]\n', request(null), request(4)));
    expect(messages.map(({ id, error }) => [id, error?.code])).toEqual([
      [undefined, -32700],
      [undefined, -32700],
      [undefined, -32600],
      [undefined, -32600],
      [4, undefined],
    ]);
  });

  it('MC-17: a cancelled call is aborted and not answered', async () => {
    const aborted: boolean[] = [];
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n';
    const { messages, errors } = await serve(
      chunksOf(request(1, 'tools/call', CALL), cancel, request(2)),
      (_, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted.push(true);
            reject(signal.reason);
          });
        }),
    );
    expect([aborted, messages.map(({ id }) => id), errors]).toEqual([[true], [2], []]);
  });

  it('an id in flight cannot be used twice', async () => {
    const release: (() => void)[] = [];
    async function* input(): AsyncGenerator<Uint8Array> {
      yield* chunksOf(request(1, 'tools/call', CALL), request(1));
      for (const one of release) one();
    }
    const { messages } = await serve(input(), () => new Promise((resolve) => release.push(() => resolve(OK))));
    expect(messages.map(({ id, error }) => [id, error?.code])).toEqual([
      [1, -32600],
      [1, undefined],
    ]);
  });

  it('an error of a tool that is no refusal is reported, and the answer says nothing of it', async () => {
    const { messages, errors } = await serve(chunksOf(request(1, 'tools/call', CALL)), async () => {
      throw new Error('a secret');
    });
    expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32603, message: 'Internal error' } }]);
    expect(String(errors[0])).toContain('a secret');
  });

  it('MC-20: what a legacy client said in initialize is its name', async () => {
    const clientInfo = { name: 'inspector', version: '2' };
    const names: string[] = [];
    const hello = request(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    await serve(chunksOf(hello, request(2, 'tools/call', CALL)), async ({ client }) => {
      names.push(client.name);
      return OK;
    });
    expect(names).toEqual(['inspector/2']);
  });
});
