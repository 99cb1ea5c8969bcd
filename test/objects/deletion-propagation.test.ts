import { copyFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { openSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import { at, catalog, type Gate, inFolder, make, type Objects, openObjects } from './object-store.ts';

const { clusters, namespaces, serviceAccounts, pods } = catalog;

/** Two clusters alike, so that it shows when the wrong one is touched. */
async function furnish(objects: Objects): Promise<void> {
  for (const cluster of ['a', 'ab']) {
    await make(objects, clusters, at('', '', cluster));
    for (const namespace of ['n', 'nn']) {
      await make(objects, namespaces, at(cluster, '', namespace));
      for (const name of ['x', 'y']) {
        await make(objects, serviceAccounts, at(cluster, namespace, name));
        await make(objects, pods, at(cluster, namespace, name));
      }
    }
  }
}

const isOf =
  (cluster: string) =>
  (key: string): boolean =>
    new RegExp(`^/registry/(clusters/${cluster}$|[a-z]+/${cluster}/)`).test(key);

const CRASH = new Error('the process is gone');

/** Lets so many writes through, then none, as if the process had been killed in between. */
function dieAfter(count: number): Gate {
  let left = count;
  return async (_, next) => {
    if (left-- <= 0) throw CRASH;
    return next();
  };
}

const deleteCluster = async ({ writer, propagation }: Objects): Promise<void> => {
  await writer.remove(clusters, at('', '', 'a'), { dryRun: false });
  await propagation.settle(clusters, at('', '', 'a'));
};

it('a deletion that is cut short at any write is finished at the next start', async () => {
  await inFolder(async (file) => {
    const first = await openObjects(file);
    await furnish(first);
    const others = (await first.keys()).filter(isOf('ab'));
    await first.close();
    let cutShort = 0;
    for (let count = 0; ; count++) {
      const copy = `${file}-${count}`;
      await copyFile(file, copy);
      const dying = await openObjects(copy, dieAfter(count));
      const outcome = await deleteCluster(dying).then(
        () => 'done',
        (error: unknown) => error,
      );
      const left = (await dying.keys()).filter(isOf('a'));
      await dying.close();

      const next = await openObjects(copy);
      await next.propagation.resume();
      const keys = await next.keys();
      await next.close();
      expect(keys.filter(isOf('ab'))).toEqual(others);
      if (outcome === 'done') {
        expect(left).toEqual([]);
        break;
      }
      expect(outcome).toBe(CRASH);
      expect(left.length).toBeGreaterThan(0);
      // Nothing was promised before the first write: the cluster is as it was.
      expect(keys.filter(isOf('a')).length, `after ${count} writes`).toBe(count === 0 ? left.length : 0);
      cutShort++;
    }
    // The cluster and both namespaces are marked, then eleven keys go.
    expect(cutShort).toBe(3 + 11);
  });
});

/** A promise and the way to keep it. */
function signal(): { readonly given: Promise<void>; give(): void } {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

it('what slips in while its namespace goes is swept, also when a namesake is there already', async () => {
  await inFolder(async (file) => {
    const objectKey = at('a', '', 'n');
    const [arrived, mayWrite, written] = [signal(), signal(), signal()];
    const objects = await openObjects(file, async ({ key, value }, next) => {
      if (key === '/registry/serviceaccounts/a/n/late') {
        // It has seen a namespace that was not marked yet.
        arrived.give();
        await mayWrite.given;
        const result = await next();
        written.give();
        return result;
      }
      if (key !== '/registry/namespaces/a/n' || value !== null) return next();
      mayWrite.give();
      await written.given;
      const result = await next();
      // Made anew before the sweep: what was in the old one is not in the new one.
      await make(objects, namespaces, objectKey);
      await make(objects, serviceAccounts, at('a', 'n', 'new'));
      return result;
    });
    await make(objects, clusters, at('', '', 'a'));
    await make(objects, namespaces, objectKey);
    const late = make(objects, serviceAccounts, at('a', 'n', 'late'));
    await arrived.given;
    await objects.writer.remove(namespaces, objectKey, { dryRun: false });
    await objects.propagation.settle(namespaces, objectKey);
    expect((await late).metadata.uid).toBeDefined();
    expect(await objects.keys()).toEqual([
      '/registry/clusters/a',
      '/registry/namespaces/a/n',
      '/registry/serviceaccounts/a/n/new',
    ]);
    await objects.close();
  });
});

it('an orphan is swept at the start, whatever holds it, and so is what a younger namesake did not make', async () => {
  await inFolder(async (file) => {
    const objects = await openObjects(file);
    await make(objects, clusters, at('', '', 'a'));
    for (const namespace of ['n', 'm']) {
      await make(objects, namespaces, at('a', '', namespace));
      await make(objects, serviceAccounts, at('a', namespace, 'x'));
    }
    await make(objects, serviceAccounts, at('a', 'n', 'held'), { finalizers: ['example.com/a'] });
    await objects.close();

    // Deleted without what is inside, as when the process dies before the sweep.
    const bare = await openSqliteStore({ file });
    const stored = await bare.get('/registry/namespaces/a/n');
    const younger = await bare.get('/registry/namespaces/a/m');
    for (const found of [stored, younger]) {
      if (found === undefined) throw new Error('not there');
      await bare.write({ key: found.key, value: null, expect: { modRevision: found.modRevision } });
    }
    await bare.write({ key: younger?.key ?? '', value: younger?.value ?? null, expect: { absent: true } });
    await bare.close();

    const next = await openObjects(file);
    await next.propagation.resume();
    expect(await next.keys()).toEqual(['/registry/clusters/a', '/registry/namespaces/a/m']);
    await next.close();
  });
});
