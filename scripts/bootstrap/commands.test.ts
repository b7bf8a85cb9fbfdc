import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../root.ts";
import { commandLine, commandNames } from "./commands.mjs";

describe("commandLine", () => {
  it("puts the caller's arguments after its own", () => {
    expect(commandLine("start", ["--port", "0"])?.line.slice(1)).toEqual(["up", "--port", "0"]);
    expect(commandLine("reins", ["ahp", "--help"])?.line.slice(1)).toEqual(["ahp", "--help"]);
  });

  it("asks for development packages for everything but running Reins", () => {
    const production = commandNames.filter((name) => !commandLine(name, [])?.needsDevelopmentPackages);
    expect(production).toEqual(["start", "reins"]);
  });

  it("rejects a command that is not defined", () => {
    expect(commandLine("toString", [])).toBeUndefined();
    expect(commandLine("", [])).toBeUndefined();
  });

  it("has a script in package.json for each command, and the file each runs exists", () => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(scripts).toEqual(
      Object.fromEntries(commandNames.map((name) => [name, `node scripts/bootstrap.mjs ${name}`])),
    );
    const files = commandNames.map((name) => commandLine(name, [])?.line[0] ?? "");
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});
