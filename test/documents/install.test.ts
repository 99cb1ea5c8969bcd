import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { go, KUBECTL } from '../../scripts/programs.ts';
import { describeWith } from '../describe-with.ts';
import { describeWithKubectl } from '../e2e/support/kubectl.ts';
import { TLS } from '../e2e/support/server.ts';
import { type Json, kustomize, type Manifest, misfitsOf, parseManifests } from '../helm/manifests.ts';
import { buildRenderer, render, renderChart } from '../helm/render-chart.ts';
import { type Block, blocksOf, execute, isRun, ROOT, readPage } from './support/blocks.ts';
import { everyCommandWasRun } from './support/every-command.ts';

const PAGE = 'docs/install.md';
const page = readPage(PAGE);
const blocks = blocksOf(PAGE);

/** Commands that need no cluster, or have a dry run. */
const commands = blocks.filter(isRun).flatMap((block) =>
  block.text
    .trim()
    .split('\n')
    .map((command): [string, Block] => [command, block]),
);
const files = new Map(blocks.flatMap(({ file, text }) => (file === undefined ? [] : [[file, text] as const])));

/** Runs the commands of docs/install.md, in the order of the page. */
describeWithKubectl('the page about the installation in Kubernetes', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'clusterpass-install-'));
    for (const name of ['tls', 'client']) {
      copyFileSync(TLS.certFile, join(folder, `${name}.crt`));
      copyFileSync(TLS.keyFile, join(folder, `${name}.key`));
    }
    copyFileSync(TLS.caFile, join(folder, 'ca.crt'));
    for (const [name, text] of files) writeFileSync(join(folder, name), text);
  });
  const run = (command: string, args: readonly string[]): string =>
    execFileSync(command, args, { cwd: folder, encoding: 'utf8', env: { PATH: process.env.PATH, HOME: folder } });

  const secrets = new Map<string, Manifest>();

  /** Every key that the pod mounts is in a Secret that the page creates. */
  function checkSecrets(manifests: readonly Manifest[]): void {
    const deployment = manifests.find(({ kind }) => kind === 'Deployment') as Manifest;
    // biome-ignore lint/suspicious/noExplicitAny: checked against Kubernetes' models by deploy.test.ts
    const { volumes } = (deployment.spec as any).template.spec;
    const sources = volumes.flatMap(({ secret, projected }: Record<string, Json>) => [
      ...(secret === undefined ? [] : [{ name: secret.secretName, items: secret.items }]),
      ...((projected?.sources as { secret?: Json }[]) ?? []).flatMap((source) => source.secret ?? []),
    ]);
    expect(sources.length).toBeGreaterThan(1);
    for (const { name, items } of sources) {
      expect(Object.keys((secrets.get(name)?.data as Json) ?? {}), name).toEqual(
        expect.arrayContaining(items.map(({ key }: { key: string }) => key)),
      );
    }
  }

  const rules: readonly (readonly [RegExp, (command: string) => void])[] = [
    [/^\(umask 077; openssl /, (command) => void run('sh', ['-c', command])],
    [
      /^kubectl -n clusterpass create secret /,
      (command) => {
        const args = command.split(' ').slice(1);
        const [secret] = parseManifests(run(KUBECTL, [...args, '--dry-run=client', '-o', 'yaml']));
        expect(secret).toMatchObject({ kind: 'Secret', metadata: { namespace: 'clusterpass' } });
        if (secret !== undefined) secrets.set(secret.metadata.name, secret);
      },
    ],
    [
      /^kubectl apply -f \S+$/,
      (command) => {
        const manifests = parseManifests(readFileSync(join(ROOT, command.split(' ').at(-1) ?? ''), 'utf8'));
        expect(manifests.length).toBeGreaterThan(0);
        expect(manifests.flatMap(misfitsOf)).toEqual([]);
      },
    ],
    [/^kubectl apply -k \S+$/, (command) => checkSecrets(kustomize(join(ROOT, command.split(' ').at(-1) ?? '')))],
    [
      /^helm upgrade --install clusterpass deploy\/helm\/clusterpass --namespace clusterpass( -f \S+)+$/,
      (command) => {
        const values = [...command.matchAll(/ -f (\S+)/g)].map(([, name = '']) => files.get(name) ?? '');
        expect(values).not.toContain('');
        const manifests = renderChart({ values, chart: join(ROOT, 'deploy/helm/clusterpass') });
        expect(manifests.flatMap(misfitsOf)).toEqual([]);
        checkSecrets(manifests);
      },
    ],
  ];

  it('has commands of every kind', () => {
    for (const [pattern] of rules)
      expect(
        commands.some(([command]) => pattern.test(command)),
        `${pattern}`,
      ).toBe(true);
    expect([...files.keys()]).toEqual(['values.yaml', 'etcd.yaml', 'kustomization.yaml']);
  });

  describeWith(go, 'run', () => {
    beforeAll(() => void buildRenderer(), 600_000);
    it.each(commands)('%s', (command, block) => {
      const found = rules.find(([pattern]) => pattern.test(command));
      expect(found, 'no rule runs this command: mark its block as "not tested"').toBeDefined();
      execute(block, () => found?.[1](command));
    });
    everyCommandWasRun('docs/install.md');

    it('a misspelt value is refused by its name', () => {
      const misspelt = /a misspelt `(.*?)` is refused/.exec(page)?.[1] ?? '';
      expect(render({ values: [files.get('values.yaml') ?? '', misspelt] }).error).toContain('property replica ');
    });
  });

  it('the kustomization with the component for the Prometheus operator', () => {
    const text = parse(files.get('kustomization.yaml') ?? '') as Record<string, string[]>;
    const moved = Object.entries(text).map(([field, paths]) => [
      field,
      paths.map((path) => relative(folder, join(ROOT, path))),
    ]);
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(Object.fromEntries(moved)));
    expect(kustomize(folder).map(({ kind }) => kind)).toContain('ServiceMonitor');
  });
});

describe('commands for a cluster', () => {
  it('are those of NOTES.txt', () => {
    const notes = readFileSync(join(ROOT, 'deploy/helm/clusterpass/templates/NOTES.txt'), 'utf8')
      .replaceAll('{{ $ns }}', 'clusterpass')
      .replaceAll('{{ include "clusterpass.fullname" . }}', 'clusterpass')
      .replaceAll('{{ .Values.baseUrl }}', 'https://clusterpass.example.com');
    const unrun = blocks.filter(({ section, notRun }) => section === 'First login' && notRun !== undefined);
    const lines = unrun.flatMap(({ text }) => text.trim().split('\n').slice(1));
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(notes).toContain(line);
  });
});
