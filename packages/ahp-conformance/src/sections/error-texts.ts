import { type AhpEvent, RPC } from "@reins/ahp";
import type { Answer } from "../answer.ts";
import { type Check, Inapplicable, type Section, Unmet } from "../check.ts";
import { expectText } from "../expect.ts";
import { event, HANDSHAKE } from "../messages.ts";
import type { Probe } from "../probe.ts";

/** Code and beginning of the text of every error that peers may look at. */
export const errorTexts: Section = {
  section: "Error texts",
  reference: "Batching Rules; Server Example; the texts of the upstream implementation",
  checks: [
    text("method", "Method not found", RPC.methodNotFound, (probe) => probe.call("ahp/no-such-method", {})),
    text("params", "Invalid params: ", RPC.invalidParams, (probe) => probe.call("ahp/event", {})),
    text("version", "Unsupported protocol version: 3.0", RPC.unsupportedVersion, (probe) =>
      probe.call("ahp/handshake", { ...HANDSHAKE, protocol_version: "3.0" }),
    ),
    text(
      "kind",
      "Fire-and-forget event post_action must be sent as a notification",
      RPC.invalidParams,
      (probe) => probe.call("ahp/event", event("post_action")),
    ),
    text("payload", "Handler error: Serialization error: ", RPC.internalError, (probe) =>
      probe.decide("idle", { payload: {} }),
    ),
    text("contract", "Invalid event: Serialization error: ", RPC.invalidParams, (probe) =>
      probe.call("ahp/event", event("run_lifecycle", { payload: {} })),
    ),
    text(
      "not-batchable",
      "Event type idle cannot be batched because it does not return a generic Decision",
      RPC.invalidParams,
      (probe) => probe.call("ahp/batch", { events: [event("idle")] }),
    ),
    text("batch-size", "Batch size ", RPC.invalidParams, async (probe) => {
      const limit = probe.harness?.config?.batch_size;
      if (limit === undefined || limit > 500) throw new Inapplicable("no batch_size, or a large one");
      const events: AhpEvent[] = Array.from({ length: limit + 1 }, () => event("heartbeat"));
      return probe.call("ahp/batch", { events });
    }),
    {
      ...text(
        "notification",
        "Handler error: Protocol error: Blocking event pre_action must be sent as a request",
        RPC.internalError,
        async (probe) => {
          const { answers } = await probe.notify(event("pre_action"));
          if (!answers[0]) throw new Unmet("a bad notification got no error");
          return answers[0];
        },
      ),
      transports: ["http"],
    },
  ],
};

function text(name: string, prefix: string, code: number, ask: (probe: Probe) => Promise<Answer>): Check {
  return {
    id: `text-${name}`,
    title: `error ${code} begins with "${prefix}"`,
    level: "should",
    run: async (probe) => expectText(await ask(probe), code, prefix),
  };
}
