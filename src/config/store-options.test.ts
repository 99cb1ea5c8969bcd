import { describe, expect, it } from 'vitest';
import type { OptionValues } from './options.ts';
import { resolveStore } from './store-options.ts';
import { storeUrl } from './store-url.ts';
import { ValueError } from './values.ts';

const context = { cwd: '/srv' };

describe('--store', () => {
  it('is a path of the embedded engine', () => {
    expect(storeUrl('sqlite:/data/x.db', context)).toEqual({ engine: 'sqlite', path: '/data/x.db' });
    expect(storeUrl('sqlite:x.db', context)).toEqual({ engine: 'sqlite', path: '/srv/x.db' });
  });

  it('or names the members of etcd, and what every key begins with', () => {
    expect(storeUrl('etcd://h1:2379,10.0.0.2:2379,[::1]:2379/fleet/a', context)).toEqual({
      engine: 'etcd',
      endpoints: [
        { host: 'h1', port: 2379 },
        { host: '10.0.0.2', port: 2379 },
        { host: '::1', port: 2379 },
      ],
      prefix: '/fleet/a',
    });
    for (const text of ['etcd://h:2379', 'etcd://h:2379/']) {
      expect(storeUrl(text, context)).toMatchObject({ prefix: '/clusterpass' });
    }
  });

  it.each([
    ...['', 'sqlite:', 'sqlite::memory:', 'sqlite://x.db', '/data/x.db', 'postgres://x', 'sqlite:a\0b'],
    ...['etcd:', 'etcd://', 'etcd:///p', 'etcd:h:2379', 'etcd://h', 'etcd://h:0/p', 'etcd://h:99999', 'etcd://h:1,/p'],
    ...['etcd://h:1,h:1/p', 'etcd://h:1//', 'etcd://h:1/a//b', 'etcd://h:1/a/', 'etcd://h:1/a/../b', 'etcd://h:1/a?b'],
    ...['etcd://h:1/a b', 'etcd://h:1/\0', 'etcd://h_:1', `etcd://h:1/${'a'.repeat(129)}`, 'etcd://h:1;i:2'],
    `etcd://${Array.from({ length: 33 }, (_, i) => `h${i}:1`).join(',')}`,
  ])('refuses %j', (text) => {
    expect(() => storeUrl(text, context)).toThrow(ValueError);
  });

  it('takes no password on the command line, and does not repeat it', () => {
    expect(() => storeUrl('etcd://root:hunter2@h:2379/p', context)).toThrow(/--etcd-password-file/);
    expect(() => storeUrl('etcd://root:hunter2@h:2379/p', context)).not.toThrow(/hunter2/);
  });
});

describe('the options of etcd', () => {
  const resolve = (store: string | undefined, values: Partial<OptionValues> = {}) =>
    resolveStore({
      dataDir: '/d',
      etcdInsecure: false,
      etcdCafile: undefined,
      etcdCertfile: undefined,
      etcdKeyfile: undefined,
      etcdUsername: undefined,
      etcdPasswordFile: undefined,
      ...values,
      store: store === undefined ? undefined : storeUrl(store, context),
    });

  it('nothing is needed on this machine, and TLS or a plain word elsewhere', () => {
    expect(resolve('etcd://127.0.0.1:2379,[::1]:2379,localhost:2379/p')).toEqual({
      store: {
        engine: 'etcd',
        endpoints: ['127.0.0.1:2379', '[::1]:2379', 'localhost:2379'],
        prefix: '/p',
        tls: undefined,
        user: undefined,
      },
      problems: [],
    });
    expect(resolve('etcd://127.0.0.1:2379,etcd.example:2379').problems).toEqual([
      expect.stringMatching(/^--store: etcd\.example would be reached without TLS.*--etcd-cafile/),
    ]);
    expect(resolve('etcd://etcd.example:2379', { etcdInsecure: true }).problems).toEqual([]);
    expect(resolve('etcd://etcd.example:2379', { etcdCafile: '/ca' })).toMatchObject({
      store: { tls: { caFile: '/ca' } },
      problems: [],
    });
  });

  it('what belongs together is given together', () => {
    const whole = { etcdCafile: '/ca', etcdCertfile: '/crt', etcdKeyfile: '/key' };
    expect(resolve('etcd://h:1', { ...whole, etcdUsername: 'u', etcdPasswordFile: '/pw' })).toMatchObject({
      store: {
        tls: { caFile: '/ca', certFile: '/crt', keyFile: '/key' },
        user: { name: 'u', passwordFile: '/pw' },
      },
      problems: [],
    });
    expect(resolve('etcd://h:1', { etcdCafile: '/ca', etcdCertfile: '/crt' }).problems).toHaveLength(1);
    expect(resolve('etcd://h:1', { etcdCafile: '/ca', etcdKeyfile: '/key' }).problems).toHaveLength(1);
    expect(resolve('etcd://[::1]:1', { etcdCertfile: '/crt', etcdKeyfile: '/key' }).problems).toHaveLength(1);
    expect(resolve('etcd://[::1]:1', { etcdUsername: 'u' }).problems).toHaveLength(1);
    expect(resolve('etcd://[::1]:1', { etcdPasswordFile: '/pw' }).problems).toHaveLength(1);
    expect(resolve('etcd://[::1]:1', { etcdCafile: '/ca', etcdInsecure: true }).problems).toHaveLength(1);
    const single = ['etcdCafile', 'etcdCertfile', 'etcdKeyfile', 'etcdUsername', 'etcdPasswordFile', 'etcdInsecure'];
    for (const name of single) {
      const problems = [expect.stringContaining('--store etcd://')];
      expect(resolve(undefined, { [name]: name === 'etcdInsecure' ? true : 'x' }).problems, name).toEqual(problems);
    }
  });
});
