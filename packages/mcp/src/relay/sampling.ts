import { isObject, type Message, objectIn } from "../wire/message.ts";

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
