import type { Duplex } from "node:stream";
import type { CommandService } from "@reins/host";
import { type Clock, errorMessage, isRecord } from "@reins/kit";
import type { Principal } from "@reins/supervisor";
import type { WebSocket } from "ws";
import { parseBody } from "../gateway/request.ts";
import type { GatewayLimits } from "../limits.ts";
import { CLOSE, TextSocket, type TextSocketOptions } from "../streams/web-socket.ts";

export interface CommandTerminalOptions {
  readonly commands: CommandService;
  readonly principal: Principal;
  /** Whether the principal may still use it. */
  readonly mayStay: () => Promise<boolean>;
  /** The command. */
  readonly id: string;
  readonly line: Duplex;
  readonly clock: Clock;
  readonly limits: GatewayLimits;
  readonly turn: TextSocketOptions["turn"];
}

const NORMAL = 1000;
const MOST_SIDE = 10_000;

/**
 * A client of a command's terminal, as Sandbox Agent's clients know it: output in binary frames, what there was included;
 * `ready`, `exit` and `error` from the server and `input`, `resize` and `close` from the client as JSON. The command outlives it.
 */
export class CommandTerminal {
  readonly #options: CommandTerminalOptions;
  readonly #socket: TextSocket;
  readonly #gone = new AbortController();

  constructor(webSocket: WebSocket, options: CommandTerminalOptions) {
    const { clock, limits, line, mayStay, turn } = options;
    this.#options = options;
    this.#socket = new TextSocket(
      webSocket,
      { clock, limits, line, turn },
      {
        text: (text) => this.#take(text),
        binary: () => this.#socket.close(CLOSE.unsupported, "frames are JSON; input is sent in one as well"),
        mayStay,
        closed: () => this.#gone.abort(),
      },
    );
    void this.#show();
  }

  leave(reason: string): Promise<void> {
    return this.#socket.leave(reason);
  }

  async #show(): Promise<void> {
    const { commands, principal, id } = this.#options;
    const { signal } = this.#gone;
    try {
      await this.#send({ type: "ready", processId: id });
      for await (const { data } of commands.follow(principal, id, {}, signal))
        await this.#socket.sendBytes(Buffer.from(data, "base64"));
      if (signal.aborted) return;
      await this.#send({ type: "exit", exitCode: commands.get(principal, id).exitCode });
      this.#socket.close(NORMAL, "the command has ended");
    } catch (error) {
      await this.#send({ type: "error", message: errorMessage(error) });
      this.#socket.close(CLOSE.internal, "the output cannot be shown");
    }
  }

  async #take(text: string): Promise<void> {
    try {
      await this.#perform(parseBody(text));
    } catch (error) {
      await this.#send({ type: "error", message: errorMessage(error) });
    }
  }

  async #perform(frame: unknown): Promise<void> {
    const { commands, principal, id } = this.#options;
    const { type, data, encoding = "utf8", cols, rows } = isRecord(frame) ? frame : {};
    if (type === "close") return this.#socket.close(NORMAL, "");
    if (type === "input" && typeof data === "string") {
      commands.input(principal, id, Buffer.from(data, encoding === "base64" ? "base64" : "utf8"));
      return;
    }
    if (type === "resize" && isSide(cols) && isSide(rows)) {
      await commands.resize(principal, id, { cols, rows });
      return;
    }
    throw new Error("a frame is input with data, resize with cols and rows, or close");
  }

  async #send(frame: object): Promise<void> {
    await this.#socket.send(JSON.stringify(frame));
  }
}

function isSide(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MOST_SIDE;
}
