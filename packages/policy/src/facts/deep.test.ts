import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Machine } from "../../test/machine.ts";
import { loadPolicy } from "../constitution/load.ts";
import type { Subject } from "../subject.ts";
import { type FactsContext, gatherFacts } from "./gather.ts";

let machine: Machine;

beforeAll(async () => {
  machine = await Machine.lay();
});
afterAll(() => machine[Symbol.asyncDispose]());

async function factsOf(payload: unknown, more: Partial<FactsContext> = {}) {
  const event = { event_type: "pre_action" as const, session_id: "s", agent_id: "a", depth: 0, payload };
  return gatherFacts(event, { ...machine.context("claude-code"), ...more });
}

const bash = (command: string, more?: Partial<FactsContext>) =>
  factsOf({ tool_name: "Bash", arguments: { command } }, more);

/** Each effect on a path in short: `read` or `write`, the path from the machine's folder, a slash and stars if it is deep. */
async function touched(command: string, more?: Partial<FactsContext>): Promise<string[]> {
  const { effects } = await bash(command, more);
  return effects.flatMap((effect) => {
    if (effect.kind !== "read" && effect.kind !== "write") return [];
    const path = effect.path.replace(machine.folder, "");
    return [`${effect.kind} ${path}${effect.deep ? "/**" : ""}`];
  });
}

describe("an effect is deep where everything below is touched", () => {
  it.each<[string, string[]]>([
    ["rm -r docs", ["write /workspace/docs/**"]],
    ["rm docs/api.md", ["write /workspace/docs/api.md"]],
    ["mv docs old", ["read /workspace/docs/**", "write /workspace/docs/**", "write /workspace/old/**"]],
    ["mv docs src", ["read /workspace/docs/**", "write /workspace/docs/**", "write /workspace/src/docs/**"]],
    ["cp -r docs src", ["read /workspace/docs/**", "write /workspace/src/docs/**"]],
    ["cp -r docs/. src", ["read /workspace/docs/**", "write /workspace/src/**"]],
    ["rsync -a docs/ src/", ["read /workspace/docs/**", "write /workspace/src/**"]],
    ["rsync -a docs src/", ["read /workspace/docs/**", "write /workspace/src/docs/**"]],
    ["chmod -R u+w docs", ["write /workspace/docs/**"]],
    ["grep -r x docs", ["read /workspace/docs/**"]],
    ["grep -R x", ["read /workspace/**", "read /workspace/.env"]],
    ["grep --recurs x docs", ["read /workspace/docs/**"]],
    ["grep -d recurse x docs", ["read /workspace/docs/**"]],
    ["grep x docs/api.md", ["read /workspace/docs/api.md"]],
    ["rg x", ["read /workspace/**"]],
    ["trash docs", ["write /workspace/docs/**"]],
    ["gzip -r docs", ["read /workspace/docs/**", "write /workspace/docs/**"]],
    ["unzip -d docs a.zip", ["write /workspace/docs/**", "write /workspace/**", "read /workspace/a.zip"]],
    ["find docs -delete", ["read /workspace/docs", "write /workspace/docs/**"]],
  ])("%s", async (command, expected) => {
    expect(await touched(command)).toEqual(expected);
  });

  it.each<[string, string[]]>([
    ["rm -rf notes.txt", ["write /workspace/notes.txt"]],
    ["rm -r link-home", ["write /workspace/link-home"]],
    [
      "mv notes.txt b.txt",
      ["read /workspace/notes.txt", "write /workspace/notes.txt", "write /workspace/b.txt"],
    ],
    ["cp -r notes.txt docs", ["read /workspace/notes.txt", "write /workspace/docs/notes.txt"]],
    ["grep -r x notes.txt", ["read /workspace/notes.txt"]],
  ])("not on a file, which has nothing below: %s", async (command, expected) => {
    expect(await touched(command)).toEqual(expected);
  });

  it("reports the folder of a search by name", async () => {
    expect(await touched("find docs -name '*.md' -delete")).toContain("write /workspace/docs/**");
    expect((await bash("find . -name '*.md' -delete")).doubts).toEqual([]);
  });

  it("reports copies under the names that a glob matches", async () => {
    expect((await touched("cp docs/*.md src")).toSorted()).toEqual([
      "read /workspace/docs/api.md",
      "read /workspace/docs/guide.md",
      "write /workspace/src/api.md",
      "write /workspace/src/guide.md",
    ]);
  });

  it("many files are summed up as what may lie anywhere below their folder", async () => {
    const names = Array.from({ length: 30 }, (_, n) => `new-${n}.ts`);
    expect(await touched(`rm src/{${names.join(",")}}`)).toHaveLength(30);
    const files = { ...machine.context("claude-code").files, list: async () => names.map(asFile) };
    expect(await touched("rm src/*.ts", { files })).toEqual(["write /workspace/src/**"]);
  });

  it("git looks at the names of files, and at what is in them only when it shows or keeps that", async () => {
    expect(await touched("git status")).toEqual(["read /workspace"]);
    expect(await touched("git log --oneline -3")).toEqual(["read /workspace"]);
    expect(await touched("git log -p")).toEqual(["read /workspace/**"]);
    expect(await touched("git log --pat")).toEqual(["read /workspace/**"]);
    expect(await touched("git status --verb")).toEqual(["read /workspace/**"]);
    expect(await touched("git diff")).toEqual(["read /workspace/**"]);
    expect(await touched("git grep TODO")).toEqual(["read /workspace/**"]);
    expect(await touched("git add .")).toEqual(["read /workspace/**", "read /workspace/.env"]);
  });

  it("tools that search or delete say so, too", async () => {
    const deep = async (tool_name: string, given: object) =>
      (await factsOf({ tool_name, arguments: given })).effects.map((effect) => "deep" in effect);
    expect(await deep("Grep", { pattern: "x", path: "docs" })).toEqual([true]);
    expect(await deep("Read", { file_path: "docs/api.md" })).toEqual([false]);
  });
});

