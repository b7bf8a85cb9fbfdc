import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "@reins/kit";
import type { Quotas } from "@reins/supervisor";
import { type Caller, onceExpired, type RequestAuthenticator } from "../access/authenticator.ts";
import type { Log } from "../limits.ts";
import { closeWithProblem, frameworkProblem, HttpProblem, httpProblem } from "../problems.ts";
import type { UpgradeHandler, UpgradeOptions } from "../routes/router.ts";
import type { ListenerContext } from "./listener.ts";
import { pathOf } from "./request.ts";

export interface UpgradesOptions {
  readonly authenticator: RequestAuthenticator;
  readonly quotas: Quotas;
  readonly clock: Clock;
  readonly log: Log;
  /** The timeout of authentication. */
  readonly answerTimeoutMs: number;
}

/** Upgrades of HTTP connections, by path. */
export class Upgrades {
  readonly #options: UpgradesOptions;
  readonly #handlers = new Map<string, UpgradeOptions & { readonly take: UpgradeHandler }>();
  readonly #patterns: { readonly pattern: RegExp; readonly path: string }[] = [];

  constructor(options: UpgradesOptions) {
    this.#options = options;
  }

  /** Registers the handler of a path, in which `*` stands for any one name. */
  add(path: string, take: UpgradeHandler, options: UpgradeOptions = {}): void {
    if (path.includes("*"))
      this.#patterns.push({ pattern: new RegExp(`^${path.replaceAll("*", "[^/]+")}$`), path });
    this.#handlers.set(path, { ...options, take });
  }

  /** Authenticates an upgrade and calls its handler, or closes the connection with a problem. Never rejects. */
  async take(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    context: ListenerContext,
  ): Promise<void> {
    socket.on("error", () => socket.destroy());
    try {
      const handler = this.#handlerOf(pathOf(request));
      const caller = await this.#authenticate(request, socket, context, handler?.anonymous);
      if (!handler) throw new HttpProblem("not_found", "this path has no WebSocket");
      if (!socket.writable) return;
      const { quotas, clock } = this.#options;
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

  #handlerOf(path: string) {
    const known = this.#patterns.find(({ pattern }) => pattern.test(path))?.path ?? path;
    return this.#handlers.get(known);
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
