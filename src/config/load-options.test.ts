import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseArguments } from '../cli/command-line.ts';
import { flagsOf } from '../cli/command-table/flags.ts';
import { LOCAL_COMMANDS } from '../cli/command-table/local-commands.ts';
import { optionFlags } from '../cli/option-flags.ts';
import { loadServeOptions, loadStoreOptions, OptionsError, readConfigFile } from './load-options.ts';

const cwd = mkdtempSync(join(tmpdir(), 'clusterpass-options-'));
beforeAll(() => {
  for (const name of ['tls.crt', 'tls.key', 'tokens.csv']) writeFileSync(join(cwd, name), '');
  mkdirSync(join(cwd, 'manifests'));
});

/** As the program does it: the parser reads the flags, the loader the rest. */
function flagsIn(name: string, args: readonly string[]) {
  const command = LOCAL_COMMANDS.find(({ path }) => path.join(' ') === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  return parseArguments(args, command, [...flagsOf(command), ...optionFlags(command)]).options;
}

const load = (args: string[] = [], env: Record<string, string> = {}) =>
  loadServeOptions({ flags: flagsIn('serve', args), env, cwd });

function problems(args: string[], env: Record<string, string> = {}): readonly string[] {
  try {
    load(args, env);
  } catch (error) {
    if (error instanceof OptionsError) return error.problems;
    throw error;
  }
  return [];
}

function file(name: string, text: string): string {
  writeFileSync(join(cwd, name), text);
  return name;
}

describe('loadServeOptions', () => {
  it('takes what may be given several times from repeated flags, a list in the file or a variable', () => {
    const loopback = { text: '127.0.0.1', family: 'ipv4' } as const;
    const neighbour = { text: '169.254.0.1', family: 'ipv4' } as const;
    const config = file('list.yaml', 'cluster-networks: [127.0.0.0/8, 169.254.0.0/16]\n');
    for (const { options } of [
      load(['--cluster-networks', '127.0.0.0/8', '--cluster-networks', '169.254.0.0/16']),
      load([], { CLUSTERPASS_CLUSTER_NETWORKS: '127.0.0.0/8, 169.254.0.0/16' }),
      load(['--config', config]),
    ]) {
      expect(options.clusterNetworks.map((network) => network.holds(loopback))).toEqual([true, false]);
      expect(options.clusterNetworks.map((network) => network.holds(neighbour))).toEqual([false, true]);
    }
  });

  it('takes algorithms by audience from each place, and says which value is wrong', () => {
    const config = file('algorithms.yaml', 'signing-algorithm-for:\n- azure=RS256\n- gcp=ES384\n');
    for (const { options } of [
      load(['--signing-algorithm-for', 'azure=RS256', '--signing-algorithm-for', 'gcp=ES384']),
      load([], { CLUSTERPASS_SIGNING_ALGORITHM_FOR: 'azure=RS256,gcp=ES384' }),
      load(['--config', config]),
    ]) {
      expect([...options.signingAlgorithmFor]).toEqual([
        ['azure', 'RS256'],
        ['gcp', 'ES384'],
      ]);
    }
    expect(problems(['--signing-algorithm-for', 'azure:RS256'])).toEqual([
      expect.stringMatching(/^--signing-algorithm-for: "azure:RS256" cannot be used: expected AUDIENCE=ALGORITHM/),
    ]);
  });

  it('takes flags over environment over file', () => {
    const config = file('order.yaml', 'log-level: error\nproduct-name: fromfile\nhistory-revisions: 7\n');
    const { options } = load(['--config', config, '--log-level', 'debug'], {
      CLUSTERPASS_LOG_LEVEL: 'warn',
      CLUSTERPASS_PRODUCT_NAME: 'fromenv',
    });
    expect([options.logLevel, options.productName, options.history.revisions]).toEqual(['debug', 'fromenv', 7]);
  });

  it('finds the file through the environment too', () => {
    file('env.yaml', 'log-level: error\n');
    expect(load([], { CLUSTERPASS_CONFIG: 'env.yaml' }).options.logLevel).toBe('error');
  });

  it('reads switches in every form, and a flag turns off what a variable turned on', () => {
    expect(load(['--demo']).options.demo).toBe(true);
    expect(load(['--demo=false'], { CLUSTERPASS_DEMO: 'true' }).options.demo).toBe(false);
    expect(load(['--demo', '--log-level', 'warn']).options).toMatchObject({ demo: true, logLevel: 'warn' });
  });

  it('derives what depends on other options', () => {
    expect(load(['--data-dir', '/d']).options.store).toEqual({ engine: 'sqlite', path: '/d/clusterpass.db' });
    const tls = ['--tls-cert-file', 'tls.crt', '--tls-private-key-file', 'tls.key'];
    const { options } = load(['--listen', 'pass.example.com:443', ...tls]);
    expect(options.baseUrl).toBe('https://pass.example.com');
    expect(options.tls).toEqual({ certFile: join(cwd, 'tls.crt'), privateKeyFile: join(cwd, 'tls.key') });
    expect(load(['--listen', '127.0.0.1:0']).options.baseUrl).toBeUndefined();
    const securityLog = (path: string) => load(['--audit-log-path', path]).options.securityAudit.path;
    expect(['/logs/a.log', '/logs/a', '/dev/null', '/dev/shm/a.log'].map(securityLog)).toEqual([
      '/logs/a-security.log',
      '/logs/a-security',
      '/dev/null',
      '/dev/shm/a-security.log',
    ]);
    expect(load(['--listen', '127.0.0.1:0', '--base-url', 'http://a.example']).options.baseUrl).toBe(
      'http://a.example',
    );
  });

  it('says the bounds of a value', () => {
    expect(problems(['--service-account-max-token-expiration', '59m'])).toEqual([
      '--service-account-max-token-expiration: "59m" cannot be used: expected a duration from 1h to 4294967296s',
    ]);
  });
});

describe('decision 14: plain HTTP only on loopback', () => {
  it.each(['0.0.0.0:8080', '[::]:8080', '10.1.2.3:8080', 'pass.example.com:8080'])('%s needs TLS', (listen) => {
    expect(problems(['--listen', listen, '--base-url', 'https://a.example'])).toEqual([
      expect.stringMatching(/^--listen .*: plain HTTP is served on loopback only.*--insecure-http/),
    ]);
  });

  it('or the explicit switch', () => {
    const args = ['--listen', '0.0.0.0:8080', '--base-url', 'https://a.example', '--insecure-http'];
    expect(load(args).options.listen.host).toBe('0.0.0.0');
    expect(problems([...args, '--tls-cert-file', 'tls.crt', '--tls-private-key-file', 'tls.key'])).toEqual([
      expect.stringMatching(/choose one/),
    ]);
  });

  it('TLS needs both files', () => {
    expect(problems(['--listen', '10.1.2.3:1', '--tls-cert-file', 'tls.crt'])).toEqual([
      '--tls-cert-file is set and --tls-private-key-file is not: TLS needs both',
    ]);
    expect(problems(['--tls-private-key-file', 'tls.key'])).toEqual([
      '--tls-private-key-file is set and --tls-cert-file is not: TLS needs both',
    ]);
  });

  it('signing in to the console needs a provider and a client', () => {
    expect(problems(['--console-oidc-issuer', 'https://id.example.com'])).toEqual([
      '--console-oidc-issuer is set and --console-oidc-client-id is not: signing in needs both',
    ]);
    expect(problems(['--console-oidc-client-id', 'clusterpass'])).toEqual([
      '--console-oidc-client-id is set and --console-oidc-issuer is not: signing in needs both',
    ]);
    const both = ['--console-oidc-issuer', 'https://id.example.com', '--console-oidc-client-id', 'clusterpass'];
    expect(problems(both)).toEqual([
      '--console-oidc-issuer is set and --authentication-config is not: no person could sign in to the console',
    ]);
    const config = ['--authentication-config', file('authentication.yaml', '')];
    expect(load([...both, ...config]).options.consoleProvider?.clientId).toBe('clusterpass');
  });

  it('agents need an authorization server and its keys', () => {
    expect(problems(['--mcp'])).toEqual([
      '--mcp is set and --mcp-authorization-server is not: clients could not find out where to sign in',
      '--mcp is set and --authentication-config is not: no person could sign in at /mcp',
    ]);
    expect(problems(['--mcp-allowed-origin', 'https://agent.example.com'])).toEqual([
      '--mcp-authorization-server and --mcp-allowed-origin need --mcp',
    ]);
  });

  it('MC-78: the bounds of agents are options', () => {
    const config = ['--authentication-config', file('authentication.yaml', '')];
    const mcp = (...args: string[]) =>
      load(['--mcp', '--mcp-authorization-server', 'https://id.example.com', ...config, ...args]).options.mcp;
    const defaults = { callsPerMinute: 60, passRequestsPerMinute: 10, maxResultBytes: 65_536, callTimeoutMs: 30_000 };
    expect(mcp()).toMatchObject(defaults);
    const bounds = { ...defaults, maxResultBytes: 8_192, callTimeoutMs: 5_000 };
    expect(mcp('--mcp-max-result-bytes', '8192', '--mcp-call-timeout', '5s')).toMatchObject(bounds);
  });

  it('a base URL of plain HTTP is warned of where it cannot be right', () => {
    const tls = ['--tls-cert-file', 'tls.crt', '--tls-private-key-file', 'tls.key'];
    const warnings = (...args: string[]) => load(args).warnings;
    expect(warnings(...tls, '--base-url', 'http://127.0.0.1:8080')).toEqual([
      '--base-url http://127.0.0.1:8080: the server serves TLS, so expected https://127.0.0.1:8080',
    ]);
    const inTheClear = (url: string) =>
      `${url}: tokens would cross the network in the clear, and clusters accept no issuer of plain HTTP; expected https`;
    expect(warnings('--base-url', 'http://cp.example.com')).toEqual([inTheClear('--base-url http://cp.example.com')]);
    expect(warnings('--listen', '10.0.0.1:8080', '--insecure-http')).toEqual([
      inTheClear('--base-url http://10.0.0.1:8080'),
    ]);
    for (const url of [
      'http://127.0.0.1:8080',
      'http://localhost:8080',
      'http://[::1]:8080',
      'https://cp.example.com',
    ]) {
      expect(warnings('--base-url', url)).toEqual([]);
    }
  });

  it('lifetimes in seconds are never longer than their options', () => {
    const { options } = load([
      ...['--service-account-max-token-expiration', '3600500ms', '--max-access-request-duration', '3600500ms'],
    ]);
    expect(options.maxTokenExpirationSeconds).toBe(3_600);
    expect(options.accessRequests.maxDurationSeconds).toBe(3_600);
  });

  it('an address that names no host needs a base URL', () => {
    expect(problems(['--listen', '0.0.0.0:8080', '--insecure-http'])).toEqual([
      expect.stringMatching(/set --base-url$/),
    ]);
  });
});

describe('loadStoreOptions', () => {
  const loadStore = (args: string[]) => loadStoreOptions({ flags: flagsIn('store check', args), env: {}, cwd });

  it('has every option of the store', () => {
    const tls = ['--etcd-cafile', 'tls.crt', '--etcd-certfile', 'tls.crt', '--etcd-keyfile', 'tls.key'];
    expect(loadStore(['--store', 'etcd://etcd.example:2379/p', '--product-name', 'fleet', ...tls])).toMatchObject({
      store: { engine: 'etcd', prefix: '/p', tls: { caFile: join(cwd, 'tls.crt'), keyFile: join(cwd, 'tls.key') } },
      productName: 'fleet',
    });
  });

  it('refuses what the server refuses', () => {
    expect(() => loadStore(['--store', 'etcd://etcd.example:2379'])).toThrow(/would be reached without TLS/);
    expect(() => loadStore(['--etcd-insecure'])).toThrow(/--store is not an etcd URL/);
    expect(() => loadStore(['--store', 'nonsense'])).toThrow(OptionsError);
  });
});

describe('a mistake is named with its source', () => {
  it('a flag, a variable and a key', () => {
    const config = file('bad.yaml', '# limits\nhistory-revisions: many\nlisen: x\n');
    expect(problems(['--config', config, '--workers', 'many'], { CLUSTERPASS_LOG_LEVEL: 'loud' })).toEqual([
      `${join(cwd, 'bad.yaml')}: unknown option "lisen"; did you mean listen?`,
      `${join(cwd, 'bad.yaml')}: history-revisions: "many" cannot be used: expected a whole number from 1 to 1000000000`,
      '--workers: "many" cannot be used: expected a whole number from 1 to 64, or auto for one per CPU',
      expect.stringMatching(/^CLUSTERPASS_LOG_LEVEL: "loud" cannot be used: expected debug/),
    ]);
  });

  it('a word in place of a name, and a folder that is not there', () => {
    expect(problems(['--product-name', 'Two Words', '--manifests', '/no/such/folder'])).toEqual([
      '--manifests: "/no/such/folder" cannot be used: there is no such file or folder',
      expect.stringMatching(/^--product-name: "Two Words" cannot be used: expected a word of at most 63 lowercase/),
    ]);
  });

  it('a file that is not there', () => {
    expect(problems(['--config', 'none.yaml'])).toEqual([
      '--config: "none.yaml" cannot be used: there is no such file',
    ]);
  });

  it('A13: a variable that turns the checks of certificates off', () => {
    expect(() => load([], { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toThrow(/^NODE_TLS_REJECT_UNAUTHORIZED: .*unset it$/);
    expect(() => load([], { NODE_TLS_REJECT_UNAUTHORIZED: '1' })).not.toThrow();
  });

  it('a network that is none', () => {
    const [problem] = problems(['--cluster-networks', '127.0.0.0/8', '--cluster-networks', '10.0.0.0/33']);
    expect(problem).toMatch(
      /^--cluster-networks: "127\.0\.0\.0\/8,10\.0\.0\.0\/33" cannot be used: expected a network/,
    );
  });

  it.each([
    ['--base-url', 'https://user:hunter2@example.com'],
    ['--base-url', 'https://user:hunter2/@example.com'],
    ['--tracing-endpoint', 'http://user:hunter2@example.com'],
    ['--store', 'etcd://user:hunter2@example.com:2379'],
    ['--store', 'etcd://user:hunter2/@example.com:2379'],
    ['--store', 'etcd:user:hunter2@example.com:2379'],
    ['--listen', 'user:hunter2@127.0.0.1:80'],
  ])('a password in an address is not repeated: %s %s', (flag, value) => {
    const [problem] = problems([flag, value]);
    expect(problem).toMatch(new RegExp(`^${flag}: <redacted> cannot be used: `));
    expect(problem).not.toContain('hunter2');
  });
});

const parse = (text: string) => {
  const { values, problems } = readConfigFile(join(cwd, file('c.yaml', text)));
  return { values: Object.fromEntries(values), problems: problems.map((problem) => problem.replace(`${cwd}/`, '')) };
};

describe('a file of options', () => {
  it('keeps each value as it was written', () => {
    const text =
      'listen: 127.0.0.1:9000\nworkers: 1\ndemo: true\nhistory-revisions: 010\nbase-url: "https://a.example"\n';
    expect(parse(text)).toEqual({
      values: {
        listen: '127.0.0.1:9000',
        workers: '1',
        demo: 'true',
        historyRevisions: '010',
        baseUrl: 'https://a.example',
      },
      problems: [],
    });
  });

  it('joins a list as its option separates values', () => {
    const text = 'cluster-networks: [10.0.0.0/8, 127.0.0.0/8]\ninventory-namespace: ["a=env in (x,y)", b]\n';
    expect(parse(text)).toEqual({
      values: { clusterNetworks: '10.0.0.0/8,127.0.0.0/8', inventoryNamespace: 'a=env in (x,y);b' },
      problems: [],
    });
  });

  it.each(['', '# nothing\n', '---\n'])('may be empty: %j', (text) => {
    expect(parse(text)).toEqual({ values: {}, problems: [] });
  });

  it.each([
    ['lisen: x', 'c.yaml: unknown option "lisen"; did you mean listen?'],
    ['__proto__: x', 'c.yaml: unknown option "__proto__"'],
    ['constructor: x', 'c.yaml: unknown option "constructor"'],
    ['config: other.yaml', 'c.yaml: unknown option "config"'],
    ['listen: [a]', 'c.yaml: listen needs a plain value, not a structure'],
    ['cluster-networks: [[a]]', 'c.yaml: cluster-networks needs a plain value, not a structure'],
    ['listen: {a: b}', 'c.yaml: listen needs a plain value, not a structure'],
    ['- a', 'c.yaml: expected options as "name: value" lines'],
    ['hello', 'c.yaml: expected options as "name: value" lines'],
    ['demo: true\n---\ndemo: true', 'c.yaml: line 2 is not valid YAML'],
    ['demo: true\ndemo: false', 'c.yaml: line 2 is not valid YAML'],
    ['listen: "a', 'c.yaml: line 1 is not valid YAML'],
  ])('is refused: %j', (text, problem) => {
    expect(parse(text).problems).toEqual([problem]);
  });

  it('says all that is wrong at once', () => {
    expect(parse('a: 1\nb: 2').problems).toHaveLength(2);
  });
});
