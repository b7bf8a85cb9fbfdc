import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { newInvocation } from "../src/command.ts";
import { makeProgram } from "../src/program.ts";
import { CLI_REFERENCE, cliReference } from "./cli-reference.ts";

describe("the page about the command line", () => {
  it("is up to date with the commands (npm run schemas)", async () => {
    expect(await readFile(CLI_REFERENCE, "utf8")).toBe(cliReference(await makeProgram(newInvocation())));
  });

  it("has a section for every command", async () => {
    const page = cliReference(await makeProgram(newInvocation()));
    for (const name of ["reins up", "reins run", "reins policy backtest", "reins approvals approve"])
      expect(page).toContain(`## ${name}\n`);
  });
});
