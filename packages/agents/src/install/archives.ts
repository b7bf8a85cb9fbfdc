import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { errorMessage } from "@reins/kit";
import { AgentError } from "../agent-error.ts";
import { extract } from "../registry/archive.ts";
import { download } from "../registry/download.ts";
import type { ArchivePlan } from "./install-plan.ts";
import type { InstallationSetting } from "./installation.ts";
import { type Fetched, programIn } from "./packages.ts";

const MOST_BYTES = 1024 ** 3;
const LIMIT_MS = 30 * 60_000;

/** Names what the archive of a version was found to be when it was first installed. */
export function archivePin({ version }: Pick<ArchivePlan, "version">, platform: string): string {
  return `archive ${version} ${platform}`;
}

/** Downloads an archive, checks it, and extracts it. */
export async function installArchive(
  plan: ArchivePlan,
  folder: string,
  setting: InstallationSetting,
): Promise<Fetched> {
  const { url, cmd, version, args } = plan;
  const { pins, onProgress } = setting;
  if (setting.offline) throw new AgentError("download_failed", `${url} is not fetched: Reins is offline.`);
  onProgress?.({ phase: "installing", done: 0, total: 1 });
  const file = join(folder, ".archive");
  const { sha256, bytes } = await fetchArchive(plan, file, setting);
  const pin = archivePin(plan, setting.platform);
  const known = await pins.find(pin);
  for (const expected of [plan.sha256, known])
    if (expected !== undefined && expected !== sha256)
      throw new AgentError(
        "install_failed",
        `${url} is not what it was said to be: its SHA-256 is ${sha256}, and ${expected} was expected.`,
      );
  const files = join(folder, "files");
  await mkdir(files);
  await extract({ file, name: new URL(url).pathname }, files, basename(cmd));
  await rm(file);
  const program = await programIn(folder, join(files, cmd));
  await chmod(join(folder, program), 0o755);
  if (known === undefined) await pins.keep(pin, sha256);
  onProgress?.({ phase: "installing", done: 1, total: 1 });
  const agentProcess = { name: basename(new URL(url).pathname), version, integrity: `sha256-${sha256}` };
  return {
    ...{ packages: [agentProcess], agentProcess, lock: sha256 },
    artifact: { url, sha256, bytes, checked: plan.sha256 !== undefined || known !== undefined },
    start: { with: "file", file: program, args: [...args], imports: [] },
  };
}

async function fetchArchive(
  { url, registry }: ArchivePlan,
  file: string,
  { signal: stop }: InstallationSetting,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const signal = AbortSignal.any([AbortSignal.timeout(LIMIT_MS), ...(stop ? [stop] : [])]);
  const { status, body } = await download(url, { trusted: registry?.url ?? url, signal });
  if (status !== 200) {
    body.destroy();
    throw new AgentError("download_failed", `${url} was answered with the status ${status}.`);
  }
  const hash = createHash("sha256");
  let bytes = 0;
  const checked = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES)
        throw new AgentError("download_failed", `${url} is larger than ${MOST_BYTES} bytes.`);
      hash.update(chunk);
      yield chunk;
    }
  };
  await pipeline(body, checked, createWriteStream(file, { flags: "wx" })).catch((cause: unknown) => {
    if (stop?.aborted) throw new AgentError("cancelled", "The install was cancelled.", { cause });
    if (cause instanceof AgentError) throw cause;
    throw new AgentError("download_failed", `${url} could not be read: ${errorMessage(cause)}`, { cause });
  });
  return { sha256: hash.digest("hex"), bytes };
}
