import { AhpEvent, Decision, QueryRequest, QueryResponse, RPC } from "@reins/ahp";
import { must, type Section } from "../check.ts";
import { expectDecoded, expectError, expectResult } from "../expect.ts";
import { memberChecks } from "../mutations.ts";
import type { Probe } from "../probe.ts";
import { event, HANDSHAKE, QUERY, requestText } from "../samples.ts";

const METHODS = ["ahp/handshake", "ahp/event", "ahp/query", "ahp/batch"];

const FULL = event("pre_action", {
  context: {
    recent_facts: [{ content: "c", source: "s", confidence: 1 }],
    memory_summary: { memory_type: "m", total_items: 1, recent_topics: ["t"] },
    session_stats: { total_actions: 1, total_tokens: -1, duration_ms: 1, error_count: 0 },
    current_task: "t",
    capabilities: { a: 1 },
  },
  metadata: { a: 1 },
});

/** The event envelope: what must be there, of which type, and what is left to the sender. */
export const params: Section = {
  section: "Params",
  reference: "Message Model; Methods (ahp/event)",
  checks: [
    must("params-object", "params that are no object are refused with -32602", async (probe) => {
      for (const method of METHODS)
        for (const answer of await probe.callEach(method, [null, "x", 5, true, []]))
          expectError(answer, [RPC.invalidParams], method);
    }),
    ...memberChecks("event", "ahp/event", AhpEvent, FULL),
    must(
      "event-type-known",
      "an unknown event type is refused with -32602; spelling counts",
      async (probe) => {
        for (const event_type of ["no_such_event", "Pre_Action", "preAction", "pre_tool_use", ""]) {
          const answer = await probe.call("ahp/event", { ...event("pre_action"), event_type });
          expectError(answer, [RPC.invalidParams], `the event type "${event_type}"`);
        }
      },
    ),
    must(
      "integers-strict",
      "an integer is written as an integer in its range, anything else is refused with -32602",
      async (probe) => {
        for (const depth of ["1.0", "1e0", "0.5", "-1", "4294967296", '"0"'])
          await expectDepthRefused(probe, depth);
        const context = { session_stats: { ...FULL.context?.session_stats, total_tokens: 2 ** 31 } };
        const answer = await probe.call("ahp/event", { ...event("pre_action"), context });
        expectError(answer, [RPC.invalidParams], "a token count of 2147483648");
      },
    ),
    must("optional-null", "null for an optional member means that it is absent", async (probe) => {
      for (const context of [null, { current_task: null, recent_facts: null, session_stats: null }]) {
        const answer = await probe.call("ahp/event", { ...event("pre_action"), context, metadata: null });
        expectDecoded(Decision, answer);
      }
    }),
    must("strings-free", "ids and timestamp may be any text, also none", async (probe) => {
      for (const text of ["", "any text ✓", "\u0000", "x".repeat(5000)]) {
        const names = { session_id: text, agent_id: text };
        expectResult(await probe.call("ahp/handshake", { ...HANDSHAKE, ...names }), "the handshake");
        expectDecoded(Decision, await probe.decide("pre_action", { ...names, timestamp: text }));
      }
      await probe.call("ahp/handshake", HANDSHAKE);
    }),
  ],
};

/** A number has to be spelled by hand, because JavaScript writes 1.0 as 1. */
async function expectDepthRefused(probe: Probe, depth: string): Promise<void> {
  const id = probe.newId();
  const text = requestText(id, "ahp/event", event("pre_action")).replace('"depth":0', `"depth":${depth}`);
  expectError(await probe.ask(text, id, probe.decisionMs), [RPC.invalidParams], `a depth of ${depth}`);
}

/** Questions to the harness. */
export const query: Section = {
  section: "Query",
  reference: "Methods (ahp/query)",
  checks: [
    must(
      "query-answered",
      "a query is answered, or refused with -32603 where it is not supported",
      async (probe) => {
        for (const payload of [QUERY.payload, null, "text", []]) {
          const answer = await probe.call("ahp/query", { ...QUERY, payload });
          if (answer.error) expectError(answer, [RPC.internalError], "the query");
          else expectDecoded(QueryResponse, answer, "the query");
        }
      },
    ),
    ...memberChecks("query", "ahp/query", QueryRequest, QUERY),
  ],
};
