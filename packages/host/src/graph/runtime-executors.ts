import { backgroundTexts, outputSummary, ProtocolError } from "@reins/graph";
import { z } from "zod";
import { assignmentOf } from "./agent-executors.ts";
import type { ActionCall, PerformedAction, PlannedAction, RunExecutor } from "./executor.ts";

/** The longest wait: thirty days. */
const LONGEST_WAIT = 30 * 86_400;

const Nothing = z.looseObject({});
const Input = z.record(z.string(), z.unknown());
const Wait = z.strictObject({ seconds: z.number().min(0).max(LONGEST_WAIT) });
const Expand = z.strictObject({ refs: z.array(z.string().min(1).max(4_096)).min(1).max(50) });
const Question = z.strictObject({
  message: z.string().min(1).max(10_000).optional(),
  /** The form that a person fills in: a JSON Schema of an object with plain members. */
  schema: z.record(z.string(), z.unknown()).optional(),
});

interface Step<Schema extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly capabilities: readonly string[];
  readonly input: Schema;
  readonly perform: (
    given: z.infer<Schema>,
    call: ActionCall,
    signal: AbortSignal,
  ) => Promise<PerformedAction>;
}

/** A control step of the runtime itself: it changes nothing outside. */
function step<Schema extends z.ZodType>(plan: Step<Schema>): RunExecutor {
  const { name, description, capabilities, input } = plan;
  const tool = `graph/${name}`;
  return {
    ...{
      name,
      type: "runtime",
      description,
      capabilities,
      isReadOnly: true,
      isIdempotent: true,
      ruleName: tool,
      input: schemaOf(input),
    },
    check: (given) => void input.parse(given),
    async plan(call) {
      input.parse(call.input ?? {});
      return {
        ...{ tool, arguments: call.input ?? {}, tools: "acp", kind: "other" },
        // A verdict may have allowed other arguments.
        perform: (given, signal) =>
          plan.perform(input.parse(given), { ...call, input: Input.parse(given) }, signal),
      };
    },
  };
}

/** What an input may hold, as JSON Schema. */
function schemaOf(input: z.ZodType): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(input, { io: "input" });
}

/** Everything that an action was given, as one value. */
function valuesOf({ input = {}, context }: ActionCall): readonly unknown[] {
  return [...context, ...Object.values(input)];
}

/** What the runtime does itself: wait, merge, checkpoint, summarize, expand. */
export const runtimeExecutors: readonly RunExecutor[] = [
  step({
    name: "wait",
    description: "Waits for a number of seconds, also across restarts. Input: { seconds }.",
    capabilities: ["wait", "timer"],
    input: Wait,
    async perform({ seconds }, { sleep }, signal) {
      await sleep(seconds * 1_000, signal);
      // One that was ended has not waited.
      signal.throwIfAborted();
      return { output: `Waited for ${seconds} seconds.` };
    },
  }),
  step({
    name: "merge",
    description: "Puts the context and the input of the action together, in their order.",
    capabilities: ["merge"],
    input: Nothing,
    perform: async (_, call) => {
      const values = valuesOf(call);
      const isText = values.every((value) => typeof value === "string");
      return { output: isText ? values.join("\n\n") : values };
    },
  }),
  step({
    name: "checkpoint",
    description: "Marks a point of the run: everything before it is stored.",
    capabilities: ["checkpoint"],
    input: Nothing,
    perform: async ({ name }, { key }) => ({ output: { checkpoint: name ?? key } }),
  }),
  step({
    name: "summarize",
    description: "Summarizes the context and the input of the action by what can be counted and cut.",
    capabilities: ["summarize", "summarization"],
    input: Nothing,
    perform: async (_, call) => ({ output: valuesOf(call).map(outputSummary).join("\n\n") }),
  }),
  step({
    name: "expand",
    description: "Returns stored results in full. Input: { refs }.",
    capabilities: ["expand", "expand_reference"],
    input: Expand,
    perform: async ({ refs }, { expand }) => {
      const texts = await Promise.all(refs.map((ref) => expand(ref)));
      return { output: texts.join("\n\n") };
    },
  }),
];

const DEFAULT_SCHEMA = {
  type: "object",
  properties: { answer: { type: "string", title: "Answer" } },
  required: ["answer"],
};

