import { z } from "zod";

const Anything = z.record(z.string(), z.unknown());
const Time = z.string().describe("RFC 3339");

/** A reply in the envelope that every method accepts, or bare. */
function wrapped<Type extends z.ZodType>(type: Type) {
  return z.union([type, z.looseObject({ result: type })]);
}

const Tool = z.looseObject({
  name: z.string().min(1),
  description: z.string().optional(),
  short_description: z.string().optional(),
  schema: Anything.nullish(),
  parameters: Anything.nullish(),
  input_schema: Anything.nullish(),
  deprecated: z.boolean().optional(),
});
const SkillRef = z.looseObject({
  id: z.string().optional(),
  name: z.string(),
  description: z.string().optional(),
});
const Match = z.looseObject({
  name: z.string(),
  score: z.number().min(0).optional(),
  reason: z.string().optional(),
});

const Mutation = z.looseObject({
  session_id: z.string(),
  parent_session_id: z.string().nullish(),
  run_id: z.string().nullish(),
  worker_id: z.string().nullish(),
  mutation_scope: z
    .string()
    .describe("read_only, apply_workspace, apply_worktree or none; another is read_only"),
  approval_policy: Anything.nullish(),
});

const Audit = z.looseObject({
  parent_session_id: z.string(),
  session_id: z.string().optional(),
  parent_worker_id: z.string().optional(),
  run_id: z.string().optional(),
});

/** The messages of the bridge, by name: parameters as `.params`, results as `.result`. */
export const BRIDGE_MESSAGES = {
  "session-request_permission.params": z.looseObject({
    sessionId: z.string(),
    toolCall: z.looseObject({ toolCallId: z.string(), toolName: z.string(), rawInput: z.unknown() }),
    mutation: Mutation.nullable(),
    declaredPaths: z.array(z.string()),
    options: z.array(z.looseObject({ optionId: z.string(), name: z.string(), kind: z.string() })).optional(),
    approvalRequest: z
      .looseObject({
        id: z.string(),
        action: z.string(),
        args: z.unknown(),
        principal: z.string(),
        requested_at: Time,
        deadline: Time.optional(),
        approvers_required: z.int().min(1),
        evidence_refs: z.array(z.looseObject({ kind: z.string(), ref: z.string() })),
        capabilities_requested: z.array(z.string()),
      })
      .optional(),
  }),
  "session-request_permission.result": wrapped(
    z.union([
      z.looseObject({
        outcome: z.looseObject({
          outcome: z.enum(["selected", "cancelled"]),
          optionId: z.string().nullish(),
        }),
        args: Anything.nullish(),
      }),
      z.looseObject({ granted: z.boolean(), args: Anything.nullish(), reason: z.string().optional() }),
    ]),
  ),
  "host-tools-list.result": wrapped(z.union([z.array(Tool), z.looseObject({ tools: z.array(Tool) })])),
  "builtin_call.params": z.looseObject({ name: z.string().min(1), args: z.array(z.unknown()).max(1) }),
  "tool_search-query.params": z.looseObject({
    strategy: z.enum(["semantic", "host"]),
    query: z.string(),
    candidates: z.array(z.string()),
  }),
  "tool_search-query.result": wrapped(
    z.looseObject({ tool_names: z.array(z.string()), diagnostic: z.string().optional() }),
  ),
  "skills-list.result": wrapped(z.union([z.array(SkillRef), z.looseObject({ skills: z.array(SkillRef) })])),
  "skills-fetch.params": z.looseObject({ id: z.string() }),
  "skills-fetch.result": wrapped(z.looseObject({ body: z.string(), manifest: Anything.optional() })),
  "skill-match.params": z.looseObject({
    strategy: z.string(),
    prompt: z.string(),
    working_files: z.array(z.string()),
    candidates: z.array(z.looseObject({ name: z.string(), paths: z.array(z.string()).optional() })),
  }),
  "skill-match.result": wrapped(
    z.union([
      z.array(Match),
      z.looseObject({ matches: z.array(Match) }),
      z.looseObject({ skills: z.array(Match) }),
    ]),
  ),
  "agent-idle.params": z.looseObject({ iteration: z.int().min(1), backoff_ms: z.int() }),
  "user_message.params": z.looseObject({ content: z.string(), mode: z.string().optional() }),
  "worker_update.update": z.looseObject({
    sessionUpdate: z.literal("worker_update"),
    content: z.looseObject({
      worker_id: z.string(),
      worker_name: z.string(),
      status: z.string(),
      started_at: Time,
      finished_at: Time.nullable(),
      snapshot_path: z.string().nullable(),
      run_id: z.string().nullable(),
      run_path: z.string().nullable(),
      lifecycle: z.looseObject({ event: z.string(), worker_id: z.string() }),
      audit: Audit,
      metadata: Anything,
    }),
    workerId: z.string(),
    workerName: z.string(),
    workerTask: z.string(),
    workerMode: z.string(),
    event: z.string(),
    status: z.string(),
    terminal: z.boolean(),
    metadata: z.looseObject({ sequence: z.int() }),
    audit: Audit,
  }),
} as const;
