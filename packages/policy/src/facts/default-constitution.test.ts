import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attacks, eventOf, ordinaryActions } from "../../test/corpus.ts";
import { Machine } from "../../test/machine.ts";
import { loadPolicy } from "../constitution/load.ts";
import type { Policy } from "../decision/policy.ts";
import type { PolicyVerdict } from "../decision/verdict.ts";
import type { Enforcement, NetworkReach } from "../subject.ts";
import { gatherFacts } from "./gather.ts";

let machine: Machine;
let policy: Policy;

beforeAll(async () => {
  machine = await Machine.lay();
  const text = (name: string) => readFileSync(new URL(`../../constitutions/${name}`, import.meta.url));
  policy = loadPolicy({
    file: "default.yaml",
    rules: text("default.yaml").toString(),
    prose: text("default.md"),
  });
});
afterAll(() => machine[Symbol.asyncDispose]());

/** What the default constitution says to a registered agent. */
async function verdictOf(
  one: Omit<Parameters<typeof eventOf>[0], "id" | "source">,
  enforcement: Enforcement,
): Promise<string> {
  return (await decided(one, enforcement)).verdict;
}

async function decided(
  one: Omit<Parameters<typeof eventOf>[0], "id" | "source">,
  enforcement: Enforcement,
  network: NetworkReach = "off",
): Promise<PolicyVerdict> {
  const agent = one.agent ?? "claude-code";
  const event = eventOf({ ...one, id: "" }, machine);
  const action = await gatherFacts(event, machine.context(agent));
  const subject = {
    user: "ann",
    tenant: "default",
    roles: [],
    scopes: ["*"],
    agent,
    trust: "registered",
    session: "s",
    started: "interactive",
    chain: [],
    depth: 0,
    mode: "default",
    enforcement,
    ...(enforcement === "confined" && { network }),
  } as const;
  return policy.decide({ event_type: event.event_type, action, subject, counters: {}, at: 0 });
}

describe("the default constitution", () => {
  it("allows no attack by what it says of itself or by what it hides", async () => {
    const passed: string[] = [];
    for (const one of attacks()) {
      if ((await verdictOf(one, "asked")) === "allowed") passed.push(one.id);
    }
    expect(passed).toEqual([]);
  });

  it("asks about at most 2 % of ordinary actions without need when the agent is confined", async () => {
    const needless = ordinaryActions().filter(({ expect: kind }) => kind === "harmless" || kind === "opaque");
    const asked: string[] = [];
    for (const one of needless) {
      if ((await verdictOf(one, "confined")) !== "allowed") asked.push(one.id);
    }
    expect(asked.length / ordinaryActions().length).toBeLessThanOrEqual(0.02);
  });

  it("lets every harmless action of an agent that is not confined pass, and asks about the rest", async () => {
    for (const one of ordinaryActions()) {
      const verdict = await verdictOf(one, "asked");
      expect([one.id, verdict]).toEqual([
        one.id,
        one.expect === "harmless" ? "allowed" : expect.stringMatching(/ask|blocked/),
      ]);
    }
  });

  const write = (path: string) => ({
    payload: { tool_name: "Write", arguments: { file_path: `{{workspace}}/${path}`, content: "x" } },
  });
  const shell = (command: string) => ({ command });

  it.each([
    ["CI", write(".github/workflows/ci.yml"), "what_runs_by_itself_is_asked_about"],
    ["servers of agents", write(".mcp.json"), "what_runs_by_itself_is_asked_about"],
    ["instructions to agents", write("CLAUDE.md"), "what_runs_by_itself_is_asked_about"],
    ["hooks", shell("cp scripts/build.sh .git/hooks/pre-commit"), "what_runs_by_itself_is_asked_about"],
    ["settings that are made", write(".env.local"), "files_for_keys_are_asked_about"],
    ["settings that are copied", shell("cp .env.example .env"), "files_for_keys_are_asked_about"],
    ["a certificate that is made", write("tests/fixtures/server.pem"), "files_for_keys_are_asked_about"],
    ["a test's key", shell("cat tests/fixtures/server.key"), "keys_of_tests_are_asked_about"],
    [
      "edits of files that the command does not name",
      shell("grep -rl a src | xargs sed -i s/a/b/"),
      "unknown_files_are_not_changed_quietly",
    ],
  ])("asks about what it would have to block without need in the workspace: %s", async (_, one, rule) => {
    for (const enforcement of ["asked", "confined"] as const) {
      const verdict = await decided(one, enforcement);
      expect([verdict.verdict, verdict.rule]).toEqual(["ask", rule]);
      expect(verdict.reason).not.toContain("outside");
    }
  });

  it.each([
    "cat .env",
    "cat ~/.ssh/id_ed25519",
    "cat src/server.key",
    "cp ~/.ssh/id_ed25519 tests/fixtures/a.pem",
  ])("still blocks keys, tokens and passwords: %s", async (command) =>
    expect((await decided(shell(command), "confined")).verdict).toBe("blocked"),
  );

  it.each([
    "npm publish",
    "node x.js",
    "psql -h db.example -c 'DROP TABLE users'",
    "find . -name '*.ts' | xargs wc -l",
  ])("does not take an open network for confinement: %s", async (command) => {
    expect((await decided(shell(command), "confined", "open")).verdict).toBe("ask");
    expect((await decided(shell(command), "asked")).verdict).toBe("ask");
  });

  it.each([
    "node x.js",
    "make",
    "FOO=1 npm test",
    "find . -name '*.ts' | xargs wc -l",
    "find src -follow -exec grep -l x {} +",
  ])("lets what cannot leave pass, seen through or not: %s", async (command) => {
    for (const network of ["off", "hosts"] as const)
      expect((await decided(shell(command), "confined", network)).rule).toBe("confined_work");
  });

  it("says why it lets a look at the system pass", async () => {
    for (const path of ["/usr/share/dict/words", "/etc/os-release", "/opt/thing/readme"]) {
      const { rule, reason } = await decided(shell(`cat ${path}`), "asked");
      expect([rule, reason]).toEqual(["looking_at_the_system", expect.stringContaining("of the system")]);
    }
    expect((await decided(shell("cat README.md"), "asked")).rule).toBe("work_in_the_workspace");
  });
});

