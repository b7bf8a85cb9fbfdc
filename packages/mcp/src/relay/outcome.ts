import type { McpOutcome, ServerContext } from "../gate.ts";
import { errorIn, isObject, type Message, objectIn, RPC, toNearlyPlain } from "../message.ts";
import type { Loss, ServerAnswer } from "../server/server-run.ts";

/** The outcome of a call and the response to the agent. */
export interface Performed {
  readonly outcome: McpOutcome;
  readonly response: Message;
}

/** A tool's result that the model can read and that says that it did not work. */
export function refusal(reason: string, isModern: boolean): Message {
  const result = { content: [{ type: "text", text: reason }], isError: true };
  return { jsonrpc: "2.0", result: isModern ? { ...result, resultType: "complete" } : result };
}

/** A response for what will not be answered. */
export function lossResponse({ text, data }: Loss): Message {
  return { jsonrpc: "2.0", error: { code: RPC.lost, message: text, ...(data && { data }) } };
}

/** Reads what came of a call from what the server said, or did not say. */
export function performed(answer: ServerAnswer, isModern: boolean, mayAskForSampling: boolean): Performed {
  if ("loss" in answer) return { outcome: outcomeOfLoss(answer.loss), response: lossResponse(answer.loss) };
  const { response } = answer;
  if (!mayAskForSampling && asksForSampling(response)) {
    return {
      outcome: { kind: "unknown", reason: "the server asked for sampling before it would finish" },
      response: refusal(NO_SAMPLING, isModern),
    };
  }
  return { outcome: outcomeOf(response), response };
}

function outcomeOfLoss({ text, delivered }: Loss): McpOutcome {
  return delivered ? { kind: "unknown", reason: text } : { kind: "failed", reason: text, performed: false };
}

function outcomeOf(response: Message): McpOutcome {
  const error = errorIn(response);
  if (error) return { kind: "failed", reason: error.message, performed: true, error };
  const result = toNearlyPlain(response.result);
  const unfinished = unfinishedBecause(response);
  if (unfinished) return { kind: "unknown", reason: unfinished, result };
  if (objectIn(response, "result")?.isError === true) {
    return { kind: "failed", reason: "the tool says that it failed", performed: true, result };
  }
  return { kind: "completed", result };
}

/** Why an answer is not the end of a call, if so. */
function unfinishedBecause(response: Message): string | undefined {
  const result = objectIn(response, "result");
  const type = result?.resultType;
  if (type === "input_required") return "the server asks for more input before it would finish";
  if (typeof type === "string" && type !== "complete") return `the server goes on with it: ${type}`;
  const task = objectIn(result, "task")?.taskId;
  return typeof task === "string" ? `the server goes on with it as task ${task}` : undefined;
}

/** The answer, for which a request that was cancelled does not wait long. */
export async function unlessCancelled(
  answer: Promise<ServerAnswer>,
  signal: AbortSignal,
  { limits, clock }: Pick<ServerContext, "limits" | "clock">,
): Promise<ServerAnswer> {
  const late = Promise.withResolvers<ServerAnswer>();
  let cancel: (() => void) | undefined;
  const startTimer = () => {
    const text = "it was cancelled, and the server did not say what came of it";
    cancel = clock.after(limits.cancelMs, () => late.resolve({ loss: { text, delivered: true } }));
  };
  signal.addEventListener("abort", startTimer, { once: true });
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    signal.removeEventListener("abort", startTimer);
    cancel?.();
  }
}

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** The method by which a server has the agent's model write something. */
export const SAMPLING = "sampling/createMessage";

/** Why it is not done. */
export const NO_SAMPLING =
  "sampling is not allowed in this session: an MCP server may not put words to the agent's model by itself";

/** The agent's request without the offer to sample, so that a server need not find out by being refused. */
export function withoutSampling(message: Message): Message {
  const params = objectIn(message, "params");
  if (!params) return message;
  const meta = objectIn(params, "_meta");
  const once = message.method === "initialize" && removed(params, "capabilities");
  const each = meta && removed(meta, CAPABILITIES);
  if (!once && !each) return message;
  return { ...message, params: { ...params, ...once, ...(each && { _meta: { ...meta, ...each } }) } };
}

function removed(holder: Message, name: string): Message | undefined {
  const capabilities = objectIn(holder, name);
  if (!capabilities || !Object.hasOwn(capabilities, "sampling")) return undefined;
  const { sampling, ...others } = capabilities;
  return { [name]: others };
}

/** Whether a result asks for sampling before it can be given, as servers do since 2026. */
export function asksForSampling(response: Message): boolean {
  const requests = objectIn(objectIn(response, "result"), "inputRequests");
  if (!requests) return false;
  return Object.values(requests).some((request) => isObject(request) && request.method === SAMPLING);
}
