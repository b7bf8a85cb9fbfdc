import { type Check, Unmet } from "../check.ts";
import { expectAlive } from "../expect.ts";
import { HANDSHAKE, requestText } from "../messages.ts";
import type { Offered, Probe } from "../probe.ts";

/** Half a character in the middle of a message. */
export const invalidUtf8: readonly Check[] = [
  {
    id: "invalid-utf8-contained",
    title: "a message that is not UTF-8 is not carried out, and others notice nothing",
    level: "must",
    run: async (probe) => {
      const { answers } = await sendHalfACharacter(probe);
      const [answer] = answers.filter(({ error }) => !error);
      if (answer) throw new Unmet("a message that is not UTF-8 got a result", answer);
      await probe.expectOthersServed();
    },
  },
  {
    id: "invalid-utf8-survived",
    title: "a message that is not UTF-8 does not end the connection",
    level: "should",
    transports: ["stdio", "unix"],
    run: async (probe) => expectAlive(await sendHalfACharacter(probe)),
  },
];

async function sendHalfACharacter(probe: Probe): Promise<Offered> {
  const text = requestText("half", "ahp/handshake", { ...HANDSHAKE, agent_id: "CUT" });
  const [before = "", after = ""] = text.split("CUT");
  const message = Buffer.concat([Buffer.from(before), Buffer.from([0xe2, 0x9c]), Buffer.from(after)]);
  return probe.offerOn(await probe.fresh(), message);
}
