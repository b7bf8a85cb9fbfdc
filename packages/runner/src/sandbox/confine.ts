import { realpath } from "node:fs/promises";
import { SandboxError } from "../errors.ts";
import { findCommand, type Launch } from "../process/spawn.ts";
import { detectSandbox, isolationArguments, type Sandbox } from "./detect.ts";
import { narrowNetwork } from "./forwarder.ts";
import type { NetworkAttempt } from "./host-proxy.ts";
import { isHidden, mountArguments, type View, viewOf } from "./view.ts";

/** A file or folder that is shown to a confined agent in addition. */
export interface Bind {
  readonly path: string;
  readonly access: "read" | "write";
  /** Where it is shown; by default where it is. */
  readonly at?: string;
}

/**
 * The network of a confined agent. `open` is the network as it is, and with it every service of this machine that
 * listens on loopback or on an abstract socket; to keep those out, `{ hosts: ["*"] }` allows every host that is not
 * this machine or on its network. A host is a name, `*.suffix` or an address, with `:port` or `:*` where 80 and 443
 * do not apply.
 */
export type Network = "open" | "off" | { readonly hosts: readonly string[] };

/** Classifies a network for policy rules: patterns that match any host, or most, count as open. */
export function networkReach(network: Network): "open" | "off" | "hosts" {
  if (typeof network === "string") return network;
  return network.hosts.some((host) => /^\*(?:\.[^.:]*)?(?::|$)/.test(host)) ? "open" : "hosts";
}

/** What a sandbox shows to an agent: everything else is read-only or hidden. */
export interface Confinement {
  /** The workspace: folders that can be written. */
  readonly roots: readonly string[];
  /** The identity of each root when it was admitted, by path; a folder that replaced it is not shown. */
  readonly identities?: Readonly<Record<string, string>> | undefined;
  /** The private HOME. */
  readonly home: string;
  /** The private TMPDIR. */
  readonly temporary: string;
  /** Folders to hide, such as the home of Reins. The user's home is always hidden. */
  readonly masked: readonly string[];
  readonly binds?: readonly Bind[];
  readonly network: Network;
  /** Whether the agent may create nested sandboxes; false by default. */
  readonly nested?: boolean;
}

/** Options of {@link confine}. */
export interface ConfineOptions {
  /** A working sandbox; detected by default. */
  readonly sandbox?: Sandbox;
  /** Called for each host that a confined agent tries to reach, if hosts are restricted. */
  readonly onNetwork?: (attempt: NetworkAttempt) => void;
}

/** A launch into a sandbox; `close` it when the process has ended. */
export interface Confined {
  readonly launch: Launch;
  close(): Promise<void>;
}

/** Wraps a launch in a sandbox. Throws if any part of the confinement cannot be enforced. */
export async function confine(
  launch: Launch,
  confinement: Confinement,
  options: ConfineOptions = {},
): Promise<Confined> {
  const sandbox = options.sandbox ?? (await workingSandbox());
  const narrowed = await narrowNetwork(confinement.network, options.onNetwork ?? (() => undefined));
  try {
    const binds = [...(confinement.binds ?? []), ...narrowed.binds];
    const view = await viewOf({ ...confinement, binds });
    const command = [...narrowed.command, await visibleCommand(launch, view), ...launch.args];
    const inside = [...rootCheck(view), ...command];
    const args = [
      ...isolationArguments(sandbox, {
        network: confinement.network === "open",
        nested: confinement.nested ?? false,
      }),
      ...mountArguments(view.mounts, view.links),
      ...["--chdir", await visibleFolder(launch, view), "--", ...inside],
    ];
    const { confinement: _, ...plain } = launch;
    const env = { ...launch.env, HOME: view.home, TMPDIR: view.temporary };
    return {
      launch: { ...plain, command: sandbox.path, args, env, cwd: "/" },
      close: () => narrowed.close(),
    };
  } catch (error) {
    await narrowed.close();
    throw error;
  }
}

/**
 * Runs inside before anything else: a folder that was replaced by another, or by a link, between the check and the mount
 * is not what it was, and nothing is started.
 */
const CHECK = `while [ "$1" != -- ]; do
  if [ "$(command -p stat -c %d:%i "$1" 2>/dev/null)" != "$2" ]; then
    echo "reins: $1 is not the folder that was checked; it was replaced" >&2
    exit 126
  fi
  shift 2
done
shift
exec "$@"`;

function rootCheck({ roots }: View): string[] {
  const checks = roots.flatMap(({ path, identity }) => [path, identity]);
  return ["/bin/sh", "-c", CHECK, "reins", ...checks, "--"];
}

async function workingSandbox(): Promise<Sandbox> {
  const status = await detectSandbox();
  if (status.available) return status;
  throw new SandboxError("unavailable", `The agent was to be confined: ${status.reason}`, status.remedy);
}

async function visibleCommand({ command, env, cwd, label }: Launch, { mounts }: View): Promise<string> {
  const path = await findCommand(command, env.PATH ?? "", cwd);
  if (path === undefined)
    throw new SandboxError(
      "missing",
      `${label}: ${command} is not a command that can be run.`,
      "Is it installed?",
    );
  for (const seen of [path, await realpath(path)])
    if (isHidden(seen, mounts))
      throw new SandboxError(
        "hidden",
        `${label}: ${seen} is not seen from inside the sandbox.`,
        "Bind the folder it is in.",
      );
  return path;
}

async function visibleFolder({ cwd, label }: Launch, { mounts }: View): Promise<string> {
  const folder = await realpath(cwd).catch(() => undefined);
  if (folder === undefined)
    throw new SandboxError("missing", `${label}: ${cwd} is not a folder.`, "Start it in one that exists.");
  if (isHidden(folder, mounts))
    throw new SandboxError(
      "hidden",
      `${label}: ${cwd} is not seen from inside the sandbox.`,
      "Start it in one of the roots.",
    );
  return folder;
}
