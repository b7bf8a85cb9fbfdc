import { AhpEvent, decode, EventType, PAYLOADS } from "@reins/ahp";
import { expect, test } from "vitest";
import type { z } from "zod";
import { event, SAMPLES } from "./samples.ts";
import { VARIANTS } from "./sections/payloads.ts";

const schemas: Readonly<Record<string, z.ZodType | undefined>> = PAYLOADS;

test.each(EventType.options)("the sample of %s is what the protocol says", (type) => {
  expect(decode(AhpEvent, event(type)).event_type).toBe(type);
  const schema = schemas[type];
  if (schema) expect(() => decode(schema, SAMPLES[type])).not.toThrow();
});

test.each(Object.entries(VARIANTS))("the variants of %s are allowed", (type, variants) => {
  const schema = schemas[type];
  if (!schema) throw new Error(`no schema for ${type}`);
  for (const variant of variants) expect(() => decode(schema, variant)).not.toThrow();
});
