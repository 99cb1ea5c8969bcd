export type Labels = Readonly<Record<string, string>>;

/**
 * Tests the labels that the user saw, so that it does not undo the change of another user. A test for `null` succeeds
 * if the cluster has no labels. The resourceVersion is no test, because probes of the cluster change it.
 */
export function labelPatch(before: Labels, next: Labels): object[] {
  const path = '/metadata/labels';
  return [
    { op: 'test', path, value: Object.keys(before).length === 0 ? null : before },
    { op: 'add', path, value: next },
  ];
}
