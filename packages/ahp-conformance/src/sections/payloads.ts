import { PAYLOADS, RPC, SPECIALISED_EVENT_TYPES, type SpecialisedEventType } from "@reins/ahp";
import type { z } from "zod";
import { type Check, type Section, Unmet } from "../check.ts";
import { expectAllRefused } from "../expect.ts";
import { event } from "../messages.ts";
import { mistypedEach, withoutEach } from "../mutations.ts";
import { SAMPLES } from "../samples.ts";
import { VARIANTS } from "../variants.ts";
import { kebab } from "./kebab.ts";

/** The payloads of specialised events, which the harness checks before it decides. */
export const payloads: Section = {
  section: "Event payloads",
  reference: "Event Types; Decision Shapes (Specialized Decisions)",
  checks: SPECIALISED_EVENT_TYPES.flatMap((type) => [checked(type), understood(type)]),
};

function checked(type: SpecialisedEventType): Check {
  return {
    id: `payload-${kebab(type)}-checked`,
    title: `a bad ${type} payload is refused`,
    level: "must",
    run: async (probe) => {
      const schema: z.ZodType = PAYLOADS[type];
      const mutations = [
        ...withoutEach(schema, SAMPLES[type]),
        ...mistypedEach(schema, SAMPLES[type]),
        { what: "a payload of null", member: "payload", value: null },
        { what: "a payload of text", member: "payload", value: "text" },
      ];
      const params = mutations.map(({ value }) => event(type, { payload: value }));
      const answers = await probe.callEach("ahp/event", params);
      expectAllRefused(mutations, answers, [RPC.internalError, RPC.invalidParams]);
    },
  };
}

/** A harness may not support the family, but then it says so, and does not find fault with the payload. */
function understood(type: SpecialisedEventType): Check {
  return {
    id: `payload-${kebab(type)}-understood`,
    title: `every ${type} payload that the protocol allows is understood`,
    level: "must",
    run: async (probe) => {
      const params = VARIANTS[type].map((payload) => event(type, { payload }));
      for (const answer of await probe.callEach("ahp/event", params)) {
        const { error } = answer;
        if (error && (error.code !== RPC.internalError || error.message.includes("Serialization error")))
          throw new Unmet(`a good payload is refused: ${error.message}`, answer);
      }
    },
  };
}
