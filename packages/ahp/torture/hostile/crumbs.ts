import { within } from "../bounds.ts";
import { rawHttp } from "../raw/http.ts";
import { rawUnix } from "../raw/lines.ts";
import { AUTHORISED, authorisedWebSocket } from "./connect.ts";
import type { Hostility } from "./context.ts";
import { expectReplies, expectSame } from "./expect.ts";
import { flood } from "./flood.ts";
import { allowed, ask, post } from "./message.ts";

/** What is sent at once; the other side does not see where it was cut. */
const PIECE = 64 * 1024;

/** Messages of allowed size that come a byte at a time: what is held of each byte must not weigh more than it does. */
export const CRUMBS: readonly Hostility[] = [
  {
    name: "an HTTP body in chunks of one byte",
    async run({ harness, amounts }) {
      const connection = await rawHttp(harness.http);
      const body = `${ask("crumbs")}${" ".repeat(amounts.crumbs)}`;
      const head = post(harness.http, "", { ...AUTHORISED, "content-length": "0" });
      connection.send(head.replace("content-length: 0", "transfer-encoding: chunked"));
      const chunks = [...body].map((byte) => `1\r\n${byte}\r\n`).join("");
      for (let sent = 0; sent < chunks.length; sent += PIECE)
        await flood(connection.socket, 1, Buffer.from(chunks.slice(sent, sent + PIECE)));
      connection.send("0\r\n\r\n");
      const [reply] = await within("the response", connection.replies(1));
      expectSame("response", reply, { status: 200, body: allowed("crumbs") });
      connection.socket.destroy();
    },
  },
  {
    name: "a WebSocket message in fragments of one byte",
    async run(context) {
      const { webSocket, closeCode } = await authorisedWebSocket(context);
      const crumb = Buffer.from(" ");
      for (
        let sent = 0;
        sent < context.amounts.crumbs && webSocket.readyState === webSocket.OPEN;
        sent += 1
      ) {
        webSocket.send(crumb, { binary: false, fin: false });
        if (sent % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      await within("the close", closeCode);
    },
  },
  {
    name: "a line a byte at a time",
    async run({ unix }) {
      const stream = await rawUnix(unix);
      for (const byte of `${ask("crumbs")}\n`) {
        stream.send(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      await expectReplies(stream, [allowed("crumbs")]);
      stream.destroy();
    },
  },
];
