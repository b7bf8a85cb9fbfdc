import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isHarmless } from "../../conditions/conditions.ts";
import { realFiles } from "../files.ts";
import { gatherFacts } from "../gather.ts";
import { loadToolTables } from "../tool/tool-call.ts";

let folder: string;

/** Makes a repository that keeps these files, of which none is left in the work tree. */
async function repository(name: string, files: readonly string[]): Promise<void> {
  const root = join(folder, name);
  const git = (...words: readonly string[]) =>
    execFileSync("git", ["-C", root, ...words], {
      env: { PATH: process.env.PATH, HOME: folder },
      stdio: "ignore",
    });
  await mkdir(root, { recursive: true });
  git("init", "-q", "--template=");
  for (const path of files) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), path);
  }
  git("add", "-f", ".");
  for (const path of files) await rm(join(root, path));
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "reins-tracked-")));
  await repository("with", ["src/a.ts", "config/deploy/.env.production", "z.txt"]);
  await repository("without", ["src/a.ts", ".env.example", "z.txt"]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function factsOf(name: string, command: string) {
  const root = join(folder, name);
  const context = {
    roots: [root],
    cwd: root,
    home: join(folder, "home"),
    harness: join(folder, "reins"),
    agent: "claude-code",
    tables: loadToolTables(),
    files: realFiles,
  };
  const payload = { tool_name: "Bash", arguments: { command } };
  return gatherFacts(
    { event_type: "pre_action", session_id: "s", agent_id: "a", depth: 0, payload },
    context,
  );
}

describe("keys that git keeps and the work tree does not show", () => {
  it.each(["git grep TOKEN", "git grep -e TOKEN", "git archive HEAD", "git archive --format=tar HEAD"])(
    "are read in passing by %s",
    async (command) => {
      const { effects } = await factsOf("with", command);
      expect(effects).toContainEqual(expect.objectContaining({ place: "credentials", passing: true }));
      expect(isHarmless(await factsOf("without", command))).toBe(true);
    },
  );

  it.each([
    "git show HEAD -- '*.production'",
    "git diff -- '.env*'",
    "git grep TOKEN -- 'config/*'",
    "git log -p -- ':(glob)**/.env.*'",
  ])("are read by a glob that fits them: %s", async (command) => {
    const { effects } = await factsOf("with", command);
    const found = effects.filter((effect) => "place" in effect && effect.place === "credentials");
    expect(found).not.toEqual([]);
    expect(found.every((effect) => !("passing" in effect))).toBe(true);
  });

  it.each(["git diff -- '*.ts'", "git grep TOKEN -- '*.txt'", "git log -p -- 'src/*'"])(
    "are not read by one that does not: %s",
    async (command) => {
      expect(isHarmless(await factsOf("with", command))).toBe(true);
    },
  );

  it("are read by the hash of their content, or its beginning", async () => {
    const hash = createHash("sha1").update("blob 29\0config/deploy/.env.production").digest("hex");
    for (const word of [hash, hash.slice(0, 8), hash.toUpperCase().slice(0, 12)]) {
      for (const command of [`git show ${word}`, `git cat-file -p ${word}`, `git diff ${word} HEAD:z.txt`]) {
        const { effects } = await factsOf("with", command);
        expect([command, effects]).toEqual([
          command,
          expect.arrayContaining([expect.objectContaining({ kind: "read", place: "credentials" })]),
        ]);
      }
    }
  });

  it("may be what a hash stands for that no file has any more", async () => {
    const root = join(folder, "with");
    const hash = execFileSync("git", ["-C", root, "hash-object", "-w", "--stdin"], {
      input: "TOKEN=old\n",
      encoding: "utf8",
    }).trim();
    expect(isHarmless(await factsOf("with", `git show ${hash}`))).toBe(false);
    expect(isHarmless(await factsOf("with", `git show ${hash.slice(0, 7)}`))).toBe(false);
    expect(isHarmless(await factsOf("with", "git show 0123abc"))).toBe(true);
  });
});
