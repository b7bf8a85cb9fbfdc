import { describe, expect, it } from "vitest";
import { Catalogue } from "./catalogue.ts";
import { settingsHash } from "./settings-hash.ts";

const claude = Catalogue.load().entry("claude");

describe("the hash of an agent's settings", () => {
  it("stays the same as long as they do", () => {
    const reordered = { ...claude, profile: { ...claude.profile, env: reversed(claude.profile.env) } };
    expect(settingsHash(reordered)).toBe(settingsHash(claude));
    expect(settingsHash({ ...claude, name: "Another name" })).toBe(settingsHash(claude));
  });

  it("changes with everything that changes how the agent runs", () => {
    const { profile } = claude;
    const variants = [
      { ...claude, profile: { ...profile, mode: "plan" } },
      { ...claude, profile: { ...profile, env: { ...profile.env, X: "1" } } },
      { ...claude, profile: { ...profile, meta: {} } },
      { ...claude, profile: { ...profile, files: [{ path: "x", text: "y" }] } },
      { ...claude, strip: [] },
      { ...claude, start: { ...Catalogue.load().entry("codex").start!, file: String(claude.start?.file) } },
    ];
    const hashes = new Set([claude, ...variants].map(settingsHash));
    expect(hashes.size).toBe(variants.length + 1);
  });
});

function reversed(object: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(object).toReversed());
}
