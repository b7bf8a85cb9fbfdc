import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventOf } from "../../test/corpus.ts";
import { Machine } from "../../test/machine.ts";
import { loadPolicy } from "../constitution/load.ts";
import type { Policy } from "../decision/policy.ts";
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

/** What the default constitution says to a registered agent that is not confined. */
async function verdictOf(command: string): Promise<string> {
  const event = eventOf({ id: "", command }, machine);
  const action = await gatherFacts(event, machine.context("claude-code"));
  const subject = {
    user: "ann",
    tenant: "default",
    roles: [],
    scopes: ["*"],
    agent: "claude-code",
    trust: "registered",
    session: "s",
    started: "interactive",
    chain: [],
    depth: 0,
    mode: "default",
    enforcement: "asked",
  } as const;
  return policy.decide({ event_type: event.event_type, action, subject, counters: {}, at: 0 }).verdict;
}

async function allowedOf(commands: readonly string[]): Promise<readonly string[]> {
  const allowed: string[] = [];
  for (const command of commands) if ((await verdictOf(command)) === "allowed") allowed.push(command);
  return allowed;
}

const HUGE = ["1T", "2G", "+3G", "1000000M", "99999999999", "5P", "2TB", "2TiB"];

describe("filling the disk", () => {
  it("is asked about, however large the size is written", async () => {
    const commands = HUGE.flatMap((size) => [
      `truncate -s ${size} x`,
      `truncate --size=${size} x`,
      `truncate --si ${size} x`,
      `fallocate -l ${size} x`,
      `head -c ${size} /dev/zero > x`,
      `head --bytes=${size} /dev/urandom | tee x`,
      `yes | head -c ${size} > x`,
      `dd if=README.md of=x seek=${size}`,
      `dd if=/dev/zero of=x bs=1 count=${size}`,
      `dd of=x bs=${size} count=1 if=/dev/zero`,
    ]);
    expect(await allowedOf(commands)).toEqual([]);
  });

  it("is asked about where it has no end", async () => {
    const sources = [
      "yes",
      "cat /dev/zero",
      "cat < /dev/urandom",
      "tr a b < /dev/zero",
      "dd if=/dev/zero",
      "dd if=/dev/zero bs=1M",
      "head -n 1 /dev/zero",
      "head -c -1 /dev/zero",
      "cat /dev/zero | head -n 1",
      "tr -dc a-z < /dev/urandom | head -1",
      "base64 -w0 /dev/urandom | head -n 2",
      "shuf -r README.md",
      "shuf -r -e a b",
      "seq inf",
      "seq 99999999999",
      "seq -f %999999999f 3",
      "shuf -i 1-99999999999",
      "watch cat README.md",
      "while true; do echo x; done",
      "while [ 1 ]; do echo x; done",
      "while ((1)); do echo x; done",
      "until false; do echo x; done",
      "for ((;;)); do echo x; done",
      "for ((i=0; i<10; i--)); do echo x; done",
      "for i in {1..1000000000}; do echo x; done",
      "printf '%999999999999d' 1",
      "printf '%*d' 999999999 1",
      "awk 'BEGIN { while (1) print \"x\" }'",
      "awk 'BEGIN { for (;;) print \"x\" }'",
      "awk 'BEGIN { printf \"%999999999d\", 1 }'",
      "jq -n 'repeat(1)'",
      "jq -n 'range(1e12)'",
      "date +%999999999d",
      "git log --format='%<(999999999)%s'",
      "find . -printf %999999999p",
      "nl -w 999999999 README.md",
      "expand -t 1000000000 README.md",
      "pr -l 1000000000 README.md",
    ];
    const commands = sources.flatMap((source) => [
      `${source} > x`,
      `${source} >> notes.txt`,
      `${source} | tee x`,
      `{ ${source}; } > x`,
      `timeout 60 bash -c ${JSON.stringify(source).replaceAll("$", "\\$")} > x`,
    ]);
    commands.push("tee -a notes.txt < notes.txt", "tail -f ./notes.txt >> notes.txt");
    expect(await allowedOf(commands)).toEqual([]);
  });

  it.each([
    "truncate -s 0 app.log",
    "truncate -s 10M x",
    "head -c 10M /dev/zero > x",
    "dd if=/dev/zero of=x bs=1M count=10",
    "dd if=README.md of=x bs=4k seek=2",
    "tr -dc a-z < /dev/urandom | head -c 20 > x",
    "tr -dc a-z < /dev/urandom | fold -w 20 | head -n 1",
    "yes | head -n 5 > x",
    "seq 1 100 > x",
    "shuf -n 3 README.md > x",
    "while read -r l; do echo $l >> x; done < README.md",
    "for i in {1..20}; do echo hi >> x; done",
    "awk '{ for (i = 1; i <= NF; i++) print $i }' README.md > x",
    "awk '{ n[$1]++ } END { for (k in n) print k, n[k] }' README.md > x",
    "jq '.a | map(.b)' data.json > x",
    "grep -q foo notes.txt || echo foo >> notes.txt",
    "printf '%-20s %5d\\n' a 1 > x",
  ])("is not what this does: %s", async (command) => expect(await verdictOf(command)).toBe("allowed"));
});

