import { copyFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { StorageError } from '../../src/storage/contract.ts';
import { newDatabase } from '../../src/storage/sqlite/test-store.fixture.ts';
import { at, catalog, type Gate, make, type Objects, openObjects } from './object-store.ts';

const { clusters, namespaces, serviceAccounts, pods } = catalog;

/** Two clusters whose names share a prefix, so that the test detects a deletion in the wrong one. */
async function createFleet(objects: Objects): Promise<void> {
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

const CRASH = new Error('the process was killed');

/** Lets so many writes pass, then fails all, as if the process was killed. */
function dieAfter(count: number): Gate {
  let left = count;
  return async (_, next) => {
    if (left-- <= 0) throw CRASH;
    return next();
  };
}

const deleteCluster = async ({ writer, propagation }: Objects): Promise<void> => {
  await writer.remove(clusters, at('', '', 'a'), { dryRun: false });
  await propagation.finishDeletions(clusters, at('', '', 'a'));
};

it('a deletion that is interrupted at any write is completed at the next start', async () => {
  const file = newDatabase();
  const first = await openObjects(file);
  await createFleet(first);
  const others = (await first.keys()).filter(isOf('ab'));
  await first.close();
  let interrupted = 0;
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
    // Before the first write the deletion was not acknowledged: the cluster is unchanged.
    expect(keys.filter(isOf('a')).length, `after ${count} writes`).toBe(count === 0 ? left.length : 0);
    interrupted++;
  }
  // The cluster and both namespaces are marked, then eleven keys are deleted.
  expect(interrupted).toBe(3 + 11);
});

it('a deletion that fails at a write is completed later', async () => {
  const file = newDatabase();
  const first = await openObjects(file);
  await createFleet(first);
  await first.close();
  // Of fourteen: marks, deletions of children, of namespaces and of the cluster.
  for (const count of [1, 3, 6, 10, 13]) {
    const copy = `${file}-${count}`;
    await copyFile(file, copy);
    let left = count;
    const gate: Gate = async (_, next) => {
      if (left-- === 0) throw new StorageError('unavailable', 'the disk is full');
      return next();
    };
    const objects = await openObjects(copy, gate);
    await expect(deleteCluster(objects)).rejects.toMatchObject({ status: { code: 503 } });
    await objects.propagation.resume();
    const keys = await objects.keys();
    expect(keys.filter(isOf('a')), `after ${count} writes`).toEqual([]);
    expect(keys.filter(isOf('ab'))).toHaveLength(11);
  }
});

it('a deletion that fails again does not keep the others from being completed', async () => {
  let isBroken = false;
  const gate: Gate = async ({ key }, next) => {
    if (isBroken && key === '/registry/clusters/a') throw new StorageError('unavailable', 'out of reach');
    return next();
  };
  const objects = await openObjects(newDatabase(), gate);
  for (const cluster of ['a', 'b']) {
    await make(objects, clusters, at('', '', cluster));
    await objects.writer.remove(clusters, at('', '', cluster), { dryRun: false });
  }
  isBroken = true;
  await expect(objects.propagation.resume()).rejects.toThrow();
  expect(await objects.keys()).toEqual(['/registry/clusters/a']);
  isBroken = false;
  await objects.propagation.resume();
  expect(await objects.keys()).toEqual([]);
});

it('the deletion of a damaged namespace deletes what is inside it, also damaged, or fails and can be repeated', async () => {
  let isBroken = false;
  const gate: Gate = async ({ key }, next) => {
    if (isBroken && key.startsWith('/registry/serviceaccounts/')) throw new StorageError('unavailable', 'full');
    return next();
  };
  const objects = await openObjects(newDatabase(), gate);
  await make(objects, clusters, at('', '', 'a'));
  await make(objects, namespaces, at('a', '', 'n'));
  await make(objects, serviceAccounts, at('a', 'n', 'x'));
  await make(objects, pods, at('a', 'n', 'x'));
  for (const found of [
    objects.reader.find(namespaces, at('a', '', 'n')),
    objects.reader.find(pods, at('a', 'n', 'x')),
  ]) {
    const { key, revision } = found ?? { key: '', revision: 0 };
    await objects.store.write({ key, value: Buffer.from('{'), expect: { modRevision: revision } });
  }
  await objects.reader.catchUp();
  isBroken = true;
  await expect(objects.propagation.removeUnreadable(namespaces, at('a', '', 'n'))).rejects.toThrow();
  isBroken = false;
  await objects.propagation.removeUnreadable(namespaces, at('a', '', 'n'));
  expect(await objects.keys()).toEqual(['/registry/clusters/a']);
});

it('a damaged object is deleted with its cluster', async () => {
  const objects = await openObjects();
  await createFleet(objects);
  const { key, revision } = objects.reader.find(namespaces, at('a', '', 'n')) ?? { key: '', revision: 0 };
  await objects.store.write({ key, value: Buffer.from('{'), expect: { modRevision: revision } });
  await objects.reader.catchUp();
  await deleteCluster(objects);
  expect((await objects.keys()).filter(isOf('a'))).toEqual([]);
});

/** A promise, and the function that resolves it. */
function signal(): { readonly given: Promise<void>; give(): void } {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

it('an object created while its namespace is deleted is deleted with it', async () => {
  const objectKey = at('a', '', 'n');
  const [arrived, mayWrite, written] = [signal(), signal(), signal()];
  const objects = await openObjects(newDatabase(), async ({ key, value }, next) => {
    if (key === '/registry/serviceaccounts/a/n/late') {
      // It was validated against a namespace that was not marked yet.
      if (value !== null) arrived.give();
      await mayWrite.given;
      const result = await next();
      written.give();
      return result;
    }
    if (key !== '/registry/namespaces/a/n' || value !== null) return next();
    mayWrite.give();
    await written.given;
    return next();
  });
  await make(objects, clusters, at('', '', 'a'));
  await make(objects, namespaces, objectKey);
  const late = make(objects, serviceAccounts, at('a', 'n', 'late'));
  await arrived.given;
  await objects.writer.remove(namespaces, objectKey, { dryRun: false });
  await objects.propagation.finishDeletions(namespaces, objectKey);
  expect((await late).metadata.uid).toBeDefined();
  expect(await objects.keys()).toEqual(['/registry/clusters/a']);
});
