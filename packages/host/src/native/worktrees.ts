import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, realpath, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import type { WorktreeTask } from "@reins/agent";
import { errorMessage, ifExists, readJsonFile, replaceFile } from "@reins/kit";
import { realFiles, repositoryPrograms } from "@reins/supervisor";
import { z } from "zod";

/** A worktree that was made for a worker, as it is recorded before git makes it. */
const Worktree = z.object({
  id: z.string(),
  /** The top of the repository. */
  repository: z.string(),
  path: z.string(),
  branch: z.string(),
  /** The commit that it started from. */
  base: z.string(),
  cleanup: z.enum(["remove", "keep"]),
});
export type Worktree = z.infer<typeof Worktree>;

/** What became of a worktree: why it was kept, if it was. */
export type WorktreeEnd = { readonly kind: "removed" } | { readonly kind: "kept"; readonly reason: string };

const GIT_TIMEOUT_MS = 120_000;
const MAX_OUTPUT = 64 * 1024 * 1024;
/** Parts of a repository through which git reads and writes; a link among them may lead to another tenant's. */
const PARTS = [
  "objects",
  "objects/info",
  "objects/pack",
  "refs",
  "refs/heads",
  "refs/heads/reins",
  "worktrees",
];
const LOGS = ["logs", "logs/refs", "logs/refs/heads", "logs/refs/heads/reins"];

/**
 * Git worktrees of workers: each a checkout of its own beside the home of Reins, on a branch of its own. One in which
 * nothing was changed is removed with its worker, or at the next start; one with changes or commits never is.
 */
