import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { WorktreeTask } from "@reins/agent";
import { call, reply, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Worktree, Worktrees } from "../src/native/worktrees.ts";
import { openNative, verdictsOf } from "./fixtures/native.ts";

const IDENTITY = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
const git = (cwd: string, ...words: readonly string[]) =>
  execFileSync("git", [...IDENTITY, ...words], { cwd, encoding: "utf8", stdio: "pipe" }).trim();

async function commitAll(folder: string): Promise<void> {
  git(folder, "init", "--quiet", "--initial-branch=main");
  await writeFile(join(folder, "a.txt"), "one\n");
  await writeFile(join(folder, ".gitignore"), "ignored\n");
  git(folder, "add", ".");
  git(folder, "commit", "--quiet", "--message=first");
}

async function lay() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reins-worktrees-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [home, repository] = [join(folder, "home"), join(folder, "repository")];
  await mkdir(home);
  await mkdir(repository);
  await commitAll(repository);
  const worktrees = new Worktrees(home);
  const make = (task: WorktreeTask = {}, from = repository): Promise<Worktree> =>
    worktrees.make(from, task, "default", new AbortController().signal);
  return { folder, home, repository, worktrees, make };
}

const branches = (repository: string) => git(repository, "branch", "--format=%(refname:short)").split("\n");

describe("a worktree", () => {
  test("is a checkout on a branch of its own, and removed when nothing was changed", async () => {
    const { folder, repository, worktrees, make } = await lay();
    await writeFile(join(repository, "a.txt"), "not committed\n");
    const made = await make({ branch: "fix-it" });
    expect(dirname(made.path)).toBe(join(folder, "home-worktrees", "default"));
    expect(await readFile(join(made.path, "a.txt"), "utf8")).toBe("one\n");
    expect(git(made.path, "branch", "--show-current")).toMatch(/^reins\/fix-it-[\da-f]{8}$/);
    expect(await worktrees.end(made)).toEqual({ kind: "removed" });
    expect(existsSync(made.path)).toBe(false);
    expect(branches(repository)).toEqual(["main"]);
    expect(git(repository, "worktree", "list").split("\n")).toHaveLength(1);
    expect(await worktrees.list()).toEqual([]);
  });

  test.each<[string, string, (path: string) => Promise<unknown> | string]>([
    ["a changed file", "not committed", (path) => writeFile(join(path, "a.txt"), "two\n")],
    ["a new file", "not committed", (path) => writeFile(join(path, "b.txt"), "")],
    ["a file that is gone", "not committed", (path) => rm(join(path, "a.txt"))],
    ["a commit", "commits", (path) => git(path, "commit", "--quiet", "--allow-empty", "--message=x")],
    [
      "a branch without commits",
      "git could not tell",
      (path) => git(path, "checkout", "--quiet", "--orphan", "else"),
    ],
    ["no way back to its repository", "git could not remove it", (path) => rm(join(path, ".git"))],
  ])("with %s is kept, also at the next start", async (_, reason, change) => {
    const { home, worktrees, make } = await lay();
    const made = await make();
    await change(made.path);
    expect(await worktrees.end(made)).toMatchObject({ kind: "kept" });
    const next = new Worktrees(home);
    await next.prune(await next.list());
    expect(existsSync(made.path)).toBe(true);
    expect(await next.list()).toEqual([made]);
    expect(await next.end(made)).toEqual({ kind: "kept", reason: expect.stringContaining(reason) });
  });

  test("is kept where that is asked for", async () => {
    const { worktrees, make } = await lay();
    const made = await make({ cleanup: "keep" });
    expect(await worktrees.end(made)).toEqual({ kind: "kept", reason: "that was asked for" });
  });

  test("that a run left behind without changes is removed at the next start", async () => {
    const { home, repository, make } = await lay();
    const [clean, gone] = [await make(), await make()];
    await rm(gone.path, { recursive: true });
    const next = new Worktrees(home);
    await next.prune(await next.list());
    expect(existsSync(clean.path)).toBe(false);
    expect(await next.list()).toEqual([]);
    expect(branches(repository)).toEqual(["main"]);
    expect(await readdir(join(home, "worktrees"))).toEqual([]);
  });

  test("runs nothing of its repository, nor of itself", async () => {
    const { folder, repository, worktrees, make } = await lay();
    const ran = join(folder, "ran");
    const hook = `#!/bin/sh\ntouch ${ran}\n`;
    for (const name of ["post-checkout", "reference-transaction"])
      await writeFile(join(repository, ".git", "hooks", name), hook, { mode: 0o755 });
    const made = await make();
    const evil = join(made.path, "ignored");
    git(made.path, "init", "--quiet", evil);
    await writeFile(join(folder, "monitor"), hook, { mode: 0o755 });
    git(evil, "config", "core.fsmonitor", join(folder, "monitor"));
    await writeFile(join(made.path, ".git"), `gitdir: ${join(evil, ".git")}\n`);
    await worktrees.end(made);
    expect(existsSync(ran)).toBe(false);
  });

  test.each<[string, RegExp, (repository: string, other: string) => Promise<unknown>]>([
    ["no repository", /not the top of a git repository/, (own) => rm(join(own, ".git"), { recursive: true })],
    [
      "a repository that is kept elsewhere",
      /kept elsewhere/,
      async (own, other) => {
        await rm(join(own, ".git"), { recursive: true });
        await writeFile(join(own, ".git"), `gitdir: ${other}/.git\n`);
      },
    ],
    [
      "objects of another repository",
      /is a link/,
      async (own, other) => {
        await rm(join(own, ".git", "objects"), { recursive: true });
        await symlink(join(other, ".git", "objects"), join(own, ".git", "objects"));
      },
    ],
    [
      "alternates",
      /takes objects from elsewhere/,
      (own, other) => writeFile(join(own, ".git/objects/info/alternates"), `${other}/.git/objects\n`),
    ],
    [
      "a filter",
      /would run programs/,
      (own) => appendFile(join(own, ".git", "config"), '[filter "x"]\n\tsmudge = touch ran\n'),
    ],
  ])("is not made of %s", async (_, message, spoil) => {
    const { folder, repository, worktrees, make } = await lay();
    const other = join(folder, "other");
    await mkdir(other);
    await commitAll(other);
    await spoil(repository, other);
    await expect(make()).rejects.toThrow(message);
    expect(await worktrees.list()).toEqual([]);
  });

  test("is not made of a commit that there is not", async () => {
    const { worktrees, make } = await lay();
    await expect(make({ base_ref: "nowhere" })).rejects.toThrow("has no commit nowhere");
    expect(await worktrees.list()).toEqual([]);
  });
});

