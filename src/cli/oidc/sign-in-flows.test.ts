import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { listenForRedirect, type RedirectListener } from './sign-in-flows.ts';

let listener: RedirectListener;
const stop = new AbortController();
const listen = async (signal = stop.signal): Promise<void> => {
  listener = await listenForRedirect(0, 'right', signal);
};
afterEach(() => listener.close());

const statusOf = async (query: string, init: RequestInit = {}): Promise<number> =>
  (await fetch(`${listener.redirectUri}${query}`, init)).status;

/** The status of a request with this target, which no HTTP client would send. */
async function rawStatus(port: number, target: string): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  socket.end(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  const answer = await text(socket);
  return Number(answer.split(' ')[1]);
}

describe('the redirect listener', () => {
  it('listens on loopback and ignores requests with another state', async () => {
    await listen();
    expect(listener.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(await statusOf('?code=evil')).toBe(400);
    expect(await statusOf('?code=evil&state=wrong')).toBe(400);
    expect(await statusOf('?state=right', { method: 'POST' })).toBe(404);
    expect(await statusOf('/../other?state=right')).toBe(404);
    const page = fetch(`${listener.redirectUri}?code=good&state=right`);
    const { url, respond } = await listener.redirect;
    expect(url.searchParams.get('code')).toBe('good');
    respond('Done.');
    const response = await page;
    expect(await response.text()).toBe('Done.\n');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
  });

  it('A46: answers a target that is not its path, and takes one answer only', async () => {
    await listen();
    const port = Number(new URL(listener.redirectUri).port);
    for (const target of ['//', '//[', 'http://[', 'http://evil.example/callback?state=right&code=evil', '*', '/%']) {
      expect(await rawStatus(port, target), target).toBe(404);
    }
    const page = fetch(`${listener.redirectUri}?code=good&state=right`);
    expect((await listener.redirect).url.searchParams.get('code')).toBe('good');
    // The same answer again, and another one with the same state: a replay.
    expect(await statusOf('?code=good&state=right')).toBe(400);
    expect(await statusOf('?code=evil&state=right')).toBe(400);
    (await listener.redirect).respond('Done.');
    expect((await page).status).toBe(200);
  });
});
