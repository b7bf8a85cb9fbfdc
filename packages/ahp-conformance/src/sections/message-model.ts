import { RPC } from "@reins/ahp";
import { type Check, type Section, Unmet } from "../check.ts";
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
    {
      id: "id-echoed",
      title: "a request is answered, under its id",
      level: "must",
      essential: true,
      run: async (probe) => {
        await probe.greet(await probe.channel());
      },
    },
    {
      id: "id-empty-string",
      title: "the empty string is an id like any other",
      level: "must",
      run: async (probe) => {
        await probe.ask(requestText("", "ahp/handshake", HANDSHAKE), "");
      },
    },
    {
      id: "id-unicode",
      title: "an id comes back unchanged, whatever characters it holds",
      level: "must",
      run: async (probe) => {
        await probe.ask(requestText(UNICODE_ID, "ahp/handshake", HANDSHAKE), UNICODE_ID);
      },
    },
    {
      id: "unknown-method",
      title: "an unknown method is refused with -32601",
      level: "must",
      run: async (probe) => {
        for (const answer of await probe.callEach("ahp/no-such-method", [{}, null, []]))
          expectError(answer, [RPC.methodNotFound], "an unknown method");
        for (const method of ["", "AHP/EVENT", "ahp/event/", "constructor"])
          expectError(await probe.call(method, {}), [RPC.methodNotFound], `the method "${method}"`);
      },
    },
    {
      id: "notification-unanswered",
      title: "a notification is not answered",
      level: "must",
      run: async (probe) => expectUnanswered(await probe.notify(event("heartbeat"))),
    },
    {
      id: "unknown-notification-ignored",
      title: "a notification with an unknown method is ignored",
      level: "must",
      run: async (probe) => {
        expectUnanswered(await probe.notify({}, "ahp/no-such-method"));
        expectUnanswered(await probe.notify(null, "$/cancelRequest"));
      },
    },
    {
      id: "request-only-methods-ignored",
      title: "handshake, query and batch are ignored as notifications",
      level: "must",
      run: async (probe) => {
        expectUnanswered(await probe.notify(HANDSHAKE, "ahp/handshake"));
        expectUnanswered(await probe.notify(QUERY, "ahp/query"));
        expectUnanswered(await probe.notify({ events: [] }, "ahp/batch"));
      },
    },
    {
      id: "responses-unanswered",
      title: "what looks like a response is not answered",
      level: "must",
      transports: STREAMS,
      run: async (probe) => {
        expectUnanswered(await probe.offer('{"jsonrpc":"2.0","id":"r","result":{}}'));
        expectUnanswered(
          await probe.offer('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'),
        );
      },
    },
    {
      id: "unknown-members-ignored",
      title: "members the protocol does not know are ignored, at every level",
      level: "must",
      run: async (probe) => {
        const id = probe.newId();
        const agent_info = { ...HANDSHAKE.agent_info, extra: [1] };
        const params = { ...HANDSHAKE, agent_info, extra: { deep: true } };
        const message = { jsonrpc: "2.0", id, method: "ahp/handshake", params, extra: null };
        expectResult(await probe.ask(JSON.stringify(message), id));
        const answer = await probe.call("ahp/event", { ...event("pre_action"), extra: "x" });
        expectResult(answer);
      },
    },
    {
      id: "member-order-free",
      title: "the members of a message may come in any order",
      level: "must",
      run: async (probe) => {
        const id = probe.newId();
        const { agent_id, session_id, agent_info, protocol_version } = HANDSHAKE;
        const params = { agent_id, session_id, agent_info, protocol_version };
        const text = JSON.stringify({ params, method: "ahp/handshake", id, jsonrpc: "2.0" });
        expectResult(await probe.ask(text, id));
      },
    },
    {
      id: "spelling-free",
      title: "white space and escapes do not change a message",
      level: "must",
      run: async (probe) => {
        const id = probe.newId();
        const spaced = requestText(id, "ahp/handshake", HANDSHAKE).replaceAll(",", " ,\t");
        const escaped = spaced.replace("ahp/handshake", "\\u0061hp\\/handshake");
        expectResult(await probe.ask(` \t${escaped}  `, id));
      },
    },
    {
      id: "arrays-are-no-messages",
      title: "a JSON-RPC array of messages is not carried out; ahp/batch is for that",
      level: "must",
      run: async (probe) => {
        const messages = [
          notificationText("ahp/event", event("heartbeat")),
          requestText("a", "ahp/batch", { events: [] }),
        ];
        expectNothingDone(await probe.offer(`[${messages.join(",")}]`), "an array");
      },
    },
  ],
};

