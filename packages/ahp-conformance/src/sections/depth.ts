import { RPC } from "@reins/ahp";
import { Inapplicable, type Section } from "../check.ts";
import { expectError, expectNotificationRefused, expectResult, expectText } from "../expect.ts";
import { event } from "../messages.ts";
import type { Probe } from "../probe.ts";

const GREATEST = 2 ** 32 - 1;

/** How deep events may be nested in each other. */
export const depth: Section = {
  section: "Depth",
  reference: "Depth And Recursion",
  checks: [
    {
      id: "depth-at-limit",
      title: "an event exactly as deep as max_depth is decided on",
      level: "must",
      run: async (probe) => {
        const limit = limitOf(probe);
        expectResult(await probe.decide("pre_action", { depth: limit }), `depth ${limit}`);
      },
    },
    {
      id: "depth-over-limit",
      title: "a deeper event is refused with -32602 and the text that says so",
      level: "must",
      run: async (probe) => {
        const { limit, over } = overLimit(probe);
        for (const depth of new Set([over, GREATEST])) {
          const text = `Invalid event: Protocol error: Event depth ${depth} exceeds configured max depth ${limit}`;
          expectText(await probe.decide("pre_action", { depth }), RPC.invalidParams, text);
          expectText(await probe.decide("idle", { depth }), RPC.invalidParams, text);
        }
      },
    },
    {
      id: "depth-over-limit-noted",
      title: "a notification that is too deep is not accepted",
      level: "must",
      run: async (probe) => {
        const { over } = overLimit(probe);
        expectNotificationRefused(await probe.notify(event("heartbeat", { depth: over })));
      },
    },
    {
      id: "depth-over-limit-batched",
      title: "a batch with an event that is too deep is refused with -32602",
      level: "must",
      run: async (probe) => {
        const { over } = overLimit(probe);
        const answer = await probe.call("ahp/batch", { events: [event("pre_action", { depth: over })] });
        expectError(answer, [RPC.invalidParams], "the batch");
      },
    },
    {
      id: "depth-unlimited",
      title: "without max_depth any depth is decided on",
      level: "must",
      run: async (probe) => {
        if (!probe.harness) throw new Inapplicable("what the handshake tells cannot be read");
        if (probe.harness.config?.max_depth !== undefined) throw new Inapplicable("there is a max_depth");
        expectResult(await probe.decide("pre_action", { depth: GREATEST }), `depth ${GREATEST}`);
      },
    },
    {
      id: "depth-before-kind",
      title: "depth is complained about before the way an event was sent",
      level: "should",
      run: async (probe) => {
        const { over } = overLimit(probe);
        const answer = await probe.call("ahp/event", event("post_action", { depth: over }));
        expectText(answer, RPC.invalidParams, "Invalid event: Protocol error: Event depth");
      },
    },
  ],
};

function limitOf(probe: Probe): number {
  const limit = probe.harness?.config?.max_depth;
  if (limit === undefined) throw new Inapplicable("the handshake tells no max_depth");
  return limit;
}

function overLimit(probe: Probe): { limit: number; over: number } {
  const limit = limitOf(probe);
  if (limit >= GREATEST) throw new Inapplicable("no event can be deeper than max_depth");
  return { limit, over: limit + 1 };
}
