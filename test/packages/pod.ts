import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { Json, Manifest } from '../helm/manifests.ts';

/** Data of ConfigMaps and Secrets, by `Kind name`. */
export type Files = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface Item {
  readonly key: string;
  readonly path: string;
}
interface Source {
  readonly configMap?: { readonly name: string; readonly items: readonly Item[] };
  readonly secret?: { readonly name: string; readonly items: readonly Item[] };
}
interface Volume {
  readonly name: string;
  readonly projected?: { readonly defaultMode: number; readonly sources: readonly Source[] };
  readonly secret?: { readonly secretName: string; readonly defaultMode: number; readonly items: readonly Item[] };
  readonly emptyDir?: Json;
  readonly persistentVolumeClaim?: Json;
}
export interface PodSpec {
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number; readonly fsGroup: number };
  readonly containers: readonly [
    {
      readonly command?: readonly string[];
      readonly args: readonly string[];
      readonly env?: readonly { readonly name: string; readonly value: string }[];
      readonly volumeMounts: readonly {
        readonly name: string;
        readonly mountPath: string;
        readonly subPath?: string;
      }[];
      readonly readinessProbe: { readonly httpGet: { readonly path: string; readonly scheme: string } };
    },
  ];
  readonly volumes: readonly Volume[];
}

/** The pod of the Deployment. Every field was compared with Kubernetes' models by test/setup/deploy.test.ts. */
export function podOf(manifests: readonly Manifest[]): PodSpec {
  const deployment = manifests.find(({ kind }) => kind === 'Deployment') as unknown as {
    readonly spec: { readonly template: { readonly spec: PodSpec } };
  };
  return deployment.spec.template.spec;
}

/**
 * Puts the volumes of the pod into the root of its image, with the owners and modes that Kubernetes gives them: files
 * of Secrets and ConfigMaps belong to root and the pod's group, directories are writable by the group (fsGroup).
 */
export function mountVolumes(root: string, pod: PodSpec, files: Files): void {
  const { fsGroup } = pod.securityContext;
  const own = (path: string, mode: number): void => {
    chownSync(path, 0, fsGroup);
    chmodSync(path, mode);
  };
  const write = (path: string, data: string | undefined, mode: number): void => {
    expect(data, path).toBeDefined();
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, data ?? '');
    own(path, mode);
  };
  // Parents first: the admin token is mounted into the data directory.
  const mounts = pod.containers[0].volumeMounts.toSorted((a, b) => a.mountPath.length - b.mountPath.length);
  for (const { name, mountPath, subPath } of mounts) {
    const volume = pod.volumes.find((one) => one.name === name);
    const target = join(root, mountPath);
    if (volume?.projected !== undefined) {
      for (const source of volume.projected.sources)
        for (const [kind, part] of [
          ['ConfigMap', source.configMap],
          ['Secret', source.secret],
        ] as const)
          for (const { key, path } of part?.items ?? [])
            write(join(target, path), files[`${kind} ${part?.name}`]?.[key], volume.projected.defaultMode);
    } else if (volume?.secret !== undefined) {
      const { secretName, defaultMode, items } = volume.secret;
      for (const { key, path } of items) {
        const data = files[`Secret ${secretName}`]?.[key];
        write(subPath === path ? target : join(target, path), data, defaultMode);
      }
    } else {
      expect(volume?.emptyDir ?? volume?.persistentVolumeClaim, name).toBeDefined();
      rmSync(target, { recursive: true, force: true });
      mkdirSync(target, { recursive: true });
      // With the setgid bit.
      own(target, volume?.emptyDir === undefined ? 0o2775 : 0o2777);
    }
  }
}
