import { writeFile } from "node:fs/promises";
import { makeProgram, newInvocation } from "../program.ts";
import { CLI_REFERENCE, cliReference } from "./cli-reference.ts";

await writeFile(CLI_REFERENCE, cliReference(await makeProgram(newInvocation())));
