import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { AgentEntry } from "../agent-entry.ts";
import { AgentError } from "../agent-error.ts";
import { launchCommand } from "../agent-launch.ts";

const run = promisify(execFile);
const LIMIT_MS = 60_000;

/** What an install is checked with. */
export interface VerificationOptions {
  readonly install: string;
  readonly node: string;
  readonly platform: string;
  readonly path: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Starts a freshly installed agent just to hear its version, in a home that is thrown away. */
export async function verifyInstall(entry: AgentEntry, options: VerificationOptions): Promise<string> {
  const { command, args } = launchCommand(
    { ...entry, start: entry.start && { ...entry.start, args: [] } },
    options,
  );
  const home = await mkdtemp(join(tmpdir(), "reins-verify-"));
  try {
    const { stdout, stderr } = await run(command, [...args, ...entry.verify], {
      cwd: home,
      env: { ...(options.path !== undefined && { PATH: options.path }), HOME: home, TMPDIR: home },
      timeout: LIMIT_MS,
      ...(options.signal && { signal: options.signal }),
    });
    const [said = ""] = `${stdout}\n${stderr}`.trim().split("\n");
    return said;
  } catch (cause) {
    if (options.signal?.aborted) throw new AgentError("cancelled", "The install was called off.", { cause });
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AgentError("install_failed", `${entry.name} was installed but does not run: ${reason}`, {
      cause,
    });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
