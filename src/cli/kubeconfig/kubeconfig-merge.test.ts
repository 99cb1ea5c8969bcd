import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { passContext } from '../../api/kubeconfig.ts';
import type { WantedContext } from './kubeconfig-file.ts';
import { mergeKubeconfig, type WrittenContext } from './kubeconfig-merge.ts';

const PASS = 'https://pass';

const seeing = (server: string, ...clusters: string[]) => ({ visible: new Map([[server, new Set(clusters)]]) });

function wanted(cluster: string, contextName = cluster, server = `https://${cluster}`, baseUrl = PASS): WantedContext {
  const account = { namespace: 'ci', name: 'builder' };
  const entry = passContext({ cluster, server, caBundle: 'Q0E=', baseUrl, account });
  return {
    key: { server: baseUrl, cluster, account: 'ci/builder' },
    contextName,
    userName: `ci:builder@${contextName}`,
    cluster: entry.cluster,
    endpoints: `endpoints with ${server}`,
    exec: entry.user.exec,
    namespace: 'ci',
  };
}

// biome-ignore lint/suspicious/noExplicitAny: tests read files of every shape
const read = (text: string): any => parse(text);
const names = (text: string): string[] => read(text).contexts.map(({ name }: { name: string }) => name);

describe('a new context whose name another one of this program has', () => {
  const own = (cluster: string, account: string, server = PASS): WantedContext => ({
    ...wanted(cluster, cluster, `https://${cluster}`, server),
    key: { server, cluster, account },
    fallback: { contextName: `${cluster}-${account}`, userName: `${account}@${cluster}-${account}` },
  });
  const merge = (before: string | undefined, contexts: readonly WantedContext[], more: object = {}) =>
    mergeKubeconfig(before, contexts, { keepsNames: true, ...more });

  it('has its fallback, and both keep their names', () => {
    const { text } = merge(undefined, [own('a', 'web')]);
    const both = merge(text, [own('a', 'ci'), own('a', 'web')]);
    expect([names(both.text), both.renamed, both.collisions]).toEqual([['a', 'a-ci'], [], []]);
    const again = merge(both.text, [own('a', 'ci')], { visible: new Map([[PASS, new Set(['a'])]]) });
    expect([again.changed, names(again.text)]).toEqual([false, ['a', 'a-ci']]);
    const other = merge(undefined, [own('a', 'ci', 'https://eu'), own('a', 'ci', 'https://us')]);
    expect(names(other.text)).toEqual(['a', 'a-ci']);
  });

  it('has its fallback also if the other one was removed, so that kubectl does not act on another cluster', () => {
    const [eu, us, other] = [own('a', 'ci', 'https://eu'), own('a', 'ci', 'https://us'), own('b', 'ci', 'https://eu')];
    const prune = seeing('https://eu', 'b');
    const before = merge(undefined, [eu, other]).text;
    const at = merge(before, [other, us], prune);
    expect([names(at.text), at.lost]).toEqual([['b', 'a-ci'], 'a']);
    // The file still has it as the current context.
    const { text } = merge(before, [other], prune);
    const later = merge(text, [other, us], prune);
    expect([names(later.text), read(later.text)['current-context']]).toEqual([['b', 'a-ci'], 'a']);
  });

  it('still collides with one of another program', () => {
    expect(merge('contexts: [{name: a, context: {}}]', [own('a', 'ci')]).collisions).toHaveLength(1);
  });
});

