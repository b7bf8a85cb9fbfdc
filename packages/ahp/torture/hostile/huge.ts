import type { Writable } from "node:stream";
import { within } from "../bounds.ts";
import { Harness } from "../harness/harness.ts";
import { type RawHttp, rawHttp } from "../raw/http.ts";
import { type RawLines, rawLines, rawUnix } from "../raw/lines.ts";
import { AUTHORISED, authorisedWebSocket } from "./connect.ts";
import { bounded, type Hostility } from "./context.ts";
import { expectReplies, expectSame } from "./expect.ts";
import { flood } from "./flood.ts";
import { allowed, ask, post } from "./message.ts";

const PIECE = Buffer.alloc(64 * 1024, "x");
const TOO_LARGE =
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":{"fault":"too_large","limit":2097152,"reason":"parse_error"}}}';
/** What ws says about a message that is too large; 1006 when the connection broke before it could. */
const TOO_BIG_CODES = [1009, 1006];

/** Messages far larger than allowed, over every transport. */
export const HUGE: readonly Hostility[] = [
  {
    name: "a huge line over a Unix socket",
    async run({ unix, amounts }) {
      const stream = await rawUnix(unix);
      await hugeLine(stream, stream.socket, amounts.huge);
      stream.destroy();
    },
  },
  {
    name: "a huge line over stdio",
    async run({ amounts }) {
      const harness = await Harness.start({ stdio: true });
      const { stdin, stdout } = harness.child;
      try {
        if (!stdin || !stdout) throw new Error("the harness has no pipes");
        const stream = rawLines(stdout, stdin);
        await bounded(harness, () => hugeLine(stream, stdin, amounts.huge));
      } finally {
        await harness.stop();
      }
    },
  },
  {
    name: "a huge WebSocket frame",
    async run(context) {
      const { webSocket, closeCode } = await authorisedWebSocket(context);
      webSocket.send(Buffer.alloc(context.amounts.huge, "x"), { binary: false });
      expectOneOf("close code", await within("the close", closeCode), TOO_BIG_CODES);
    },
  },
  {
    name: "a huge WebSocket message in fragments",
    async run(context) {
      const { webSocket, closeCode } = await authorisedWebSocket(context);
      for (
        let sent = 0;
        sent < context.amounts.huge && webSocket.readyState === webSocket.OPEN;
        sent += PIECE.length
      ) {
        const { promise, resolve } = Promise.withResolvers<void>();
        webSocket.send(PIECE, { binary: false, fin: false }, () => resolve());
        await promise;
      }
      expectOneOf("close code", await within("the close", closeCode), TOO_BIG_CODES);
    },
  },
  {
    name: "a huge HTTP body that says how long it is",
    async run({ harness, amounts }) {
      const connection = await rawHttp(harness.http);
      connection.send(post(harness.http, "", { ...AUTHORISED, "content-length": String(amounts.huge) }));
      await flood(connection.socket, amounts.huge, PIECE);
      await expectTooLarge(connection);
    },
  },
  {
    name: "a huge HTTP body that does not",
    async run({ harness, amounts }) {
      const connection = await rawHttp(harness.http);
      const head = post(harness.http, "", { ...AUTHORISED, "content-length": "0" });
      connection.send(head.replace("content-length: 0", "transfer-encoding: chunked"));
      await flood(
        connection.socket,
        amounts.huge,
        Buffer.concat([Buffer.from("10000\r\n"), PIECE, Buffer.from("\r\n")]),
      );
      connection.send("0\r\n\r\n");
      await expectTooLarge(connection);
    },
  },
  {
    name: "a huge HTTP body that is announced and does not come",
    async run({ harness, amounts }) {
      const connection = await rawHttp(harness.http);
      connection.send(post(harness.http, "", { ...AUTHORISED, "content-length": String(amounts.huge) }));
      await expectTooLarge(connection);
    },
  },
];

/** A line that is too long is refused once, whatever its length, and the next one is answered. */
async function hugeLine(stream: RawLines, output: Writable, bytes: number): Promise<void> {
  await flood(output, bytes, PIECE);
  stream.send(`\n${ask("after")}\n`);
  await expectReplies(stream, [TOO_LARGE, allowed("after")]);
}

/** The answer, and then the end. */
async function expectTooLarge(connection: RawHttp): Promise<void> {
  const [reply] = await within("the response", connection.replies(1));
  expectSame("status", reply?.status, 413);
  await within("the end of the connection", connection.closed);
}

function expectOneOf(what: string, found: number, allowedOnes: readonly number[]): void {
  if (!allowedOnes.includes(found))
    throw new Error(`${what} ${found}, wanted one of ${allowedOnes.join(", ")}`);
}
