/** `<source>:<file>`, set by the server. */
const ORIGIN_ANNOTATION = 'clusterpass.dev/manifest';

interface Annotated {
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The file of the manifests that an object comes from; `""` if it was created in another way. */
export const manifestFileOf = ({ annotations = {} }: Annotated): string =>
  (annotations[ORIGIN_ANNOTATION] ?? '').replace(/^[^:]*:/, '');
