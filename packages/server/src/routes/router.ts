import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Operation } from "@reins/api";
import type { Harness, Principal } from "@reins/supervisor";
import type { z } from "zod";
import type { Caller } from "../access/authenticator.ts";
import type { Doorway } from "../gateway/listener.ts";
import type { EventStream } from "../streams/event-stream.ts";
import type { SupervisorCode } from "./authorize.ts";

/** One way of speaking with Reins: a set of paths, and what is said at them. */
export interface Dialect {
  readonly name: string;
  /** Takes its paths. Happens once, before anybody is served. */
  mount(place: Place): void;
  /** Ends its connections, letting what is under way finish. */
  close?(): Promise<void>;
}

/** Where a dialect takes its paths. Whoever comes to them has been asked who they are, unless that is for anyone. */
export interface Place {
  /** Answers an operation without the harness. */
  plain<Op extends Operation>(operation: Op, answer: (call: PlainCall<Op>) => Promise<Answer>): void;
  /** Answers an operation with the harness, once it is open, for the audience that the operation names. */
  governed<Op extends Operation>(operation: Op, answer: (call: GovernedCall<Op>) => Promise<Answer>): void;
  /** Answers an operation that may take as long as it takes and have a large body. */
  held<Op extends Operation>(operation: Op, answer: (call: HeldCall<Op>) => Promise<HeldAnswer>): void;
  /** Answers an operation with a stream, which begins when `tell` opens it and ends when `tell` settles. */
  stream<Op extends Operation>(
    operation: Op,
    tell: (call: GovernedCall<Op>, open: () => EventStream) => Promise<void>,
  ): void;
  /** Hands requests over as they came, body and all, with any method. */
  raw(path: string, handle: RawHandler): void;
  /** Hands over requests to read something that is for anyone. What it throws before it answers is told as a problem. */
  open(path: string, handle: OpenHandler): void;
  /** Answers an operation with text that is written as it comes. What it throws before the first of it is told as a problem. */
  text<Op extends Operation>(operation: Op, write: (call: GovernedCall<Op>) => AsyncIterable<string>): void;
  /** Refuses whatever comes to a path, with one method or any. */
  refuse(path: string, method: string | undefined, refusal: () => Error): void;
  /** Takes connections that turn into another protocol. */
  upgrade(path: string, take: UpgradeHandler, options?: UpgradeOptions): void;
}

/** For whom connections are taken. */
export interface UpgradeOptions {
  /** Who somebody at an address is who shows nothing of who they are; without it they are turned away. */
  readonly stranger?: ((address: string | undefined) => Promise<Caller | undefined>) | undefined;
}

/** Answers a request as it came. Never rejects. */
export type RawHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
) => Promise<void>;

/** Answers a request to read something. */
type OpenHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Takes over a connection. Never rejects. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  caller: Caller,
) => Promise<void>;

/** What comes back: the body, in the form that the operation names, or nothing. */
export type Answer = object | undefined;

/** A request for an operation, read and checked. */
export interface PlainCall<Op extends Operation = Operation> {
  readonly params: z.output<Op["params"]>;
  readonly query: z.output<Op["query"]>;
  readonly body: z.output<Op["body"]>;
  readonly request: IncomingMessage;
  readonly doorway: Doorway;
  /** Sets a header of the answer. */
  header(name: string, value: string): void;
  /** Has the answer come with the other status that the operation names. */
  otherwise(): void;
}

/** What comes back where the operation alone does not say with what status. */
export interface HeldAnswer {
  readonly status: 200 | 202 | 204;
  /** The body as text of JSON, if there is one. */
  readonly text?: string | undefined;
}

/** One for which the harness is open, from somebody who may. */
export interface GovernedCall<Op extends Operation = Operation> extends PlainCall<Op> {
  readonly caller: Caller;
  /** Whoever asks, as they were when they did. */
  readonly principal: Principal;
  /** Whoever asks, as they are now; nothing when they may not ask for this any more. */
  asOfNow(): Promise<Principal | undefined>;
  readonly harness: Harness;
  /** The code behind the harness. It is not loaded before the harness is there. */
  readonly supervisor: SupervisorCode;
}

/** One whose answer may take as long as it takes. */
export interface HeldCall<Op extends Operation = Operation> extends GovernedCall<Op> {
  /** Has something done when whoever asked hangs up before the answer is there; gives back how to call that off. */
  whenGone(run: () => void): () => void;
}
