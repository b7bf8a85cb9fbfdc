import { BatchResponse, CONTRACT_EVENT_TYPES, type ContractEventType, PAYLOADS, RPC } from "@reins/ahp";
import type { z } from "zod";
import type { Check, Section } from "../check.ts";
import {
  expectAllRefused,
  expectDecoded,
  expectError,
  expectNotificationRefused,
  expectUnanswered,
} from "../expect.ts";
import { event } from "../messages.ts";
import { mistypedEach, withoutEach } from "../mutations.ts";
import { SAMPLES } from "../samples.ts";
import { VARIANTS } from "../variants.ts";
import { kebab } from "./kebab.ts";

/** Run lifecycle, task list and verification: snapshots whose payload is checked although nobody waits for it. */
export const contracts: Section = {
  section: "Durable runtime contracts",
  reference: "Durable Runtime Contracts",
  checks: CONTRACT_EVENT_TYPES.flatMap(contractChecks),
};

function contractChecks(type: ContractEventType): Check[] {
  const schema: z.ZodType = PAYLOADS[type];
  const bad = () => event(type, { payload: { run_id: "run-1" } });
  return [
    {
      id: `contract-${kebab(type)}-accepted`,
      title: `every ${type} payload that the protocol allows is accepted`,
      level: "must",
      run: async (probe) => {
        for (const payload of VARIANTS[type]) {
          const answer = await probe.call("ahp/batch", { events: [event(type, { payload })] });
          expectDecoded(BatchResponse, answer, JSON.stringify(payload));
        }
        if (!probe.overHttp) return;
        for (const payload of VARIANTS[type]) expectUnanswered(await probe.notify(event(type, { payload })));
      },
    },
    {
      id: `contract-${kebab(type)}-checked`,
      title: `a bad ${type} payload is refused with -32602 in a batch`,
      level: "must",
      run: async (probe) => {
        const sample = SAMPLES[type];
        const mutations = [...withoutEach(schema, sample), ...mistypedEach(schema, sample)];
        const params = mutations.map(({ value }) => ({ events: [event(type, { payload: value })] }));
        expectAllRefused(mutations, await probe.callEach("ahp/batch", params));
      },
    },
    {
      id: `contract-${kebab(type)}-checked-noted`,
      title: `a bad ${type} notification is not accepted`,
      level: "must",
      run: async (probe) => expectNotificationRefused(await probe.notify(bad())),
    },
    {
      id: `contract-${kebab(type)}-checked-requested`,
      title: `a bad ${type} request is refused with -32602`,
      level: "must",
      run: async (probe) => {
        expectError(await probe.call("ahp/event", bad()), [RPC.invalidParams], type);
      },
    },
  ];
}
