import { expect, test } from 'vitest';
import { createCatalog } from '../../api/catalog.ts';
import type { ApiRequest } from '../../api/request.ts';
import { type Work, WorkQueue } from '../../lib/work-queue.ts';
import { patchObject } from './patch.ts';
import { createObject, updateObject } from './whole-object.ts';
import type { WriteParts } from './write-parts.ts';

const { clusters } = createCatalog({ productName: 'orchestrator' });

/** A request with a wrong body, which tells what is read of it. */
class WrongRequest implements Pick<ApiRequest, 'query' | 'warn' | 'work' | 'body'> {
  readonly reads: string[] = [];
  readonly query: URLSearchParams;
  readonly body: { readonly bytes: Uint8Array; readonly mediaType: string };
  readonly warn = (): void => {};

  constructor(mediaType: string) {
    this.query = new URLSearchParams({ fieldManager: 'test' });
    const { reads } = this;
    this.body = {
      mediaType,
      get bytes() {
        reads.push('body');
        return Buffer.from('{');
      },
    };
  }

  get work(): Work {
    this.reads.push('work');
    return new WorkQueue().job('jane');
  }
}

test.each([
  ['create', 'application/json', createObject],
  ['update', 'application/json', updateObject],
  ['patch', 'application/merge-patch+json', patchObject],
  ['apply', 'application/apply-patch+yaml', patchObject],
])('the decoding of the body counts as work: %s', async (_, mediaType, handler) => {
  const request = new WrongRequest(mediaType);
  await expect(handler({} as WriteParts, request as unknown as ApiRequest, clusters)).rejects.toMatchObject({
    status: { code: 400 },
  });
  expect(request.reads.slice(0, 2)).toEqual(['work', 'body']);
});
