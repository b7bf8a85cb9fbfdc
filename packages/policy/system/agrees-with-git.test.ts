import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { isHarmless } from "../src/conditions/conditions.ts";
import { realFiles } from "../src/facts/files.ts";
import { gatherFacts } from "../src/facts/gather.ts";
import { loadToolTables } from "../src/facts/tool/tool-call.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "reins-git-runs-")));
const tables = loadToolTables();
const payload = join(folder, "payload");
const mark = join(folder, "mark");
const environment = { PATH: process.env.PATH, HOME: join(folder, "home"), GIT_CONFIG_NOSYSTEM: "1" };

function git(root: string, ...words: readonly string[]): string {
  const settings = ["user.name=a", "user.email=a@b", "protocol.file.allow=always"];
  return execFileSync("git", ["-C", root, ...settings.flatMap((one) => ["-c", one]), ...words], {
    env: environment,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
}

function put(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

beforeAll(() => {
  mkdirSync(join(folder, "home"));
  writeFileSync(payload, `#!/bin/sh\necho ran >> '${mark}'\n`);
  chmodSync(payload, 0o755);
  const base = join(folder, "base");
  for (const root of [base, join(base, "sub")]) {
    mkdirSync(root, { recursive: true });
    git(root, "init", "-q", "-b", "main", "--template=");
  }
  put(base, "sub/a", "1\n");
  git(join(base, "sub"), "add", "-A");
  git(join(base, "sub"), "commit", "-q", "-m", "one");
  put(base, ".gitattributes", "*.x diff=d filter=d merge=d\n");
  put(base, ".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n');
  put(base, "a.x", "1\n");
  put(base, "b.txt", "1\n");
  git(base, "add", "-A");
  git(base, "commit", "-q", "-m", "one");
  appendFileSync(join(base, "a.x"), "2\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let copies = 0;
function copy(): string {
  copies += 1;
  const root = join(folder, `copy${copies}`);
  cpSync(join(folder, "base"), root, { recursive: true });
  return root;
}

/** Whether git runs what was laid for it. */
function runsPayload(root: string, command: string): boolean {
  rmSync(mark, { force: true });
  // Other times make git look at the content, and write its index anew.
  utimesSync(join(root, "b.txt"), copies + 1_000, copies + 1_000);
  spawnSync("sh", ["-c", command], {
    cwd: root,
    env: { ...environment, GIT_PAGER: "cat" },
    timeout: 10_000,
    killSignal: "SIGKILL",
    stdio: "ignore",
  });
  return existsSync(mark);
}

async function facts(root: string, command: string) {
  const context = { roots: [root], cwd: root, home: environment.HOME, harness: "/nowhere" };
  const payloadOf = { tool_name: "Bash", arguments: { command } };
  const event = { event_type: "pre_action", session_id: "s", agent_id: "a", depth: 0 } as const;
  return gatherFacts(
    { ...event, payload: payloadOf },
    { ...context, agent: "claude-code", tables, files: realFiles },
  );
}

/** What we say is harmless in a repository that names no programs. */
const COMMANDS = [
  "git status",
  "git diff",
  "git log -p",
  "git blame a.x",
  "git describe --always --dirty",
  "git archive HEAD",
  "git add b.txt",
  "git branch --list",
];

const setting = (section: string, line: string) => (root: string) =>
  appendFileSync(join(root, ".git/config"), `${section}\n\t${line}\n`);
const hook = (name: string) => (root: string) => {
  mkdirSync(join(root, ".git/hooks"), { recursive: true });
  cpSync(payload, join(root, `.git/hooks/${name}`));
};

/** Ways to have git run a program that comes with a repository, and whether git of this machine does so for some command. */
const TRAPS: readonly (readonly [string, (root: string) => void])[] = [
  ["a monitor", setting("[core]", `fsmonitor = ${payload}`)],
  ["a monitor that begins like a switch", setting("[core]", `fsmonitor = false || ${payload}`)],
  ["a monitor behind a switch in quotes", setting("[core]", `fsmonitor = true" && ${payload}"`)],
  ["a monitor on the line of its section", setting("", `[core] fsmonitor = ${payload}`)],
  ["a monitor in another file", includedMonitor],
  ["a monitor of a submodule", (root) => setting("[core]", `fsmonitor = ${payload}`)(join(root, "sub"))],
  ["a monitor of an absorbed submodule", absorbedMonitor],
  ["a program for differences", setting("[diff]", `external = ${payload}`)],
  ["a program for differences of a kind", setting('[diff "d"]', `command = ${payload}`)],
  ["a program that makes text of it", setting('[diff "d"]', `textconv = ${payload}`)],
  ["a filter", setting('[filter "d"]', `clean = ${payload}`)],
  ["a filter on the way out", setting('[filter "d"]', `smudge = ${payload}`)],
  ["a filter that stays", setting('[filter "d"]', `process = ${payload}`)],
  ["a way to a repository for what is missing", missingObjects('[remote "o"]', `url = ext::${payload} %S`)],
  ["the same in quotes", missingObjects('[remote "o"]', `url = "ex"t"::${payload} %S"`)],
  ["the same by another name", missingObjects(`[url "ext::${payload} "]`, "insteadOf = o:", "o:x")],
  ["a hook that follows the index", hook("post-index-change")],
  ["hooks elsewhere", setting("[core]", `hooksPath = ${folder}`)],
];

function includedMonitor(root: string): void {
  put(root, "other.config", `[core]\n\tfsmonitor = ${payload}\n`);
  setting("[include]", "path = ../other.config")(root);
}

function absorbedMonitor(root: string): void {
  git(root, "submodule", "-q", "absorbgitdirs");
  appendFileSync(join(root, ".git/modules/sub/config"), `[core]\n\tfsmonitor = ${payload}\n`);
}

/** Git gets what it lacks from where its settings say. */
function missingObjects(section: string, line: string, url?: string) {
  return (root: string): void => {
    const hash = git(root, "rev-parse", "HEAD:a.x");
    rmSync(join(root, ".git/objects", hash.slice(0, 2), hash.slice(2)));
    setting("[protocol]", "allow = always")(root);
    setting("[extensions]", "partialClone = o")(root);
    setting('[remote "o"]', `promisor = true${url === undefined ? "" : `\n\turl = ${url}`}`)(root);
    setting(section, line)(root);
    git(root, "config", "core.repositoryformatversion", "1");
  };
}

describe("git that a repository has run a program", () => {
  const fired = new Set<string>();

  test.each(TRAPS)("by %s is opaque", async (name, lay) => {
    const missed: string[] = [];
    const root = copy();
    lay(root);
    for (const command of COMMANDS) {
      const action = await facts(root, command);
      if (!runsPayload(root, command)) continue;
      fired.add(name);
      if (!action.opaque) missed.push(command);
    }
    expect(missed).toEqual([]);
  });

  it("is what the above was tried with", () => {
    // Hooks of other names follow no command that only looks.
    const expected = TRAPS.map(([name]) => name).filter((name) => name !== "hooks elsewhere");
    expect([...fired]).toEqual(expect.arrayContaining(expected));
  });

  it("is opaque in a work tree whose own settings name a program", async () => {
    const root = copy();
    const tree = `${root}-tree`;
    git(root, "worktree", "add", "-q", tree);
    git(root, "config", "extensions.worktreeConfig", "true");
    expect(isHarmless(await facts(tree, "git status"))).toBe(true);
    put(root, `.git/worktrees/copy${copies}-tree/config.worktree`, `[core]\n\tfsmonitor = ${payload}\n`);
    expect(runsPayload(tree, "git status")).toBe(true);
    expect((await facts(tree, "git status")).opaque).toBe(true);
    expect(isHarmless(await facts(root, "git status"))).toBe(true);
  });
});

describe("git is not opaque", () => {
  test.each(COMMANDS)("where nothing names a program: %s", async (command) => {
    expect(isHarmless(await facts(join(folder, "base"), command))).toBe(true);
  });

  it.each<[string, (root: string) => void]>([
    ["switches", setting("[core]", "fsmonitor = false # off\n\tuntrackedCache = true")],
    ["a monitor of git's own", setting("[core]", "fsmonitor = true")],
    ["a remote", setting('[remote "o"]', "url = https://example.com/a.git\n\tpromisor = true")],
    ["hooks that follow a commit", hook("post-commit")],
    [
      "a submodule whose repository lies in the other",
      (root) => void git(root, "submodule", "absorbgitdirs"),
    ],
  ])("where there is %s", async (_, lay) => {
    const root = copy();
    lay(root);
    expect(runsPayload(root, "git --no-optional-locks status")).toBe(false);
    expect(isHarmless(await facts(root, "git status"))).toBe(true);
  });

  it("but where submodules are too many to look into", async () => {
    const root = copy();
    const inner = join(root, "sub");
    const hash = git(inner, "rev-parse", "HEAD");
    const paths = Array.from({ length: 40 }, (_, at) => `s${at}`);
    for (const path of paths) put(root, `${path}/.git/HEAD`, "ref: refs/heads/main\n");
    const entries = paths.flatMap((path) => ["--cacheinfo", `160000,${hash},${path}`]);
    git(root, "update-index", "--add", ...entries);
    expect((await facts(root, "git status")).doubts.join()).toContain("too many submodules");
  });
});
