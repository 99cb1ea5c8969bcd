import { afterEach, describe, expect, it } from 'vitest';
import { listenForRedirect, type RedirectListener } from './redirect-listener.ts';

let listener: RedirectListener;
const stop = new AbortController();
const listen = async (options: { port?: number; signal?: AbortSignal } = {}): Promise<void> => {
  listener = await listenForRedirect({ port: 0, state: 'right', signal: stop.signal, ...options });
};
afterEach(() => listener.close());

const statusOf = async (query: string, init: RequestInit = {}): Promise<number> =>
  (await fetch(`${listener.redirectUri}${query}`, init)).status;

describe('where the browser comes back to', () => {
  it('is on loopback, and only the right answer counts', async () => {
    await listen();
    expect(listener.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(await statusOf('?code=evil')).toBe(400);
    expect(await statusOf('?code=evil&state=wrong')).toBe(400);
    expect(await statusOf('?state=right', { method: 'POST' })).toBe(404);
    expect(await statusOf('/../other?state=right')).toBe(404);
    const page = fetch(`${listener.redirectUri}?code=good&state=right`);
    const { url, say } = await listener.answer;
    expect(url.searchParams.get('code')).toBe('good');
    say('Done.');
    const response = await page;
    expect(await response.text()).toBe('Done.\n');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
  });

  it('is not waited for when the user gives up', async () => {
    const given = new AbortController();
    await listen({ signal: given.signal });
    given.abort(new Error('given up'));
    await expect(listener.answer).rejects.toThrow('given up');
  });

  it('a port that is taken is told', async () => {
    await listen();
    const port = Number(new URL(listener.redirectUri).port);
    const taken = listenForRedirect({ port, state: 'x', signal: stop.signal });
    await expect(taken).rejects.toThrow(`cannot listen on port ${port} for the browser: EADDRINUSE`);
  });
});