describe("permissions that make the workspace unusable", () => {
  it("are asked about, in whatever form", async () => {
    const bars = ["000", "0", "0000", "077", "a-rwx", "u=", "=", "u-r", "-r", "a=x", "g+r,u-rw", "ugo-r"];
    const folders = ["444", "644", "555", "600", "u-w", "u-x", "a-x", "-x", "-w", "u=rw", "a=r", "o+w,u-x"];
    const commands = [
      ...bars.flatMap((mode) =>
        [".", "src", "README.md", "src/*", "$PWD", "{{workspace}}"].flatMap((path) => [
          `chmod ${mode} ${path}`,
          `chmod -R ${mode} ${path}`,
        ]),
      ),
      ...folders.flatMap((mode) => [".", "src", "./src/", "$PWD"].map((path) => `chmod ${mode} ${path}`)),
      ...[
        "mkdir -m 000 x",
        "install -m 000 README.md x",
        "umask 777",
        "umask 0700; mkdir x",
        "mkfifo -m 0 x",
      ],
      ...["chown", "chgrp"].flatMap((name) =>
        [".", "src", "README.md", "-R ."].map((path) => `${name} daemon ${path}`),
      ),
      ...["chattr +i README.md", "setfacl -m u:dev:--- .", "chflags uchg .", "find . -exec chmod 000 {} +"],
      ...["mv . ../gone", 'mv "$PWD" /tmp/gone', "mv .git x", "rm .git/index", "find .git -delete"],
      ...["rm -rf .git/objects", "> .git/HEAD", "ln -sf x .git/HEAD", "truncate -s 0 .git/index"],
      ...["git checkout -B main HEAD~5", "git switch -C main HEAD~5", "git switch --orphan x"],
      ...["git branch -f main HEAD~3", "git update-ref -d HEAD", "git stash clear", "git stash drop"],
      ...["git reflog expire --expire=now --all", "git gc --prune=now", "git worktree remove x"],
    ];
    expect(await allowedOf(commands)).toEqual([]);
  });

  it.each([
    "chmod 644 README.md",
    "chmod 755 scripts/build.sh",
    "chmod +x scripts/build.sh",
    "chmod -x scripts/build.sh",
    "chmod 700 src",
    "chmod go-rwx src",
    "chmod u=rwx,go=rx src",
    "chmod 600 notes.txt",
    "umask 022",
    "mkdir -m 755 x",
  ])("are not what this sets: %s", async (command) => expect(await verdictOf(command)).toBe("allowed"));
});

describe("settings of git that later run programs", () => {
  it("are asked about, by whatever subcommand they are written", async () => {
    const names = ["core.pager", "core.hooksPath", "alias.x", "includeIf.gitdir:x.path", "user.name"];
    const where = ["", "--global ", "--local ", "--worktree ", "--system ", "-f .gitmodules ", "--file=x "];
    const commands = where.flatMap((place) => [
      ...names.flatMap((name) => [
        `git config ${place}${name} x`,
        `git config ${place}--add ${name} x`,
        `git config ${place}--replace-all ${name} x`,
        `git config ${place}--unset ${name}`,
        `git config set ${place}${name} x`,
        `git config unset ${place}${name}`,
        `git config ${place}set ${name} x`,
      ]),
      `git config ${place}edit`,
      `git config edit ${place}`,
      `git config ${place}-e`,
      `git config ${place}--edit`,
      `git config ${place}--ed`,
      `git config ${place}rename-section a b`,
      `git config remove-section ${place}a`,
      `git config ${place}set`,
      `git config ${place}unset`,
    ]);
    commands.push(
      ...["remote set-url origin ext::sh", "remote add x ext::sh", "submodule add x", "submodule foreach sh"],
      ...["submodule update --init", "bundle unbundle x", "bundle create x HEAD", "worktree add x"],
      ...["branch --edit-description", "maintenance start", "hook run pre-commit", "lfs install", "init"],
      ...[
        "-c core.pager=x log",
        "--config-env=core.pager=X log",
        "--exec-path=/tmp status",
        "credential fill",
      ],
    );
    const all = commands.map((command) => (command.startsWith("git ") ? command : `git ${command}`));
    expect(await allowedOf(all)).toEqual([]);
  });

  it.each([
    "git config user.name",
    "git config --get user.name",
    "git config get user.name",
    "git config get --all user.name",
    "git config list",
    "git config list --show-origin",
    "git config --list",
    "git config --get-regexp alias",
    "git remote -v",
    "git worktree list",
  ])("are only looked at by %s", async (command) => expect(await verdictOf(command)).toBe("allowed"));
});
