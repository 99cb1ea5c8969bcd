import type { Tool } from './tool.ts';
import { accessExplain, accessRequest } from './tools/access.ts';
import { clusterDescribe, clustersList } from './tools/clusters.ts';
import { passList, passRequest, passRevoke } from './tools/passes.ts';

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
