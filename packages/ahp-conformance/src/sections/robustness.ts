import { Decision, RPC } from "@reins/ahp";
import { type Check, must, type Section, Unmet } from "../check.ts";
import { expectAlive, expectDecoded, expectError, expectNothingDone } from "../expect.ts";
import { event, HANDSHAKE, notificationText, requestText } from "../samples.ts";
import { invalidUtf8 } from "./lines.ts";
import { nesting } from "./message-model.ts";

const NOT_JSON = ["not json", "{", '"', '{"jsonrpc":"2.0","id":"x"', "]]]", "{'a':1}", "\u0000", "\ufeff{}"];
const NO_MESSAGES = [
  "null",
  "5",
  '"x"',
  "[]",
  "{}",
  '{"jsonrpc":"2.0"}',
  '{"jsonrpc":2,"id":"x","method":"ahp/handshake","params":{}}',
  '{"jsonrpc":"2.0","id":"x","method":5,"params":{}}',
  '{"jsonrpc":"2.0","id":"x","params":{}}',
  '{"jsonrpc":"2.0","id":"x","method":"ahp/batch"}',
];

const MEBIBYTE = 1024 * 1024;
/** More than any upstream transport with a limit takes in one piece. */
const OVERSIZED = 20 * MEBIBYTE;
const PIPELINED = 50;
const BURST = 100;
/** Transports over which a harness serves several clients. */
const SEVERAL = ["http", "websocket", "unix"] as const;

/** Large, many, in pieces, and cut off. */
const load: readonly Check[] = [
  must("large-message", "a message of one mebibyte is decided on", async (probe) => {
    const answer = await probe.decide("pre_action", { payload: { text: "x".repeat(MEBIBYTE) } });
    if (answer.error) expectError(answer, [RPC.internalError], "the event");
    else expectDecoded(Decision, answer);
  }),
  must(
    "oversized-contained",
    "a message of 20 mebibytes is answered, refused or cut off, and others notice nothing",
    async (probe) => {
      const text = requestText("oversized", "ahp/handshake", { ...HANDSHAKE, extra: "x".repeat(OVERSIZED) });
      await probe.offerOn(await probe.fresh(), text);
      await probe.expectOthersServed();
    },
  ),
  must("pipelined", `${PIPELINED} requests at once are all answered, each under its id`, async (probe) => {
    const channel = await probe.channel();
    const asked = Array.from({ length: PIPELINED }, (_, index) => {
      const id = probe.newId();
      const method = index % 2 ? "ahp/handshake" : "ahp/no-such-method";
      return probe.askOn(channel, requestText(id, method, HANDSHAKE), id);
    });
    await Promise.allSettled(asked);
    await Promise.all(asked);
  }),
  must(
    "burst-survived",
    `${BURST} notifications in a row do not hold up the request after them`,
    async (probe) => {
      const channel = await probe.channel();
      const text = notificationText("ahp/event", event("heartbeat"));
      await Promise.all(Array.from({ length: BURST }, () => channel.send(text)));
      await probe.call("ahp/handshake", HANDSHAKE);
    },
  ),
  must(
    "pieces-joined",
    "a message that arrives in pieces is one message, also when a character is cut in two",
    async (probe) => {
      const id = `${probe.newId()}-é✓𝒳`;
      const bytes = Buffer.from(requestText(id, "ahp/handshake", HANDSHAKE));
      const cuts = [0, 9, bytes.indexOf("✓") + 1, bytes.indexOf("𝒳") + 2, bytes.length - 1, bytes.length];
      const pieces = cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
      await probe.ask(pieces, id);
    },
  ),
  must(
    "vanished-client",
    "a client that vanishes in the middle of a message disturbs no other client",
    async (probe) => {
      const text = requestText("cut", "ahp/event", event("pre_action"));
      const channel = await probe.fresh();
      await channel.begin(Buffer.from(text.slice(0, text.length / 2)));
      await channel.vanish();
      await probe.expectOthersServed();
    },
    { transports: SEVERAL },
  ),
  must(
    "stalled-client",
    "a client that stops in the middle of a message delays no other client",
    async (probe) => {
      const text = requestText("stalled", "ahp/event", event("pre_action"));
      await (await probe.fresh()).begin(Buffer.from(text.slice(0, text.length / 2)));
      await probe.expectOthersServed();
    },
    { transports: SEVERAL },
  ),
  must(
    "connections-apart",
    "two connections are served at once, each with its own answers",
    async (probe) => {
      const [first, second] = [await probe.fresh(), await probe.fresh()];
      const id = probe.newId();
      const text = requestText(id, "ahp/handshake", HANDSHAKE);
      await Promise.all([probe.askOn(first, text, id), probe.askOn(second, text, id)]);
      const strays = [...first.unclaimed(), ...second.unclaimed()];
      if (strays.length > 0) throw new Unmet("an answer came over the wrong connection");
    },
    { transports: SEVERAL },
  ),
];

/** Bad input gets a clear answer or none, and spoils nothing for others. */
export const robustness: Section = {
  section: "Robustness",
  reference: "Design Principles (fail closed; bounded recursion and batching)",
  checks: [
    must(
      "not-json-survived",
      "what is not JSON is not carried out, and the connection stays usable",
      async (probe) => {
        for (const text of NOT_JSON) expectNothingDone(await probe.offer(text), JSON.stringify(text));
      },
    ),
    must(
      "no-message-survived",
      "JSON that is no message is not carried out, and the connection stays usable",
      async (probe) => {
        for (const text of NO_MESSAGES) expectNothingDone(await probe.offer(text), text);
      },
    ),
    must(
      "duplicate-keys-survived",
      "a message that names a member twice gets one answer at most",
      async (probe) => {
        const text = requestText("first", "ahp/handshake", HANDSHAKE);
        const offered = await probe.offer(text.replace('"id":"first"', '"id":"first","id":"second"'));
        if (offered.answers.length > 1) throw new Unmet("two answers to one message");
        expectAlive(offered);
      },
    ),
    ...invalidUtf8,
    ...nesting,
    ...load,
  ],
};
