import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isHarmless } from "../../conditions/conditions.ts";
import { realFiles } from "../files.ts";
import { gatherFacts } from "../gather.ts";
import { loadToolTables } from "../tool/tool-call.ts";

let folder: string;
const tables = loadToolTables();

function git(root: string, ...words: readonly string[]): string {
  return execFileSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@b", ...words], {
    env: { PATH: process.env.PATH, HOME: folder },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }).trim();
}

/**
 * A repository of ten commits, of which the third adds `config/.env`, the fifth changes and the sixth removes it. What
 * was kept of it since is in a stash, a tag and a branch of its own.
 */
async function lay(name: string, isPacked: boolean): Promise<void> {
  const root = join(folder, name);
  await mkdir(root, { recursive: true });
  git(root, "init", "-q", "-b", "main", "--template=");
  const put = async (path: string, text: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  };
  // Enough of it that git keeps versions as what is different.
  const long = Array.from({ length: 400 }, (_, line) => `line ${line} of a file\n`).join("");
  for (let at = 0; at < 30; at += 1) await put(`src/part${at}.ts`, `${long}${at}`);
  for (let at = 1; at <= 10; at += 1) {
    await put("src/a.ts", `${long}${at}`);
    if (at === 3) await put("config/.env", "TOKEN=old\n");
    if (at === 5) await put("config/.env", "TOKEN=new\n");
    if (at === 6) await rm(join(root, "config/.env"));
    git(root, "add", "-A", "-f", ".");
    git(root, "commit", "-q", "-m", `commit ${at}`);
    if (at === 3) git(root, "tag", "-a", "v3", "-m", "three");
    if (at === 4) git(root, "branch", "old");
  }
  await put("src/a.ts", "put away");
  await put(".env.local", "TOKEN=stashed\n");
  git(root, "stash", "push", "-q", "-u");
  if (isPacked) git(root, "gc", "-q", "--aggressive", "--prune=now");
}

function copy(from: string, to: string): void {
  execFileSync("cp", ["-a", join(folder, from), join(folder, to)]);
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "reins-shown-")));
  await lay("loose", false);
  await lay("packed", true);
  git(folder, "clone", "-q", "--shared", join(folder, "packed"), "borrowed");
  git(join(folder, "borrowed"), "fetch", "-q", "origin", "old:old", "--tags");
  git(join(folder, "packed"), "worktree", "add", "-q", join(folder, "beside"), "main~0");
}, 60_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const REPOSITORIES = ["loose", "packed", "borrowed", "beside"];

async function factsOf(name: string, command: string) {
  const root = join(folder, name);
  const payload = { tool_name: "Bash", arguments: { command } };
  return gatherFacts(
    { event_type: "pre_action", session_id: "s", agent_id: "a", depth: 0, payload },
    {
      roots: [root],
      cwd: root,
      home: join(folder, "home"),
      harness: join(folder, "reins"),
      agent: "claude-code",
      tables,
      files: realFiles,
    },
  );
}

async function harmlessOf(commands: (root: string) => readonly string[]): Promise<readonly string[]> {
  const harmless: string[] = [];
  for (const name of REPOSITORIES)
    for (const command of commands(join(folder, name)))
      if (isHarmless(await factsOf(name, command))) harmless.push(`${name}: ${command}`);
  return harmless;
}

/** Every way to write a commit that is so many before the newest. */
function namesOf(root: string, back: number): readonly string[] {
  const hash = git(root, "rev-parse", `HEAD~${back}`);
  const short = [hash, hash.slice(0, 7), hash.toUpperCase().slice(0, 10), `x-1-g${hash.slice(0, 9)}`];
  return [
    ...short,
    `HEAD~${back}`,
    `@~${back}`,
    `HEAD${"^".repeat(back)}`,
    `HEAD~${back - 1}^1`,
    `${hash}^{commit}`,
  ];
}

