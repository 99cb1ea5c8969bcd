import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { EVENTS } from '../api/notification.ts';
import { readNotifyConfiguration } from './configuration.ts';

const KEY = `whsec_${Buffer.alloc(24).toString('base64')}\n`;
const folder = await mkdtemp(join(tmpdir(), 'clusterpass-notify-'));
const secretFile = await fileWith('secret', KEY);
const urlFile = await fileWith('url', 'https://hooks.example.com/services/T/B/x\n');

async function fileWith(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}
const read = async (configuration: unknown) => {
  const text = typeof configuration === 'string' ? configuration : stringify(configuration);
  return readNotifyConfiguration(await fileWith('notify.yaml', text));
};
const problemOf = async (configuration: unknown): Promise<string> => {
  const outcome = await read(configuration).catch((error: Error) => error.message);
  if (typeof outcome !== 'string') throw new Error('it was accepted');
  return outcome.replaceAll(folder, 'DIR');
};

const EMAIL = { server: 'smtp.example.com:587', from: 'c@example.com', to: ['a@example.com'] };

describe('--notify-config', () => {
  it('has receivers of four types, and routes by event and by the labels of clusters', async () => {
    const receivers = [
      { name: 'inbox', webhook: { url: 'https://inbox.example.com/hook', secretFile } },
      { name: 'relay', webhook: { url: 'http://127.0.0.1:8080/', secretFile } },
      { name: 'leads', slack: { urlFile } },
      { name: 'ops', teams: { urlFile } },
      { name: 'mail', email: { ...EMAIL, login: { username: 'u', passwordFile: secretFile } } },
    ];
    const route = { events: ['request.waiting'], receivers: ['leads'] };
    const found = await read({ receivers, routes: [route, { ...route, clusters: 'env in (prod,dev)' }] });
    expect(found.receivers).toEqual(receivers);
    expect(found.routes.map(({ clusters }) => clusters?.toString())).toEqual([undefined, 'env in (dev,prod)']);
  });

  it('is as the example of the page about requests', async () => {
    const page = await readFile('docs/requests.md', 'utf8');
    const text = /```yaml\n(# notify\.yaml\n.*?)```/s.exec(page)?.[1] ?? '';
    const names = [...text.matchAll(/\/etc\/clusterpass\/notify\/(\w+)/g)].map(([, name = '']) => name);
    for (const name of names) await fileWith(name, name === 'tickets' ? KEY : `https://hooks.example.com/${name}`);
    const found = await read(text.replaceAll('/etc/clusterpass/notify', folder));
    expect(found.receivers.map(({ name }) => name)).toEqual(['leads', 'platform', 'security', 'tickets']);
    expect(new Set(found.routes.flatMap(({ events }) => events))).toEqual(new Set(Object.keys(EVENTS)));
  });

  const receiver = { name: 'a', email: EMAIL };
  const one = (fields: object) => ({ receivers: [{ ...receiver, ...fields }], routes: [] });
  const route = (fields: object) => ({
    receivers: [receiver],
    routes: [{ events: ['key.ending'], receivers: ['a'], ...fields }],
  });
  it.each<[object, string]>([
    [{}, 'receivers: required; routes: required'],
    [one({ name: 'A b' }), 'receivers[0].name: must be 1 to 63 of a-z, 0-9, dots and hyphens'],
    [one({ slak: {} }), 'receivers[0].slak: there is no such field'],
    [one({ email: { ...EMAIL, to: [] } }), 'receivers[0].email.to: must not have fewer than 1 items'],
    [
      one({ email: { ...EMAIL, to: ['a@x.y\r\nBcc: b@x.y'] } }),
      'receivers[0].email.to[0]: must be an address such as ops@example.com',
    ],
    [one({ email: { ...EMAIL, server: 'smtp.example.com' } }), 'receivers[0].email.server: must be HOST:PORT'],
    [one({ email: undefined }), 'receivers[0]: must have one of webhook, slack, teams and email'],
    [{ receivers: [receiver, receiver], routes: [] }, 'receivers[1].name: another receiver has it'],
    [one({ email: undefined, slack: { urlFile: 'url' } }), 'receivers[0].slack.urlFile: must be an absolute path'],
    [one({ email: undefined, slack: { urlFile: '/absent' } }), 'receivers[0]: /absent does not exist.'],
    [
      route({ events: ['request'] }),
      'routes[0].events[0]: must be one of request.waiting, request.decided, pass.waiting, pass.decided, endpoints.waiting, key.ending, cluster.not-ready, cluster.ready',
    ],
    [route({ receivers: ['b'] }), 'routes[0].receivers: there is no receiver "b"'],
    [route({ clusters: 'env in' }), "routes[0].clusters: unable to parse requirement: found '' expected: '('"],
  ])('%j is an error: %s', async (configuration, problem) => {
    expect(await problemOf(configuration)).toBe(problem);
  });

  it.each(['http://hooks.example.com/', 'https://u:p@hooks.example.com/', 'ftp://x/', 'https://a b/'])(
    'refuses the URL %s, wherever it stands',
    async (url) => {
      const webhook = { name: 'a', webhook: { url, secretFile } };
      const expected = 'receivers[0].webhook.url: must be an https URL without a user';
      expect(await problemOf({ receivers: [webhook], routes: [] })).toBe(expected);
      const slack = { name: 'a', slack: { urlFile: await fileWith('bad', url) } };
      expect(await problemOf({ receivers: [slack], routes: [] })).toBe('receivers[0]: DIR/bad must have an https URL');
    },
  );

  it('never quotes a secret: neither of a file that others may read, nor of one that was named by mistake', async () => {
    const webhook = (file: string) => ({
      receivers: [{ name: 'a', webhook: { url: 'https://x/', secretFile: file } }],
      routes: [],
    });
    const bad = await fileWith('bad', 'hunter2hunter2hunter2hunter2hunter2');
    expect(await problemOf(webhook(bad))).toBe(
      'receivers[0]: DIR/bad must have `whsec_` and 24 to 64 bytes in base64, on each line',
    );
    await chmod(secretFile, 0o644);
    expect(await problemOf(webhook(secretFile))).toContain('is open to its group or to others');
    await chmod(secretFile, 0o600);
    for (const text of ['hunter2: [', '"hunter2', 'hunter2', '- hunter2', 'a: *hunter2']) {
      expect(await problemOf(text)).not.toContain('hunter2');
    }
  });
});