describe("what would be lost", () => {
  const rules = (command: string) => decided({ command }, "asked");

  beforeAll(async () => {
    await mkdir(join(machine.workspace, "fresh/deep"), { recursive: true });
    await writeFile(join(machine.workspace, "fresh/deep/draft.md"), "not kept anywhere\n");
    await writeFile(join(machine.workspace, "fresh/deep/other.md"), "nor this\n");
    await writeFile(join(machine.workspace, "docs/api.md"), "changed since\n");
  });

  it.each([
    "rm fresh/deep/draft.md",
    "rm -rf fresh",
    "rm -r fresh/*",
    "find fresh -type f -delete",
    "rm docs/api.md",
    "rm -rf docs",
    "git rm -r docs",
    "git rm -rf fresh",
    "git clean -fd",
    "cp -f README.md fresh/deep/draft.md",
    "mv README.md fresh/deep/draft.md",
    "mv fresh/deep/other.md fresh/deep/draft.md",
    "echo x > fresh/deep/draft.md",
    "echo x > docs/api.md",
    "rm -rf sub",
    "rm -rf .",
  ])("is asked about: %s", async (command) => {
    for (const enforcement of ["asked", "confined"] as const) {
      const { verdict } = await decided({ command }, enforcement);
      expect([command, verdict]).toEqual([command, expect.stringMatching(/ask|blocked/)]);
    }
  });

  it("is asked about when an agent's own tool would delete it", async () => {
    const remove = (path: string) => ({
      agent: "native",
      payload: { tool_name: "delete_file", arguments: { path } },
    });
    expect((await decided(remove("fresh/deep/draft.md"), "asked")).rule).toBe("nothing_is_lost_quietly");
    expect((await decided(remove("fresh"), "asked")).rule).toBe("nothing_is_lost_quietly");
    expect((await decided(remove("src/main.ts"), "asked")).rule).toBe("work_in_the_workspace");
  });

  it.each([
    "rm src/main.ts",
    "rm -rf src/util.ts src/main.ts",
    "git rm src/util.ts",
    "mv fresh/deep/draft.md fresh/renamed.md",
    "sed -i s/a/b/ fresh/deep/draft.md",
    "echo more >> fresh/deep/draft.md",
    "echo new > fresh/new.md",
    "rm -rf node_modules dist",
  ])("is nothing here: %s", async (command) => {
    expect([command, (await rules(command)).verdict]).toEqual([command, "allowed"]);
  });

  it("lies in a shared folder, too, unless the session made it itself", async () => {
    const others = await mkdtemp(join(tmpdir(), "reins-others-"));
    await writeFile(join(others, "theirs.txt"), "theirs\n");
    try {
      for (const command of [
        `rm -rf ${others}`,
        `echo x > ${others}/theirs.txt`,
        `echo x >> ${others}/theirs.txt`,
        `cat ${others}/theirs.txt`,
        `cp -r src ${others}`,
      ])
        expect([command, (await rules(command)).verdict]).toEqual([command, "ask"]);
      const own = `${tmpdir()}/reins-own-${process.pid}`;
      expect((await rules(`mkdir ${own} && echo x > ${own}/a`)).verdict).toBe("allowed");
      await mkdir(own);
      await writeFile(join(own, "a"), "x");
      expect((await rules(`cat ${own}/a`)).verdict).toBe("allowed");
      expect((await rules(`rm -rf ${own}`)).verdict).toBe("allowed");
      await rm(own, { recursive: true });
    } finally {
      await rm(others, { recursive: true });
    }
  });
});
