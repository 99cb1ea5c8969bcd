/** An object of parsed JSON whose members are not known. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member of a value that may be anything; undefined if it has none of this name. */
export const memberOf = (value: unknown, name: string): unknown =>
  isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

/** An empty object in place of any other value. */
export const asJsonObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});