/** What people in front of the session, or those who answer approvals, are asked. */
export const humanExecutors: readonly RunExecutor[] = [
  {
    name: "ask_user",
    type: "human",
    description:
      "Asks a person for clarification, input, a decision or an approval. Input: { message, schema? }.",
    capabilities: ["clarification", "input", "decision", "approval"],
    input: schemaOf(Question),
    ...{ isReadOnly: true, isIdempotent: true, ruleName: "elicitation/create", audience: ["user"] },
    check: (given) => void Question.parse(given),
    plan: async (call) => (isApproval(call) ? planApproval(call) : planQuestion(call)),
  },
  {
    name: "request_approval",
    type: "human",
    description: "Asks a person to approve what follows. Input: { message }.",
    capabilities: ["approval"],
    input: schemaOf(Question),
    ...{ isReadOnly: true, isIdempotent: true, ruleName: "graph/approval", cost: 1, audience: ["user"] },
    check: (given) => void Question.parse(given),
    plan: async (call) => planApproval(call),
  },
];

/** Whether an approval is asked for, and not an answer. */
function isApproval({ action, input }: ActionCall): boolean {
  const { capabilities } = action.executor;
  return capabilities.includes("approval") && input?.schema === undefined;
}

function messageOf({ action, input, prompt }: ActionCall): string {
  const { message } = Question.parse(input ?? {});
  return message ?? prompt ?? action.description ?? action.title;
}

/** The longest words of a model beside the reason of an approval. */
const LONGEST_CLAIM = 1_000;

/** Why a person is asked: the reason is ours, and what the model says stands behind it as a quotation. */
export function insisted(reason: string, claim: string | undefined): string {
  if (claim === undefined || claim.trim() === "") return reason;
  return `${reason}; the model says: ${JSON.stringify(claim.slice(0, LONGEST_CLAIM).toWellFormed())}`;
}

/** The longest background that a person is given. */
const LONGEST_BACKGROUND = 20_000;

/** What a person is given beside the question: the context of the action, and what agents before it left. */
function backgroundFor({ context, background }: ActionCall): string {
  const text = [...context, ...backgroundTexts(background)].join("\n\n");
  return text.length <= LONGEST_BACKGROUND ? text : `${text.slice(0, LONGEST_BACKGROUND).toWellFormed()} …`;
}

/** A person agrees by an ordinary approval; a denial blocks the action. */
function planApproval(call: ActionCall): PlannedAction {
  const message = messageOf(call);
  const background = backgroundFor(call);
  const asked = background === "" ? { message } : { message, background };
  return {
    ...{ tool: "graph/approval", arguments: asked, tools: "acp", kind: "other" },
    assignment: assignmentOf(call, "human:request_approval"),
    mustAsk: insisted("the declaration asks for approval", message),
    perform: async () => ({ output: { approved: true }, summary: "A person approved it." }),
  };
}

function planQuestion(call: ActionCall): PlannedAction {
  const message = messageOf(call);
  const { schema = DEFAULT_SCHEMA } = Question.parse(call.input ?? {});
  const told = [message, backgroundFor(call)].filter((text) => text !== "").join("\n\n");
  const asked = { mode: "form", message: told, requestedSchema: schema };
  const { session, clients } = call.place;
  return {
    ...{ tool: "elicitation/create", arguments: asked, tools: "acp", kind: "other" },
    assignment: assignmentOf(call, "human:ask_user"),
    async perform(given, signal) {
      const allowed = AllowedQuestion.parse(given);
      call.waits("input");
      try {
        const { value } = await clients.request(
          "elicitation/create",
          { ...allowed, sessionId: session.id },
          signal,
        );
        const { action, content } = Answer.parse(value);
        if (action !== "accept") return { output: `The person chose ${action}.`, isError: true };
        return { output: content ?? {} };
      } finally {
        call.waits(undefined);
      }
    },
  };
}

/** The question that a verdict allowed, which may be another than the one that was to be asked. */
const AllowedQuestion = z.looseObject({ message: z.string(), requestedSchema: Input });

const Answer = z.looseObject({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.record(z.string(), z.unknown()).nullish(),
});

/** Refuses an action that says what to do in words alone, where no model could read them. */
export function noModel(id: string): ProtocolError {
  return new ProtocolError(
    "executor",
    `${id} says what to do in words alone, and no model is configured that could; give it an input`,
  );
}
