import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bind, Network } from "../confinement.ts";
import { type Forwarding, forward } from "./forwarder.ts";
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
