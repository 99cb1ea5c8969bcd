import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { promtool } from '../../scripts/programs.ts';
import { describeWith } from '../describe-with.ts';
import { applyYaml } from '../e2e/support/apply.ts';
import { createObjects, issue } from '../e2e/support/objects.ts';
import { tokenOf } from '../e2e/support/server.ts';
import { sharedServer } from '../e2e/support/shared-server.ts';
import { blocksOf, execute, isRun } from './support/blocks.ts';
import { fileOf } from './support/connect-pages.ts';
import { everyCommandWasRun } from './support/every-command.ts';

/** docs/connect/monitoring.md. */

const run = promisify(execFile);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RULES = join(ROOT, 'deploy/prometheus/rules.yaml');
const commands = blocksOf('docs/connect/monitoring.md').filter(isRun);

const folder = mkdtempSync(join(tmpdir(), 'clusterpass-monitoring-'));

describe('the permission to scrape', () => {
  /** The name of the service account, as the file of gitops.md maps it. */
  const [account] = parse(fileOf('monitoring-rbac.yaml')).subjects;
  const [, user = '', , groups = ''] = fileOf('callers.csv').trim().split(',');
  const server = sharedServer();
  beforeAll(() => applyYaml(server, fileOf('monitoring-rbac.yaml')));

  const scrape = async (name: string) => server.call('GET', '/metrics', { token: tokenOf(name) });

  it('is held by the caller and by the account of the page, and not by others', async () => {
    expect([user, groups]).toEqual(['prometheus', '"system:monitoring"']);
    expect((await scrape(user)).code).toBe(200);
    expect((await scrape(account.name)).code).toBe(200);
    expect((await scrape('jane')).code).toBe(403);
  });

  it('is checked by the command of the page', async () => {
    const [block] = commands.filter(({ section }) => section === 'Who may scrape');
    await writeFile(join(folder, 'clusterpass.token'), tokenOf(user));
    const scraped = block && execute(block, (text) => text.replace('https://clusterpass.example.com:8443', server.url));
    const { stdout } = await run('sh', ['-euc', scraped ?? 'exit 1'], { cwd: folder, maxBuffer: 16 * 1024 * 1024 });
    expect(stdout).toContain('apiserver_request_total');
  });

  it('shows every metric of the queries', async () => {
    await createObjects(server);
    await issue(server);
    const { text } = await scrape(user);
    const page = await readFile(join(ROOT, 'docs/connect/monitoring.md'), 'utf8');
    const names = new Set(page.match(/\b(?:clusterpass|apiserver)_[a-z_]+/g));
    expect(names.size).toBeGreaterThan(5);
    // A metric whose series come and go has its type even without one.
    const isServed = (name: string): boolean => new RegExp(`^(?:# TYPE )?${name}(?:\\{| )`, 'm').test(text);
    expect([...names].filter((name) => !isServed(name))).toEqual([]);
  });
});

it('makes a PrometheusRule with all alerts', async () => {
  const [block] = commands.filter(({ section }) => section === 'The Prometheus operator');
  const script = block && execute(block, (text) => text.replace('deploy/prometheus/rules.yaml', `'${RULES}'`));
  execFileSync('sh', ['-euc', script ?? 'exit 1'], { cwd: folder });
  const { kind, spec } = parse(await readFile(join(folder, 'prometheus-rule.yaml'), 'utf8'));
  expect(kind).toBe('PrometheusRule');
  expect(spec).toEqual(parse(await readFile(RULES, 'utf8')));
});

describeWith(promtool, 'prometheus.yml', () => {
  it('is a configuration of Prometheus, with the rules', async () => {
    const file = join(folder, 'prometheus.yml');
    await writeFile(file, fileOf('prometheus.yml').replaceAll('/etc/prometheus', folder));
    await copyFile(RULES, join(folder, 'clusterpass-rules.yaml'));
    for (const name of ['clusterpass.token', 'clusterpass-ca.crt']) await writeFile(join(folder, name), '');
    const said = execFileSync(promtool.path, ['check', 'config', file], { encoding: 'utf8' });
    expect(said).toContain('SUCCESS');
  });

  it('has the job that the alerts look for', async () => {
    const [job] = parse(fileOf('prometheus.yml')).scrape_configs;
    expect(await readFile(RULES, 'utf8')).toContain(`job="${job.job_name}"`);
  });
});

everyCommandWasRun('docs/connect/monitoring.md');
