/** `<source>:<file>`, set by the server. As in src/api/domain-keys.ts, whose imports need modules of Node. */
const MANIFEST_ANNOTATION = 'clusterpass.dev/manifest';

interface Annotated {
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The file of the manifests that an object comes from; `""` if it was created in another way. */
export const manifestFileOf = ({ annotations = {} }: Annotated): string =>
  (annotations[MANIFEST_ANNOTATION] ?? '').replace(/^[^:]*:/, '');
