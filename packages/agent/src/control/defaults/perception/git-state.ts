import type { Fact } from "../../events.ts";
import type { Workspace } from "./workspace.ts";

const MAX_HEAD = 1_000;
const MAX_LOG = 64 * 1024;

/**
 * What git says of a workspace, read from its files. Git itself is not run: a repository's own configuration can make it
 * run anything.
 */
export async function gitState(workspace: Workspace): Promise<readonly Fact[]> {
  const head = await workspace.read(".git/HEAD", MAX_HEAD);
  if (head === undefined) return [];
  const branch = /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]?.trim();
  const place = branch === undefined ? `detached at ${head.trim().slice(0, 12)}` : `on branch ${branch}`;
  const log = await workspace.read(".git/logs/HEAD", MAX_LOG);
  // Long logs are cut at their end; what is then last is not what happened last.
  const isWhole = log !== undefined && Buffer.byteLength(log) < MAX_LOG;
  const message = isWhole ? log.trimEnd().split("\n").at(-1)?.split("\t")[1] : undefined;
  return [
    fact(`The workspace is a git repository, ${place}`),
    ...(message === undefined || message === "" ? [] : [fact(`Last in git: ${message.slice(0, 200)}`)]),
  ];
}

function fact(content: string): Fact {
  return { content, source: ".git", confidence: 0.9 };
}
