import type { WebSocketChannel } from "../channels/websocket.ts";
import { type Check, Inapplicable, type Section, Unmet } from "../check.ts";
import { HANDSHAKE, requestText } from "../messages.ts";
import type { Probe } from "../probe.ts";

const ABNORMAL = 1006;

/** One message per text message. */
export const websocket: Section = {
  section: "WebSocket",
  reference: "Transports (WebSocket)",
  checks: [
    check(
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
    check("websocket-ping", "a ping is answered with its own data", "must", async (probe, channel) => {
      const carried = await channel.ping("conformance", probe.waitMs);
      if (carried !== "conformance") throw new Unmet(`the pong carried ${carried ?? "nothing: none came"}`);
    }),
    check("websocket-close", "a close frame is answered with one", "should", async (probe, channel) => {
      const code = await channel.goodbye(Math.min(probe.waitMs, 2000));
      if (code === ABNORMAL) throw new Unmet("the connection ended without a close frame");
    }),
    {
      id: "websocket-text",
      title: "answers come as text messages",
      level: "must",
      transports: ["websocket"],
      looksBack: true,
      run: async (probe) => {
        await probe.connections.close();
        const binary = probe.connections.noise.find((text) => text.startsWith("(binary message)"));
        if (binary !== undefined) throw new Unmet(`a binary message came: ${binary}`);
      },
    },
  ],
};

function check(
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
