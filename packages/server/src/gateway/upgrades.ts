import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "@reins/kit";
import type { Caller, Gatekeeper } from "../access/authenticator.ts";
import type { Log } from "../limits.ts";
import { frameworkRefusal, hangUpWith, Refusal, refusalOf } from "../problems.ts";
import type { UpgradeHandler, UpgradeOptions } from "../routes/router.ts";
import type { Doorway } from "./listener.ts";
import { pathOf } from "./request.ts";

/** What upgrades need. */
export interface UpgradesOptions {
  readonly gatekeeper: Gatekeeper;
  readonly clock: Clock;
  readonly log: Log;
  /** How long it may take to find out who asks. */
  readonly answerTimeoutMs: number;
}

/** Connections that turn from HTTP into another protocol, by path. */
export class Upgrades {
  readonly #options: UpgradesOptions;
  readonly #handlers = new Map<string, UpgradeOptions & { readonly take: UpgradeHandler }>();

  constructor(options: UpgradesOptions) {
    this.#options = options;
  }

  /** Has a dialect take the connections of a path. */
  add(path: string, take: UpgradeHandler, options: UpgradeOptions = {}): void {
    this.#handlers.set(path, { ...options, take });
  }

  /** Hands a connection over, or hangs up with the reason. Never rejects. */
  async take(request: IncomingMessage, socket: Duplex, head: Buffer, doorway: Doorway): Promise<void> {
    socket.on("error", () => socket.destroy());
    try {
      const handler = this.#handlers.get(pathOf(request));
      const caller = await this.#admit(request, socket, doorway, handler?.stranger);
      if (!handler) throw new Refusal("not_found", "there is nothing here that a connection could turn into");
      if (socket.writable) await handler.take(request, socket, head, caller);
    } catch (error) {
      const refusal = frameworkRefusal(error);
      if (!refusal) this.#options.log.error({ err: error, path: pathOf(request) }, "an upgrade failed");
      hangUpWith(socket, refusal ?? refusalOf("internal"));
    }
  }

  async #admit(
    request: IncomingMessage,
    socket: Duplex,
    doorway: Doorway,
    stranger: UpgradeOptions["stranger"],
  ): Promise<Caller> {
    const { gatekeeper, clock, answerTimeoutMs } = this.#options;
    gatekeeper.checkOrigin(request, doorway);
    const callOff = clock.after(answerTimeoutMs, () => hangUpWith(socket, refusalOf("unavailable")));
    try {
      const caller = await gatekeeper.admit(request, doorway, { upgrades: true, stranger });
      doorway.unknown?.isKnown(request.socket);
      return caller;
    } finally {
      callOff();
    }
  }
}
