import { writeFile } from "node:fs/promises";
import { newInvocation } from "../invocation.ts";
import { makeProgram } from "../program.ts";
import { cliReference } from "./cli-reference.ts";
import { CLI_REFERENCE } from "./place.ts";

await writeFile(CLI_REFERENCE, cliReference(makeProgram(newInvocation())));
