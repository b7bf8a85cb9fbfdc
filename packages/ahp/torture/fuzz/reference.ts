import { isUtf8 } from "node:buffer";
import { AhpServer, type TransportName } from "../../src/index.ts";
import { isObject } from "../../src/wire/decode.ts";
import { tortureHandlers } from "../harness/handlers.ts";
import { Holds } from "../harness/holds.ts";
import type { FuzzMessage } from "./message.ts";

/** What must come back for a message: a reply, or nothing. */
export interface Expected {
  readonly message: FuzzMessage;
  readonly reply: string | undefined;
}

/** What must come back for a `POST`. */
export interface ExpectedHttp {
  readonly status: number;
  readonly body: string;
}

const NEWLINE = 0x0a;
/** The bound that the harness has by default. */
const MAX_BYTES = 2 * 1024 * 1024;

/** The same harness without any transport: says what the one under torture has to answer. */
export class Reference {
  readonly #server = new AhpServer(tortureHandlers(new Holds()), { newToken: () => "token" });

  /** What must come back for the lines that a message falls into. */
  async lines(message: FuzzMessage): Promise<Expected[]> {
    const expected: Expected[] = [];
    for (const bytes of split(message.bytes)) {
      const end = bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length;
      if (bytes.length > MAX_BYTES) expected.push({ message, reply: refused("too_large", MAX_BYTES) });
      else if (!isUtf8(bytes)) expected.push({ message, reply: refused("invalid_utf8") });
      else if (end > 0) expected.push(await this.#expect(message, bytes.toString("utf8", 0, end), "unix"));
    }
    return expected;
  }

  /** What must come back for a WebSocket message, which is UTF-8 and not too large. */
  frame(message: FuzzMessage): Promise<Expected> {
    return this.#expect(message, message.bytes.toString(), "websocket");
  }

  /** What must come back for a request with that body, which is not too large. */
  async http({ bytes }: FuzzMessage): Promise<ExpectedHttp> {
    if (!isUtf8(bytes)) return { status: 400, body: parseError({ detail: "the body is not UTF-8" }) };
    const { reply, unreadable } = await this.#server.handle(bytes.toString(), { transport: "http" });
    return { status: unreadable ? 400 : reply === undefined ? 204 : 200, body: reply ?? "" };
  }

  async #expect(message: FuzzMessage, text: string, transport: TransportName): Promise<Expected> {
    const reply = await this.#server.handleMessage(text, { transport });
    const id = soundId(text);
    if (id !== undefined && !answers(reply, id))
      throw new Error(
        `a sound request is not answered by its id, but with ${reply}: ${text.slice(0, 2_000)}`,
      );
    return { message, reply };
  }
}

function* split(bytes: Buffer): Generator<Buffer> {
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    yield bytes.subarray(start, end);
    start = end + 1;
  }
  yield bytes.subarray(start);
}

function refused(fault: string, limit?: number): string {
  return parseError(limit === undefined ? { fault } : { fault, limit });
}

function parseError(details: object): string {
  const data = { ...details, reason: "parse_error" };
  return JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error", data } });
}

/** The id of a text that is, to `JSON.parse` and a look at its members, a request. */
function soundId(text: string): string | undefined {
  const message = parsed(text);
  if (!isObject(message)) return undefined;
  const { jsonrpc, id, method, params } = message;
  const isRequest = jsonrpc === "2.0" && typeof method === "string" && params !== undefined;
  return isRequest && typeof id === "string" ? id : undefined;
}

/** Faults of a text that `JSON.parse` does not know. */
const STRICTER = ["too_deep", "number_out_of_range", "lone_surrogate"];

/** Whether a reply is by that id, or says that the text could not be read although `JSON.parse` can. */
function answers(reply: string | undefined, id: string): boolean {
  const answer = parsed(reply ?? "");
  if (!isObject(answer)) return false;
  if (answer.id === id) return true;
  const data = isObject(answer.error) ? answer.error.data : undefined;
  return answer.id === null && isObject(data) && STRICTER.includes(String(data.fault));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
