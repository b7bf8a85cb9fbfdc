import { z } from "zod";
import { operation } from "./operation.ts";
import { LongLimit, Moment, named, PageAfter, PageLimit, PathName, Position } from "./schema.ts";

const contract = z.looseObject({ run_id: z.string(), session_id: z.string(), updated_at: z.string() });

/** The state of a run: the newest report of each kind, as AHP describes them. */
export const Run = named(
  "Run",
  z.looseObject({
    run_id: z.string(),
    session_id: z.string(),
    updated_at: Moment,
    has_graph: z.boolean().optional().describe("whether it runs a graph of actions, for `get_run_graph`"),
    run_lifecycle: contract.optional(),
    task_list: contract.optional(),
    verification: contract.optional(),
  }),
);
export type Run = z.infer<typeof Run>;

const RunStatus = z.enum(["pending", "running", "completed", "failed", "canceled", "blocked", "waiting"]);

const Texts = z.array(z.string());
const reported = {
  evidence: Texts,
  artifact_refs: Texts,
  risks: Texts,
  unresolved_issues: Texts,
};

/** What one executor leaves to the next. */
const RunHandoff = named(
  "RunHandoff",
  z.looseObject({
    from: z.looseObject({ run: z.string(), action: z.string(), session: z.string().optional() }),
    result_summary: z.string(),
    ...reported,
    next_goal: z.string(),
    constraints: Texts,
    dependencies: Texts,
  }),
);

/** The task of an agent or a person, with what came of it and where that is. */
const RunAssignment = named(
  "RunAssignment",
  z.looseObject({
    executor: z.string().describe("by type and name"),
    authority: z
      .looseObject({
        principal: z.string(),
        tools: Texts.optional(),
        reads: Texts.optional(),
        writes: Texts.optional(),
        budget: z.looseObject({ tokens: z.number().optional(), calls: z.number().optional() }).optional(),
      })
      .describe("what it may do at most"),
    goal: z.string(),
    context_refs: Texts,
    expected_outputs: Texts.describe("members that its result has to have"),
    handoffs: z.array(RunHandoff),
    withheld: Texts.describe("agents before it whose results it is not given"),
    notes: Texts.describe("what was noted with decisions about it"),
    session: z.string().optional().describe("the session of the agent"),
    result: z.looseObject({ status: RunStatus, summary: z.string() }).optional(),
    report: z
      .looseObject({
        result_summary: z.string().optional(),
        ...reported,
        faults: Texts.describe("how the answer differs from what was asked for"),
      })
      .optional()
      .describe("what the agent reported beside its result"),
    artifacts: Texts.describe("what it stored, and what its report names"),
    trace: Texts.describe("the ledger entries of what was decided about it"),
  }),
);

/** One action of a graph as people see it. */
export const RunAction = named(
  "RunAction",
  z.looseObject({
    id: z.string(),
    title: z.string(),
    description: z.string().optional(),
    reason: z.string().optional().describe("why the model declared it"),
    operation: z.string().optional(),
    executor: z.looseObject({
      type: z.string().optional().describe("tool, agent, runtime, human, pipeline or service"),
      target: z.string().describe("the executor that was chosen; before that the one that was asked for"),
      capabilities: z.array(z.string()),
    }),
    depends_on: z.array(z.string()),
    visible: z.boolean().describe("whether the declaration wants it shown in the picture of the run"),
    status: RunStatus,
    status_reason: z.string().optional().describe("why it is not completed"),
    attempts: z.int(),
    iterations: z.int(),
    started_at: Moment.optional(),
    ended_at: Moment.optional(),
    input: z.unknown().optional().describe("its arguments, references resolved once it has begun"),
    prompt: z.string().optional(),
    result_summary: z.string().optional(),
    details_ref: z.string().optional().describe("where its full output is, for `expand_run_ref`"),
    artifacts: z
      .array(z.looseObject({ ref: z.string(), name: z.string().optional() }))
      .optional()
      .describe("what else it stored, for `expand_run_ref`"),
    verdict: z.string().optional().describe("the CID of the ledger entry that allowed or refused it"),
    approval: z.string().optional().describe("the approval it waits for"),
    child_session: z.string().optional().describe("the session of the agent that executes it"),
    assignment: RunAssignment.optional().describe("the task of an agent or a person, as that was given it"),
  }),
);
export type RunAction = z.infer<typeof RunAction>;

