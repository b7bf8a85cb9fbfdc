import { type AhpEvent, RPC } from "@reins/ahp";
import { type Check, Inapplicable, must, type Section, should, Unmet } from "../check.ts";
import { expectText, type HarnessResponse, readResponse } from "../expect.ts";
import type { Probe } from "../probe.ts";
import { event, HANDSHAKE } from "../samples.ts";

const I32 = { least: -(2 ** 31), greatest: 2 ** 31 - 1 };

/** A check of everything the harness answered in the whole run. */
function everyReply(
  check: Pick<Check, "id" | "title" | "level">,
  fault: (answer: HarnessResponse) => string | undefined,
): Check {
  return {
    ...check,
    looksBack: true,
    run: async ({ transcript }) => {
      for (const seen of transcript.witnessed) {
        const answer = readResponse(seen.sent, seen.text, seen.status);
        const why = answer ? fault(answer) : "a reply that is not an object in valid JSON";
        if (why !== undefined) throw new Unmet(why, seen);
      }
    },
  };
}

/** What is true of every reply. */
export const replies: Section = {
  section: "Replies",
  reference: "Message Model; Client Lifecycle (what a client validates)",
  checks: [
    everyReply(
      { id: "reply-jsonrpc", title: 'every reply says jsonrpc "2.0"', level: "must" },
      ({ message }) => (message.jsonrpc === "2.0" ? undefined : "a reply without jsonrpc 2.0"),
    ),
    everyReply(
      {
        id: "reply-one-outcome",
        title: "every reply has a result or an error, never both or neither",
        level: "must",
      },
      ({ message }) => {
        const outcomes = ["result", "error"].filter((member) => member in message);
        return outcomes.length === 1 ? undefined : `a reply with ${outcomes.join(" and ") || "neither"}`;
      },
    ),
    everyReply({ id: "reply-result-not-null", title: "no result is null", level: "must" }, ({ message }) =>
      message.result === null ? "a result that is null" : undefined,
    ),
    everyReply(
      { id: "reply-error-shape", title: "every error has a 32-bit code and a message", level: "must" },
      ({ message, error }) => {
        if (!("error" in message) || message.error === null) return undefined;
        if (!error || typeof error.code !== "number") return "an error without a code";
        const fits = Number.isInteger(error.code) && error.code >= I32.least && error.code <= I32.greatest;
        if (!fits) return "an error code that is not a 32-bit integer";
        return error.message === "" ? "an error without a message" : undefined;
      },
    ),
    everyReply({ id: "reply-compact", title: "every reply is compact JSON", level: "should" }, ({ text }) =>
      /\s/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, "").trim())
        ? "a reply with spaces between its parts"
        : undefined,
    ),
    everyReply(
      {
        id: "error-data-reason",
        title: "every error says why in data.reason, for programs",
        level: "improved",
      },
      ({ error }) => {
        if (!error) return undefined;
        const { data } = error;
        const reason =
          typeof data === "object" && data !== null && "reason" in data ? data.reason : undefined;
        return typeof reason === "string" && reason !== "" ? undefined : "an error without data.reason";
      },
    ),
    must(
      "no-stray-replies",
      "nothing comes that answers nothing, however late",
      async ({ connections }) => {
        const [text] = connections.strays;
        if (text !== undefined)
          throw new Unmet("a message came that answers nothing", { sent: "", text, status: undefined });
      },
      { transports: ["stdio", "unix", "websocket"], looksBack: true },
    ),
    should(
      "output-only-messages",
      "nothing but responses comes from the harness",
      async ({ connections }) => {
        await connections.close();
        const [text] = connections.noise;
        if (text !== undefined) throw new Unmet("this is no response", { sent: "", text, status: undefined });
      },
      { transports: ["stdio", "unix", "websocket"], looksBack: true },
    ),
  ],
};

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

function text(
  name: string,
  prefix: string,
  code: number,
  ask: (probe: Probe) => Promise<HarnessResponse>,
): Check {
  return should(`text-${name}`, `error ${code} begins with "${prefix}"`, async (probe) =>
    expectText(await ask(probe), code, prefix),
  );
}
