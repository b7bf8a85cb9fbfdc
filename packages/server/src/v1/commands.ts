import { type Duplex, Readable } from "node:stream";
import { commandOperations, OTHER_DOORS } from "@reins/api";
import type { CommandService, Hosting } from "@reins/host";
import { type Clock, errorMessage, isRecord, sseText } from "@reins/kit";
import { actorOf, type Harness, type Principal } from "@reins/supervisor";
import type { WebSocket } from "ws";
import { authorize, currentPrincipal, required } from "../access/authenticator.ts";
import { lastEventId, parseBody, pathOf } from "../gateway/request.ts";
import type { GatewayLimits } from "../limits.ts";
import { base64Bytes, callerProblems, HttpProblem } from "../problems.ts";
import type { Routes } from "../routes/router.ts";
import { CLOSE, TextSocket, type TextSocketOptions, WebSocketAcceptor } from "../streams/web-socket.ts";
import { callerOf, JSON_TYPE, jsonOf } from "./files.ts";

interface CommandRoutesOptions {
  readonly harness: () => Promise<Harness>;
  readonly clock: Clock;
  readonly limits: GatewayLimits;
}

const ENCODINGS: ReadonlySet<string> = new Set(["utf8", "utf-8", "base64"]);

/** Commands that callers run, as Sandbox Agent's clients know them. */
export function commandRoutes(hosting: () => Promise<Hosting>, options: CommandRoutesOptions): Routes {
  const { clock, limits } = options;
  const acceptor = new WebSocketAcceptor(limits);
  const commands = async () => (await required(hosting)).commands;
  return {
    name: "commands",
    mount(router) {
      const ops = commandOperations;
      router.handle(ops.getCommandLimits, async () => (await commands()).limits);
      router.handle(ops.setCommandLimits, async ({ body, harness, principal }) => {
        const service = await commands();
        const by = { principal: principal.id, kind: principal.kind };
        const payload = { change: "command_limits_set", wanted: body, by };
        const target = "commands";
        await harness.record([{ quality: "policy_change", actor: actorOf(principal), target, payload }]);
        return service.limit(body);
      });
      router.longPoll(ops.runCommand, async (call) =>
        callerProblems(async () => {
          const ran = await (await commands()).run(callerOf({ ...call, query: {} }), call.body);
          return { status: 200, text: JSON.stringify(ran) };
        }),
      );
      router.longPoll(ops.startCommand, async (call) =>
        callerProblems(async () => {
          const started = await (await commands()).start(callerOf({ ...call, query: {} }), call.body);
          return { status: 200, text: JSON.stringify(started) };
        }),
      );
      router.handle(ops.listCommands, async ({ principal, query: { owner = "user" } }) => ({
        processes: owner === "user" ? [...(await commands()).list(principal)] : [],
      }));
      router.handle(ops.getCommand, ({ principal, params }) =>
        callerProblems(async () => (await commands()).get(principal, params.id)),
      );
      router.longPoll(ops.stopCommand, async ({ principal, params, query }) =>
        callerProblems(async () => {
          const ended = await (await commands()).end(principal, params.id, { ...query });
          return { status: 200, text: JSON.stringify(ended) };
        }),
      );
      router.longPoll(ops.killCommand, async ({ principal, params, query }) =>
        callerProblems(async () => {
          const ended = await (await commands()).end(principal, params.id, { ...query, isKill: true });
          return { status: 200, text: JSON.stringify(ended) };
        }),
      );
      router.handle(ops.forgetCommand, ({ principal, params }) =>
        callerProblems(async () => {
          (await commands()).forget(principal, params.id);
          return undefined;
        }),
      );
      router.transfer(ops.getCommandLogs, async (call) => {
        const { principal, params, query } = call;
        const { stream = "combined", follow } = query;
        const service = await commands();
        if (follow !== "true") {
          const entries = service.logs(principal, params.id, query);
          const head = `{"processId":${JSON.stringify(params.id)},"stream":${JSON.stringify(stream)},"entries":`;
          const body = Readable.from(jsonOf(head, entries, "}"), { objectMode: false });
          return { status: 200, headers: JSON_TYPE, body };
        }
        const since = lastEventId(call.request) ?? query.since;
        const gone = new AbortController();
        const followed = service.follow(principal, params.id, { ...query, since }, gone.signal);
        const events = call.open();
        events.closed.addEventListener("abort", () => gone.abort(), { once: true });
        if (events.closed.aborted) return undefined;
        const check = async () => {
          if (!(await call.currentPrincipal().catch(() => undefined))) events.end();
        };
        events.onKeepAlive(() => void check());
        for await (const entry of followed)
          if (!(await events.send(sseText({ id: entry.sequence, event: "log", json: entry })))) break;
        return undefined;
      });
      router.handle(ops.writeCommandInput, ({ principal, params, body }) =>
        callerProblems(async () => {
          const encoding = body.encoding ?? "base64";
          if (!ENCODINGS.has(encoding)) throw new HttpProblem("invalid", "input is utf8 or base64");
          const bytes = encoding === "base64" ? base64Bytes(body.data) : Buffer.from(body.data);
          return { bytesWritten: (await commands()).input(principal, params.id, bytes) };
        }),
      );
      router.handle(ops.resizeCommandTerminal, ({ principal, params, body }) =>
        callerProblems(async () => (await commands()).resize(principal, params.id, body)),
      );
      const { terminalSocket } = OTHER_DOORS;
      router.upgrade(terminalSocket, async (request, socket, head, caller) => {
        const authorized = await authorize(options.harness, caller.id);
        const { harness, principal } = authorized;
        const id = pathOf(request).split("/").at(3) ?? "";
        const service = await commands();
        await callerProblems(async () => {
          if (!service.get(principal, id).tty)
            throw new HttpProblem("conflict", "the command has no terminal; start it with tty");
        });
        const turn = () => harness.quotas.turn("messages", principal);
        const mayStay = async () =>
          (await currentPrincipal(terminalSocket.audience, authorized).catch(() => undefined)) !== undefined;
        const client = { commands: service, mayStay, principal, id, line: socket, clock, limits, turn };
        acceptor.accept({ request, socket, head }, (webSocket) => new CommandTerminal(webSocket, client));
      });
      const noDesktop = () =>
        new HttpProblem("not_implemented", "Reins has no desktop: it starts no display");
      for (const path of ["/v1/desktop", "/v1/desktop/*"]) router.reject(path, undefined, noDesktop);
    },
    close: () => acceptor.close(),
  };
}

interface CommandTerminalOptions {
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
class CommandTerminal {
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
      commands.input(principal, id, encoding === "base64" ? base64Bytes(data) : Buffer.from(data));
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
