import { once } from "node:events";
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
} from "node:http2";
import { isLoopback } from "@reins/kit";
import {
  createEndpointHandler,
  type EndpointOptions,
  handlers,
  type ObjectContext,
  object,
  type RestatePromise as Pending,
  RestatePromise,
  TerminalError,
} from "@restatedev/restate-sdk";
import { z } from "zod";
import type { Carrier, InboxMessage } from "./carrier.ts";
import { RestateError } from "./restate-api.ts";

/** The objects that Reins has in Restate, by their names there. Every Reins of a home has the same. */
export interface ServiceNames {
  /** The messages for a run, and whether it is under way. */
  readonly inbox: string;
  /** The invocation that carries a run. */
  readonly run: string;
}

export function serviceNames(prefix: string): ServiceNames {
  return { inbox: `${prefix}Inbox`, run: `${prefix}Run` };
}

/** What is sent to a run: a sealed value under a name, or without one a sealed cancel. */
export const InboxDelivery = z.object({
  sealed: z.string(),
  name: z.string().optional(),
  /** How many values of the name its journal has. */
  earlier: z.int().min(0).default(0),
  /** Whether a run that is not under way begins again. */
  begins: z.boolean().default(false),
});
export type InboxDelivery = z.input<typeof InboxDelivery>;

/** What an inbox keeps of a run that is under way; of others it keeps nothing. */
interface Inbox {
  /** What Restate carries the run by, from its beginning or reopening to its end. */
  readonly turn: string;
  /** Messages that the run may not have got. */
  readonly mail: readonly InboxMessage[];
  readonly last: number;
  /** How many messages of a name there were. */
  readonly numbers: Readonly<Record<string, number>>;
  /** What wakes the invocation that waits for the next message. */
  readonly listener?: string | undefined;
}

interface Listening {
  readonly turn: string;
  /** The last message that the run has got. */
  readonly after: number;
  /** An awakeable, resolved with what comes next where nothing is there. */
  readonly listener: string;
}

/** The most messages that wait for a run. */
const MOST_MAIL = 1_000;
/** After so many marks an invocation hands the run to a new one: Restate replays all of them after a failure. */
const MOST_MARKS = 1_000;
/** A run may wait for a person for as long as it takes; a process that is gone shows by its connection. */
const FOREVER = { days: 3_650 };

const RETRY = { initialInterval: 100, exponentiationFactor: 2, maxInterval: 2_000 };
const OPTIONS = { retryPolicy: RETRY, inactivityTimeout: FOREVER, journalRetention: 0 };

