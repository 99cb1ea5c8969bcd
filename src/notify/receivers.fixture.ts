import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { Pair } from '../clusters/upstream/certificates.fixture.ts';

export interface Received {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Receives webhooks. `status` is the answer to the next requests. */
export async function openWebhookReceiver() {
  const received: Received[] = [];
  const state = { status: 204 };
  const server = createServer(async (req, res) => {
    let body = '';
    for await (const chunk of req) body += String(chunk);
    if (state.status < 300) received.push({ headers: req.headers as Record<string, string>, body });
    res.writeHead(state.status).end();
  });
  const port = await listening(server);
  return { received, state, url: `http://127.0.0.1:${port}/hook?key=topsecret`, close: () => server.close() };
}

/** A server of mail: with `pair` it offers STARTTLS, and then AUTH PLAIN. */
export async function openMailReceiver(pair?: Pair) {
  const mails: {
    readonly from: string;
    readonly to: string[];
    readonly text: string;
    readonly isEncrypted: boolean;
  }[] = [];
  const logins: string[] = [];
  const serve = (socket: Socket, isEncrypted: boolean): void => {
    let envelope = { from: '', to: [] as string[] };
    let data: string | undefined;
    let rest = '';
    const reply = (line: string) => socket.write(`${line}\r\n`);
    const onLine = (line: string): void => {
      if (data !== undefined && line !== '.') {
        data += `${line.replace(/^\./, '')}\r\n`;
      } else if (data !== undefined) {
        mails.push({ ...envelope, text: data, isEncrypted });
        envelope = { from: '', to: [] };
        data = undefined;
        reply('250 taken');
      } else if (/^EHLO/i.test(line)) {
        if (pair !== undefined) reply(isEncrypted ? '250-AUTH PLAIN' : '250-STARTTLS');
        reply('250 test');
      } else if (/^STARTTLS/i.test(line) && pair !== undefined) {
        reply('220 go on');
        socket.removeAllListeners('data');
        serve(new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(pair) }), true);
      } else if (/^AUTH PLAIN /i.test(line)) {
        logins.push(Buffer.from(line.slice(11), 'base64').toString());
        reply('235 welcome');
      } else if (/^MAIL FROM:/i.test(line)) {
        envelope.from = line.slice(10);
        reply('250 yes');
      } else if (/^RCPT TO:/i.test(line)) {
        envelope.to.push(line.slice(8));
        reply('250 yes');
      } else if (/^DATA/i.test(line)) {
        data = '';
        reply('354 end with a dot');
      } else if (/^QUIT/i.test(line)) {
        reply('221 bye');
        socket.end();
      } else reply('502 what?');
    };
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      rest += chunk.toString();
      for (let end = rest.indexOf('\r\n'); end !== -1; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        onLine(line);
      }
    });
    if (!isEncrypted) reply('220 test ESMTP');
  };
  const server = createTcpServer((socket) => serve(socket, false));
  const port = await listening(server);
  return { mails, logins, server: `127.0.0.1:${port}`, close: () => server.close() };
}
