import { RPC } from "@reins/ahp";
import type { Section } from "../check.ts";
import { expectError, expectNothingDone, expectResult, expectUnanswered } from "../expect.ts";
import { event, HANDSHAKE, notificationText, QUERY, requestText } from "../messages.ts";

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
