import type { GrantPath } from '../api/kinds/grant-reviews.ts';
import { terminalSafe } from '../lib/text.ts';

export const GRANT_HEADERS = ['BINDING', 'ROLE'];

/** The cells of the binding and the role behind a permission: `RoleBinding/ci/x`. */
export const grantCells = ({ binding, role }: GrantPath): string[] => [cell(binding), cell(role)];

function cell(reference: GrantPath['binding']): string {
  if (reference === undefined) return '<none>';
  const { kind, namespace = '', name } = reference;
  return terminalSafe(namespace === '' ? `${kind}/${name}` : `${kind}/${namespace}/${name}`);
}
