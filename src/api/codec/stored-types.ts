import { isJsonObject } from '../../lib/json.ts';
import type { Shape } from './shape.ts';

/** A stored value has a field of a wrong type. The message names the field and quotes nothing of the value. */
export class WrongStoredType extends Error {
  override readonly name = 'WrongStoredType';
}

/** Throws WrongStoredType. */
export function requireTypes(value: unknown, shape: Shape): void {
  const problem = typeProblem(value, shape);
  if (problem !== undefined) throw new WrongStoredType(problem.replace(/^\./, ''));
}

/**
 * What is wrong with the types of a stored value, by the first field: `.spec.rules is a string`. Undefined if every
 * field has the type of its shape. Bodies of requests are decoded by the same shapes, so only a value that another
 * program wrote, or that is damaged, has a wrong type. Fields that the shape does not have are ignored.
 */
export function typeProblem(value: unknown, shape: Shape): string | undefined {
  switch (shape.type) {
    case 'any':
      return undefined;
    case 'struct': {
      if (!isJsonObject(value)) return `is ${typeOf(value)}`;
      for (const name in value) {
        const field = shape.byName.get(name);
        if (field === undefined || (field.keepNull && value[name] === null)) continue;
        const problem = typeProblem(value[name], field.shape);
        if (problem !== undefined) return inside(`.${name}`, problem);
      }
      return undefined;
    }
    case 'map':
      if (!isJsonObject(value)) return `is ${typeOf(value)}`;
      for (const key in value) {
        const problem = elementProblem(value[key], shape.values);
        if (problem !== undefined) return inside(`[${key}]`, problem);
      }
      return undefined;
    case 'array':
      if (!Array.isArray(value)) return `is ${typeOf(value)}`;
      for (let index = 0; index < value.length; index++) {
        const problem = elementProblem(value[index], shape.items);
        if (problem !== undefined) return inside(`[${index}]`, problem);
      }
      return undefined;
    case 'integer':
      return typeof value === 'number' ? undefined : `is ${typeOf(value)}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `is ${typeOf(value)}`;
    default:
      return typeof value === 'string' ? undefined : `is ${typeOf(value)}`;
  }
}

/** Null in a list or a map is stored for types that have no other zero value. */
function elementProblem(value: unknown, shape: Shape): string | undefined {
  return value === null && NULLABLE.has(shape.type) ? undefined : typeProblem(value, shape);
}

const NULLABLE: ReadonlySet<Shape['type']> = new Set(['array', 'map', 'date-time', 'byte']);

const inside = (step: string, problem: string): string =>
  problem.startsWith('is ') ? `${step} ${problem}` : `${step}${problem}`;

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
