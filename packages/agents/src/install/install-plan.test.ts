import { describe, expect, it, test } from "vitest";
import { AgentError } from "../agent-error.ts";
import { Catalogue } from "../catalogue.ts";
import {
  CATALOGUE_LOCKS,
  expectVersion,
  fitsNode,
  isNewer,
  isPackageName,
  isVersionOrTag,
  lockfileOf,
  packageFault,
  packagesIn,
  planOf,
  uncheckedIn,
  withChecksums,
} from "./install-plan.ts";

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
    expect(plan.npm).toEqual([["ci", "--ignore-scripts"]]);
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

describe("a version for npm", () => {
  test.each(["1.2.3", "0.0.1-beta.4", "2.0.0+build.7", "latest", "next", "rc-2", "beta_1"])(
    "%s is taken",
    (text) => {
      expect(isVersionOrTag(text)).toBe(true);
      expect(() => expectVersion("Tiny", text)).not.toThrow();
    },
  );

  test.each([
    ...[
      "",
      " ",
      "not a version",
      "1",
      "1.2",
      "v1.2.3",
      "^1.2.3",
      ">=1",
      "1.x",
      "x",
      "X.1",
      "*",
      "1 || 2",
      "1.2.3 ",
    ],
    ...[
      "file:../evil",
      "../evil",
      "/tmp/evil",
      "~/evil",
      "git+ssh://host/x",
      "https://host/x.tgz",
      "user/repo",
    ],
    ...["npm:other@1.0.0", "workspace:*", "--registry=http://evil", "-g", "latest\n--global", "lat\u202eest"],
    "a".repeat(129),
  ])("%j is refused", (text) => {
    expect(isVersionOrTag(text)).toBe(false);
    expect(() => expectVersion("Tiny", text)).toThrow(AgentError);
  });
});

describe("the name of a package", () => {
  test.each(["tiny", "@scope/tiny-agent", "a.b_c~d", "node"])("%s is taken", (text) => {
    expect(isPackageName(text)).toBe(true);
  });

  test.each([
    ...[
      "",
      "Tiny",
      "@scope",
      "@/x",
      "../evil",
      "/evil",
      "a b",
      ".hidden",
      "_x",
      "a/b/c",
      "@a/b/c",
      "x@1.0.0",
    ],
    ...["--global", "http://host/x", "file:x", "a".repeat(215)],
  ])("%j is refused", (text) => {
    expect(isPackageName(text)).toBe(false);
  });
});

describe("a range of Node", () => {
  it.each([
    [">=22", "24.21.0", true],
    [">=22", "22.0.0", true],
    [">=22", "20.20.2", false],
    [">=22.13", "22.12.9", false],
    [">=22.13", "22.13.0", true],
    [">=22.13.1", "v23.0.0", true],
  ])("%s and %s", (range, version, fits) => {
    expect(fitsNode(range, version)).toBe(fits);
  });

  it("has to be one", () => {
    expect(() => fitsNode("latest", "24.0.0")).toThrow('"latest" is no range of versions such as >=22.');
  });
});

describe("a lockfile", () => {
  const checked = { version: "1.0.0", integrity: "sha512-a" };
  const faultOf = (packages: object) => packageFault(JSON.stringify({ packages: { "": {}, ...packages } }));

  it("of packages of the index that npm could check has no fault", () => {
    const named = { b: "^1.0.0 || ~2", c: "npm:@scope/c@1.0.0", d: "latest", e: "*" };
    const bundled = { version: "1.0.0", inBundle: true };
    expect(
      faultOf({ "node_modules/a": { ...checked, dependencies: named }, "node_modules/b": bundled }),
    ).toBeUndefined();
  });

  it.each<[string, object]>([
    ["has no checksum", { version: "1.0.0" }],
    ["is no package of the index", { ...checked, resolved: "git+ssh://git@example.com/y.git#1" }],
    ["is no package of the index", { ...checked, resolved: "../elsewhere", link: true }],
    ["is no package of the index", { ...checked, resolved: "file:elsewhere.tgz" }],
    [
      "b at git+https://example.com/y, which",
      { ...checked, dependencies: { b: "git+https://example.com/y" } },
    ],
    ["b at http://127.0.0.1/y.tgz, which", { ...checked, dependencies: { b: "http://127.0.0.1/y.tgz" } }],
    ["b at ../y, which is", { ...checked, dependencies: { b: "../y" } }],
    ["b at C:\\y, which is", { ...checked, dependencies: { b: "C:\\y" } }],
    ["b at user/b, which is", { ...checked, optionalDependencies: { b: "user/b" } }],
  ])("of a package that %s has one", (fault, locked) => {
    expect(faultOf({ "node_modules/a": locked })).toContain(fault);
  });

  it("is completed by checksums, and keeps those that it has", () => {
    const of = (packages: object) => JSON.stringify({ packages: { "": {}, ...packages } });
    const bare = { version: "2.0.0" };
    const ours = of({ "node_modules/a": checked, "node_modules/a/node_modules/@b/c": bare });
    const [missing, ...others] = uncheckedIn(ours);
    expect([missing, others]).toEqual([
      { place: "node_modules/a/node_modules/@b/c", name: "@b/c", version: "2.0.0" },
      [],
    ]);
    const found = new Map([
      ["node_modules/a", "sha512-z"],
      [missing!.place, "sha512-c"],
    ]);
    expect(withChecksums(ours, found)).toBe(
      of({ "node_modules/a": checked, [missing!.place]: { ...bare, integrity: "sha512-c" } }),
    );
  });
});

test.each([
  ["1.0.1", "1.0.0", true],
  ["1.0.0", "1.0.0", false],
  ["0.9.9", "1.0.0", false],
  ["1.10.0", "1.9.9", true],
  ["1.0.0", "1.0.0-rc.1", true],
  ["1.0.0-rc.1", "1.0.0", false],
  ["1.0.0-rc.10", "1.0.0-rc.9", true],
  ["1.0.0+2", "1.0.0+1", false],
])("%s is newer than %s: %s", (version, than, expected) => {
  expect(isNewer(version, than)).toBe(expected);
});
