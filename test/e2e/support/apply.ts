import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createCatalog } from '../../../src/api/catalog.ts';
import { IN_CLUSTER_ANNOTATION } from '../../../src/api/domain-keys.ts';
import { apiVersionOf } from '../../../src/api/kind.ts';
import type { Server } from './server.ts';

const catalog = createCatalog({ productName: 'orchestrator' });

/** Applies the objects of a YAML text as the administrator, each in the cluster that its annotation names. */
export async function applyYaml(server: Server, text: string): Promise<void> {
  for (const document of parseAllDocuments(text)) {
    const object = document.toJS();
    const kind = catalog.findKind(object.apiVersion, object.kind);
    if (kind === undefined) throw new Error(`no kind ${object.kind}`);
    const { name, namespace = 'default', annotations = {} } = object.metadata;
    const inCluster = kind.inCluster ? `/orchestrator/${annotations[IN_CLUSTER_ANNOTATION]}` : '';
    const group = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
    const inNamespace = kind.namespaced ? `/namespaces/${namespace}` : '';
    const answer = await server.call(
      'PATCH',
      `${inCluster}${group}${inNamespace}/${kind.resource}/${name}?fieldManager=test&force=true`,
      {
        headers: { 'Content-Type': 'application/apply-patch+yaml' },
        body: object,
      },
    );
    expect([200, 201], answer.text).toContain(answer.code);
  }
}
