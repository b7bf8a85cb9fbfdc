import { CODE, RpcError, readResult } from "@reins/acp";
import { z } from "zod";
import { defineTool, ToolError } from "./tool.ts";

const MINUTE_MS = 60_000;
/** How long an answer is waited for where the model does not say. */
const USUAL_MINUTES = 60;

/** Puts a question to the person in front of the session, and waits for the answer. */
export const askPerson = defineTool({
  name: "ask_person",
  description:
    "Asks the person a question and waits for the answer. Ask what the work depends on and no tool can tell, with choices where there are some.",
  kind: "other",
  isReadOnly: true,
  arguments: z.strictObject({
    question: z.string().min(1).max(4_000).describe("The question, with what the person needs to answer it"),
    choices: z
      .array(z.string().min(1).max(200))
      .min(2)
      .max(20)
      .optional()
      .describe("The answers to choose from; any text when absent"),
    wait_minutes: z.int().min(1).max(1_440).optional().describe("How long to wait; 60 when absent"),
  }),
  title: ({ question }) => `Ask: ${question.split("\n")[0]}`,
  async perform({ question, choices, wait_minutes = USUAL_MINUTES }, { services, sessionId, signal, clock }) {
    const { person } = services;
    if (!person) throw new ToolError("failed", "there is no person to ask here");
    const late = new AbortController();
    const over = new Error(`no answer came within ${wait_minutes} minutes`);
    const cancel = clock.after(wait_minutes * MINUTE_MS, () => late.abort(over));
    const answer = { type: "string", title: "Answer", ...(choices && { enum: [...new Set(choices)] }) };
    const requestedSchema = { type: "object", properties: { answer }, required: ["answer"] };
    try {
      const asked = { message: question, requestedSchema };
      const given = await person.ask(sessionId, asked, AbortSignal.any([signal, late.signal]));
      return answerIn(given, choices);
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted) throw unanswered(over.message);
      const isUnserved = error instanceof RpcError && error.code === CODE.methodNotFound;
      throw isUnserved ? unanswered("no program of the person can show a question") : error;
    } finally {
      cancel();
    }
  },
});

function answerIn(given: unknown, choices: readonly string[] | undefined) {
  const { action, content } = readResult("elicitation/create", given);
  if (action !== "accept")
    throw unanswered(action === "decline" ? "the person declined to answer" : "the person did not answer");
  const { answer }: { answer?: unknown } = Object(content);
  if (typeof answer !== "string" || answer === "" || choices?.includes(answer) === false)
    throw unanswered("the answer is none of those that were offered");
  return { text: `The person answers: ${answer}` };
}

function unanswered(reason: string): ToolError {
  return new ToolError("failed", `${reason}; go on with what is safe to assume and say so, or end the turn`);
}
