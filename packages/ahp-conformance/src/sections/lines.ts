import { statSync } from "node:fs";
import { CLEAN_EXIT, type LineChannel } from "../channels/lines.ts";
import { type Check, Inapplicable, must, type Section, should, Unmet } from "../check.ts";
import type { AnyChannel } from "../connections.ts";
import { expectAlive, expectUnanswered } from "../expect.ts";
import type { Offered, Probe } from "../probe.ts";
import { HANDSHAKE, requestText } from "../samples.ts";

/** One JSON document per line. */
export const lines: Section = {
  section: "Lines",
  reference: "Transports (stdio, Unix socket)",
  checks: [
    check("lines-crlf", "a line may end with CR LF", async (probe, channel) => {
      const id = probe.newId();
      await probe.askOn(channel, `${requestText(id, "ahp/handshake", HANDSHAKE)}\r`, id);
    }),
    check("lines-blank", "blank lines are ignored", async (probe, channel) => {
      expectUnanswered(
        await probe.offerOn(channel, "(blank lines)", () => channel.write(Buffer.from("\n\r\n\n"))),
      );
    }),
    check("lines-together", "two lines that arrive together are two messages", async (probe, channel) => {
      const [first, second] = [probe.newId(), probe.newId()];
      const together = [first, second].map((id) => requestText(id, "ahp/handshake", HANDSHAKE)).join("\n");
      const other = channel.next(second, probe.waitMs);
      await probe.askOn(channel, together, first);
      const { text } = await other;
      if (text === undefined) throw new Unmet("the second of two lines was not answered");
    }),
    last("stdio-last-line", "a last line without an end is a message too", async (probe, channel) => {
      const id = probe.newId();
      const text = requestText(id, "ahp/handshake", HANDSHAKE);
      const answer = channel.next(id, probe.waitMs);
      probe.transcript.sent(text);
      await channel.write(Buffer.from(text));
      channel.finish();
      const reply = await answer;
      probe.transcript.received(text, reply);
      if (reply.text === undefined) throw new Unmet(`no answer: ${reply.ended ?? "silence"}`);
    }),
    {
      ...check(
        "stdio-ends",
        "the harness exits with status 0 when its input ends",
        async (probe, channel) => {
          channel.finish();
          const how = await channel.ending(probe.waitMs);
          if (how !== CLEAN_EXIT) throw new Unmet(how ?? `it still runs after ${probe.waitMs} ms`);
        },
      ),
      transports: ["stdio"],
    },
    should(
      "unix-private",
      "only its owner may open the socket",
      async ({ connections: { target } }) => {
        if (target.transport !== "unix") throw new Inapplicable("not a Unix socket");
        const mode = statSync(target.path).mode & 0o777;
        if ((mode & 0o077) !== 0) throw new Unmet(`the mode of the socket is ${mode.toString(8)}`);
      },
      { transports: ["unix"] },
    ),
  ],
};

type Lines = LineChannel<"stdio"> | LineChannel<"unix">;

function check(id: string, title: string, run: (probe: Probe, channel: Lines) => Promise<void>): Check {
  return {
    id,
    title,
    level: "must",
    transports: ["stdio", "unix"],
    run: async (probe) => run(probe, asLines(await probe.channel())),
  };
}

/** A check that ends the harness. */
function last(id: string, title: string, run: (probe: Probe, channel: Lines) => Promise<void>): Check {
  return {
    ...check(id, title, run),
    transports: ["stdio"],
    run: async (probe) => run(probe, asLines(await probe.fresh())),
  };
}

function asLines(channel: AnyChannel): Lines {
  if (channel.transport === "stdio" || channel.transport === "unix") return channel;
  throw new Inapplicable("not a stream of lines");
}

/** Half a character in the middle of a message. */
export const invalidUtf8: readonly Check[] = [
  must(
    "invalid-utf8-contained",
    "a message that is not UTF-8 is not carried out, and others notice nothing",
    async (probe) => {
      const { answers } = await sendHalfACharacter(probe);
      const [answer] = answers.filter(({ error }) => !error);
      if (answer) throw new Unmet("a message that is not UTF-8 got a result", answer);
      await probe.expectOthersServed();
    },
  ),
  should(
    "invalid-utf8-survived",
    "a message that is not UTF-8 does not end the connection",
    async (probe) => expectAlive(await sendHalfACharacter(probe)),
    { transports: ["stdio", "unix"] },
  ),
];

async function sendHalfACharacter(probe: Probe): Promise<Offered> {
  const text = requestText("half", "ahp/handshake", { ...HANDSHAKE, agent_id: "CUT" });
  const [before = "", after = ""] = text.split("CUT");
  const message = Buffer.concat([Buffer.from(before), Buffer.from([0xe2, 0x9c]), Buffer.from(after)]);
  return probe.offerOn(await probe.fresh(), message);
}
