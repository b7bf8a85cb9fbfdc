import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isInstalled, readStamp, satisfies, writeStamp } from "./stamp.mjs";

const full = { fingerprint: "abc", development: true, platform: "linux", arch: "x64" };
const production = { ...full, development: false };

describe("satisfies", () => {
  it("takes a full install for a production command, and not the other way round", () => {
    expect(satisfies(full, full)).toBe(true);
    expect(satisfies(full, production)).toBe(true);
    expect(satisfies(production, production)).toBe(true);
    expect(satisfies(production, full)).toBe(false);
  });

  it("wants the same lockfile and the same machine", () => {
    expect(satisfies(undefined, production)).toBe(false);
    expect(satisfies({ ...full, fingerprint: "abd" }, production)).toBe(false);
    expect(satisfies({ ...full, platform: "darwin" }, production)).toBe(false);
    expect(satisfies({ ...full, arch: "arm64" }, production)).toBe(false);
  });
});

describe("the stamp on disk", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "reins-stamp-"));
    mkdirSync(join(folder, "node_modules"));
    writeFileSync(join(folder, "package-lock.json"), "1");
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("is believed until the lockfile or npm's record of what it installed changes", () => {
    expect(isInstalled(folder, false)).toBe(false);
    writeStamp(folder, true);
    expect(isInstalled(folder, true)).toBe(true);

    writeFileSync(join(folder, "package-lock.json"), "2");
    expect(isInstalled(folder, true)).toBe(false);
    writeStamp(folder, false);
    expect(isInstalled(folder, true)).toBe(false);
    expect(isInstalled(folder, false)).toBe(true);

    writeFileSync(join(folder, "node_modules", ".package-lock.json"), "pruned by hand");
    expect(isInstalled(folder, false)).toBe(false);
  });

  it("counts as absent when it cannot be read", () => {
    writeFileSync(join(folder, "node_modules", ".reins-install.json"), '{"fingerp');
    expect(readStamp(folder)).toBeUndefined();
    expect(isInstalled(folder, false)).toBe(false);
  });
});