describe("files with keys that git kept earlier", () => {
  it("are shown by what is kept under a hash", async () => {
    const blobs = (root: string) => [
      git(root, "rev-parse", "HEAD~7:config/.env"),
      git(root, "rev-parse", "HEAD~5:config/.env"),
    ];
    const commands = (root: string) =>
      blobs(root).flatMap((hash) =>
        [hash, hash.slice(0, 8), hash.toUpperCase()].flatMap((word) => [
          `git show ${word}`,
          `git show -p ${word} -- README.md`,
          `git --no-pager show ${word}`,
          `git cat-file -p ${word}`,
          `git cat-file blob ${word}`,
          `git diff ${word} HEAD:src/a.ts`,
          `git diff HEAD:src/a.ts ${word}`,
          `git unpack-file ${word}`,
        ]),
      );
    expect(await harmlessOf(commands)).toEqual([]);
  });

  it("are shown by the commits that added, changed and removed them", async () => {
    const commands = (root: string) => [
      ...namesOf(root, 7).map((name) => `git show ${name}`),
      ...namesOf(root, 5).map((name) => `git diff ${name}^ ${name}`),
      ...[5, 4].flatMap((back) => {
        const name = git(root, "rev-parse", `HEAD~${back}`);
        return [
          `git show ${name}`,
          `git show ${name} -- config`,
          `git show HEAD ${name}`,
          `git show --stat -p ${name}`,
          `git log -p -1 ${name}`,
          `git log -p ${name}^..${name}`,
          `git log -p ^${name}^ ${name}`,
          `git diff ${name} ${name}^`,
          `git diff ${name}^..${name}`,
          `git diff ${name}^:config ${name}:config`,
          `git stash show -p ${name}`,
        ];
      }),
    ];
    expect(await harmlessOf(commands)).toEqual([]);
  });

  it("are shown by what a commit held", async () => {
    const commands = (root: string) => {
      const name = git(root, "rev-parse", "HEAD~6");
      return [
        ...namesOf(root, 6).map((one) => `git archive ${one}`),
        `git diff ${name}`,
        `git diff ${name} HEAD`,
        `git diff ${name}..`,
        `git diff ${name} -- config`,
        `git diff ${name}:config HEAD:src`,
        `git archive ${name} config`,
        `git archive ${name}:config`,
        `git grep TOKEN ${name}`,
        `git grep -e TOKEN ${name} -- config`,
        `git worktree add ../x ${name}`,
        `git restore -s ${name} config/.env`,
        `git checkout ${name} -- config/.env`,
        `git bundle create x ${name}`,
      ];
    };
    expect(await harmlessOf(commands)).toEqual([]);
  });

  it("are shown by what goes through the history", async () => {
    const commands = () => [
      ...["git log -p", "git log --patch -n 9", "git log -p -9", "git log -p --all", "git log -p --branches"],
      ...["git log -p -- config", "git log -p --author=a -1 -- config", "git log -p -1 -S TOKEN"],
      ...[
        "git log -c",
        "git whatchanged -p",
        "git log -p old",
        "git show old~1",
        "git show v3",
        "git show v3^{}",
      ],
      ...[
        "git show ':/commit 3'",
        "git show 'HEAD^{/commit 3}'",
        "git diff old~2...old",
        "git diff v3",
        "git log -U1",
      ],
      ...[
        "git archive old",
        "git grep TOKEN old",
        "git grep TOKEN v3",
        "git diff old",
        "cd src && git log -p",
      ],
    ];
    expect(await harmlessOf(commands)).toEqual([]);
  });

  it("are shown by stashes, logs and what is to be committed", async () => {
    const commands = [
      ...["git stash show -p -u", "git stash show -p", "git stash show -p stash@{0}", "git stash show -p 0"],
      ...["git show stash^3", "git stash list -p", "git reflog -p", "git log -g -p", "git show HEAD@{6}"],
    ];
    for (const name of ["loose", "packed"])
      for (const command of commands)
        expect([name, command, isHarmless(await factsOf(name, command))]).toEqual([name, command, false]);
    copy("loose", "staged");
    const root = join(folder, "staged");
    git(root, "checkout", "-q", "old");
    expect(isHarmless(await factsOf("staged", "git diff"))).toBe(true);
    git(root, "rm", "-q", "--cached", "config/.env");
    for (const command of ["git diff --cached", "git diff --staged", "git diff HEAD", "git status -v"])
      expect([command, isHarmless(await factsOf("staged", command))]).toEqual([command, false]);
    git(root, "reset", "-q");
    await writeFile(join(root, "config/.env"), "TOKEN=changed since\n");
    for (const command of ["git diff", "git diff HEAD", "git diff -- config"])
      expect([command, isHarmless(await factsOf("staged", command))]).toEqual([command, false]);
  });

  it("are not shown by what developers look at", async () => {
    const commands = (root: string) => [
      ...[
        "git show",
        "git show HEAD",
        "git show HEAD~1",
        "git show main",
        "git show HEAD:src/a.ts",
        "git diff",
      ],
      ...[
        "git diff HEAD~3",
        "git diff --cached",
        "git diff HEAD~2 HEAD",
        "git diff main...HEAD",
        "git log -p -3",
      ],
      ...["git log -p -- src/a.ts", "git log -p -- src", "git log -p -2 -- src", "git show HEAD~7 -- src"],
      ...[
        "git log -p HEAD~3..HEAD",
        "git show --stat HEAD~7",
        "git log --stat",
        "git diff --name-only HEAD~7",
      ],
      ...[
        "git show -s HEAD~7",
        "git log --oneline --all",
        "git archive HEAD",
        "git grep line",
        "git stash list",
      ],
      ...[
        "git diff HEAD~7 -- src",
        "git grep line HEAD -- src",
        "git log -L1,2:src/a.ts",
        "git diff HEAD~9 -- '*.ts'",
      ],
      `git show ${git(root, "rev-parse", "HEAD")}`,
      `git show ${git(root, "rev-parse", "--short", "HEAD~2")}`,
      `git show ${git(root, "rev-parse", "HEAD:src/a.ts")}`,
    ];
    const asked: string[] = [];
    for (const name of REPOSITORIES)
      for (const command of commands(join(folder, name))) {
        const facts = await factsOf(name, command);
        if (!isHarmless(facts))
          asked.push(`${name}: ${command}: ${JSON.stringify([facts.doubts, facts.effects])}`);
      }
    expect(asked).toEqual([]);
  });

  it("may be what is in a repository that cannot be looked into", async () => {
    copy("packed", "replaced");
    const root = join(folder, "replaced");
    git(root, "replace", "HEAD:src/a.ts", "HEAD~7:config/.env");
    expect(isHarmless(await factsOf("replaced", "git show HEAD"))).toBe(false);
    copy("packed", "damaged");
    const packs = join(folder, "damaged/.git/objects/pack");
    const [index] = execFileSync("ls", [packs], { encoding: "utf8" })
      .split("\n")
      .filter((one) => one.endsWith(".idx"));
    execFileSync("chmod", ["u+w", join(packs, index ?? "")]);
    await writeFile(join(packs, index ?? ""), "no index");
    expect(isHarmless(await factsOf("damaged", "git show HEAD~1"))).toBe(false);
  });
});
