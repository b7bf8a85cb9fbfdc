import { spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { realFiles } from "../src/facts/files.ts";
import { Unclear } from "../src/facts/git/object-store.ts";
import { isRecoverable } from "../src/facts/git/recoverable.ts";
import { Revisions } from "../src/facts/git/revisions.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "reins-revisions-")));
const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_NOSYSTEM: "1" };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (root: string, ...words: readonly string[]) =>
  spawnSync("git", ["-C", root, "-c", "user.name=a", "-c", "user.email=a@b", ...words], {
    env,
    encoding: "utf8",
  });

function git(root: string, ...words: readonly string[]): string {
  const { stdout, stderr, status } = run(root, ...words);
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

function put(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Branches that were merged, a tag of each kind, a name that is also that of a branch, and a detached work tree. */
function layHistory(name: string, isPacked: boolean): string {
  const root = join(folder, name);
  mkdirSync(root);
  git(root, "init", "-q", "-b", "main", "--template=");
  const commit = (text: string) => {
    put(root, "a.txt", text);
    git(root, "add", "-A");
    git(root, "commit", "-q", "-m", text);
  };
  commit("one");
  commit("two");
  git(root, "branch", "topic");
  commit("three");
  git(root, "checkout", "-q", "topic");
  put(root, "b.txt", "topic");
  git(root, "add", "-A");
  git(root, "commit", "-q", "-m", "topic");
  git(root, "checkout", "-q", "main");
  git(root, "merge", "-q", "--no-ff", "-m", "merged", "topic");
  git(root, "tag", "light");
  git(root, "tag", "-a", "heavy", "-m", "heavy");
  git(root, "tag", "-a", "heavier", "-m", "of a tag", "heavy");
  git(root, "tag", "topic", "main~2");
  git(root, "update-ref", "refs/remotes/origin/main", "main~1");
  git(root, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main");
  git(root, "branch", "feature/x", "HEAD^2");
  commit("five");
  if (isPacked) git(root, "gc", "-q", "--prune=now");
  return root;
}

const base = fc.constantFrom(
  ..."HEAD @ main topic light heavy heavier origin origin/main feature/x refs/heads/main tags/heavy heads/topic".split(
    " ",
  ),
  ...["", "refs/tags/topic", "remotes/origin/main", "feature", "nope", "HEAD@{0}", "main@{1}", "@{1}"],
);
const step = fc.constantFrom(
  "",
  "",
  "~",
  "^",
  "~1",
  "~2",
  "^1",
  "^2",
  "^0",
  "~0",
  "^^",
  "~1^2",
  "^{}",
  "^{tree}",
);
const end = fc.constantFrom("", "", "^{commit}", "~9", "^3", "^{tag}");

describe.each([
  ["loose", false],
  ["packed", true],
])("in a repository whose objects are %s", (name, isPacked) => {
  let root: string;
  beforeAll(() => {
    root = layHistory(name, isPacked);
  });

  it("a word stands for the object that git says, or it is not clear", async () => {
    const revisions = await Revisions.around(realFiles, root);
    let agreed = 0;
    await fc.assert(
      fc.asyncProperty(base, step, end, async (start, up, last) => {
        const word = `${start}${up}${last}`;
        if (word === "") return;
        const { stdout, status } = run(root, "rev-parse", "--verify", "-q", word);
        const theirs = status === 0 ? stdout.trim() : undefined;
        let ours: string | undefined;
        try {
          ours = await revisions?.resolve(word);
        } catch (error) {
          if (error instanceof Unclear) return;
          throw error;
        }
        // What git does not know either names nothing, or another path.
        if (theirs !== undefined) expect(ours, word).toBe(theirs);
        if (theirs !== undefined) agreed += 1;
      }),
      { numRuns: 150 },
    );
    expect(agreed).toBeGreaterThan(20);
  }, 120_000);

  it("an abbreviated hash stands for the object that git says", async () => {
    const revisions = await Revisions.around(realFiles, root);
    for (const hash of git(root, "rev-list", "--all").split("\n"))
      for (const length of [40, 12, 7]) expect(await revisions?.resolve(hash.slice(0, length))).toBe(hash);
  });

  it("commits have the trees and parents that git says", async () => {
    const revisions = await Revisions.around(realFiles, root);
    for (const hash of git(root, "rev-list", "--all").split("\n")) {
      const [tree, ...parents] = git(root, "show", "-s", "--format=%T %P", hash).split(" ");
      expect(await revisions?.commit(hash)).toEqual({ tree, parents });
    }
  });
});

/** What may happen to a file of a work tree, or to git's index, since it was put there. */
const CHANGES: Readonly<Record<string, (root: string, path: string) => void>> = {
  nothing: () => {},
  "other content": (root, path) => put(root, path, "changed\n"),
  "other content of the same length": (root, path) =>
    put(root, path, readFileSync(join(root, path), "utf8").replace(/./, "#")),
  "other content, put there too": (root, path) => {
    put(root, path, "staged\n");
    git(root, "add", "-f", path);
  },
  "other content behind what was put there": (root, path) => {
    put(root, path, "staged\n");
    git(root, "add", "-f", path);
    put(root, path, "lost\n");
  },
  "other content at the old time": (root, path) => {
    put(root, path, readFileSync(join(root, path), "utf8").replace(/./, "#"));
    utimesSync(join(root, path), 1_000, 1_000);
  },
  "another time": (root, path) => utimesSync(join(root, path), 2_000, 2_000),
  "taken from the index": (root, path) => void run(root, "rm", "-q", "--cached", "-f", path),
  "only announced": (root, path) => {
    run(root, "rm", "-q", "--cached", "-f", path);
    run(root, "add", "-N", path);
  },
  "assumed to be unchanged": (root, path) => {
    run(root, "update-index", "--assume-unchanged", path);
    put(root, path, "unseen\n");
  },
  "left out of the work tree": (root, path) => {
    run(root, "update-index", "--skip-worktree", path);
    put(root, path, "unseen\n");
  },
  "in its place a link": (root, path) => {
    rmSync(join(root, path));
    symlinkSync("elsewhere", join(root, path));
  },
  "other rights": (root, path) => chmodSync(join(root, path), 0o755),
  "another index": (root) => git(root, "update-index", "--index-version", "4"),
  "an index in two parts": (root) => void run(root, "update-index", "--split-index"),
};

describe("what is called recoverable", () => {
  it("git brings back as it was, whatever happened before", async () => {
    let [at, kept] = [0, 0];
    const change = fc.constantFrom(...Object.keys(CHANGES));
    const path = fc.constantFrom("a.txt", "src/b.txt", "src/c d.txt", "größe.txt");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(change, path), { minLength: 1, maxLength: 3 }), async (changes) => {
        at += 1;
        const root = join(folder, `lost${at}`);
        for (const name of ["a.txt", "src/b.txt", "src/c d.txt", "größe.txt"]) {
          put(root, name, `${name}\n`);
          utimesSync(join(root, name), 1_000, 1_000);
        }
        git(root, "init", "-q", "--template=");
        git(root, "add", "-A");
        const done = changes.filter(([name, one]) => {
          // A file that is a link by now, or that git has not, cannot be changed as the others are.
          try {
            CHANGES[name]?.(root, one);
            return true;
          } catch {
            return false;
          }
        });
        for (const [, one] of done) {
          if (!(await isRecoverable(realFiles, join(root, one)))) continue;
          kept += 1;
          const before = readFileSync(join(root, one), "utf8");
          rmSync(join(root, one));
          git(root, "checkout-index", "-f", "--", one);
          expect(readFileSync(join(root, one), "utf8"), JSON.stringify(done)).toBe(before);
        }
      }),
      { numRuns: 60 },
    );
    expect(kept).toBeGreaterThan(0);
  }, 120_000);
});
