import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { passContext } from '../../api/kubeconfig.ts';
import type { WantedContext } from './kubeconfig-file.ts';
import { mergeKubeconfig, type Pruning, type WrittenContext } from './kubeconfig-merge.ts';

const PASS = 'https://pass';

const pruning = (server: string, visible: ReadonlySet<string>): Pruning => ({
  visible: new Map([[server, visible]]),
  knownServers: undefined,
});

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

describe('names of contexts of several servers', () => {
  const qualified = (cluster: string, server: string): WantedContext => {
    const contextName = `${new URL(server).host}/${cluster}`;
    return {
      ...wanted(cluster, cluster, `https://${cluster}`, server),
      qualified: { contextName, userName: `ci:builder@${contextName}` },
    };
  };

  it('contain the server if a context of another server has the name, and stay as they are', () => {
    const { text } = mergeKubeconfig(undefined, [qualified('a', 'https://eu')]);
    const both = mergeKubeconfig(text, [qualified('a', 'https://eu'), qualified('a', 'https://us')]);
    expect([names(both.text), both.renamed, both.collisions]).toEqual([['a', 'us/a'], [], []]);
    // Without the other one, too.
    const prune = pruning('https://eu', new Set<string>());
    expect(names(mergeKubeconfig(both.text, [qualified('a', 'https://us')], { prune }).text)).toEqual(['us/a']);
  });

  it('contain the server if both are new', () => {
    const shared = ['https://eu', 'https://us'].map((server) => qualified('a', server));
    expect(names(mergeKubeconfig(undefined, shared).text)).toEqual(['eu/a', 'us/a']);
  });

  it('contain the server if the name was that of a removed context, so that kubectl does not act on another cluster', () => {
    const [eu, us, other] = [qualified('a', 'https://eu'), qualified('a', 'https://us'), qualified('b', 'https://eu')];
    const prune = pruning('https://eu', new Set(['b']));
    const before = mergeKubeconfig(undefined, [eu, other]).text;
    const at = mergeKubeconfig(before, [other, us], { prune });
    expect([names(at.text), at.lost]).toEqual([['b', 'us/a'], 'a']);
    // The file still has it as the current context.
    const { text } = mergeKubeconfig(before, [other], { prune });
    const later = mergeKubeconfig(text, [other, us], { prune });
    expect([names(later.text), read(later.text)['current-context']]).toEqual([['b', 'us/a'], 'a']);
    // With one server, the context is back.
    expect(names(mergeKubeconfig(text, [other, eu], { prune }).text)).toEqual(['b', 'a']);
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

  it('makes the context of clusterpass use the current one, under a name of its own for each account', () => {
    const use = (before: string | undefined, account: string) => {
      const key = { server: PASS, cluster: 'a', account };
      const names = { contextName: 'a', userName: `${account}@a` };
      const qualified = { contextName: `a-${account}`, userName: `${account}@a-${account}` };
      return mergeKubeconfig(before, [{ ...wanted('a'), key, ...names, qualified }], { makesCurrent: true });
    };
    const first = use('contexts: [{name: mine, context: {}}]\ncurrent-context: mine', 'web');
    expect([first.selected, read(first.text)['current-context']]).toEqual(['a', 'a']);
    const second = use(first.text, 'ci');
    expect([second.selected, names(second.text), second.collisions]).toEqual(['a-ci', ['mine', 'a', 'a-ci'], []]);
    // Each keeps its name, also when the other is gone.
    const { contexts, ...rest } = read(second.text);
    const text = JSON.stringify({ ...rest, contexts: contexts.filter(({ name }: { name: string }) => name !== 'a') });
    const again = use(text, 'ci');
    expect([again.changed, names(again.text), again.renamed]).toEqual([false, ['mine', 'a-ci'], []]);
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
      const ours = mergeKubeconfig(undefined, [wanted('a')]).text;
      expect(mergeKubeconfig(undefined, [wanted('a')], beside(ours)).collisions).toEqual([]);
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

    it('reports a changed address and a lost current context of another file', () => {
      const ours = mergeKubeconfig(undefined, [wanted('a')]).text;
      const moved = mergeKubeconfig(undefined, [wanted('a', 'a', 'https://moved')], beside(ours));
      expect([moved.moved.length, moved.written]).toEqual([1, []]);
      const prune = pruning(PASS, new Set<string>());
      const { current, text } = {
        current: beside('current-context: a'),
        text: ours.replace(/^current-context.*\n/m, ''),
      };
      expect(mergeKubeconfig(text, [], { ...current, prune }).lost).toBe('a');
      expect(mergeKubeconfig(text, [wanted('a', 'new-a')], current).lost).toBe('a');
    });
  });

  it('names the file that it cannot use', () => {
    const merge = (text: string) => () => mergeKubeconfig(text, [wanted('a')], { path: '/k' });
    expect(merge('a: [')).toThrow(/^\/k cannot be parsed, and is not changed: /);
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
    const result = mergeKubeconfig(text, [wanted('a')], { prune: pruning(PASS, new Set(['a'])) });
    expect(result.removed).toEqual([{ contextName: 'b', reason: `you no longer see this cluster at ${PASS}` }]);
    expect(names(result.text)).toEqual(['mine', 'a', 'c']);
    expect(read(result.text).users).toHaveLength(2);
    expect(read(result.text).clusters).toHaveLength(2);
  });

  it('removes contexts of servers without a login, and nothing of other programs', () => {
    const mine = 'contexts: [{name: x, context: {extensions: [{name: other, extension: {server: https://old}}]}}]\n';
    const kept = mergeKubeconfig(mine, [wanted('a')]).text;
    const { text } = mergeKubeconfig(kept, [wanted('b', 'b', 'https://b', 'https://old')]);
    const knownServers = new Set([PASS]);
    const result = mergeKubeconfig(text, [], { prune: { visible: new Map(), knownServers } });
    expect([result.text, result.removed]).toEqual([
      kept,
      [{ contextName: 'b', reason: 'you are not logged in to https://old' }],
    ]);
    expect(mergeKubeconfig(text, [], { prune: { visible: new Map(), knownServers: undefined } }).removed).toEqual([]);
  });

  it('selects no other context if the current one is removed: kubectl would act on another cluster', () => {
    const current = JSON.stringify({ ...read(text), 'current-context': 'b' });
    const result = mergeKubeconfig(current, [wanted('a')], { prune: pruning(PASS, new Set(['a'])) });
    expect(read(result.text)['current-context']).toBe('b');
    expect([result.lost, result.selected]).toEqual(['b', undefined]);
  });
});