/** What was changed in a run that there was, by whom, and with which words. */
export const RunControl = named(
  "RunControl",
  z.looseObject({
    kind: z.enum(["cancel", "decide", "revise"]),
    at: Moment,
    by: z.string().describe("who did it, as the ledger names it"),
    through: z
      .enum(["model", "client", "runtime"])
      .describe("how: declared by the model, sent by a client, or by Reins"),
    actions: z.array(z.string()).optional().describe("what it is about; absent for the whole run"),
    decision: z.enum(["retry", "continue", "abort"]).optional(),
    note: z.string().optional(),
    declaration: z.string().optional().describe("what declared it, as it was written"),
    entry: z.string().optional().describe("the CID of the ledger entry that records it"),
  }),
);
export type RunControl = z.infer<typeof RunControl>;

/** What a run came to, for programs. */
const RunResult = z.looseObject({
  type: z.literal("agent.protocol.result"),
  version: z.string(),
  run_id: z.string(),
  status: RunStatus,
  reason: z.string().optional(),
  actions: z.array(
    z.looseObject({
      id: z.string(),
      title: z.string(),
      description: z.string().optional(),
      status: RunStatus,
      reason: z.string().optional(),
      summary: z.string().optional(),
      artifacts: Texts.optional(),
    }),
  ),
  next: z.enum(["final_answer", "model_decision", "permission", "user_input", "running"]),
});

/** A graph that a model declared, and the state of its run. */
export const RunGraph = named(
  "RunGraph",
  z.looseObject({
    run_id: z.string(),
    session_id: z.string(),
    title: z.string(),
    note: z.string().optional().describe("what the model says to people about it (`user.visible`)"),
    status: RunStatus,
    status_reason: z.string().optional(),
    waits_for: z.enum(["permission", "input", "model"]).optional().describe("what a stopped run needs"),
    plan: z.boolean().describe("whether it is only shown, and nothing is run"),
    durable: z.boolean(),
    started_at: Moment,
    ended_at: Moment.optional(),
    progress: z.looseObject({ total: z.int(), ended: z.int(), running: z.int() }),
    actions: z.array(RunAction),
    result_summary: z.string().optional(),
    result: RunResult.optional().describe("what it came to, as a record: once it is over, or waits"),
    declaration: z.string().describe("what the model wrote, as it wrote it"),
    carrier: z.enum(["native", "fenced", "recovered", "api"]),
    violations: z.array(z.string()).describe("what it said beside the protocol"),
    controls: z.array(RunControl).describe("what was changed in it since, the first first"),
  }),
);
export type RunGraph = z.infer<typeof RunGraph>;

/** An id that a caller gives to a run: it is part of references and of names in the journal. */
const RunId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
    "1 to 128 letters, digits, '_', '-' or '.', a letter or digit first",
  );

/** A graph to run: a declaration with the sections it refers to, or the whole message of a model. */
export const StartRun = named(
  "StartRun",
  z.strictObject({
    declaration: z.unknown().optional().describe("a declaration of the full form, or of the carrier"),
    sections: z.record(z.string(), z.string()).optional().describe("texts for `md:` references, by heading"),
    message: z.string().optional().describe("a complete assistant message, instead of the two"),
    context: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("values for `input:` references; `user.goal` is the task"),
    session: z.string().min(1).max(256).optional().describe("the session it runs in"),
    cwd: z.string().min(1).optional().describe("the folder of a new session for it, if none is given"),
    agent: z.string().min(1).optional().describe("the agent of that session; the native one by default"),
    run_id: RunId.optional().describe("its id, so that a repeated request starts it once"),
  }),
);
export type StartRun = z.infer<typeof StartRun>;

/** A stored text, or a part of it. */
export const ExpandedRef = named(
  "ExpandedRef",
  z.looseObject({
    ref: z.string(),
    text: z.string(),
    lines: z.looseObject({ from: z.int(), to: z.int(), total: z.int() }),
    truncated: z.boolean(),
  }),
);

/** Some runs, the newest first, and where the next ones begin. */
const RunList = named(
  "RunList",
  z.looseObject({
    runs: z.array(Run),
    next: z.string().optional().describe("to be given as `after`; absent when these are the last"),
  }),
);

