/** A thrown value need not be an Error. */
export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