/** Where JSON-RPC 2.0 asks for more than the upstream implementation does. */
export const jsonRpc: Section = {
  section: "JSON-RPC",
  reference: "JSON-RPC 2.0 §4.2, §5.1",
  checks: [
    {
      id: "number-id-answered",
      title: "a request whose id is a number is answered under it",
      level: "improved",
      run: async (probe) => {
        const offered = await probe.offer(requestText(7, "ahp/handshake", HANDSHAKE));
        const [answer] = offered.answers;
        if (answer?.message.id !== 7) throw new Unmet("no answer under the id 7", answer);
        expectResult(answer);
        await probe.ask(requestText(0, "ahp/event", event("pre_action")), 0, probe.decisionMs);
      },
    },
    {
      id: "odd-id-refused",
      title: "an id that is neither string nor integer is refused with -32600",
      level: "improved",
      run: async (probe) => {
        for (const id of ["1.5", "true", "{}", '["x"]']) {
          const text = requestText("", "ahp/handshake", HANDSHAKE).replace('"id":""', `"id":${id}`);
          expectRefusal(await probe.offer(text), RPC.invalidRequest, null);
        }
      },
    },
    {
      id: "parse-error-answered",
      title: "what is not JSON is answered with -32700 and id null",
      level: "improved",
      run: async (probe) => {
        for (const text of ["not json", '{"jsonrpc":"2.0",', '{"a":1}}'])
          expectRefusal(await probe.offer(text), RPC.parseError, null);
      },
    },
    {
      id: "invalid-message-answered",
      title: "JSON that is no message is answered with -32600, under its id if it has one",
      level: "improved",
      run: async (probe) => {
        for (const text of ["null", "[]", "{}", '{"jsonrpc":"2.0","params":{}}'])
          expectRefusal(await probe.offer(text), RPC.invalidRequest, null);
        const withoutParams = '{"jsonrpc":"2.0","id":"without-params","method":"ahp/handshake"}';
        expectRefusal(await probe.offer(withoutParams), RPC.invalidRequest, "without-params");
      },
    },
    {
      id: "jsonrpc-version-checked",
      title: 'a jsonrpc other than "2.0" is refused with -32600',
      level: "improved",
      run: async (probe) => {
        const text = requestText("old", "ahp/handshake", HANDSHAKE).replace('"2.0"', '"1.0"');
        expectRefusal(await probe.offer(text), RPC.invalidRequest, "old");
      },
    },
    {
      id: "duplicate-keys-refused",
      title: "a message that names a member twice is refused with -32600",
      level: "improved",
      run: async (probe) => {
        const text = requestText("twice", "ahp/handshake", HANDSHAKE);
        for (const twice of ['"protocol_version":"2.4"', '"method":"ahp/handshake"']) {
          const offered = await probe.offer(text.replace(twice, `${twice},${twice}`));
          expectRefusal(offered, RPC.invalidRequest, "twice");
        }
      },
    },
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
  {
    id: "nesting-accepted",
    title: `a message ${DEEPEST} levels deep is understood`,
    level: "must",
    run: async (probe) => {
      const id = probe.newId();
      expectResult(await probe.ask(nested(id, DEEPEST), id));
    },
  },
  {
    id: "nesting-survived",
    title: "a deeper message, however deep, does not end the connection",
    level: "must",
    run: async (probe) => {
      expectAlive(await probe.offer(nested("deep", DEEPEST + 1)));
      expectNothingDone(await probe.offer(nested("abyss", ABYSS)), `a message ${ABYSS} levels deep`);
    },
  },
  {
    id: "nesting-refused",
    title: `a message ${DEEPEST + 1} levels deep is not carried out`,
    level: "should",
    run: async (probe) => expectNothingDone(await probe.offer(nested("deep", DEEPEST + 1))),
  },
];

/** A handshake with an unknown member, which no policy evaluates. */
function nested(id: string, levels: number): string {
  const inside = levels - 2;
  const text = requestText(id, "ahp/handshake", { ...HANDSHAKE, extra: "NEST" });
  return text.replace('"NEST"', "[".repeat(inside) + "]".repeat(inside));
}
