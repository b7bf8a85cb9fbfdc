import {
  BatchResponse,
  CONTRACT_EVENT_TYPES,
  type ContractEventType,
  PAYLOADS,
  RPC,
  SPECIALISED_EVENT_TYPES,
  type SpecialisedEventType,
} from "@reins/ahp";
import type { z } from "zod";
import { type Check, kebab, must, type Section, Unmet } from "../check.ts";
import {
  expectAllRefused,
  expectDecoded,
  expectError,
  expectNotificationRefused,
  expectUnanswered,
} from "../expect.ts";
import { mistypedEach, withoutEach } from "../mutations.ts";
import { event, SAMPLES } from "../samples.ts";
import { VARIANTS } from "../variants.ts";

/** The payloads of specialised events, which the harness checks before it decides. */
export const payloads: Section = {
  section: "Event payloads",
  reference: "Event Types; Decision Shapes (Specialized Decisions)",
  checks: SPECIALISED_EVENT_TYPES.flatMap((type) => [checked(type), understood(type)]),
};

function checked(type: SpecialisedEventType): Check {
  return must(`payload-${kebab(type)}-checked`, `a bad ${type} payload is refused`, async (probe) => {
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
  });
}

/** A harness that does not support the family reports that, and does not reject the payload. */
function understood(type: SpecialisedEventType): Check {
  return must(
    `payload-${kebab(type)}-understood`,
    `every ${type} payload that the protocol allows is understood`,
    async (probe) => {
      const params = VARIANTS[type].map((payload) => event(type, { payload }));
      for (const answer of await probe.callEach("ahp/event", params)) {
        const { error } = answer;
        if (error && (error.code !== RPC.internalError || error.message.includes("Serialization error")))
          throw new Unmet(`a good payload is refused: ${error.message}`, answer);
      }
    },
  );
}

/** Run lifecycle, task list and verification: snapshots whose payload is checked although they expect no decision. */
export const contracts: Section = {
  section: "Durable runtime contracts",
  reference: "Durable Runtime Contracts",
  checks: CONTRACT_EVENT_TYPES.flatMap(contractChecks),
};

function contractChecks(type: ContractEventType): Check[] {
  const schema: z.ZodType = PAYLOADS[type];
  const bad = () => event(type, { payload: { run_id: "run-1" } });
  return [
    must(
      `contract-${kebab(type)}-accepted`,
      `every ${type} payload that the protocol allows is accepted`,
      async (probe) => {
        for (const payload of VARIANTS[type]) {
          const answer = await probe.call("ahp/batch", { events: [event(type, { payload })] });
          expectDecoded(BatchResponse, answer, JSON.stringify(payload));
        }
        if (!probe.overHttp) return;
        for (const payload of VARIANTS[type]) expectUnanswered(await probe.notify(event(type, { payload })));
      },
    ),
    must(
      `contract-${kebab(type)}-checked`,
      `a bad ${type} payload is refused with -32602 in a batch`,
      async (probe) => {
        const sample = SAMPLES[type];
        const mutations = [...withoutEach(schema, sample), ...mistypedEach(schema, sample)];
        const params = mutations.map(({ value }) => ({ events: [event(type, { payload: value })] }));
        expectAllRefused(mutations, await probe.callEach("ahp/batch", params));
      },
    ),
    must(
      `contract-${kebab(type)}-checked-noted`,
      `a bad ${type} notification is not accepted`,
      async (probe) => expectNotificationRefused(await probe.notify(bad())),
    ),
    must(
      `contract-${kebab(type)}-checked-requested`,
      `a bad ${type} request is refused with -32602`,
      async (probe) => {
        expectError(await probe.call("ahp/event", bad()), [RPC.invalidParams], type);
      },
    ),
  ];
}
