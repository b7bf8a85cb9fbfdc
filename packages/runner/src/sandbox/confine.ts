import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { SandboxError } from "../errors.ts";
import { MARK_VARIABLE } from "../process/process-table.ts";
import { findCommand, type Launch } from "../process/spawn.ts";
import { HostProxy, type HostRule, type NetworkAttempt, parseHostRule } from "./host-proxy.ts";
import { isHidden, mountArguments, type View, viewOf } from "./view.ts";

/** What a network with few ways out takes: things to be seen inside, and a command to run the agent with. */
interface Narrowed {
  readonly binds: readonly Bind[];
  readonly command: readonly string[];
  close(): Promise<void>;
}

/** Where the proxy's socket is seen inside. */
const SOCKET = "/run/reins/proxy.sock";
const VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const LOOPBACK = ["localhost", "127.0.0.1", "::1"];

/** Opens the one way out of a network that is neither open nor off. */
async function narrowNetwork(
  network: Network,
  onAttempt: (attempt: NetworkAttempt) => void,
): Promise<Narrowed> {
  if (typeof network === "string") return { binds: [], command: [], close: async () => undefined };
  const rules = network.hosts.map(parseHostRule);
  const folder = await mkdtemp(join(tmpdir(), "reins-network-"));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    const socket = join(folder, "proxy.sock");
    const proxy = await HostProxy.listen(socket, { rules, onAttempt });
    const node = await realpath(process.execPath);
    return {
      binds: [
        { path: socket, access: "write", at: SOCKET },
        { path: node, access: "read" },
      ],
      command: [node, "--eval", `(${forward.toString()})()`, "--", JSON.stringify(forwardingFor(rules))],
      close: async () => {
        await proxy.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** What listens inside the sandbox is reached directly, unless the machine's own loopback was named. */
function forwardingFor(rules: readonly HostRule[]): Forwarding {
  const direct = LOOPBACK.filter((host) => !rules.some((rule) => rule.host === host)).join(",");
  const env = { NO_PROXY: direct, no_proxy: direct, NODE_USE_ENV_PROXY: "1" };
  return { socket: SOCKET, variables: VARIABLES, env };
}

/** What a forwarder has to know. */
interface Forwarding {
  /** The proxy's Unix socket, as seen from inside. */
  readonly socket: string;
  /** Variables that are to hold the forwarder's address. */
  readonly variables: readonly string[];
  /** Other variables. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs inside the sandbox, whose own network holds nothing but loopback: takes connections there, hands each on to the
 * proxy's socket, and runs the command that follows with its address in the environment. It is sent as text to a Node
 * of its own, so it uses nothing from outside itself.
 */
function forward(): void {
  const net = process.getBuiltinModule("node:net");
  const { constants } = process.getBuiltinModule("node:os");
  const { spawn } = process.getBuiltinModule("node:child_process");
  const [given = "", command = "", ...args] = process.argv.slice(1);
  const { socket, variables, env }: Forwarding = JSON.parse(given);
  const server = net.createServer((client) => {
    const proxy = net.connect(socket);
    for (const [from, to] of [[client, proxy] as const, [proxy, client] as const]) {
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
      from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const ours = variables.map((name) => [name, `http://127.0.0.1:${port}`]);
    // Who asks everyone to end asks the command too; it decides how long it takes.
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
    const child = spawn(command, args, {
      stdio: "inherit",
      env: { ...process.env, ...env, ...Object.fromEntries(ours) },
    });
    child.on("error", (error) => {
      console.error(error.message);
      process.exit(127);
    });
    child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
  });
}

/** A file or folder that is shown to a confined agent in addition. */
interface Bind {
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
    const variables = variablesOf({ ...launch.env, HOME: view.home, TMPDIR: view.temporary });
    const inside = [...entrance(view, [...variables.keys()]), ...command];
    const args = [
      ...isolationArguments(sandbox, {
        network: confinement.network === "open",
        nested: confinement.nested ?? false,
      }),
      ...mountArguments(view.mounts, view.links),
      ...["--chdir", await visibleFolder(launch, view), "--", ...inside],
    ];
    const { confinement: _, ...plain } = launch;
    const env = Object.fromEntries([...variables].map(([name, value]) => [PREFIX + name, value]));
    return {
      launch: { ...plain, command: sandbox.path, args, env, cwd: "/" },
      close: () => narrowed.close(),
    };
  } catch (error) {
    await narrowed.close();
    throw error;
  }
}

/** Begins the names of variables on their way into the sandbox. */
const PREFIX = "REINS_INSIDE_";
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Variables that shells do not let others set, and the mark, which the start sets. */
const NOT_SET: ReadonlySet<string> = new Set([
  ...["BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"],
  MARK_VARIABLE,
]);

/** The variables that are set inside. Those whose names no shell can set are left out. */
function variablesOf(env: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(env).filter(([name]) => NAME.test(name) && !NOT_SET.has(name)));
}

/**
 * Runs inside before anything else. A folder that was replaced by another, or by a link, between the check and the mount
 * is not what it was, and nothing is started. Variables get their names here: by some, such as `LD_PRELOAD`, the sandbox
 * itself would load code while it is outside.
 */
const ENTER = `while [ "$1" != -- ]; do
  if [ "$(command -p stat -c %d:%i "$1" 2>/dev/null)" != "$2" ]; then
    echo "reins: $1 is not the folder that was checked; it was replaced" >&2
    exit 126
  fi
  shift 2
done
shift
while [ "$1" != -- ]; do
  eval "export $1=\\"\\$${PREFIX}$1\\"; unset ${PREFIX}$1"
  shift
done
shift
exec "$@"`;

function entrance({ roots }: View, variables: readonly string[]): string[] {
  const checks = roots.flatMap(({ path, identity }) => [path, identity]);
  return ["/bin/sh", "-c", ENTER, "reins", ...checks, "--", ...variables, "--"];
}

async function workingSandbox(): Promise<Sandbox> {
  const status = await detectSandbox();
  if (status.available) return status;
  throw new SandboxError("unavailable", `This runs confined or not at all: ${status.reason}`, status.remedy);
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