export class Worktrees {
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  /**
   * Makes a worktree of the repository whose top is a folder. Part of what the verdict on its worker allows.
   * @param folder real
   */
  async make(folder: string, task: WorktreeTask, tenant: string, signal: AbortSignal): Promise<Worktree> {
    await expectRepository(folder);
    const { base_ref = "HEAD", branch, cleanup = "remove" } = task;
    const revision = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${base_ref}^{commit}`];
    const base = await git(folder, revision, signal).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new Error(`the repository ${folder} has no commit ${base_ref}`, { cause });
    });
    const id = randomUUID();
    const root = await this.#rootOf(tenant);
    // Unique, so that no branch is taken for this one's.
    const name = `reins/${branch ?? "worker"}-${id.slice(0, 8)}`;
    const made = { id, repository: folder, path: join(root, id), branch: name, base, cleanup };
    await replaceFile(this.#recordOf(id), JSON.stringify(made));
    try {
      await git(folder, ["worktree", "add", "--quiet", "-b", made.branch, made.path, base], signal);
      return made;
    } catch (error) {
      await this.#discard(made);
      signal.throwIfAborted();
      throw new Error(`git could not make a worktree of ${folder}: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** Ends the use of a worktree: removed where that is wanted and nothing was changed in it, else kept. */
  async end(worktree: Worktree): Promise<WorktreeEnd> {
    const reason = await keptBecause(worktree).catch(
      (error: unknown) => `git could not tell whether it was changed: ${errorMessage(error)}`,
    );
    if (reason !== undefined) return { kind: "kept", reason };
    const { repository, path, branch, base, id } = worktree;
    try {
      await git(repository, ["worktree", "remove", "--force", path]);
      await git(repository, ["update-ref", "-d", `refs/heads/${branch}`, base]);
    } catch (error) {
      return { kind: "kept", reason: `git could not remove it: ${errorMessage(error)}` };
    }
    await rm(this.#recordOf(id), { force: true });
    return { kind: "removed" };
  }

  /** Removes those that earlier runs left and in which nothing was changed. */
  async prune(leftover: readonly Worktree[]): Promise<void> {
    for (const worktree of leftover)
      if (await ifExists(lstat(worktree.path))) await this.end(worktree);
      else await this.#discard(worktree);
  }

  /** All that were made and not removed. */
  async list(): Promise<readonly Worktree[]> {
    const names = (await ifExists(readdir(join(this.#home, "worktrees")))) ?? [];
    const records = names.filter((name) => name.endsWith(".json"));
    const found = await Promise.all(
      records.map((name) => readJsonFile(join(this.#home, "worktrees", name), Worktree)),
    );
    return found.filter((one) => one !== undefined);
  }

  /** Forgets a worktree without a checkout; its branch goes too where nothing was committed to it. */
  async #discard({ id, repository, path, branch, base }: Worktree): Promise<void> {
    await rm(path, { recursive: true, force: true });
    // The repository may be gone, and the branch may never have been made.
    for (const words of [
      ["worktree", "remove", "--force", "--force", path],
      ["update-ref", "-d", `refs/heads/${branch}`, base],
    ])
      await git(repository, words).catch(() => undefined);
    await rm(this.#recordOf(id), { force: true });
  }

  #recordOf(id: string): string {
    return join(this.#home, "worktrees", `${id}.json`);
  }

  /** Where the worktrees of a tenant lie: beside the home, whose files no session works on. */
  async #rootOf(tenant: string): Promise<string> {
    const home = await realpath(this.#home);
    const root = join(dirname(home), `${basename(home)}-worktrees`, tenant);
    await mkdir(root, { recursive: true, mode: 0o700 });
    return root;
  }
}

/** Rejects unless a folder is the top of a repository that lies in it with all its parts and runs no programs. */
async function expectRepository(folder: string): Promise<void> {
  const own = join(folder, ".git");
  const found = await ifExists(lstat(own));
  if (!found)
    throw new Error(`${folder} is not the top of a git repository, so no worktree can be made of it`);
  if (!found.isDirectory() || (await ifExists(lstat(join(own, "commondir")))))
    throw new Error(`the repository of ${folder} is kept elsewhere, so no worktree can be made of it`);
  for (const part of [...PARTS, ...LOGS])
    if ((await ifExists(lstat(join(own, part))))?.isSymbolicLink()) throw linked(folder, part);
  for (const part of ["objects", "objects/pack"])
    for (const entry of (await ifExists(readdir(join(own, part), { withFileTypes: true }))) ?? [])
      if (entry.isSymbolicLink()) throw linked(folder, `${part}/${entry.name}`);
  for (const name of ["alternates", "http-alternates"])
    if (await ifExists(lstat(join(own, "objects/info", name))))
      throw new Error(
        `the repository ${folder} takes objects from elsewhere, so no worktree can be made of it`,
      );
  await expectNoPrograms(folder);
}

function linked(folder: string, part: string): Error {
  return new Error(`${part} in the repository ${folder} is a link, so no worktree can be made of it`);
}

async function expectNoPrograms(folder: string): Promise<void> {
  const programs = await repositoryPrograms(realFiles, folder);
  if (programs !== undefined)
    throw new Error(`git would run programs of the repository ${folder}: ${programs}`);
}

/** Why a worktree is kept. Nothing in the worktree says where git looks or what it runs. */
async function keptBecause({
  repository,
  path,
  branch,
  base,
  cleanup,
}: Worktree): Promise<string | undefined> {
  if (cleanup === "keep") return "that was asked for";
  await expectRepository(repository);
  const own = `--git-dir=${join(repository, ".git", "worktrees", basename(path))}`;
  const here = [own, `--work-tree=${path}`];
  const tips = await git(repository, [own, "rev-parse", "HEAD", `refs/heads/${branch}`]);
  if (tips.split("\n").some((tip) => tip !== base)) return "it has commits";
  const status = ["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all"];
  if ((await git(path, [...here, ...status])) !== "") return "it has changes that are not committed";
  const tracked = await git(path, [...here, "ls-files", "--stage", "-z"]);
  for (const entry of tracked.split("\0"))
    if (entry.startsWith("160000 ") && (await isFilled(join(path, entry.slice(entry.indexOf("\t") + 1)))))
      return "it has submodules with files";
  return undefined;
}

async function isFilled(folder: string): Promise<boolean> {
  return ((await ifExists(readdir(folder))) ?? []).length > 0;
}

/** Runs git without hooks, monitors, remotes, and settings of users and the system. */
async function git(cwd: string, words: readonly string[], signal?: AbortSignal): Promise<string> {
  const settings = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null"];
  const { stdout } = await promisify(execFile)(
    "git",
    [...settings.flatMap((setting) => ["-c", setting]), ...words],
    {
      cwd,
      timeout: GIT_TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT,
      ...(signal && { signal }),
      env: {
        PATH: process.env.PATH,
        HOME: "/dev/null",
        LC_ALL: "C",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_ATTR_NOSYSTEM: "1",
        GIT_ALLOW_PROTOCOL: "none",
        GIT_TERMINAL_PROMPT: "0",
        GIT_CEILING_DIRECTORIES: dirname(cwd),
      },
    },
  );
  return stdout.trimEnd();
}
