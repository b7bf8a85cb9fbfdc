import type { ConstitutionFile } from "./constitution.ts";

/** What the constitution says of each tool. */
export type ToolDeclarations = ConstitutionFile["tools"];
