import { AUTHENTICATED, type User } from '../api/caller.ts';

const user = (name: string, ...groups: string[]): User => ({
  name,
  uid: `demo:${name}`,
  groups: [...groups, AUTHENTICATED],
  extra: {},
});

/** The callers of the demo fleet; demo/rbac.yaml grants their rights. */
export const DEMO_USERS: readonly User[] = [user('dana', 'platform-admins'), user('devi', 'team-shop'), user('carl')];
