import { RPC } from "@reins/ahp";
import { type Check, improved, must, type Section, should, Unmet } from "../check.ts";
import { expectAlive, expectError, expectNothingDone, expectResult, expectUnanswered } from "../expect.ts";
import type { Offered } from "../probe.ts";
import { event, HANDSHAKE, notificationText, QUERY, requestText } from "../samples.ts";

const STREAMS = ["stdio", "unix", "websocket"] as const;
const UNICODE_ID = 'é ✓ 𝒳 \u2028 "quoted" \\ \n\t\u0001';

/** Requests, notifications and what an envelope may look like. */
export const messageModel: Section = {
  section: "Message model",
  reference: "Message Model; Methods",
  checks: [
    must(
      "id-echoed",
      "a request is answered, under its id",
      async (probe) => {
        await probe.greet(await probe.channel());
      },
      { essential: true },
    ),
    must("id-empty-string", "the empty string is an id like any other", async (probe) => {
      await probe.ask(requestText("", "ahp/handshake", HANDSHAKE), "");
    }),
    must("id-unicode", "an id comes back unchanged, whatever characters it holds", async (probe) => {
      await probe.ask(requestText(UNICODE_ID, "ahp/handshake", HANDSHAKE), UNICODE_ID);
    }),
    must("unknown-method", "an unknown method is refused with -32601", async (probe) => {
      for (const answer of await probe.callEach("ahp/no-such-method", [{}, null, []]))
        expectError(answer, [RPC.methodNotFound], "an unknown method");
      for (const method of ["", "AHP/EVENT", "ahp/event/", "constructor"])
        expectError(await probe.call(method, {}), [RPC.methodNotFound], `the method "${method}"`);
    }),
    must("notification-unanswered", "a notification is not answered", async (probe) =>
      expectUnanswered(await probe.notify(event("heartbeat"))),
    ),
    must(
      "unknown-notification-ignored",
      "a notification with an unknown method is ignored",
      async (probe) => {
        expectUnanswered(await probe.notify({}, "ahp/no-such-method"));
        expectUnanswered(await probe.notify(null, "$/cancelRequest"));
      },
    ),
    must(
      "request-only-methods-ignored",
      "handshake, query and batch are ignored as notifications",
      async (probe) => {
        expectUnanswered(await probe.notify(HANDSHAKE, "ahp/handshake"));
        expectUnanswered(await probe.notify(QUERY, "ahp/query"));
        expectUnanswered(await probe.notify({ events: [] }, "ahp/batch"));
      },
    ),
    must(
      "responses-unanswered",
      "what looks like a response is not answered",
      async (probe) => {
        expectUnanswered(await probe.offer('{"jsonrpc":"2.0","id":"r","result":{}}'));
        expectUnanswered(
          await probe.offer('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'),
        );
      },
      { transports: STREAMS },
    ),
    must(
      "unknown-members-ignored",
      "members the protocol does not know are ignored, at every level",
      async (probe) => {
        const id = probe.newId();
        const agent_info = { ...HANDSHAKE.agent_info, extra: [1] };
        const params = { ...HANDSHAKE, agent_info, extra: { deep: true } };
        const message = { jsonrpc: "2.0", id, method: "ahp/handshake", params, extra: null };
        expectResult(await probe.ask(JSON.stringify(message), id));
        const answer = await probe.call("ahp/event", { ...event("pre_action"), extra: "x" });
        expectResult(answer);
      },
    ),
    must("member-order-free", "the members of a message may come in any order", async (probe) => {
      const id = probe.newId();
      const { agent_id, session_id, agent_info, protocol_version } = HANDSHAKE;
      const params = { agent_id, session_id, agent_info, protocol_version };
      const text = JSON.stringify({ params, method: "ahp/handshake", id, jsonrpc: "2.0" });
      expectResult(await probe.ask(text, id));
    }),
    must("spelling-free", "white space and escapes do not change a message", async (probe) => {
      const id = probe.newId();
      const spaced = requestText(id, "ahp/handshake", HANDSHAKE).replaceAll(",", " ,\t");
      const escaped = spaced.replace("ahp/handshake", "\\u0061hp\\/handshake");
      expectResult(await probe.ask(` \t${escaped}  `, id));
    }),
    must(
      "arrays-are-no-messages",
      "a JSON-RPC array of messages is not carried out; ahp/batch is for that",
      async (probe) => {
        const messages = [
          notificationText("ahp/event", event("heartbeat")),
          requestText("a", "ahp/batch", { events: [] }),
        ];
        expectNothingDone(await probe.offer(`[${messages.join(",")}]`), "an array");
      },
    ),
  ],
};