describe("an effect above the session's folders", () => {
  it("is reported once more for each folder of the session that it reaches", async () => {
    const { effects } = await bash("rm -rf ..");
    expect(effects).toContainEqual({
      kind: "write",
      path: machine.workspace,
      place: "workspace",
      inside: "",
      destroys: true,
      deep: true,
    });
  });

  it("is reported for the home, too, where the folder above belongs to another place", async () => {
    const { effects } = await bash("grep -r x /");
    const places = effects.flatMap((effect) => (effect.kind === "read" ? [effect.place] : []));
    expect(places).toEqual(["harness", "workspace", "credentials"]);
  });
});

describe("a rule that keeps one file", () => {
  const policy = loadPolicy({
    file: "constitution.yaml",
    rules: `
tool_rules:
  - { name: kept, condition: { writes: { any: { match: "docs/guide.md" } } }, verdict: blocked }
  - { name: secret, condition: { reads: { any: { match: "docs/guide.md", place: workspace } } }, verdict: ask }
  - { name: rest, condition: {}, verdict: allowed }`,
    prose: new Uint8Array(),
  });
  const subject: Subject = {
    user: "u",
    tenant: "t",
    roles: [],
    scopes: [],
    agent: "a",
    trust: "registered",
    session: "s",
    started: "interactive",
    chain: [],
    depth: 0,
    mode: "m",
    enforcement: "asked",
  };
  const ruleFor = async (command: string) => {
    const action = await bash(command);
    return policy.decide({ event_type: "pre_action" as const, action, subject, counters: {}, at: 0 }).rule;
  };

  it.each([
    "rm -r docs",
    "rm -rf docs/",
    "rm -rf ../workspace",
    "mv docs away",
    "mv empty/../docs away",
    "cp -r src/. docs",
    "rsync -a --delete src/ docs/",
    "find . -name '*.md' -delete",
    "find docs -type f -exec rm {} +",
    "git rm -r docs",
    "git clean -fdx",
    "tar xf a.tar -C docs",
    "unzip -d docs a.zip",
    "rm docs/*.md",
    "chmod -R a-w .",
  ])("stops %s", async (command) => {
    expect(await ruleFor(command)).toBe("kept");
  });

  it.each(["grep -r x .", "grep -rn x docs", "cat docs/guide.md", "rg x", "diff -r docs src", "git diff"])(
    "sees that %s reads what is in it",
    async (command) => {
      expect(await ruleFor(command)).toBe("secret");
    },
  );

  it.each(["rm -r src", "mv notes.txt docs/notes.txt", "rm docs/api.md", "git status", "grep -r x src"])(
    "does not mind %s",
    async (command) => {
      expect(await ruleFor(command)).toBe("rest");
    },
  );
});

function asFile(name: string) {
  return { name, isFolder: false };
}

describe("a command that would take long to follow is not followed to the end", () => {
  it("where programs run one another without end", async () => {
    const { effects, opaque, doubts } = await bash(`${"env ".repeat(1_000)}ls`);
    expect(effects.length).toBeLessThan(100);
    expect(opaque).toBe(true);
    expect(doubts).toContain("the command is nested too deep");
    expect(await bash(`${"env ".repeat(20)}rm docs/api.md`)).toMatchObject({ opaque: false });
  });

  it("where many names are looked for in many folders: what is found is anywhere below them", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `-o -name n${index}`).join(" ");
    const found = await touched(`find docs src lib one two three \\( -name n ${names} \\) -delete`);
    expect(found.filter((effect) => effect.startsWith("write"))).toEqual(
      ["docs", "src", "lib", "one", "two", "three"].map((name) => `write /workspace/${name}/**`),
    );
  });

  it("where find runs command after command: what follows them is still seen", async () => {
    const { effects, opaque, doubts } = await bash(`find docs ${"-exec ls {} \\; ".repeat(100)}-delete`);
    expect(opaque).toBe(true);
    expect(doubts).toContain("find runs too many commands to follow");
    expect(effects).toContainEqual(expect.objectContaining({ kind: "write", destroys: true, deep: true }));
  });
});
