import type { User } from '../../api/caller.ts';

/** A user as reviews show one. What there is none of is left out. */
export const userInfo = ({ name, uid, groups, extra }: User): object => ({
  username: name,
  ...(uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(Object.keys(extra).length === 0 ? {} : { extra }),
});
