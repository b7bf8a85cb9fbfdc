import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../root.ts";
import { readTree, type SourceFile } from "./tree.ts";
import allowed from "./vocabulary.json" with { type: "json" };
import { bannedWords, sharedNames } from "./vocabulary.ts";

async function readAll(): Promise<readonly SourceFile[]> {
  const { files } = await readTree(root);
  const pages: SourceFile[] = [];
  for await (const path of glob(["*.md", "docs/*.md", "packages/*/*.md"], { cwd: root }))
    pages.push({ path, text: await readFile(join(root, path), "utf8") });
  return [...files, ...pages];
}

describe("the vocabulary of docs/glossary.md", () => {
  it("is used: no part of the repository has more banned words than vocabulary.json allows", async () => {
    const uses = Map.groupBy(bannedWords(await readAll()), ({ part }) => part);
    const limits: Record<string, number> = allowed.banned;
    const over = [...uses].flatMap(([part, found]) =>
      found.length > (limits[part] ?? 0)
        ? [`${part}: ${found.length} > ${limits[part] ?? 0}, e.g. ${found.at(-1)?.use}`]
        : [],
    );
    expect(over).toEqual([]);
  });

  it("gives one name one meaning: no more exported names are declared by several packages than allowed", async () => {
    const shared = sharedNames(await readAll());
    const most = [...shared].toSorted(([, a], [, b]) => b.length - a.length).slice(0, 10);
    expect(
      shared.size,
      `most often: ${most.map(([name, where]) => `${name} (${where})`)}`,
    ).toBeLessThanOrEqual(allowed.sharedNames);
  });
});

describe("a text with banned words", () => {
  it.each([
    "whoever asks",
    "Somebody was first",
    "nobody knows",
    "the client is told",
    "are told of it",
    "turn-hearers",
    "const callOff = after(1)",
    "it was called off",
    "takeUp(session)",
    "the session is taken up",
    "What a pool stands on.",
    "askLeave()",
    "lets everything through",
  ])("is reported: %s", (text) => {
    expect(bannedWords([{ path: "packages/host/src/a.ts", text: `\n// ${text}` }])).toEqual([
      { part: "host", use: expect.stringMatching(/^packages\/host\/src\/a\.ts:2: /) },
    ]);
  });

  it("is not reported for words that contain them", () => {
    const text = "subscriber, cancel, uptake, intake, standing, sometimes, none";
    expect(bannedWords([{ path: "docs/a.md", text }])).toEqual([]);
  });
});

describe("a name that two packages declare", () => {
  it("is reported, unless the second is the independent verifier", () => {
    const file = (name: string) => ({ path: `packages/${name}/src/a.ts`, text: "export interface Clock {}" });
    expect([...sharedNames([file("ahp"), file("ledger"), file("verify")])]).toEqual([
      ["Clock", ["ahp", "ledger"]],
    ]);
    expect([...sharedNames([file("ahp"), file("verify")])]).toEqual([]);
  });
});
