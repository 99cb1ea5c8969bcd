/** Objects as a manifest for `kubectl apply`. The YAML library is loaded when it is needed. */
export async function manifestText(objects: readonly object[]): Promise<string> {
  const { toYaml } = await import('../../../src/api/codec/to-yaml.ts');
  return objects.map(toYaml).join('---\n');
}
