import { describe, expect, it } from "vitest";
import { Catalogue } from "../catalogue.ts";
import { CATALOGUE_LOCKS, lockfileOf, packagesIn } from "./agent-lockfile.ts";
import { planOf } from "./install-plan.ts";

const catalogue = Catalogue.load();
const claude = catalogue.entry("claude");
const locked = lockfileOf("claude", CATALOGUE_LOCKS);

describe("the plan of an install", () => {
  it("is the lockfile, with no script run", () => {
    const plan = planOf(claude, locked, {}, "linux-x64");
    expect(plan).toMatchObject({ source: "lockfile", lockfile: locked?.lockfile });
    expect(plan.npm).toEqual([["ci", "--ignore-scripts"]]);
    expect(plan.folder).toMatch(/^0\.99\.0-[0-9a-f]{12}$/);
  });

  it("lets npm find out about versions that were asked for, and says so", () => {
    const plan = planOf(
      claude,
      locked,
      { agentProcessVersion: "0.98.0", agentVersion: "0.3.300" },
      "linux-x64",
    );
    expect(plan).toMatchObject({ source: "override", lockfile: undefined });
    expect(plan.npm).toEqual([["install", "--ignore-scripts"]]);
    expect(plan.folder).toMatch(/^0\.98\.0-asked-/);
    expect(JSON.parse(plan.manifest)).toMatchObject({
      dependencies: { "@agentclientprotocol/claude-agent-acp": "0.98.0" },
      overrides: { "@anthropic-ai/claude-agent-sdk": "0.3.300" },
    });
  });

  it("sets the version of an agent that is a package of its own directly", () => {
    const plan = planOf(catalogue.entry("pi"), undefined, { agentVersion: "0.87.0" }, "linux-x64");
    expect(JSON.parse(plan.manifest)).toMatchObject({
      dependencies: { "pi-acp": "0.0.34", "@earendil-works/pi-coding-agent": "0.87.0" },
    });
  });

  it("runs the scripts that the entry names, and no others", () => {
    const entry = { ...claude, install: { ...claude.install!, scripts: ["node-pty"] } };
    expect(planOf(entry, locked, {}, "linux-x64").npm).toEqual([
      ["ci", "--ignore-scripts"],
      ["rebuild", "node-pty", "--ignore-scripts=false"],
    ]);
  });

  it("is refused where there is nothing to install", () => {
    expect(() => planOf(claude, locked, {}, "sunos-x64")).toThrow(
      "Claude Code is not made for sunos-x64, only for",
    );
    expect(() => planOf(catalogue.entry("amp"), undefined, {}, "linux-x64")).toThrow(
      "Amp cannot be installed.",
    );
  });
});

describe("the packages of a lockfile", () => {
  it("are those of one platform", () => {
    const { lockfile = "" } = lockfileOf("opencode", CATALOGUE_LOCKS) ?? {};
    const names = packagesIn(lockfile, "darwin-arm64").map(({ name }) => name);
    expect(names).toEqual(["opencode-ai", "opencode-darwin-arm64"]);
  });
});
