import type { Tool } from './tool.ts';
import { accessExplain } from './tools/access-explain.ts';
import { accessRequest } from './tools/access-request.ts';
import { clusterDescribe } from './tools/cluster-describe.ts';
import { clustersList } from './tools/clusters-list.ts';
import { passList } from './tools/pass-list.ts';
import { passRequest } from './tools/pass-request.ts';
import { passRevoke } from './tools/pass-revoke.ts';

/** All tools, in the order in which `tools/list` has them. */
export const TOOLS: readonly Tool[] = [
  clustersList,
  clusterDescribe,
  accessExplain,
  accessRequest,
  passRequest,
  passList,
  passRevoke,
];

/** The tools that change nothing. */
export const READ_ONLY_TOOLS: readonly Tool[] = TOOLS.filter(({ annotations }) => annotations.readOnlyHint);
