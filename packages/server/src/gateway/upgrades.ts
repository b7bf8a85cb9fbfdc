import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "@reins/kit";
import type { Harness, Quotas } from "@reins/supervisor";
import {
  authorize,
  type Caller,
  onceExpired,
  type RequestAuthenticator,
  requireAudience,
} from "../access/authenticator.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Log } from "../limits.ts";
import { closeWithProblem, frameworkProblem, HttpProblem, httpProblem } from "../problems.ts";
import type { SocketDoor, UpgradeHandler, UpgradeOptions } from "../routes/router.ts";
import type { ListenerContext } from "./listener.ts";
import { pathOf } from "./request.ts";

export interface UpgradesOptions {
  readonly harness: () => Promise<Harness>;
  readonly authenticator: RequestAuthenticator;
  readonly quotas: Quotas;
  readonly clock: Clock;
  readonly log: Log;
  /** Passes upgrades on to the nodes that serve them, where there are several. */
  readonly cluster?: Cluster | undefined;
  /** The timeout of authentication. */
  readonly answerTimeoutMs: number;
}

interface Handler extends UpgradeOptions {
  readonly pattern: RegExp;
  readonly audience: SocketDoor["audience"];
  readonly take: UpgradeHandler;
}

/** Upgrades of HTTP connections, by path. */
export class Upgrades {
  readonly #options: UpgradesOptions;
  readonly #handlers: Handler[] = [];

  constructor(options: UpgradesOptions) {
    this.#options = options;
  }

  /** Registers the handler of a door. */
  add(door: SocketDoor, take: UpgradeHandler, options: UpgradeOptions = {}): void {
    const pattern = new RegExp(`^${door.path.replace(/\{\w+\}/g, "[^/]+")}$`);
    this.#handlers.push({ ...options, pattern, audience: door.audience, take });
  }

  /**
   * Authenticates an upgrade, checks that its caller belongs to the audience and calls the handler, or closes the connection
   * with a problem. Never rejects.
   */
  async take(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    context: ListenerContext,
  ): Promise<void> {
    socket.on("error", () => socket.destroy());
    try {
      const path = pathOf(request);
      const handler = this.#handlers.find(({ pattern }) => pattern.test(path));
      const { cluster, authenticator } = this.#options;
      const isUnknown = cluster !== undefined && authenticator.hasUnknownLogin(request, context);
      if (isUnknown && (await cluster.upgrade({ request, ofLogins: true }, socket, head))) return;
      const caller = await this.#authenticate(request, socket, context, handler?.anonymous);
      if (!handler) throw new HttpProblem("not_found", "this path has no WebSocket");
      const { harness, quotas, clock } = this.#options;
      if (handler.audience !== "principal")
        requireAudience(handler.audience, (await authorize(harness, caller.id)).principal);
      if (!socket.writable) return;
      if (await cluster?.upgrade({ request, caller }, socket, head)) return;
      quotas.take("requests", caller);
      const release = quotas.hold("streams", caller);
      const cancel = onceExpired(caller, clock, () => socket.destroy());
      socket.once("close", () => {
        cancel();
        release();
      });
      await handler.take(request, socket, head, caller);
    } catch (error) {
      const known = frameworkProblem(error);
      if (!known) this.#options.log.error({ err: error, path: pathOf(request) }, "an upgrade failed");
      closeWithProblem(socket, known ?? httpProblem("internal"));
    }
  }

  async #authenticate(
    request: IncomingMessage,
    socket: Duplex,
    context: ListenerContext,
    anonymous: UpgradeOptions["anonymous"],
  ): Promise<Caller> {
    const { authenticator, clock, answerTimeoutMs } = this.#options;
    authenticator.checkOrigin(request, context);
    const cancel = clock.after(answerTimeoutMs, () => closeWithProblem(socket, httpProblem("unavailable")));
    try {
      const caller = await authenticator.authenticate(request, context, { upgrades: true, anonymous });
      context.unauthenticated?.remove(request.socket);
      return caller;
    } finally {
      cancel();
    }
  }
}
