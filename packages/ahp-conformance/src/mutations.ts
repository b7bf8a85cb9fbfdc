import { DecodeError, decode, isObject, RPC } from "@reins/ahp";
import type { z } from "zod";
import { type Check, must } from "./check.ts";
import { expectAllRefused } from "./expect.ts";

/** A value that is right but for one place. */
export interface Mutation {
  /** What was done to it, such as `agent_info.version left out`. */
  readonly what: string;
  /** The member it was done to. */
  readonly member: string;
  readonly value: unknown;
}

/** The values of a type's sample with one required member left out, at any level. */
export function withoutEach(schema: z.ZodType, sample: unknown): Mutation[] {
  return refused(schema, mutate(sample, [{ how: "left out", change: () => undefined }]));
}

/** The values of a type's sample with one member of another type than it must have, at any level. */
export function mistypedEach(schema: z.ZodType, sample: unknown): Mutation[] {
  return refused(
    schema,
    mutate(sample, [
      { how: "null", change: () => null },
      { how: "a number", change: (value) => (typeof value === "number" ? value : 5) },
      { how: "an unknown word", change: () => "no such value" },
      { how: "a negative number", change: (value) => (typeof value === "number" ? -1 : value) },
      { how: "a boolean", change: () => true },
    ]),
  );
}

interface Change {
  readonly how: string;
  readonly change: (value: unknown) => unknown;
}

function mutate(value: unknown, changes: readonly Change[], path = ""): Mutation[] {
  if (Array.isArray(value)) {
    const [first, ...rest] = value;
    if (first === undefined) return [];
    return mutate(first, changes, `${path}[0]`).map((inner) => ({ ...inner, value: [inner.value, ...rest] }));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([member, held]) => {
    const at = path === "" ? member : `${path}.${member}`;
    const here = changes.map(({ how, change }) => ({
      what: `${at} ${how}`,
      member,
      value: { ...value, [member]: change(held) },
    }));
    const deeper = mutate(held, changes, at).map((inner) => ({
      ...inner,
      value: { ...value, [member]: inner.value },
    }));
    return [...here, ...deeper];
  });
}

/** Those that the protocol does not allow; the rest of the mutations happen to be fine. */
function refused(schema: z.ZodType, mutations: readonly Mutation[]): Mutation[] {
  return mutations.filter(({ value }) => {
    try {
      decode(schema, value);
      return false;
    } catch (error) {
      if (error instanceof DecodeError) return true;
      throw error;
    }
  });
}

/** Checks that params with a missing member, or one of the wrong type, are refused. */
export function memberChecks(name: string, method: string, schema: z.ZodType, sample: unknown): Check[] {
  const check = (id: string, title: string, mutations: () => Mutation[], named: boolean) =>
    must(`${name}-members-${id}`, title, async (probe) => {
      const all = mutations();
      const params = all.map(({ value }) => value);
      expectAllRefused(all, await probe.callEach(method, params), [RPC.invalidParams], named);
    });
  return [
    check(
      "required",
      `a missing member of ${method} is refused with -32602, by name`,
      () => withoutEach(schema, sample),
      true,
    ),
    check(
      "typed",
      `a member of ${method} of the wrong type is refused with -32602, at any level`,
      () => mistypedEach(schema, sample),
      false,
    ),
  ];
}
