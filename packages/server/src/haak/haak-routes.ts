import { BlockList, isIPv6 } from "node:net";
import { OTHER_DOORS } from "@reins/api";
import type { AgentRunner } from "@reins/haak";
import { type Clock, systemClock } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import { authorize, type Caller, required } from "../access/authenticator.ts";
import { type GatewayLimits, type Log, settleLimits } from "../limits.ts";
import type { Routes, UpgradeHandler } from "../routes/router.ts";
import { WebSocketAcceptor } from "../streams/web-socket.ts";
import { HaakClient } from "./haak-client.ts";

export interface HaakRoutesOptions {
  readonly harness: () => Promise<Harness>;
  /** Waits until sessions can run; rejects with a reason for users. */
  readonly runner: () => Promise<AgentRunner>;
  /** `token` requires a token. `none` accepts local clients without one, as the unknown principal. */
  readonly auth?: "token" | "none" | undefined;
  readonly log: Log;
  readonly clock?: Clock;
  readonly limits?: Partial<GatewayLimits>;
}

/** OpenClaw clients use no path. */
const DOORS = [OTHER_DOORS.haakSocket, OTHER_DOORS.pathlessSocket] as const;

/** HAAK's gateway: requests and event streams over WebSocket. */
export function haakRoutes(options: HaakRoutesOptions): Routes {
  const { clock = systemClock, log } = options;
  const limits = settleLimits(options.limits);
  const acceptor = new WebSocketAcceptor(limits);
  const take: UpgradeHandler = async (request, socket, head, { id }) => {
    const { harness, principal } = await authorize(options.harness, id);
    const runner = await required(options.runner);
    const { identity } = harness;
    const turn = () => harness.quotas.turn("messages", principal);
    const client = { clock, log, runner, identity, principal, line: socket, limits, turn };
    acceptor.accept({ request, socket, head }, (webSocket) => new HaakClient(webSocket, client));
  };
  return {
    name: "haak",
    mount(router) {
      const anonymous = options.auth === "none" ? { anonymous: anonymousCaller(options) } : {};
      for (const door of DOORS) router.upgrade(door, take, anonymous);
    },
    close: () => acceptor.close(),
  };
}

/** Finds the principal of local clients without a credential. */
function anonymousCaller({ harness }: HaakRoutesOptions) {
  let known: Promise<Caller> | undefined;
  return async (address: string | undefined): Promise<Caller | undefined> => {
    if (address === undefined || !isLoopback(address)) return undefined;
    known ??= harness().then(anonymousPrincipal);
    known.catch(() => {
      known = undefined;
    });
    return known;
  };
}

const ANONYMOUS = "anonymous";

/** A principal that acts as no agent of the roster, so that it stays unknown under any name, and answers no approvals. */
async function anonymousPrincipal({ identity }: Harness): Promise<Principal> {
  const users = await identity.listUsers();
  if (!users.some(({ id }) => id === ANONYMOUS))
    await identity.addUser({
      id: ANONYMOUS,
      name: "Anonymous",
      email: "anonymous@localhost.invalid",
      roles: [],
      scopes: [],
    });
  const tokens = await identity.listTokens();
  const known = tokens.find(({ user, kind, agents, revoked, expires }) => {
    const isLive = revoked === undefined && expires === undefined;
    return user === ANONYMOUS && kind === "agent" && agents.length === 0 && isLive;
  });
  const { id } =
    known ?? (await identity.createToken({ user: ANONYMOUS, kind: "agent", agents: [], scopes: [] }));
  const principal = await identity.current({ id });
  if (principal) return principal;
  throw new Error("the anonymous user cannot be made");
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, "");
  return loopback.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
}
