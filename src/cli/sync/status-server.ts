import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { listenAddress, ValueError } from '../../config/values.ts';
import { createServer } from '../../lib/node-http.ts';
import type { Reporter } from '../../sync/reporter.ts';
import type { SyncMetrics } from '../../sync/sync-metrics.ts';
import { CliError, type Context, type Invocation } from '../command.ts';

/** Serves `/metrics`, `/livez` and `/readyz` (200 while everything is synchronized) at `--metrics-listen`. */
export async function serveStatus(
  context: Context,
  invocation: Invocation,
  reporter: Pick<Reporter, 'isSynced'>,
  { registry }: Pick<SyncMetrics, 'registry'>,
): Promise<(() => void) | undefined> {
  const text = invocation.text('metricsListen');
  if (text === undefined) return undefined;
  const { host, port } = addressIn(text);
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, async (request, response) => {
    if (request.url === '/metrics') {
      response.setHeader('Content-Type', registry.contentType);
      response.end(await registry.metrics());
      return;
    }
    const code = request.url === '/livez' ? 200 : request.url === '/readyz' ? (reporter.isSynced ? 200 : 503) : 404;
    response.writeHead(code, { 'Content-Type': 'text/plain' }).end(code === 200 ? 'ok' : `${code}`);
  });
  server.maxConnections = 64;
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new CliError(`--metrics-listen: cannot listen at ${text}: ${(error as Error).message}`);
  }
  const address = server.address() as AddressInfo;
  const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  context.err.write(`Serving metrics at http://${shown}:${address.port}/metrics\n`);
  return () => {
    server.close();
    server.closeAllConnections();
  };
}

function addressIn(text: string): { readonly host: string; readonly port: number } {
  try {
    return listenAddress(text);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    throw new CliError(`--metrics-listen: ${error.message}`);
  }
}
