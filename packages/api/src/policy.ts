import { z } from "zod";
import { operation } from "./operation.ts";
import { Hash, named, OperatorTenant, Verdict } from "./schema.ts";

/** A policy that was read, checked and passed its own tests. */
export const LoadedPolicy = named(
  "LoadedPolicy",
  z.looseObject({
    constitution_hash: Hash.describe("of the prose"),
    rules_hash: Hash.describe("of the rules"),
    rules: z.array(
      z.looseObject({ name: z.string(), condition: z.looseObject({}), verdict: Verdict, reason: z.string() }),
    ),
    tests: z
      .array(z.looseObject({ name: z.string(), expect: Verdict }))
      .describe("the examples in the file, all of which it passed"),
    file: z.looseObject({}).describe("all that constitution.yaml says, with what it leaves to its defaults"),
  }),
);

/** The policy of a tenant: in force, waiting and on disk. */
export const PolicyStatus = named(
  "PolicyStatus",
  z.looseObject({
    tenant: z.string(),
    in_force: LoadedPolicy.nullable().describe("null blocks everything"),
    waiting: LoadedPolicy.nullable().describe("a changed file that allows more, until an admin accepts it"),
    fault: z.string().nullable().describe("what is wrong with the file as it is now"),
    rules: z.string().nullable().describe("constitution.yaml as it is on disk now"),
    prose: z.string().nullable().describe("constitution.md as it is on disk now"),
  }),
);
export type PolicyStatus = z.infer<typeof PolicyStatus>;

/** The constitution that an admin accepts. */
const PolicyAcceptance = named(
  "PolicyAcceptance",
  z.strictObject({
    rules_hash: Hash.optional().describe("refused when something else waits by now"),
    constitution_hash: Hash.optional(),
  }),
);

const query = z.strictObject({ tenant: OperatorTenant });

/** Operations on the policy. */
export const policyOperations = {
  getPolicy: operation({
    id: "get_policy",
    method: "GET",
    path: "/v1/policy",
    summary: "Returns the policy of a tenant.",
    audience: "person",
    query,
    answer: PolicyStatus,
    problems: ["not_found"],
  }),
  reloadPolicy: operation({
    id: "reload_policy",
    method: "POST",
    path: "/v1/policy/reload",
    summary: "Reads the files of the policy now.",
    audience: "admin",
    query,
    answer: PolicyStatus,
    problems: ["not_found"],
  }),
  acceptPolicy: operation({
    id: "accept_policy",
    method: "POST",
    path: "/v1/policy/accept",
    summary: "Puts a changed constitution that waits into force.",
    audience: "admin",
    query,
    body: PolicyAcceptance.optional(),
    answer: PolicyStatus,
    problems: ["not_found", "conflict"],
  }),
} as const;
