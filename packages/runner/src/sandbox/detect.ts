import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findCommand } from "../process/spawn.ts";
import { mountArguments } from "./view.ts";

const run = promisify(execFile);
const TRIAL_MS = 10_000;
/** Since when bubblewrap can forbid sandboxes inside the sandbox. */
const FORBIDS_NESTING = [0, 8];

/** A sandbox that works. */
export interface Sandbox {
  readonly available: true;
  readonly path: string;
  readonly version: string;
}

/** Whether agents can be confined here. */
export type SandboxStatus =
  | Sandbox
  | { readonly available: false; readonly reason: string; readonly remedy: string };

/** Finds bubblewrap, on the path or where it is said to be, and tries it: a kernel may forbid what it does. */
export async function detectSandbox(configured?: string): Promise<SandboxStatus> {
  if (process.platform !== "linux")
    return no(
      `bubblewrap is for Linux, and this is ${process.platform}.`,
      "Run without a sandbox, or in a Linux machine.",
    );
  const path = await findCommand(configured ?? "bwrap", process.env.PATH ?? "", process.cwd());
  if (path === undefined)
    return no(
      `${configured ?? "bwrap"} is not there.`,
      "Install bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap).",
    );
  try {
    const { stdout } = await run(path, ["--version"], { timeout: TRIAL_MS });
    const version = stdout.trim().replace(/^bubblewrap /, "");
    const isolation = isolationArguments({ version }, { network: false, nested: false });
    await run(path, [...isolation, ...mountArguments([], []), "--", "/bin/sh", "-c", ":"], {
      timeout: TRIAL_MS,
    });
    return { available: true, path, version };
  } catch (error) {
    return no(`${path} does not work: ${firstLine(error)}`, remedyFor(firstLine(error)));
  }
}

/** The arguments that put a process into namespaces of its own and take every privilege from it. */
export function isolationArguments(
  { version }: Pick<Sandbox, "version">,
  { network, nested }: { readonly network: boolean; readonly nested: boolean },
): string[] {
  return [
    // Without a user namespace, root would keep its capabilities inside.
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(network ? [] : ["--unshare-net"]),
    ...(nested || !atLeast(version, FORBIDS_NESTING) ? [] : ["--disable-userns"]),
    ...["--cap-drop", "ALL", "--new-session", "--die-with-parent"],
  ];
}

function atLeast(version: string, [major = 0, minor = 0]: readonly number[]): boolean {
  const [ours = 0, oursMinor = 0] = version.split(".").map(Number);
  return ours > major || (ours === major && oursMinor >= minor);
}

function no(reason: string, remedy: string): SandboxStatus {
  return { available: false, reason, remedy };
}

function firstLine(error: unknown): string {
  const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
  return (said || String(error)).split("\n", 1)[0] ?? "";
}

function remedyFor(said: string): string {
  if (/namespace|uid map|permission|not permitted/i.test(said))
    return "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces above 0), or leave the container that forbids them.";
  return "Reinstall bubblewrap.";
}
