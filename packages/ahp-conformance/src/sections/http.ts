import { RPC } from "@reins/ahp";
import type { Reply } from "../channels/channel.ts";
import type { HttpChannel, HttpRequest } from "../channels/http.ts";
import type { WebSocketChannel } from "../channels/websocket.ts";
import { type Check, Inapplicable, must, type Section, Unmet } from "../check.ts";
import { expectError, readResponse } from "../expect.ts";
import type { Probe } from "../probe.ts";
import { cut, textOf } from "../report.ts";
import { event, HANDSHAKE, notificationText, requestText } from "../samples.ts";

const MEBIBYTE = 1024 * 1024;
const GOOD = requestText("http", "ahp/handshake", HANDSHAKE);

/** One message per POST. */
export const http: Section = {
  section: "HTTP",
  reference: "Transports (HTTP)",
  checks: [
    check("http-content-type", "answers are application/json, errors too, with status 200", async (post) => {
      for (const body of [GOOD, requestText("http", "ahp/no-such-method", {})]) {
        const { status, headers } = await post({ body });
        if (status !== 200) throw new Unmet(`status ${status}`);
        if (!/^application\/json\b/.test(headers?.["content-type"] ?? ""))
          throw new Unmet(`content-type is ${headers?.["content-type"]}`);
      }
    }),
    check(
      "http-json-types",
      "application/json with a charset and application/*+json are accepted",
      async (post) => {
        for (const type of ["application/json; charset=utf-8", "application/vnd.ahp+json"])
          expectStatus(await post({ body: GOOD, headers: { "content-type": type } }), 200, type);
      },
    ),
    check("http-other-types", "any other content type is refused with 415", async (post) => {
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
        expectStatus(await post({ body: GOOD, headers: { "content-type": type } }), 415, type);
      expectStatus(await post({ body: GOOD, headers: {} }), 415, "no content type");
    }),
    check(
      "http-methods",
      "other methods than POST are refused with 405 and told which is allowed",
      async (post) => {
        for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
          const reply = await post({ method });
          expectStatus(reply, 405, method);
          if (!reply.headers?.allow?.split(/\s*,\s*/).includes("POST"))
            throw new Unmet(`the header allow is ${reply.headers?.allow}`);
        }
      },
    ),
    check("http-other-path", "another path is 404", async (post, channel) => {
      expectStatus(await post({ body: GOOD, path: `${channel.url.pathname}-nowhere` }), 404, "another path");
    }),
    check("http-not-json", "a body that is not JSON is 400", async (post) => {
      for (const body of ["not json", '{"jsonrpc":', ""])
        expectStatus(await post({ body }), 400, `"${body}"`);
    }),
    check(
      "http-too-large",
      "a body of 20 mebibytes is refused: 413, or a hang-up before it is read",
      async (post) => {
        const body = Buffer.alloc(20 * MEBIBYTE, " ");
        body.write(GOOD);
        // The protocol names no limit. A harness that refuses early may cut the connection before its answer is read.
        const reply = await post({ body });
        if (reply.status !== undefined) expectStatus(reply, 413, "20 MiB");
        expectStatus(await post({ body: GOOD }), 200, "a message after it");
      },
    ),
    check("http-no-message", "JSON that is no message gets the error -32600", async (post) => {
      for (const body of ["null", "[]", "{}", '{"jsonrpc":"2.0","id":"x","method":"ahp/batch"}']) {
        const reply = await post({ body });
        const answer = readResponse(body, reply.text ?? "", reply.status);
        if (!answer) throw new Unmet(`${body} got status ${reply.status} without a JSON-RPC error`);
        expectError(answer, [RPC.invalidRequest], body);
      }
    }),
    check("http-notification", "an accepted notification is 204 without a body", async (post) => {
      const reply = await post({ body: notificationText("ahp/event", event("heartbeat")) });
      expectStatus(reply, 204, "a notification");
      if (reply.text !== "") throw new Unmet("204 with a body");
    }),
    check(
      "http-keep-alive",
      "a connection can be used again",
      async (post) => {
        const { headers } = await post({ body: GOOD });
        if (/\bclose\b/i.test(headers?.connection ?? ""))
          throw new Unmet("the harness closes the connection");
      },
      "should",
    ),
  ],
};