describe('merging', () => {
  it('creates a file', () => {
    const { text, changed, added } = mergeKubeconfig(undefined, [wanted('a'), wanted('b')]);
    expect({ changed, added }).toEqual({ changed: true, added: ['a', 'b'] });
    expect(text).toMatch(/^apiVersion: v1\nkind: Config\nclusters:\n- name: a\n/);
    expect(names(text)).toEqual(['a', 'b']);
  });

  it('selects the first context of a file that has none, and changes no choice', () => {
    const { text, selected } = mergeKubeconfig(undefined, [wanted('a'), wanted('b')]);
    expect([read(text)['current-context'], selected]).toEqual(['a', 'a']);
    expect(mergeKubeconfig(text, [wanted('b')]).selected).toBeUndefined();
    const choose = (written: readonly WrittenContext[]) => written.find(({ cluster }) => cluster !== 'a');
    expect(mergeKubeconfig(undefined, [wanted('a'), wanted('b')], { choose }).selected).toBe('b');
    // Without a current context kubectl would connect to localhost:8080.
    expect(mergeKubeconfig(undefined, [wanted('a')], { choose }).selected).toBe('a');
    // A file of an earlier release.
    const { 'current-context': _, ...without } = read(text);
    expect(mergeKubeconfig(JSON.stringify(without), [wanted('b')]).selected).toBe('b');
    const others = 'contexts: [{name: mine, context: {}}]';
    for (const before of ['current-context: ""', 'current-context: mine', others]) {
      expect(mergeKubeconfig(before, [wanted('a')]).selected).toBeUndefined();
    }
  });

  it('makes the context of clusterpass use the current one', () => {
    const before = 'contexts: [{name: mine, context: {}}]\ncurrent-context: mine';
    const { selected, text } = mergeKubeconfig(before, [wanted('a')], { makesCurrent: true });
    expect([selected, read(text)['current-context']]).toEqual(['a', 'a']);
  });

  it('is idempotent', () => {
    const { text } = mergeKubeconfig(undefined, [wanted('a')]);
    expect(mergeKubeconfig(text, [wanted('a')])).toEqual({
      text,
      changed: false,
      written: [{ server: PASS, cluster: 'a', contextName: 'a' }],
      added: [],
      renamed: [],
      removed: [],
      selected: undefined,
      lost: undefined,
      moved: [],
      unaccepted: [],
      collisions: [],
    });
  });

  it('updates address and CA, and keeps what the user added', () => {
    const { text } = mergeKubeconfig(undefined, [wanted('a')]);
    const config = read(text);
    config.clusters[0].cluster['proxy-url'] = 'http://proxy';
    config.contexts[0].context.namespace = 'mine';
    config.users[0].user.exec.env = [{ name: 'X', value: 'y' }];
    config.contexts[0].context.extensions.unshift({ name: 'other', extension: { a: 1 } });
    const accepted = { acceptChanges: true };
    const result = read(mergeKubeconfig(JSON.stringify(config), [wanted('a', 'a', 'https://moved')], accepted).text);
    expect(result.clusters[0].cluster).toMatchObject({ server: 'https://moved', 'proxy-url': 'http://proxy' });
    expect(result.contexts[0].context).toMatchObject({ namespace: 'mine', cluster: 'a' });
    expect(result.contexts[0].context.extensions).toHaveLength(2);
    expect(result.users[0].user.exec.env).toEqual([{ name: 'X', value: 'y' }]);
  });

  it('removes a CA that the cluster no longer has', () => {
    const { text } = mergeKubeconfig(undefined, [wanted('a')]);
    const { cluster, ...rest } = wanted('a');
    const result = read(mergeKubeconfig(text, [{ ...rest, cluster: { server: cluster.server } }]).text);
    expect(result.clusters[0].cluster).not.toHaveProperty('certificate-authority-data');
  });

  it('keeps names that the user chose, renames the others by a new template, and updates current-context', () => {
    const { text } = mergeKubeconfig(undefined, [wanted('a'), wanted('b')]);
    const config = read(text);
    config.contexts[0].name = 'work';
    config['current-context'] = 'b';
    const renamed = mergeKubeconfig(JSON.stringify(config), [wanted('a', 'x-a'), wanted('b', 'x-b')]);
    expect(names(renamed.text)).toEqual(['work', 'x-b']);
    expect(renamed.renamed).toEqual([{ from: 'b', to: 'x-b' }]);
    expect(renamed.written.map(({ contextName }) => contextName)).toEqual(['work', 'x-b']);
    expect(renamed.added).toEqual([]);
    expect(read(renamed.text)['current-context']).toBe('x-b');
    expect(read(renamed.text).contexts[0].context).toMatchObject({ cluster: 'x-a', user: 'ci:builder@x-a' });
    expect(names(mergeKubeconfig(renamed.text, [wanted('a'), wanted('b')]).text)).toEqual(['work', 'b']);
    const kept = mergeKubeconfig(renamed.text, [wanted('a'), wanted('b')], { keepsNames: true });
    expect([names(kept.text), kept.renamed]).toEqual([['work', 'x-b'], []]);
  });

  it.each(['contexts', 'clusters', 'users'])(
    'reports a name that is in use in %s and writes the other contexts',
    (section) => {
      const name = section === 'users' ? 'ci:builder@a' : 'a';
      const { text, collisions } = mergeKubeconfig(JSON.stringify({ [section]: [{ name }] }), [
        wanted('a'),
        wanted('b'),
      ]);
      expect(collisions).toEqual([
        expect.stringMatching(/^\w+ ".*" exists already in the kubeconfig and was not written by clusterpass/),
      ]);
      expect(names(text)).toContain('b');
      expect(read(text)[section][0]).toEqual({ name });
    },
  );

  describe('beside other files of $KUBECONFIG', () => {
    const mine = 'current-context: mine\ncontexts: [{name: a, context: {}}]';
    const beside = (text: string) => ({ path: '/first', others: [{ path: '/other', text }] });

    it('does not hide a context of another file', () => {
      const { collisions, text } = mergeKubeconfig(undefined, [wanted('a'), wanted('b')], beside(mine));
      expect(collisions).toEqual([expect.stringMatching(/^context "a" exists already in \/other and was not written/)]);
      expect(names(text)).toEqual(['b']);
    });

    it('reads another file as kubectl does: its first document, and the last of two keys', () => {
      const context = (name: string) => `contexts: [{name: ${name}, context: {}}]\n`;
      const collisions = (text: string) =>
        mergeKubeconfig(undefined, [wanted('a'), wanted('b')], beside(text)).collisions.map((each) =>
          each.slice(0, 11),
        );
      expect(collisions(`${context('b')}---\n${context('a')}`)).toEqual(['context "b"']);
      expect(collisions(`${context('b')}---\n{{{`)).toEqual(['context "b"']);
      expect(collisions(`${context('a')}${context('b')}`)).toEqual(['context "b"']);
      expect(collisions(`x: &x [a]\nmore: [${Array(200).fill('*x').join()}]\n${context('b')}`)).toEqual([
        'context "b"',
      ]);
      expect(collisions('# nothing\n')).toEqual([]);
    });

    it('reports a lost current context of another file', () => {
      const ours = mergeKubeconfig(undefined, [wanted('a')]).text;
      const { current, text } = {
        current: beside('current-context: a'),
        text: ours.replace(/^current-context.*\n/m, ''),
      };
      expect(mergeKubeconfig(text, [], { ...current, ...seeing(PASS) }).lost).toBe('a');
      expect(mergeKubeconfig(text, [wanted('a', 'new-a')], current).lost).toBe('a');
    });

    it.each(['current-context: mine', 'contexts: [{name: x, context: {}}]'])(
      'leaves the current context to %s',
      (text) => {
        expect(mergeKubeconfig(undefined, [wanted('b')], beside(text)).selected).toBeUndefined();
      },
    );
  });

  it('keeps the numbers of other programs as they were written', () => {
    const clusters =
      '- {name: x, cluster: {extensions: [{name: y, extension: {id: 12345678901234567890, zip: 0123}}]}}';
    const { text } = mergeKubeconfig(`clusters:\n${clusters}\n`, [wanted('a')]);
    expect(text).toContain('id: 12345678901234567890, zip: 0123');
  });

  it('reads a file in JSON', () => {
    const { text } = mergeKubeconfig('{"kind":"Config","clusters":[],"preferences":{"n":1.50}}', [wanted('a')]);
    expect(read(text)).toMatchObject({ kind: 'Config', contexts: [{ name: 'a' }], preferences: { n: 1.5 } });
    expect(mergeKubeconfig(text, [wanted('a')]).changed).toBe(false);
  });

  it('names the file that it cannot use', () => {
    const merge = (text: string) => () => mergeKubeconfig(text, [wanted('a')], { path: '/k' });
    expect(merge('a: [')).toThrow(/^\/k cannot be parsed, and is not changed: /);
    expect(merge('kind: Config\n---\na: 1\n')).toThrow('is not changed: it has several YAML documents');
    expect(merge('[]')).toThrow('/k is not a kubeconfig, and is not changed');
    expect(merge('kind: Pod')).toThrow('/k is not a kubeconfig, and is not changed: kind is "Pod", not Config');
    expect(merge('contexts: {}')).toThrow('/k is not a kubeconfig, and is not changed: contexts is not a list');
  });

  it('does not overwrite the context of another server', () => {
    const { text } = mergeKubeconfig(undefined, [wanted('a')]);
    const { collisions } = mergeKubeconfig(text, [wanted('a', 'a', 'https://a', 'https://other')]);
    expect(collisions).toEqual([expect.stringContaining('is for ci/builder at https://pass')]);
  });
});

