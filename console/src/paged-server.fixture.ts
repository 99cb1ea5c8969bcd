import { onTestFinished } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import { json, type Responder, scriptServer, status } from '../../src/client/script-server.fixture.ts';

/**
 * The client of a server whose lists have these pages. With `expires` the server no longer has the version of the first
 * page when the second one is requested.
 */
export async function servePages(pages: readonly (readonly object[])[], { expires = false } = {}): Promise<Client> {
  const respond: Responder = (response, request) => {
    const { searchParams: query } = new URL(request.url ?? '', 'http://x');
    const at = Number(query.get('continue') ?? 0);
    if (query.get('limit') === '0') return json(200, { metadata: {}, items: pages.flat() })(response, request);
    if (expires && at > 0) return status(410, 'Expired')(response, request);
    const metadata = at + 1 < pages.length ? { continue: String(at + 1) } : {};
    return json(200, { metadata, items: pages[at] })(response, request);
  };
  const server = await scriptServer(Array<Responder>(20).fill(respond));
  onTestFinished(server.close);
  return createClient({ server: server.url, token: 'token' });
}
