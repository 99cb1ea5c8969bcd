import { mkdtempSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readContext } from './kubeconfig-context.ts';

const folder = mkdtempSync(join(tmpdir(), 'clusterpass-context-'));

const KUBECONFIG = `kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "https://a", certificate-authority: ca.pem}}]
`;

async function written(name: string, content: string | Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

it.each([
  ['one document', KUBECONFIG],
  ['several documents', `${KUBECONFIG}---\n{{{ no YAML\n`],
  ['many aliases', `x: &x {cluster: b}\nmore: [${Array(200).fill('*x').join()}]\n${KUBECONFIG}`],
  ['a key twice', `current-context: b\n${KUBECONFIG}`],
])('reads a kubeconfig with %s as kubectl does', async (_, text) => {
  await written('ca.pem', 'CA');
  expect(await readContext(await written('kubeconfig', text), undefined)).toMatchObject({
    server: 'https://a',
    ca: 'CA',
  });
});

it('refuses a file that it cannot parse, and names a file that is missing', async () => {
  await expect(readContext(await written('kubeconfig', 'a: ['), undefined)).rejects.toThrow('is not a kubeconfig');
  const missing = await written('kubeconfig', KUBECONFIG.replace('ca.pem', 'missing.pem'));
  await expect(readContext(missing, undefined)).rejects.toThrow(`cannot read ${join(folder, 'missing.pem')}: `);
});
