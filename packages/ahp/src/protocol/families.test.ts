import { expect, test } from "vitest";
import type { z } from "zod";
import { decode } from "../wire/decode.ts";
import type { BlockingEventType } from "./event.ts";
import { closedDecision, DECISIONS } from "./families.ts";

/** What lets an agent go on. */
const YES = ["allow", "modify", "approve", "retry", "queue", "refine"];

test.each(Object.entries(DECISIONS))(
  "%s: is a decision of its family, is no yes, and says why",
  (type, schema: z.ZodType) => {
    const decision = closedDecision(type as BlockingEventType, "because");
    expect(decode(schema, decision)).toEqual(decision);
    expect(YES).not.toContain(decision.decision);
    expect(decision).toHaveProperty("reason", "because");
  },
);
