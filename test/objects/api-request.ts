import type { ApiRequest } from '../../src/api/request.ts';
import { lonelyWork } from '../../src/lib/work-queue.fixture.ts';

interface Asked extends Pick<ApiRequest, 'caller'>, Partial<Pick<ApiRequest, 'query'>> {
  readonly target: Partial<ApiRequest['target']> &
    Pick<ApiRequest['target'], 'verb' | 'group' | 'version' | 'resource'>;
  /** Sent as JSON; of the patches, as a merge patch. */
  readonly body?: object | undefined;
}

/** A request as it reaches a handler, about an object of the fleet. */
export function apiRequest({ caller, target, body, query = new URLSearchParams() }: Asked): ApiRequest {
  const mediaType = target.verb === 'patch' ? 'application/merge-patch+json' : 'application/json';
  return {
    caller,
    target: { subresource: '', cluster: undefined, namespace: '', name: '', alwaysPublic: false, ...target },
    query,
    body: body && { bytes: Buffer.from(JSON.stringify(body)), mediaType },
    warn: () => {},
    clientAddress: '',
    userAgent: 'test/1',
    path: '',
    signal: AbortSignal.timeout(60_000),
    work: lonelyWork(),
    accept: { mediaType: 'application/json', as: 'object' },
    auditId: '',
    annotate: () => {},
    nameObject: () => {},
    willAnswer: async () => {},
  };
}
