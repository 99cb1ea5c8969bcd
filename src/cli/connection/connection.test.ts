import { describe, expect, it } from 'vitest';
import { serverUrl } from './connection.ts';

describe('the address of a server', () => {
  it.each([
    ['pass.example.com', 'https://pass.example.com'],
    ['https://Pass.Example.com:443/', 'https://pass.example.com'],
    ['http://127.0.0.1:8080//', 'http://127.0.0.1:8080'],
    ['https://pass/base/', 'https://pass/base'],
  ])('%s is %s', (given, url) => {
    expect(serverUrl(given)).toBe(url);
  });

  it.each(['ftp://x', 'https://a:b@x', 'https://x?y', 'https://x#y', 'https://'])('%s is refused', (given) => {
    expect(() => serverUrl(given)).toThrow(/--server/);
  });
});
