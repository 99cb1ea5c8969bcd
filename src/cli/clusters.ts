import { CliError } from './command.ts';

/** `clusters`, `Cluster`, `clusters.clusterregistry.k8s.io` */
export const isClusterType = (text: string): boolean =>
  /^clusters?(\.(v1alpha1\.)?clusterregistry\.k8s\.io)?$/i.test(text);

/** `cluster/a cluster/b` means the same as `cluster a b`. */
export function clusterNames(args: readonly string[]): readonly string[] {
  if (!args.some((arg) => arg.includes('/'))) return args;
  return args.map((arg) => {
    const [type = '', name = '', ...rest] = arg.split('/');
    if (!isClusterType(type) || name === '' || rest.length > 0) {
      throw new CliError('arguments in resource/name form must have a single resource and name');
    }
    return name;
  });
}
