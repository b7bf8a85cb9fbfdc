import { writeFile } from "node:fs/promises";
import { newInvocation } from "../src/command.ts";
import { makeProgram } from "../src/program.ts";
import { CLI_REFERENCE, cliReference } from "./cli-reference.ts";

await writeFile(CLI_REFERENCE, cliReference(await makeProgram(newInvocation())));
