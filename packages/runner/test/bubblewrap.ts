import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { detectSandbox, type SandboxStatus } from "../src/sandbox/confine.ts";

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL("../../../.cache/", import.meta.url));
const UNPACKED = join(CACHE, "bubblewrap");
const OURS = join(UNPACKED, "usr", "bin", "bwrap");
/** Longer than it takes anywhere, shorter than anybody's patience. */
const DOWNLOAD_MS = 90_000;

/** A sandbox for tests: the machine's, or Debian's package unpacked in the repository's cache folder. */
export async function obtainSandbox(): Promise<SandboxStatus> {
  const installed = await detectSandbox();
  if (installed.available || process.platform !== "linux") return installed;
  try {
    await access(OURS).catch(unpackPackage);
  } catch (error) {
    const said = error instanceof Error ? (error.message.trim().split("\n").at(-1) ?? "") : String(error);
    return { ...installed, reason: `${installed.reason} Debian's package could not be had: ${said}` };
  }
  return detectSandbox(OURS);
}

/** Neither installs anything nor touches the package lists of the machine. */
async function unpackPackage(): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "bubblewrap-"));
  const signal = AbortSignal.timeout(DOWNLOAD_MS);
  try {
    const options = { cwd: folder, signal };
    await run("apt-get", ["download", "bubblewrap"], options).catch(() =>
      downloadAfterUpdate(folder, signal),
    );
    const [file = ""] = (await readdir(folder)).filter((name) => name.endsWith(".deb"));
    await run("dpkg-deb", ["-x", file, "unpacked"], options);
    // Another test may have been faster.
    await rename(join(folder, "unpacked"), UNPACKED).catch(() => access(OURS));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** With package lists of our own, for machines that have none or old ones. */
async function downloadAfterUpdate(folder: string, signal: AbortSignal): Promise<void> {
  for (const path of ["lists/partial", "cache/archives/partial"])
    await mkdir(join(folder, path), { recursive: true });
  const own = ["-o", `Dir::State::lists=${folder}/lists`, "-o", `Dir::Cache=${folder}/cache`];
  const options = { cwd: folder, signal, maxBuffer: 16 << 20 };
  await run("apt-get", [...own, "update"], options);
  await run("apt-get", [...own, "download", "bubblewrap"], options);
}
