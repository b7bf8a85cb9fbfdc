import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Catalogue } from "./catalogue.ts";
import { CATALOGUE_LOCKS, lockfileOf } from "./install/install-plan.ts";

const custom = {
  id: "mine",
  name: "Mine",
  support: { level: "supported" },
  start: { with: "file", file: "/opt/mine", args: ["--acp"] },
  enforcement: { level: "asked" },
};

describe("the catalogue", () => {
  it("is what the table in docs/agents.md says", () => {
    const guide = readFileSync(new URL("../../../docs/agents.md", import.meta.url), "utf8");
    const rows = [...guide.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)];
    const told = rows.map(([, id, support = "", level, unasked, hostile]) => ({
      ...{ id, support: support.split(":")[0], level },
      asks: unasked === "–",
      holds: hostile === "holds",
    }));
    const words = { supported: "yes", limited: "limited", unsupported: "no" };
    const known = Catalogue.load().entries.map(({ id, builtIn, support, enforcement, hostile }) => {
      if (builtIn) return { id, support: "built in", level: "performed", asks: true, holds: false };
      const isOut = support.level === "unsupported";
      return {
        ...{ id, support: words[support.level], level: isOut ? "–" : enforcement.level },
        asks: isOut || enforcement.unasked.length === 0,
        holds: hostile?.held === true,
      };
    });
    expect(told).toEqual(known);
  });

  it("knows these agents", () => {
    const known = Catalogue.load().entries.map(({ id, support }) => `${id} ${support.level}`);
    expect(known).toEqual([
      "native supported",
      "claude supported",
      "codex supported",
      "opencode supported",
      "gemini limited",
      "qwen limited",
      "copilot limited",
      "cline limited",
      "pi limited",
      "amp unsupported",
    ]);
  });

  it("says why an agent is less than supported", () => {
    const lesser = Catalogue.load().entries.filter(({ support }) => support.level !== "supported");
    expect(lesser.filter(({ support }) => !support.reason)).toEqual([]);
  });

  it("says of every agent that runs whether its gate holds in a hostile workspace", () => {
    const silent = Catalogue.load().entries.filter(({ start, hostile }) => start && !hostile);
    expect(silent).toEqual([]);
  });

  it("takes an operator's agents, also in place of its own", () => {
    const catalogue = Catalogue.load([custom, { ...custom, id: "claude", name: "My Claude" }]);
    expect(catalogue.entry("mine").start?.args).toEqual(["--acp"]);
    expect(catalogue.entry("claude").name).toBe("My Claude");
  });

  it("says what is wrong with an entry", () => {
    const { start: _, ...without } = custom;
    expect(() => Catalogue.load([without])).toThrow(
      'The agent "mine" cannot be used:\n  entry: needs `start`',
    );
    expect(() => Catalogue.load([{ ...custom, profile: { files: [{ path: "../x", text: "" }] } }])).toThrow(
      "profile.files.0.path: must not lead out of its folder",
    );
    expect(() => Catalogue.load([{ ...custom, colour: "red" }])).toThrow("colour");
    expect(() => Catalogue.load([{}])).toThrow("The agent without an id cannot be used");
  });

  it("says which agents there are when asked for another", () => {
    expect(() => Catalogue.load().entry("cursor")).toThrow(
      'There is no agent "cursor". Known are native, claude, codex,',
    );
  });
});

const installable = Catalogue.load().entries.filter(({ install }) => install);

describe.each(installable)("the lockfile of $id", ({ id, install }) => {
  const locked = lockfileOf(id, CATALOGUE_LOCKS);
  const manifest = JSON.parse(locked?.manifest ?? "{}");
  const packages: Record<string, Record<string, unknown>> = JSON.parse(locked?.lockfile ?? "{}").packages;

  it("is for the packages of its entry", () => {
    expect(manifest.dependencies).toEqual(install?.packages);
    expect(packages[""]?.dependencies).toEqual(install?.packages);
  });

  it("names no place to fetch from", () => {
    expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
  });

  it("has an entry for every platform's binaries, without which npm would refuse it", () => {
    const named = Object.values(packages).flatMap((each) => Object.keys(each.optionalDependencies ?? {}));
    const there = new Set(
      Object.keys(packages).map((place) => place.slice(place.lastIndexOf("node_modules/") + 13)),
    );
    expect(named.filter((name) => !there.has(name))).toEqual([]);
  });

  it("holds what npm checks the packages of this platform against", () => {
    const unchecked = Object.entries(packages).filter(([place, { integrity, optional }]) => {
      return place !== "" && integrity === undefined && !optional;
    });
    expect(unchecked).toEqual([]);
  });

  it("holds the package that speaks ACP and the agent itself", () => {
    for (const name of [install?.agentProcess, install?.agent]) {
      if (name !== undefined) expect(packages).toHaveProperty([`node_modules/${name}`]);
    }
  });
});

it("has the files it speaks of", () => {
  const folder = new URL("../catalogue/files/", import.meta.url);
  const sources = Catalogue.load().entries.flatMap(({ profile }) =>
    profile.files.map(({ source }) => source),
  );
  const missing = sources.filter((source) => source !== undefined && !existsSync(new URL(source, folder)));
  expect(missing).toEqual([]);
});