/** The objects by which Restate carries runs: it calls them in a process that serves them. */
export function services<Input, Result>(names: ServiceNames, carrier: Carrier<Input, Result>) {
  const read = async (ctx: ObjectContext) => (await ctx.get<Inbox>("inbox")) ?? undefined;
  const carryOn = (ctx: ObjectContext, turn: string) =>
    ctx.objectSendClient<{ carry: typeof carry }>({ name: names.run }, ctx.key).carry(turn);
  const newInbox = (ctx: ObjectContext): Inbox => ({
    turn: ctx.rand.uuidv4(),
    ...{ mail: [], last: 0, numbers: {} },
  });

  /** Has a run carried. If it is already, that changes nothing, unless its invocation was removed in Restate. */
  const start = async (ctx: ObjectContext): Promise<void> => {
    const inbox = (await read(ctx)) ?? newInbox(ctx);
    ctx.set("inbox", inbox);
    carryOn(ctx, inbox.turn);
  };

  /** Adds a message; returns its place among those of its name. `null` for a run that is not under way, and does not begin. */
  const send = async (ctx: ObjectContext, given: unknown): Promise<number | null> => {
    const sending = InboxDelivery.safeParse(given).data;
    // Only a Reins of this home has the key.
    if (!sending || !isSealed(sending, ctx.key)) throw new TerminalError("not sealed by this Reins");
    const { sealed, name, earlier, begins } = sending;
    const known = await read(ctx);
    if (!known && !begins) return null;
    const inbox = known ?? newInbox(ctx);
    if (inbox.mail.length >= MOST_MAIL) throw new TerminalError("too many messages wait for the run");
    const number = name === undefined ? 0 : Math.max(inbox.numbers[name] ?? 0, earlier) + 1;
    const seq = inbox.last + 1;
    const mail = [...inbox.mail, { seq, sealed, ...(name !== undefined && { name, number }) }];
    const numbers = name === undefined ? inbox.numbers : { ...inbox.numbers, [name]: number };
    ctx.set("inbox", { turn: inbox.turn, mail, last: seq, numbers });
    if (inbox.listener !== undefined) ctx.resolveAwakeable(inbox.listener, mail);
    if (!known) carryOn(ctx, inbox.turn);
    return number;
  };
  const isSealed = (message: Pick<InboxMessage, "name" | "sealed">, run: string) => {
    try {
      carrier.opened(run, message);
      return true;
    } catch {
      return false;
    }
  };

  /** The messages after one, which the run has got. `null` for a turn that is over. */
  const listen = async (
    ctx: ObjectContext,
    { turn, after, listener }: Listening,
  ): Promise<readonly InboxMessage[] | null> => {
    const inbox = await read(ctx);
    if (inbox?.turn !== turn) return null;
    const mail = inbox.mail.filter(({ seq }) => seq > after);
    ctx.set("inbox", { ...inbox, mail, listener: mail.length === 0 ? listener : undefined });
    return mail;
  };

  /** Whether a run that has come to its end is over: no message came after the last that it has got. */
  const end = async (ctx: ObjectContext, { turn, after }: Omit<Listening, "listener">): Promise<boolean> => {
    const inbox = await read(ctx);
    if (inbox?.turn !== turn) return true;
    if (inbox.mail.some(({ seq }) => seq > after)) return false;
    ctx.clear("inbox");
    return true;
  };

  const inbox = object({
    name: names.inbox,
    handlers: {
      start,
      send,
      listen: handlers.object.exclusive({ ingressPrivate: true }, listen),
      end: handlers.object.exclusive({ ingressPrivate: true }, end),
    },
    options: { ...OPTIONS, idempotencyRetention: { minutes: 10 } },
  });

  /** Gives the run what has come for it; returns the last of that, and what comes next. */
  const listening = async (ctx: ObjectContext, turn: string, after: number) => {
    for (let last = after; ; ) {
      const { id, promise } = ctx.awakeable<readonly InboxMessage[]>();
      const there = await ctx.objectClient(inbox, ctx.key).listen({ turn, after: last, listener: id });
      if (!there) return undefined;
      if (there.length === 0) return { last, mail: promise };
      carrier.deliver(ctx.key, turn, there);
      last = there.at(-1)?.seq ?? last;
    }
  };

  /** Carries a run to its end in this process, one mark after the other. */
  const carry = async (ctx: ObjectContext, turn: string): Promise<void> => {
    const { key } = ctx;
    carrier.connect(key, turn, ctx.request().attemptCompletedSignal);
    const next = () => ctx.run("mark", () => carrier.next(key, turn));
    let listened = await listening(ctx, turn, 0);
    let marking = listened && next();
    for (let marks = 1; listened && marking; ) {
      const { last, mail } = listened;
      const event = await either(marking, mail);
      if ("mail" in event) {
        carrier.deliver(key, turn, event.mail);
        listened = await listening(ctx, turn, event.mail.at(-1)?.seq ?? last);
        continue;
      }
      const { mark } = event;
      const hasAll = mark.delivered >= last;
      if (mark.isEnd && hasAll && (await ctx.objectClient(inbox, key).end({ turn, after: last }))) {
        carrier.over(key, mark);
        return;
      }
      carrier.store(key, mark);
      if (marks >= MOST_MARKS && hasAll) {
        carryOn(ctx, turn);
        return;
      }
      marks += 1;
      marking = next();
    }
  };

  const run = object({
    name: names.run,
    handlers: { carry: handlers.object.exclusive({ ingressPrivate: true }, carry) },
    options: OPTIONS,
  });
  return [inbox, run];
}