/** Where JSON-RPC 2.0 asks for more than the upstream implementation does. */
export const jsonRpc: Section = {
  section: "JSON-RPC",
  reference: "JSON-RPC 2.0 §4.2, §5.1",
  checks: [
    improved("number-id-answered", "a request whose id is a number is answered under it", async (probe) => {
      const offered = await probe.offer(requestText(7, "ahp/handshake", HANDSHAKE));
      const [answer] = offered.answers;
      if (answer?.message.id !== 7) throw new Unmet("no answer under the id 7", answer);
      expectResult(answer);
      await probe.ask(requestText(0, "ahp/event", event("pre_action")), 0, probe.decisionMs);
    }),
    improved(
      "odd-id-refused",
      "an id that is neither string nor integer is refused with -32600",
      async (probe) => {
        for (const id of ["1.5", "true", "{}", '["x"]']) {
          const text = requestText("", "ahp/handshake", HANDSHAKE).replace('"id":""', `"id":${id}`);
          expectRefusal(await probe.offer(text), RPC.invalidRequest, null);
        }
      },
    ),
    improved(
      "parse-error-answered",
      "what is not JSON is answered with -32700 and id null",
      async (probe) => {
        for (const text of ["not json", '{"jsonrpc":"2.0",', '{"a":1}}'])
          expectRefusal(await probe.offer(text), RPC.parseError, null);
      },
    ),
    improved(
      "invalid-message-answered",
      "JSON that is no message is answered with -32600, under its id if it has one",
      async (probe) => {
        for (const text of ["null", "[]", "{}", '{"jsonrpc":"2.0","params":{}}'])
          expectRefusal(await probe.offer(text), RPC.invalidRequest, null);
        const withoutParams = '{"jsonrpc":"2.0","id":"without-params","method":"ahp/handshake"}';
        expectRefusal(await probe.offer(withoutParams), RPC.invalidRequest, "without-params");
      },
    ),
    improved(
      "jsonrpc-version-checked",
      'a jsonrpc other than "2.0" is refused with -32600',
      async (probe) => {
        const text = requestText("old", "ahp/handshake", HANDSHAKE).replace('"2.0"', '"1.0"');
        expectRefusal(await probe.offer(text), RPC.invalidRequest, "old");
      },
    ),
    improved(
      "duplicate-keys-refused",
      "a message that names a member twice is refused with -32600",
      async (probe) => {
        const text = requestText("twice", "ahp/handshake", HANDSHAKE);
        for (const twice of ['"protocol_version":"2.4"', '"method":"ahp/handshake"']) {
          const offered = await probe.offer(text.replace(twice, `${twice},${twice}`));
          expectRefusal(offered, RPC.invalidRequest, "twice");
        }
      },
    ),
  ],
};

function expectRefusal({ answers, reply }: Offered, code: number, id: string | null): void {
  const [answer] = answers;
  if (!answer) {
    const instead = reply ? `HTTP status ${reply.status} without a JSON-RPC error` : "silence";
    throw new Unmet(`expected error ${code}, got ${instead}`);
  }
  expectError(answer, [code], "the message");
  if (answer.message.id !== id)
    throw new Unmet(`the error should come under the id ${JSON.stringify(id)}`, answer);
}

/** The deepest message that peers can read, counted in arrays and objects, envelope and params included. */
const DEEPEST = 127;
const ABYSS = 100_000;

/** Arrays in arrays in arrays. */
export const nesting: readonly Check[] = [
  must("nesting-accepted", `a message ${DEEPEST} levels deep is understood`, async (probe) => {
    const id = probe.newId();
    expectResult(await probe.ask(nested(id, DEEPEST), id));
  }),
  must("nesting-survived", "a deeper message, however deep, does not end the connection", async (probe) => {
    expectAlive(await probe.offer(nested("deep", DEEPEST + 1)));
    expectNothingDone(await probe.offer(nested("abyss", ABYSS)), `a message ${ABYSS} levels deep`);
  }),
  should("nesting-refused", `a message ${DEEPEST + 1} levels deep is not carried out`, async (probe) =>
    expectNothingDone(await probe.offer(nested("deep", DEEPEST + 1))),
  ),
];

/** A handshake with an unknown member, which no policy evaluates. */
function nested(id: string, levels: number): string {
  const inside = levels - 2;
  const text = requestText(id, "ahp/handshake", { ...HANDSHAKE, extra: "NEST" });
  return text.replace('"NEST"', "[".repeat(inside) + "]".repeat(inside));
}
