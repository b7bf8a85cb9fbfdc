import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bind, Network } from "./confine.ts";
import { HostProxy, type NetworkAttempt } from "./host-proxy.ts";
import { type HostRule, parseHostRule } from "./host-rules.ts";

/** What a network with few ways out takes: things to be seen inside, and a command to run the agent with. */
export interface Narrowed {
  readonly binds: readonly Bind[];
  readonly command: readonly string[];
  close(): Promise<void>;
}

/** Where the proxy's socket is seen inside. */
const SOCKET = "/run/reins/proxy.sock";
const VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const LOOPBACK = ["localhost", "127.0.0.1", "::1"];

/** Opens the one way out of a network that is neither open nor off. */
export async function narrowNetwork(
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
