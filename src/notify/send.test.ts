import { mkdtempSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, it } from 'vitest';
import type { Notification } from '../api/notification.ts';
import { createAuthority } from '../clusters/upstream/certificates.fixture.ts';
import { openMailReceiver, openWebhookReceiver } from './receivers.fixture.ts';
import { send } from './send.ts';

const MESSAGE: Notification = {
  id: 'msg_1',
  receiver: 'r',
  type: 'request.waiting',
  at: Date.UTC(2026, 10, 16),
  items: [
    {
      cluster: 'a',
      text: '<!channel> *eve* [x](http://evil.example) asks',
      url: 'https://c.example/console/#/requests/x',
    },
  ],
  more: 3,
};
const KEYS = [1, 2].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`);

const fileWith = async (name: string, text: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, text, { mode: 0o600 });
  return path;
};
const closers: (() => unknown)[] = [];
const folder = mkdtempSync(join(tmpdir(), 'clusterpass-send-'));
afterAll(async () => {
  for (const close of closers) close();
});
async function webhook() {
  const receiver = await openWebhookReceiver();
  closers.push(receiver.close);
  return receiver;
}

describe('a notification', () => {
  it('is a webhook of Standard Webhooks, with a signature for each secret', async () => {
    const { url, received } = await webhook();
    const secretFile = await fileWith('keys', `${KEYS.join('\n')}\n`);
    await send({ name: 'r', webhook: { url, secretFile } }, MESSAGE, 'clusterpass/1');
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(headers).toMatchObject({ 'webhook-id': 'msg_1', 'user-agent': 'clusterpass/1' });
    const expected = {
      type: 'request.waiting',
      timestamp: '2026-11-16T00:00:00.000Z',
      data: { title: 'Clusterpass: Access requests that wait for a decision (4)', items: MESSAGE.items, more: 3 },
    };
    for (const key of KEYS) expect(new Webhook(key).verify(body, headers)).toEqual(expected);
    const other = new Webhook(`whsec_${Buffer.alloc(32, 3).toString('base64')}`);
    expect(() => other.verify(body, headers)).toThrow('No matching signature');
  });

  it.each([
    ['slack', 'rich_text_section', 'text'],
    ['teams', 'RichTextBlock', 'TextRun'],
  ])('has the names of people where %s looks for no markup', async (type, block, run) => {
    const { url, received } = await webhook();
    const urlFile = await fileWith(type, url);
    await send({ name: 'r', [type]: { urlFile } }, MESSAGE, '');
    const found: unknown[] = [];
    JSON.parse(received[0]?.body ?? '', (_, value) => {
      if ([value?.text].flat().some((text) => String(text).includes('eve'))) found.push(value.type);
      if (value?.type === block) found.push(block);
      return value;
    });
    expect(found).toContain(run);
    expect(found.filter((one) => one !== run && one !== block)).toEqual([]);
    expect(received[0]?.body).toContain('and 3 more');
    expect(received[0]?.body).toContain(MESSAGE.items[0]?.url);
    expect(received[0]?.headers).not.toHaveProperty('webhook-signature');
  });

  it('that is refused is an error without the URL, which is a secret', async () => {
    const { url, state } = await webhook();
    const urlFile = await fileWith('refusing', url);
    state.status = 500;
    await expect(send({ name: 'r', slack: { urlFile } }, MESSAGE, '')).rejects.toThrow(/^answered with 500$/);
    await writeFile(urlFile, 'http://127.0.0.1:1/topsecret');
    const problem = await send({ name: 'r', slack: { urlFile } }, MESSAGE, '').catch(String);
    expect(problem).toMatch(/ECONNREFUSED|bad port/);
    expect(problem).not.toContain('topsecret');
  });
});

describe('a mail', () => {
  const authority = createAuthority('mail');
  const pair = authority.issue({ names: ['127.0.0.1'] });
  const EMAIL = { from: 'clusterpass@example.com', to: ['a@example.com', 'b@example.com'] };

  it('goes over TLS with the password, which stays in its file, and has no name of a person in its headers', async () => {
    const { mails, logins, server, close } = await openMailReceiver(pair);
    closers.push(close);
    const passwordFile = await fileWith('password', 'hunter2\n');
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, authority.cert]);
    try {
      await send({ name: 'r', email: { ...EMAIL, server, login: { username: 'u', passwordFile } } }, MESSAGE, '');
    } finally {
      setDefaultCACertificates(before);
    }
    expect(logins).toEqual(['\0u\0hunter2']);
    expect(mails).toHaveLength(1);
    const [head = '', body] = mails[0]?.text.split('\r\n\r\n') ?? [];
    expect(mails[0]).toMatchObject({ isEncrypted: true, to: ['<a@example.com>', '<b@example.com>'] });
    expect(head).toContain('Message-ID: <msg_1@example.com>');
    expect(head).toContain('Auto-Submitted: auto-generated');
    expect(head).toContain('Subject: Clusterpass: Access requests that wait for a decision (4)');
    expect(head).not.toContain('eve');
    expect(body).toContain('<!channel> *eve*');
  });

  it('is not sent without TLS to another machine', async () => {
    const { mails, server, close } = await openMailReceiver();
    closers.push(close);
    // Another machine by its name, and this one by its address.
    const email = { ...EMAIL, server: server.replace('127.0.0.1', '127.1') };
    await expect(send({ name: 'r', email }, MESSAGE, '')).rejects.toThrow('STARTTLS');
    expect(mails).toEqual([]);
    await send({ name: 'r', email: { ...EMAIL, server } }, MESSAGE, '');
    expect(mails).toHaveLength(1);
  });
});
