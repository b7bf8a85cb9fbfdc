import picomatch from "picomatch";
import { z } from "zod";
import { tableFile } from "../table-file.ts";

const VariableTable = z.strictObject({ harmless: z.array(z.string()), shell: z.array(z.string()) });

const table = tableFile("variables.json", VariableTable);
const harmless = new Set(table.harmless);

/** Whether a program that is known does the same with this variable as without. */
export const isHarmlessVariable = (name: string): boolean => harmless.has(name);

const isListed = picomatch(table.shell);

/** Whether the shell, or programs in general, do something else because of this variable. */
export const isShellVariable = (name: string): boolean => isListed(name) && !harmless.has(name);
