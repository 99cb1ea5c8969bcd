import { join } from 'node:path';
import { expect, test } from 'vitest';
import { welcome } from './welcome.ts';

const PLAIN = { dataDir: join(process.cwd(), '.clusterpass'), productName: 'orchestrator', demo: true, tls: undefined };

test('the commands name the files as they are typed here', () => {
  const text = welcome(PLAIN, 'http://127.0.0.1:8080');
  expect(text).toContain(
    '  curl -H "Authorization: Bearer $(cat .clusterpass/admin.token)" http://127.0.0.1:8080/auth/v1',
  );
  expect(text).toContain('  curl -H "Authorization: Bearer $(cat .clusterpass/admin.token)" -H \'Content-Type');
});

test('with TLS the commands trust the certificate of the server', () => {
  const tls = { certFile: '/etc/pki/my certs/tls.crt', privateKeyFile: '/etc/pki/tls.key' };
  const commands = welcome({ ...PLAIN, tls }, 'https://pass.example.com').match(/^ {2}curl .*/gm);
  expect(commands).toHaveLength(2);
  for (const command of commands ?? [])
    expect(command).toMatch(/^ {2}curl --cacert '\/etc\/pki\/my certs\/tls.crt' -H /);
});
