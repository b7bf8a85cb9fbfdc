import { dirname } from "node:path";

/** The repository's root folder. */
export const root: string = dirname(import.meta.dirname);