function either<Mark, Mail>(
  marking: Pending<Mark>,
  mail: Pending<Mail>,
): Pending<{ mark: Mark } | { mail: Mail }> {
  return RestatePromise.race([
    marking.map((mark, failure) => ({ mark: given(mark, failure) })),
    mail.map((messages, failure) => ({ mail: given(messages, failure) })),
  ]);
}

function given<Value>(value: Value | undefined, failure: Error | undefined): Value {
  if (value === undefined) throw failure ?? new TerminalError("Restate gave nothing");
  return value;
}

/** Where Restate calls this process. */
export interface EndpointAddress {
  readonly host: string;
  readonly port: number;
  /** The public keys of the Restate servers that may call; with them every other caller is refused. */
  readonly identityKeys: readonly string[];
}

/** An engine that Restate can call. */
export interface ServedEngine {
  readonly port: number;
  /** Cuts every connection with it. */
  close(): Promise<void>;
}

interface Served {
  readonly handle: (request: Http2ServerRequest, response: Http2ServerResponse) => void;
  readonly open: Set<Http2ServerResponse>;
}

/**
 * Serves the objects of Restate over HTTP/2, those of each engine below a path of their own, as long as there is one. Who
 * may call it can have runs continued, so it needs a signature off loopback.
 */
export class Endpoint {
  readonly #address: EndpointAddress;
  readonly #served = new Map<string, Served>();
  readonly #sessions = new Set<Http2Session>();
  #listening: Promise<Http2Server> | undefined;
  #closing: Promise<void> = Promise.resolve();

  constructor(address: EndpointAddress) {
    this.#address = address;
  }

  /** Rejects where it cannot be listened on; an endpoint that serves nothing yet does not notice. */
  async check(): Promise<void> {
    if (!this.#listening) await this.#close(this.#listen());
  }

  /** Serves objects below a path, until that is closed. */
  async serve(
    path: string,
    { services, logger }: Required<Pick<EndpointOptions, "services" | "logger">>,
  ): Promise<ServedEngine> {
    const { host, identityKeys } = this.#address;
    if (identityKeys.length === 0 && !isLoopback(host))
      throw new RestateError(
        "refused",
        `Restate may call ${host} only with identity keys: any caller that reaches it could have runs continued`,
      );
    const keys = identityKeys.length > 0 ? { identityKeys: [...identityKeys] } : {};
    const handle = createEndpointHandler({ services, logger, ...keys });
    const served: Served = { handle, open: new Set() };
    this.#served.set(path, served);
    this.#listening ??= this.#listen();
    try {
      const address = (await this.#listening).address();
      const port = typeof address === "object" && address ? address.port : 0;
      return { port, close: () => this.#end(path, served) };
    } catch (error) {
      this.#served.delete(path);
      this.#listening = undefined;
      throw error;
    }
  }

  async #listen(): Promise<Http2Server> {
    await this.#closing;
    const { host, port } = this.#address;
    const server = createServer((request, response) => this.#handle(request, response));
    server.on("session", (session) => {
      this.#sessions.add(session);
      session.on("close", () => this.#sessions.delete(session));
      session.on("error", () => session.destroy());
    });
    server.listen(port, host);
    try {
      await once(server, "listening");
    } catch (error) {
      throw new RestateError("refused", `${host}:${port}, where Restate is to call, cannot be listened on`, {
        cause: error,
      });
    }
    return server;
  }

  #handle(request: Http2ServerRequest, response: Http2ServerResponse): void {
    const [, first = ""] = request.url.split("/");
    const served = this.#served.get(first) ?? this.#served.get("");
    if (!served) {
      response.writeHead(404).end();
      return;
    }
    served.open.add(response);
    response.once("close", () => served.open.delete(response));
    served.handle(request, response);
  }

  async #end(path: string, served: Served): Promise<void> {
    if (this.#served.get(path) === served) this.#served.delete(path);
    for (const response of served.open) response.stream.destroy();
    if (this.#served.size === 0 && this.#listening) {
      this.#closing = this.#close(this.#listening);
      this.#listening = undefined;
    }
    await this.#closing;
  }

  async #close(listening: Promise<Http2Server>): Promise<void> {
    const server = await listening;
    const closed = once(server, "close");
    server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }
}