/** One event of a run: a report that was accepted or refused. */
export const RunEvent = named(
  "RunEvent",
  z.looseObject({
    seq: z.int().describe("its number; later ones are higher"),
    run_id: z.string(),
    session_id: z.string(),
    contract: z.enum(["run_lifecycle", "task_list", "verification"]),
    at: Moment.describe("when it arrived"),
    payload: contract,
    fault: z.string().nullable().describe("why it was refused; null where it was taken"),
  }),
);

/** Some events, and where the next ones begin. */
export const RunEventPage = named(
  "RunEventPage",
  z.looseObject({
    events: z.array(RunEvent),
    next: z.int().optional().describe("to be given as `after`; absent when these are the last"),
  }),
);

/** Operations on runs. */
export const runOperations = {
  listRuns: operation({
    id: "list_runs",
    method: "GET",
    path: "/v1/runs",
    summary:
      "Lists the newest runs that the caller may see, or those of one session: its own, for an admin the tenant's.",
    audience: "principal",
    query: z.strictObject({
      session: z.string().min(1).max(256).optional(),
      after: PageAfter.describe("`next` of the page before"),
      limit: LongLimit,
    }),
    answer: RunList,
  }),
  streamRuns: operation({
    id: "stream_runs",
    method: "GET",
    path: "/v1/runs/stream",
    summary:
      "Streams the events of the runs that the caller may see, from now on or after `Last-Event-ID`, which is a `seq`; 0 is from the first that is kept.",
    audience: "principal",
    query: z.strictObject({
      run: PathName.optional(),
      session: z.string().min(1).max(256).optional(),
    }),
    answer: RunEvent,
    events: "run",
    problems: ["not_acceptable"],
  }),
  listRunEvents: operation({
    id: "list_run_events",
    method: "GET",
    path: "/v1/runs/{id}/events",
    summary: "Lists the stored events of a run, also refused ones, the oldest first.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    query: z.strictObject({
      limit: PageLimit,
      after: Position.optional().describe("`next` of the page before"),
    }),
    answer: RunEventPage,
    problems: ["not_found"],
  }),
  getRun: operation({
    id: "get_run",
    method: "GET",
    path: "/v1/runs/{id}",
    summary: "Returns one run.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    answer: Run,
    problems: ["not_found"],
  }),
} as const;

/** Operations on runs of action graphs, for which agents have to be hosted. */
export const graphOperations = {
  startRun: operation({
    id: "start_run",
    method: "POST",
    path: "/v1/runs",
    summary: "Validates a graph of actions and runs it in a session, each action under a verdict of its own.",
    audience: "principal",
    body: StartRun,
    answer: RunGraph,
    status: 201,
    problems: ["not_found", "forbidden", "conflict"],
  }),
  getRunGraph: operation({
    id: "get_run_graph",
    method: "GET",
    path: "/v1/runs/{id}/graph",
    summary: "Returns the graph of a run and the state of each action.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    answer: RunGraph,
    problems: ["not_found"],
  }),
  cancelRun: operation({
    id: "cancel_run",
    method: "POST",
    path: "/v1/runs/{id}/cancel",
    summary: "Cancels a run, or some of its actions.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    body: z.strictObject({ actions: z.array(PathName).min(1).max(1_000).optional() }),
    answer: RunGraph,
    problems: ["not_found", "forbidden", "conflict"],
  }),
  decideRun: operation({
    id: "decide_run",
    method: "POST",
    path: "/v1/runs/{id}/decide",
    summary: "Decides what becomes of an action that failed or was blocked. Answers no approval.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    body: z.strictObject({
      action: PathName,
      decision: z.enum(["retry", "continue", "abort"]),
      note: z.string().max(10_000).optional(),
    }),
    answer: RunGraph,
    problems: ["not_found", "forbidden", "conflict"],
  }),
  expandRunRef: operation({
    id: "expand_run_ref",
    method: "POST",
    path: "/v1/runs/{id}/expand",
    summary: "Returns a stored output of a run, or a part of it.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    body: z.strictObject({
      ref: z.string().min(1).max(4_096),
      from_line: z.int().min(1).optional(),
      to_line: z.int().min(1).optional(),
      match: z.string().max(1_000).optional(),
      context_lines: z.int().min(0).max(10_000).optional(),
    }),
    answer: ExpandedRef,
    problems: ["not_found", "forbidden"],
  }),
} as const;