/** A native agent whose child does something in a worktree. */
function delegating(given: object, ...steps: Parameters<typeof scene>[1][]) {
  return delegatingAs(false, given, ...steps);
}

async function delegatingAs(isUser: boolean, given: object, ...steps: Parameters<typeof scene>[1][]) {
  const model = await ScriptedModel.listen({
    script: scenes(
      scene(
        "delegate",
        reply(call("spawn_subagent", { prompt: "work on it", ...given })),
        reply(say("Done.")),
      ),
      scene("work on it", ...steps),
    ),
  });
  onTestFinished(() => model.close());
  const { url, key } = model.endpoint;
  const agent = await openNative({
    environment: { PATH: process.env.PATH, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key },
    person: () => "allow_once",
    isUser,
  });
  onTestFinished(() => rm(`${agent.home}-worktrees`, { recursive: true, force: true }));
  return { ...agent, model };
}

describe("a worker with a worktree", () => {
  test("writes there and nowhere else, and what it wrote is kept", async () => {
    const agent = await delegating(
      { worktree: { branch: "notes" } },
      reply(call("write_file", { path: "note.txt", content: "new" })),
      reply(say("I wrote it.")),
    );
    await commitAll(agent.workspace);
    await agent.client.prompt(agent.id, "delegate");
    const said = JSON.stringify(agent.client.got);
    const [, path = ""] = /Its worktree (\S+) with the branch reins\/notes-\w+ is kept/.exec(said) ?? [];
    expect(await readFile(join(path, "note.txt"), "utf8")).toBe("new");
    expect(existsSync(join(agent.workspace, "note.txt"))).toBe(false);
    const [spawned] = (await agent.entries("policy_verdict")).filter(
      ({ target }) => target === "spawn_subagent",
    );
    expect(JSON.stringify(spawned?.payload)).toContain(
      JSON.stringify({ kind: "write", path: agent.workspace }).slice(1, -1),
    );
    const children = await agent.hosting.hub.list(agent.harness.identity.local());
    expect(children.find(({ parent }) => parent === agent.id)).toMatchObject({
      ...{ cwd: path, mutation_scope: "apply_worktree" },
    });
  });

  test("cannot write to the folder of its parent", async () => {
    const agent = await delegating(
      { worktree: true },
      reply(call("write_file", { path: "../../../workspace/note.txt", content: "new" })),
      reply(say("I tried.")),
    );
    await commitAll(agent.workspace);
    await agent.client.prompt(agent.id, "delegate");
    expect(JSON.stringify(agent.client.got)).toContain("Its worktree had no changes and was removed.");
    const written = (await verdictsOf(agent)).filter(([, tool]) => tool === "write_file");
    expect(written.map(([, , verdict]) => verdict).filter((verdict) => verdict !== "blocked")).toEqual([]);
    expect(existsSync(join(agent.workspace, "note.txt"))).toBe(false);
  });

  test("of a user without roles reads the files of its worktree that its task names, and no others", async () => {
    const prompt = `work on it, see @a.txt and @link.txt`;
    const agent = await delegatingAs(true, { worktree: true, prompt }, reply(say("I did.")));
    await symlink("../outside.txt", join(agent.workspace, "link.txt"));
    await writeFile(join(dirname(agent.workspace), "outside.txt"), "of others");
    await commitAll(agent.workspace);
    await agent.client.prompt(agent.id, "delegate");
    expect(JSON.stringify(agent.client.got)).toContain("Its worktree had no changes and was removed.");
    const told = agent.model.requests.map(({ conversation }) => JSON.stringify(conversation.items));
    const child = told.find((items) => items.includes("see @a.txt")) ?? expect.fail();
    expect(child).toContain("one\\n");
    expect(child).not.toContain("of others");
    expect(child).toContain("is not in a folder that the tenant default was given");
  });

  test("fails with the reason in a folder that is no repository, and starts nothing", async () => {
    const agent = await delegating({ worktree: true }, reply(say("Never.")));
    await agent.client.prompt(agent.id, "delegate");
    expect(JSON.stringify(agent.client.got)).toContain("is not the top of a git repository");
    const decided = await verdictsOf(agent);
    expect(decided.filter(([, tool]) => tool === "session/new")).toHaveLength(1);
  });
});