describe('A14: another address or CA', () => {
  const { text } = mergeKubeconfig(undefined, [wanted('a'), wanted('b')]);
  const moved = wanted('a', 'a', 'https://elsewhere');
  const otherCa = {
    ...wanted('a'),
    endpoints: 'other',
    cluster: { server: 'https://a', 'certificate-authority-data': 'T1RIRVI=' },
  };

  it('is reported, and the context stays as it is while others are updated', () => {
    const result = mergeKubeconfig(text, [moved, { ...wanted('b'), namespace: 'x' }, wanted('c')]);
    expect(result.moved).toEqual([
      { contextName: 'a', changes: ['the address changed from https://a to https://elsewhere'], isConfirmed: false },
    ]);
    expect(result.added).toEqual(['c']);
    expect(read(result.text).clusters[0]).toEqual(read(text).clusters[0]);
    expect(mergeKubeconfig(text, [otherCa])).toMatchObject({
      changed: false,
      moved: [{ contextName: 'a', changes: ['the CA changed from no certificate to no certificate'] }],
    });
    const none = { ...otherCa, cluster: { server: 'https://a' } };
    expect(mergeKubeconfig(text, [none]).moved[0]?.changes).toEqual(['the CA changed from no certificate to none']);
  });

  it('is written if it is accepted, here or for all at the server, and then no change any more', () => {
    for (const [next, acceptChanges] of [
      [moved, true],
      [otherCa, true],
      [{ ...moved, isConfirmed: true }, false],
    ] as const) {
      const result = mergeKubeconfig(text, [next], { acceptChanges });
      expect(result.moved).toMatchObject([{ contextName: 'a', isConfirmed: !acceptChanges }]);
      expect(read(result.text).clusters[0].cluster).toMatchObject(next.cluster);
      expect(mergeKubeconfig(result.text, [next])).toMatchObject({ changed: false, moved: [] });
    }
  });

  it('is no change if it is another of the same endpoints: the machine moved to another network', () => {
    const near = { ...wanted('a', 'a', 'https://near'), endpoints: wanted('a').endpoints };
    const result = mergeKubeconfig(text, [near]);
    expect(result.moved).toEqual([]);
    expect(read(result.text).clusters[0].cluster.server).toBe('https://near');
  });

  it('is also an address for another network that was added', () => {
    const result = mergeKubeconfig(text, [{ ...wanted('a'), endpoints: 'more' }]);
    expect(result).toMatchObject({
      changed: false,
      moved: [{ changes: ['the addresses for other networks changed'] }],
    });
  });

  it('is found in a file of an earlier version, and in a context that the user renamed', () => {
    const config = read(text);
    delete config.clusters[0].cluster.extensions[0].extension.endpoints;
    config.contexts[0].name = 'work';
    config.clusters[0].name = 'mine';
    const old = JSON.stringify(config);
    expect(mergeKubeconfig(old, [moved]).moved).toMatchObject([{ contextName: 'work' }]);
    const same = mergeKubeconfig(old, [wanted('a')]);
    expect(same.moved).toEqual([]);
    expect(read(same.text).clusters[0].cluster.extensions[0].extension.endpoints).toBe(wanted('a').endpoints);
    expect(mergeKubeconfig(same.text, [moved]).moved).toHaveLength(1);
  });
});

describe('pruning', () => {
  const { text } = mergeKubeconfig('contexts: [{name: mine, context: {}}]', [
    wanted('a'),
    wanted('b'),
    wanted('c', 'c', 'https://c', 'https://other'),
  ]);

  it('removes contexts of this server for clusters that are not visible', () => {
    const result = mergeKubeconfig(text, [wanted('a')], seeing(PASS, 'a'));
    expect(result.removed).toEqual(['b']);
    expect(names(result.text)).toEqual(['mine', 'a', 'c']);
    expect(read(result.text).users).toHaveLength(2);
    expect(read(result.text).clusters).toHaveLength(2);
  });

  it('selects no other context if the current one is removed: kubectl would act on another cluster', () => {
    const current = JSON.stringify({ ...read(text), 'current-context': 'b' });
    const result = mergeKubeconfig(current, [wanted('a')], seeing(PASS, 'a'));
    expect(read(result.text)['current-context']).toBe('b');
    expect([result.lost, result.selected]).toEqual(['b', undefined]);
  });
});
