import type { ResourceAttributes } from '../../api/kinds/reviews.ts';
import { memberOf } from '../../lib/json.ts';
import { objectOf } from '../api-call.ts';
import { textField } from '../result-fields.ts';
import type { ToolContext } from '../tool.ts';

/** A SelfSubjectAccessReview in a cluster, or (undefined) at the fleet. */
export async function reviewOf(
  { send, productName }: ToolContext,
  cluster: string | undefined,
  resourceAttributes: ResourceAttributes,
): Promise<{ readonly allowed: boolean; readonly reason: string | undefined }> {
  const prefix = cluster === undefined ? '' : `/${productName}/${cluster}`;
  const reply = await send({
    method: 'POST',
    path: `${prefix}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    },
  });
  const { status } = objectOf(reply);
  return { allowed: memberOf(status, 'allowed') === true, reason: textField(memberOf(status, 'reason')) };
}
