import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable } from "node:stream";
import type { Operation, OtherDoor } from "@reins/api";
import { type SseWriter, sseText } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import type { z } from "zod";
import type { Caller } from "../access/authenticator.ts";
import type { ListenerContext } from "../gateway/listener.ts";

/** A group of routes: one protocol, or one resource of the API. */
export interface Routes {
  readonly name: string;
  /** Registers the routes; called once, before the gateway listens. */
  mount(router: Router): void;
  /** Closes the connections of these routes after running work has finished. */
  close?(): Promise<void>;
}

/** Registers handlers. Requests are authenticated before a handler runs, except on public routes. */
export interface Router {
  /** Handles an operation that needs no open harness. */
  withoutHarness<Op extends Operation>(
    operation: Op,
    handler: (call: OperationCall<Op>) => Promise<ResponseBody<Op>>,
  ): void;
  /** Handles an operation for its audience once the harness is open. */
  handle<Op extends Operation>(
    operation: Op,
    handler: (call: AuthorizedCall<Op>) => Promise<ResponseBody<Op>>,
  ): void;
  /** Handles an operation without a response timeout and with a large body. */
  longPoll<Op extends Operation>(
    operation: Op,
    handler: (call: LongPollCall<Op>) => Promise<RawResponse>,
  ): void;
  /**
   * Responds with server-sent events: the stream starts when `write` calls `open` and ends when `write` settles. With `whole`
   * a client that accepts JSON and no stream gets its result instead, whenever that is there.
   */
  stream<Op extends Operation>(
    operation: Op,
    write: (call: AuthorizedCall<Op>, open: () => SseWriter) => Promise<void>,
    whole?: (call: AuthorizedCall<Op>) => Promise<object>,
  ): void;
  /** Responds with text in pieces. An error before the first piece becomes a problem. */
  text<Op extends Operation>(operation: Op, write: (call: AuthorizedCall<Op>) => AsyncIterable<string>): void;
  /** Handles an operation of a caller whose body or response is a stream of bytes, without a timeout of either. */
  transfer<Op extends Operation>(
    operation: Op,
    handler: (call: TransferCall<Op>) => Promise<TransferResponse | undefined>,
  ): void;
  /** Passes requests of any method on with their unread body. */
  raw(door: OtherDoor & { readonly method: "POST" }, handler: RawHandler): void;
  /** Serves a file without authentication. An error before the headers are sent becomes a problem. */
  publicFile(door: PublicDoor, handler: PublicHandler): void;
  /** Rejects every request for a path, of one method or of any. */
  reject(path: string, method: string | undefined, problem: () => Error): void;
  /** Accepts upgrades of connections to another protocol, of callers that belong to the audience of the door. */
  upgrade(door: SocketDoor, handler: UpgradeHandler, options?: UpgradeOptions): void;
}

/** A door for upgrades of connections. */
export type SocketDoor = OtherDoor & { readonly method: "WebSocket" };

type PublicDoor = OtherDoor & { readonly method: "GET"; readonly audience: "anyone" };

/** The body of an operation's response: what its schema accepts, read-only. Without a schema nothing is sent. */
export type ResponseBody<Op extends Operation> = [z.input<Op["answer"]>] extends [undefined]
  ? unknown
  : Wire<z.input<Op["answer"]>>;

/** A value in the form of a schema: read-only, and without the members that a loose schema only tolerates. */
export type Wire<Value> = Value extends readonly (infer Item)[]
  ? readonly Wire<Item>[]
  : Value extends object
    ? keyof Named<Value> extends never
      ? unknown extends Value[keyof Value]
        ? object
        : { readonly [Name in keyof Value]: Wire<Value[Name]> }
      : { readonly [Name in keyof Named<Value>]: Wire<Named<Value>[Name]> }
    : Value;

/** The members that an object type names. */
type Named<Value> = { [Name in keyof Value as string extends Name ? never : Name]: Value[Name] };

/** A parsed and validated request for an operation. */
export interface OperationCall<Op extends Operation = Operation> {
  readonly params: z.output<Op["params"]>;
  readonly query: z.output<Op["query"]>;
  readonly body: z.output<Op["body"]>;
  readonly request: IncomingMessage;
  readonly context: ListenerContext;
  /** Sets a header of the response. */
  header(name: string, value: string): void;
  /** Responds with the operation's alternative status. */
  otherwise(): void;
}

/** A call of a principal that belongs to the operation's audience, with the open harness. */
export interface AuthorizedCall<Op extends Operation = Operation> extends OperationCall<Op> {
  readonly caller: Caller;
  /** The principal as it was when the request arrived. */
  readonly principal: Principal;
  /** The principal as it is now; undefined once it may no longer call the operation. */
  currentPrincipal(): Promise<Principal | undefined>;
  readonly harness: Harness;
}

/** A call whose response has no timeout. */
export interface LongPollCall<Op extends Operation = Operation> extends AuthorizedCall<Op> {
  /** Runs a callback when the client disconnects before the response; returns the function that removes it. */
  onDisconnect(run: () => void): () => void;
}

/** A call whose body is read as it arrives. */
interface TransferCall<Op extends Operation = Operation> extends LongPollCall<Op> {
  /** The body. Throws when no more of it comes for a while. */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Responds with server-sent events instead, which end when the handler settles. */
  open(): SseWriter;
}

/** A response with a stream of bytes, or JSON. */
export interface TransferResponse {
  readonly status: 200 | 206;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readable | object;
}

/** A response whose status the handler chooses. */
export interface RawResponse {
  readonly status: 200 | 201 | 202 | 204;
  /** The body as JSON text. */
  readonly text?: string | undefined;
}

export interface UpgradeOptions {
  /** Finds the caller behind a request without a credential; without it such a request is rejected. */
  readonly anonymous?: ((address: string | undefined) => Promise<Caller | undefined>) | undefined;
}

/** Responds to an unparsed request. Never rejects. */
export type RawHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
) => Promise<void>;

type PublicHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Takes over a connection. Never rejects. */
export type UpgradeHandler = (
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  caller: Caller,
) => Promise<void>;

/** One event of an operation's stream, in the form of its schema. */
export function eventText<Op extends Operation>(
  { events }: Op,
  id: number | string,
  json: ResponseBody<Op>,
): string {
  return sseText({ id, ...(events !== undefined && { event: events }), json });
}

/** Returns a value unchanged after checking it against a schema of the API. A mismatch is an error of the server. */
export function conforming<Schema extends z.ZodType>(schema: Schema, value: unknown): z.input<Schema> {
  if (conforms(schema, value)) return value;
  throw new Error("a response does not have the form that the API describes");
}

function conforms<Schema extends z.ZodType>(schema: Schema, value: unknown): value is z.input<Schema> {
  return schema.safeParse(value).success;
}

const DEFAULT = 100;

/** A page of items, and the cursor of the next. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string;
}

/** Reads a page and one item more, to know whether there is a next page. */
export async function pageOf<Item extends { readonly id: string }>(
  limit: number = DEFAULT,
  read: (limit: number) => Promise<readonly Item[]>,
): Promise<Page<Item>> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(found.length > limit && last && { next: last.id }) };
}

/** Creates one value per harness, when it is first needed. */
export function perHarness<Value>(create: (harness: Harness) => Value): (harness: Harness) => Value {
  const created = new WeakMap<Harness, Value>();
  return (harness) => {
    const value = created.get(harness) ?? create(harness);
    created.set(harness, value);
    return value;
  };
}
