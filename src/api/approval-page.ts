/** The page of the console about one access request or pass. There people read and decide it. */
export const approvalPage = (baseUrl: string, resource: 'accessrequests' | 'passes', name: string): string =>
  `${baseUrl}/console/#/${resource === 'passes' ? 'passes' : 'requests'}/${encodeURIComponent(name)}`;

export const clusterPage = (baseUrl: string, name: string): string =>
  `${baseUrl}/console/#/clusters/${encodeURIComponent(name)}`;