type Post = (request: Omit<HttpRequest, "waitMs">) => Promise<Reply>;

function check(
  id: string,
  title: string,
  run: (post: Post, channel: HttpChannel) => Promise<void>,
  level: Check["level"] = "must",
): Check {
  return {
    id,
    title,
    level,
    transports: ["http"],
    run: async (probe) => {
      const channel = await probe.channel();
      if (channel.transport !== "http") throw new Inapplicable("not HTTP");
      await run(poster(probe, channel), channel);
    },
  };
}

/** Makes a request and writes it down. */
function poster({ transcript, waitMs }: Probe, channel: HttpChannel): Post {
  return async (request) => {
    const { method = "POST", path = channel.url.pathname, headers, body = "" } = request;
    const head = [
      `${method} ${path}`,
      ...Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`),
    ];
    const sent = `${head.join(", ")} ${cut(textOf(body)).trim()}`;
    transcript.sent(sent);
    const reply = await channel.request({ ...request, waitMs });
    transcript.received(sent, reply);
    return reply;
  };
}

function expectStatus({ status, ended }: Reply, expected: number, about: string): void {
  if (status === expected) return;
  throw new Unmet(`${about} should get status ${expected}, got ${status ?? ended}`);
}

const ABNORMAL = 1006;

/** One message per text message. */
export const websocket: Section = {
  section: "WebSocket",
  reference: "Transports (WebSocket)",
  checks: [
    webSocketCheck(
      "websocket-binary",
      "a binary message is ignored, or ends the connection with a close frame",
      "must",
      async (probe, channel) => {
        const message = Buffer.from(requestText("binary", "ahp/handshake", HANDSHAKE));
        const { answers, alive } = await probe.offerOn(channel, message, () => channel.sendBinary(message));
        const [answer] = answers.filter(({ error }) => !error);
        if (answer) throw new Unmet("a binary message got a result", answer);
        if (!alive && (channel.closeCode ?? ABNORMAL) === ABNORMAL)
          throw new Unmet("a binary message broke the connection without a close frame");
      },
    ),
    webSocketCheck(
      "websocket-ping",
      "a ping is answered with its own data",
      "must",
      async (probe, channel) => {
        const carried = await channel.ping("conformance", probe.waitMs);
        if (carried !== "conformance") throw new Unmet(`the pong carried ${carried ?? "nothing: none came"}`);
      },
    ),
    webSocketCheck(
      "websocket-close",
      "a close frame is answered with one",
      "should",
      async (probe, channel) => {
        const code = await channel.goodbye(Math.min(probe.waitMs, 2000));
        if (code === ABNORMAL) throw new Unmet("the connection ended without a close frame");
      },
    ),
    must(
      "websocket-text",
      "answers come as text messages",
      async (probe) => {
        await probe.connections.close();
        const binary = probe.connections.noise.find((text) => text.startsWith("(binary message)"));
        if (binary !== undefined) throw new Unmet(`a binary message came: ${binary}`);
      },
      { transports: ["websocket"], looksBack: true },
    ),
  ],
};

function webSocketCheck(
  id: string,
  title: string,
  level: Check["level"],
  run: (probe: Probe, channel: WebSocketChannel) => Promise<void>,
): Check {
  return {
    id,
    title,
    level,
    transports: ["websocket"],
    run: async (probe) => {
      const channel = await probe.fresh();
      if (channel.transport !== "websocket") throw new Inapplicable("not a WebSocket");
      await run(probe, channel);
    },
  };
}
