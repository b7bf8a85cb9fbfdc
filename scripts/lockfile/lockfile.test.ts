import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { complete } from "./complete.ts";
import { fixedAddresses, type Lockfile, missingEntries } from "./lockfile.ts";
import { platformOf } from "./platform.ts";

describe("package-lock.json", () => {
  const lockfile: Lockfile = JSON.parse(
    readFileSync(join(import.meta.dirname, "..", "..", "package-lock.json"), "utf8"),
  );

  it("has every platform's packages, so that npm ci accepts it everywhere (npm run lockfile adds them)", () => {
    expect(missingEntries(lockfile)).toEqual([]);
  });

  it("names no package index", () => {
    expect(fixedAddresses(lockfile)).toEqual([]);
  });
});

describe("complete", () => {
  const lockfile: Lockfile = {
    lockfileVersion: 3,
    packages: {
      "": {},
      "node_modules/tool": {
        version: "2.0.0",
        dev: true,
        optionalDependencies: { "@tool/linux-x64-musl": "2.0.0", "@tool/win32-arm64": "2.0.0" },
      },
      "node_modules/tool/node_modules/@tool/win32-arm64": { version: "2.0.0" },
    },
  };

  it("adds what is missing and leaves what is there, in npm's order", () => {
    const packages = complete(lockfile).packages;
    expect(Object.keys(packages)).toEqual([
      "",
      "node_modules/@tool/linux-x64-musl",
      "node_modules/tool",
      "node_modules/tool/node_modules/@tool/win32-arm64",
    ]);
    expect(packages["node_modules/@tool/linux-x64-musl"]).toEqual({
      version: "2.0.0",
      dev: true,
      optional: true,
      os: ["linux"],
      cpu: ["x64"],
      libc: ["musl"],
    });
    expect(missingEntries(complete(lockfile))).toEqual([]);
  });

  it("refuses what it cannot derive", () => {
    const unclear = { packages: { "node_modules/tool": { optionalDependencies: { fsevents: "2.0.0" } } } };
    expect(() => complete(unclear)).toThrow("fsevents@2.0.0");
    const range = {
      packages: { "node_modules/tool": { optionalDependencies: { "tool-linux-x64": "^2.0.0" } } },
    };
    expect(() => complete(range)).toThrow("by hand");
  });
});

describe("platformOf", () => {
  it.each([
    ["@biomejs/cli-darwin-arm64", { os: ["darwin"], cpu: ["arm64"] }],
    ["@oxc-parser/binding-linux-arm-musleabihf", { os: ["linux"], cpu: ["arm"], libc: ["musl"] }],
    ["@rolldown/binding-linux-ppc64-gnu", { os: ["linux"], cpu: ["ppc64"], libc: ["glibc"] }],
    ["@rolldown/binding-win32-x64-msvc", { os: ["win32"], cpu: ["x64"] }],
    ["@rolldown/binding-wasm32-wasi", { cpu: ["wasm32"] }],
    ["fsevents", undefined],
  ])("reads %s", (name, platform) => {
    expect(platformOf(name)).toEqual(platform);
  });
});
