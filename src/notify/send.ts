import { createHmac } from 'node:crypto';
import { BODIES, linesOf, type Notification, titleOf } from '../api/notification.ts';
import { isLocal, type Receiver, readSecret } from './configuration.ts';

const TIMEOUT_MS = 10_000;

/** Rejects with an error whose message has no secret. */
export async function send(receiver: Receiver, message: Notification, userAgent: string): Promise<void> {
  const secret = await readSecret(receiver);
  if (receiver.email !== undefined) return mail(receiver.email, message, secret);
  const headers = { 'content-type': 'application/json', 'user-agent': userAgent };
  const body = JSON.stringify(BODIES[receiver.webhook ? 'webhook' : receiver.slack ? 'slack' : 'teams'](message));
  if (receiver.webhook === undefined) return post(secret, headers, body);
  return post(receiver.webhook.url, { ...headers, ...signature(message.id, body, secret) }, body);
}

async function post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<void> {
  // Most servers send nothing.
  const { EnvHttpProxyAgent, request } = await import('undici');
  const dispatcher = new EnvHttpProxyAgent();
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await request(url, { method: 'POST', dispatcher, signal, headers, body });
    if (answer.statusCode >= 300) throw new Error(`answered with ${answer.statusCode}`);
  } finally {
    void dispatcher.destroy().catch(() => {});
  }
}

/** Headers of Standard Webhooks, with a signature for each key: one may be about to be replaced. */
function signature(id: string, body: string, keys: string) {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signatures = keys.split('\n').map((line) => {
    const key = Buffer.from(line.replace('whsec_', ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

type Email = NonNullable<Receiver['email']>;

async function mail({ server, from, to, login }: Email, message: Notification, password: string) {
  const { createTransport } = await import('nodemailer');
  const { hostname, port } = new URL(`smtp://${server}`);
  const host = hostname.replace(/^\[|\]$/g, '');
  const transport = createTransport({
    ...{ host, port: Number(port), secure: port === '465', requireTLS: !isLocal(hostname) },
    ...{ connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS },
    ...(login && { auth: { user: login.username, pass: password } }),
  });
  try {
    const text = linesOf(message)
      .map(({ text, url = '' }) => `${text}\n${url}\n`)
      .join('\n');
    const messageId = `<${message.id}@${from.split('@')[1]}>`;
    const headers = { 'Auto-Submitted': 'auto-generated' };
    await transport.sendMail({ from, to, subject: titleOf(message), text, messageId, headers });
  } finally {
    transport.close();
  }
}
